// Messages are garbage as soon as nobody has them: a process that loads what the command loads, in its order, reads messages for
// a while, and none of them gets into the old generation.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const mebibyte = 1024 * 1024;

/** Prints by how many bytes the old generation has grown at most. */
const script = `
  import { getHeapSpaceStatistics } from "node:v8";
  await import("./dist/src/cli/v8-flags.js");
  await import("./dist/src/compose.js");
  const { create, fromBinary, toBinary } = await import("@bufbuild/protobuf");
  const { RecordEventsRequestSchema: schema } = await import("./dist/gen/heddle/v1/recorder_service_pb.js");
  const events = Array.from({ length: 8 }, () => ({ payload: { case: "messageDelta", value: { text: "abcd" } } }));
  const bytes = toBinary(schema, create(schema, { events }));
  const old = () => getHeapSpaceStatistics().find((space) => space.space_name === "old_space").space_used_size;
  const rounds = async (count) => {
    let most = 0;
    for (let round = 0; round < count; round++) {
      for (let n = 0; n < 2_000; n++) fromBinary(schema, bytes);
      await new Promise(setImmediate);
      most = Math.max(most, old());
    }
    return most;
  };
  for (let n = 0; n < 4_000; n++) new Array(2_048).fill(n); // Collections that find nothing but descriptors alive.
  await rounds(2); // What is compiled meanwhile stays.
  const before = old();
  console.log((await rounds(10)) - before);
`;

test("reading messages leaves nothing behind in the old generation", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { cwd: root });
  expect(Number(stdout)).toBeLessThan(4 * mebibyte);
});

test("the command says so before it loads anything else", async () => {
  const main = await readFile(join(root, "src/cli/main.ts"), "utf8");
  expect(/^import .*$/m.exec(main)?.[0]).toBe('import "./v8-flags.js";');
});
