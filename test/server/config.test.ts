import { describe, expect, test } from "vitest";
import { createOriginPolicy } from "../../src/server/cors.js";
import { nodeVersionWarning } from "../../src/server/node-version.js";
import { createAuthenticate } from "../../src/server/tokens.js";

describe("configuration that cannot work is refused at start", () => {
  test.each(["*", "app.example.com", "https://*.example.com", "https://a.example/path", "null", ""])(
    "%j is no origin",
    (origin) => {
      expect(() => createOriginPolicy([origin])).toThrow(/is not an origin: write a scheme and a host/);
    },
  );

  test("origins of editors and extensions are origins", () => {
    const policy = createOriginPolicy(["vscode-webview://abc", "chrome-extension://xyz"]);
    expect(() => policy.check("vscode-webview://abc", "localhost")).not.toThrow();
    expect(() => policy.check("vscode-webview://abd", "localhost")).toThrow();
  });

  test.each(["", "two words", " padded"])("%j is no token, and the error does not repeat it", (token) => {
    expect(() => createAuthenticate([{ name: "alice", token }])).toThrow(
      'the token named "alice" is empty or has spaces',
    );
  });
});

describe("the warning about Node's version", () => {
  test.each(["v20.20.2", "v20.21.0", "v22.22.2", "v22.23.0", "24.14.1", "v24.15.0", "v26.0.0"])(
    "%s: none",
    (version) => {
      expect(nodeVersionWarning(version)).toBeUndefined();
    },
  );

  test.each([
    ["v20.19.0", "20.20.2"],
    ["v20.20.1", "20.20.2"],
    ["v22.9.9", "22.22.2"],
    ["v24.14.0", "24.14.1"],
  ])("%s: names %s", (version, needed) => {
    expect(nodeVersionWarning(version)).toContain(`update to ${needed} or newer`);
  });

  test.each(["v21.7.3", "v23.11.0"])("%s: a line without fixes", (version) => {
    expect(nodeVersionWarning(version)).toContain("without security fixes");
  });
});
