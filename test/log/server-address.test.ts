// The file that says where a data directory is served, and when it is believed.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { thisProcess } from "../../src/log/owner.js";
import { announceServer, findServer } from "../../src/log/server-address.js";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "heddle-address-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

const url = "http://127.0.0.1:1234";
const file = () => join(dir, "server.json");
const write = (content: object) => writeFileSync(file(), JSON.stringify(content));

test("is found while it stands, is nobody else's to read, and leaves nothing behind", () => {
  expect(findServer(dir)).toBeUndefined();
  const forget = announceServer(dir, url);
  expect(findServer(dir)).toMatchObject({ url, pid: process.pid });
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(readdirSync(dir)).toEqual(["server.json"]);
  forget();
  expect(findServer(dir)).toBeUndefined();
  expect(readdirSync(dir)).toEqual([]);
  forget();
});

test("another server's address is left alone", () => {
  const forget = announceServer(dir, url);
  write({ url: "http://127.0.0.1:9", ...thisProcess(), since: "later" });
  forget();
  expect(JSON.parse(readFileSync(file(), "utf8")).url).toBe("http://127.0.0.1:9");
});

test("what a dead process left is not believed, nor what is of another machine, boot or process with the same number", async () => {
  const child = spawn(process.execPath, ["-e", ""]);
  const { pid } = child;
  await once(child, "exit");
  const here = thisProcess();
  for (const owner of [{ pid }, { host: "elsewhere" }, { bootId: "earlier" }, { startTime: "1" }]) {
    write({ url, ...here, ...owner });
    expect(findServer(dir)).toBeUndefined();
  }
  write({ url, ...here });
  expect(findServer(dir)).toMatchObject({ url });
});

test.each(["", "{", "[]", "null", '{"url": 1}', '{"url": "http://a"}', " ".repeat(20_000)])(
  "%j is no address",
  (content) => {
    writeFileSync(file(), content);
    expect(findServer(dir)).toBeUndefined();
  },
);

test("a directory that cannot be written says so", () => {
  expect(() => announceServer(join(dir, "none"), url)).toThrow(expect.objectContaining({ name: "HeddleError" }));
});
