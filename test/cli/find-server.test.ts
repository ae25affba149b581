// Where commands look that are told nothing: the same place for all of them.
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newDataDir, removeDataDir, startServerProcess } from "../support/server-process.js";
import { recordThread } from "./record-thread.js";
import { fakeIo, heddle } from "./support.js";

let dataDir: string;
beforeEach(async () => {
  dataDir = await newDataDir();
});
afterEach(() => removeDataDir(dataDir));

const inDirectory = () => fakeIo({ env: { HEDDLE_DATA: dataDir } });

test("the server that holds the directory, then the directory itself", async () => {
  const server = await startServerProcess({ dataDir });
  let ids: { threadId: string; callId: string };
  try {
    ids = await recordThread(server.url, 3);
    for (const command of [
      ["threads", "--json"],
      ["follow", ids.threadId, "--json", "--no-follow"],
      ["call", ids.callId, "--json"],
    ]) {
      const found = await heddle(command, inDirectory());
      expect(found).toEqual(await heddle([...command, "--server", server.url]));
      expect(found).toMatchObject({ code: 0, stderr: "" });
    }
    // The server's own words: without it there would be nothing to ask for a token.
    expect((await heddle(["run", "Tell me.", "--thread", ids.threadId], inDirectory())).stderr).toContain("busy");
  } finally {
    await server.stop();
  }
  const offline = await heddle(["follow", ids.threadId, "--json"], inDirectory());
  expect(offline).toMatchObject({ code: 0, stderr: `heddle: no server holds ${dataDir}: it is read to its end\n` });
  const hint = `no server was found that works on ${dataDir}: what is running may have been cut off; if so, the next heddle run "…" or heddle serve records what became of it`;
  expect(await heddle(["threads"], inDirectory())).toMatchObject({ code: 0, stderr: `heddle: ${hint}\n` });
});

describe("a directory that holds nothing", () => {
  test("leaves the usual server", async () => {
    const io = fakeIo({ env: { HEDDLE_DATA: join(dataDir, "none"), HEDDLE_TOKEN: "x" } });
    // Whether or not somebody listens there: nobody else has this thread.
    const { code, stdout } = await heddle(["follow", "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10", "--no-follow"], io);
    expect([3, 4, 5]).toContain(code);
    expect(stdout).toBe("");
  });
});

test.each([
  [["threads"]],
  [["follow", "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10"]],
  [["call", "7b0f2c4e-5a36-4d0e-9c3f-2f6f2b7b9a10"]],
])("%j: HEDDLE_SERVER and --data cannot stand together", async (command) => {
  const io = fakeIo({ env: { HEDDLE_SERVER: "http://127.0.0.1:1" } });
  const { code, stderr } = await heddle([...command, "--data", dataDir], io);
  expect(code).toBe(2);
  expect(stderr).toContain("--data cannot be used with one. Unset HEDDLE_SERVER, or leave --data out");
});
