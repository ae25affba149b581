// What the tests of offload have done elsewhere.
import { setTimeout as wait } from "node:timers/promises";
import type { OffloadedWork } from "../../../../src/tool/offload/offload.js";
import { ToolFailure } from "../../../../src/tool/tool.js";

export type Job = "double" | "spin" | "fill" | "fail" | "throw" | "exit" | "env" | "hang" | "opaque";

const work: OffloadedWork<{ job: Job; value: number }, unknown, string> = async ({ job, value }, report) => {
  report(`doing ${job}`);
  switch (job) {
    case "double":
      return 2 * value;
    case "spin":
      return /^(a+)+$/.test(`${"a".repeat(60)}b`);
    case "fill": {
      const kept: string[][] = [];
      for (;;) kept.push(Array.from({ length: 10_000 }, (_, index) => `${index}-${kept.length}`));
    }
    case "fail":
      throw new ToolFailure("It may not; do something else", { code: "EPERM" });
    case "throw":
      throw new RangeError("out of range");
    case "exit":
      return process.exit(0);
    case "env":
      return Object.keys(process.env);
    case "hang":
      return wait(1_000_000);
    case "opaque":
      return () => "a function cannot be sent";
  }
};
export default work;
