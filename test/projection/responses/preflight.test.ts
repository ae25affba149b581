// What a page of a listed origin may do with responses: a browser asks before it deletes one.
import { expect, test } from "vitest";
import { compose } from "../../../src/compose.js";
import { defaultConfig } from "../../../src/config.js";
import { newDataDir, removeDataDir } from "../../support/server-process.js";

const origin = "https://app.example.com";
const silent = { debug() {}, info() {}, warn() {}, error() {} };

test.each([
  [true, "POST, GET, DELETE"],
  [false, "POST, GET"],
])("where the API is served (%s), pages may use %s", async (enabled, methods) => {
  const dataDir = await newDataDir();
  const heddle = await compose(
    {
      ...defaultConfig,
      dataDir,
      listen: { host: "127.0.0.1", port: 0 },
      allowedOrigins: [origin],
      responses: { ...defaultConfig.responses, enabled },
    },
    silent,
  );
  try {
    const { status, headers } = await fetch(`${heddle.url}/v1/responses/resp_1`, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "DELETE" },
    });
    expect(status).toBe(204);
    expect(headers.get("access-control-allow-methods")).toBe(methods);
  } finally {
    await heddle.close();
    await removeDataDir(dataDir);
  }
});
