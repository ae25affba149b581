// A fault of Heddle's own where everything waits ends the process, also one that survives what tools forget to wait for.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const fixture = fileURLToPath(new URL("./fixtures/own-fault.ts", import.meta.url));

function run(place: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", fixture, place], {
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

test.each(["commit queue", "crowded commit queue", "thread writer"])(
  "T1: a fault in the %s is told, and nothing waits behind it",
  (place) => {
    const { status, stdout, stderr } = run(place);
    expect(stderr).toContain("a fault of our own");
    expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  },
);

test("a promise that nobody waits for is survived", () => {
  expect(run("nowhere")).toMatchObject({ status: 0, stdout: "survived\n" });
});
