import { openLmdbLog } from "../../src/log/lmdb.js";
import { eventLogConformance } from "../conformance/event-log.js";
import { temporaryDirectory } from "./support.js";

eventLogConformance("the LMDB log", async () => {
  const dir = temporaryDirectory();
  let log = await openLmdbLog({ dir: dir.path });
  return {
    log,
    reopen: async () => {
      await log.close();
      log = await openLmdbLog({ dir: dir.path });
      return log;
    },
    dispose: async () => {
      await log.close();
      dir.remove();
    },
  };
});
