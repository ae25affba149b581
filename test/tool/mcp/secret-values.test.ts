import { expect, test } from "vitest";
import { secretsOfHeaders } from "../../../src/tool/mcp/secret-values.js";

test.each([
  ["Bearer of-the-token", "of-the-token"],
  ["Bearer of-the-token\n", "of-the-token"],
  ["Bearer short", "Bearer short"],
  ["of-the-token", "of-the-token"],
])("what is secret in a header of %j is %j", (value, secret) => {
  expect(secretsOfHeaders({ Authorization: value, Accept: "text/plain" })).toEqual([secret]);
});
