import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { EventLog } from "../../../src/log/event-log.js";
import { openLmdbLog } from "../../../src/log/lmdb.js";
import { runCommand } from "../../../src/tool/builtin/run-command.js";
import { canSeeLeftovers } from "../../support/left-behind.js";
import { CallContext, prepared, ways, workplace } from "./support.js";

describe.skipIf(!canSeeLeftovers)("a server with its data open, which LMDB leaves to children (needs /proc)", () => {
  let dir: string;
  let log: EventLog;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "heddle-alone-"));
    log = await openLmdbLog({ dir });
  });
  afterAll(async () => {
    await log.close();
    await rm(dir, { recursive: true, force: true });
  });

  test.each(ways.filter(({ isHere }) => isHere))("passes none of it on to a command $way", async ({ sandbox }) => {
    await using place = await workplace();
    const tool = runCommand(prepared({ sandbox }));
    const context = new CallContext({ workspace: place.path });
    const { result } = await tool.run({ command: "for fd in /proc/self/fd/*; do readlink $fd; done; :" }, context);
    expect(result.stdout).toContain("/dev/null");
    expect(result.stdout).not.toContain(dir);
  });
});
