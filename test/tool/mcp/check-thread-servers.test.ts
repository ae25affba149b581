// Servers that callers bring along: what cannot be sent is refused when it is brought.
import { expect, test } from "vitest";
import { checkThreadServers } from "../../../src/tool/mcp/check-thread-servers.js";

const check = (headers: Record<string, string>) => () =>
  checkThreadServers([{ label: "a", url: "https://a.example/mcp", headers }], { taken: [], field: "mcp_servers" });

test.each(["Bearer abc", "a\tb", "", "caf\u00e9"])("a header may hold %j", (value) => {
  expect(check({ "x-key": value })).not.toThrow();
});

test.each(["a\r\nEvil: 1", "a\u0000", "a\u007f", "\u6f22", "\u{1f600}"])("no header holds %j", (value) => {
  expect(check({ "x-key": value })).toThrow("that HTTP can send");
});
