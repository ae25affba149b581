// The name in commands that a person is told to type.
import { expect, test } from "vitest";
import { programNameIn } from "../../src/cli/program-name.js";

test.each([
  ["npx", { npm_lifecycle_event: "npx", npm_lifecycle_script: "'heddle'" }, "npx heddle"],
  ["npx, with arguments", { npm_lifecycle_event: "npx", npm_lifecycle_script: "heddle run x" }, "npx heddle"],
  ["npx, but for another program", { npm_lifecycle_event: "npx", npm_lifecycle_script: "'vitest' 'heddle'" }, "heddle"],
  ["npm start in its folder", { npm_lifecycle_event: "start", npm_package_name: "heddle" }, "npx heddle"],
  ["npm start elsewhere", { npm_lifecycle_event: "start", npm_package_name: "agent" }, "heddle"],
  ["a script of a package", { npm_lifecycle_event: "agent", npm_lifecycle_script: "heddle run x" }, "heddle"],
  ["a shell", {}, "heddle"],
])("started by %s", (_, env, expected) => {
  expect(programNameIn(env)).toBe(expected);
});
