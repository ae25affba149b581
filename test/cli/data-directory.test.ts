// --data: the same commands upon a directory, with a server on it and without.
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beHeard } from "../../src/log/owner-socket.js";
import { newId } from "../../src/thread/ids.js";
import { newDataDir, removeDataDir, type ServerProcess, startServerProcess } from "../support/server-process.js";
import { recordThread } from "./record-thread.js";
import { heddle } from "./support.js";

let dataDir: string;
let server: ServerProcess;
beforeAll(async () => {
  dataDir = await newDataDir();
  server = await startServerProcess({ dataDir });
});
afterAll(async () => {
  await server.stop();
  await removeDataDir(dataDir);
});

test("reads the same as its server, while the server runs and afterwards", async () => {
  const { threadId, callId } = await recordThread(server.url, 5);
  const commands = [
    ["call", callId],
    ["call", callId, "--json"],
    ["call", callId, "--content", "result"],
    ["threads", "--json"],
    ["follow", threadId, "--json", "--no-follow"],
  ];
  const read = async (...from: string[]) => {
    const all = [];
    for (const args of commands) {
      const { stdout, ...rest } = await heddle([...args, ...from]);
      all.push({ ...rest, stdout: stdout.replace(/ --(server|data) \S+$/m, "") }); // The commands that it names lead to the same place.
    }
    return all;
  };
  const online = await read("--server", server.url);
  expect(online.map(({ code, stderr }) => ({ code, stderr }))).toEqual(commands.map(() => ({ code: 0, stderr: "" })));
  expect(online[2]?.stdout).toBe('{"passed":42}');
  expect(await read("--data", dataDir)).toEqual(online);
  await server.kill();
  expect((await read("--data", dataDir)).map(({ stderr, ...rest }) => rest)).toEqual(
    online.map(({ stderr, ...rest }) => rest),
  );
});

test("what was under way when the server died is said to be cut off, unless a producer may come back to it", async () => {
  server = await startServerProcess({ dataDir });
  const { threadId, callId } = await recordThread(server.url, 1);
  const stderrOf = async (...args: string[]) => (await heddle([...args, "--data", dataDir])).stderr;
  expect(await stderrOf("threads")).toBe("");
  expect(await stderrOf("follow", threadId)).toBe("");
  await server.kill();
  const stopBeingHeard = beHeard(dataDir);
  expect(await stderrOf("threads")).toBe(""); // As beside a run of a command's own, which serves nobody else.
  stopBeingHeard();
  expect(await stderrOf("threads")).toBe(
    `heddle: no server was found that works on ${dataDir}: what is running may have been cut off; if so, the next heddle run "…" --data ${dataDir} or heddle serve --data ${dataDir} records what became of it\n`,
  );
  expect(await stderrOf("follow", threadId)).toBe("");
  expect(await stderrOf("call", callId)).toBe("");
});

test("a directory that holds nothing is an error, and is not made", async () => {
  const { code, stderr } = await heddle(["threads", "--data", join(dataDir, "none")]);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^heddle: .*none holds no Heddle data/) });
});

test("a thread or a call that is not there ends with 3", async () => {
  expect(await heddle(["follow", newId(), "--data", dataDir])).toMatchObject({ code: 3, stdout: "" });
  expect(await heddle(["call", newId(), "--data", dataDir])).toMatchObject({ code: 3, stdout: "" });
});
