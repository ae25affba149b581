import { openMemoryLog } from "../../src/log/memory.js";
import { eventLogConformance } from "../conformance/event-log.js";

eventLogConformance("the memory log", async () => {
  const log = openMemoryLog();
  return { log, dispose: () => log.close() };
});
