import { expect, test } from "vitest";
import { IndexClient } from "../../src/documents/index/index-client.js";
import { seal } from "../../src/log/checksum.js";

test("a fault in the index is told without a trace, which names files of the server; its cause is kept for the log", async () => {
  const client = new IndexClient();
  const place = { documentNumber: 1, collection: "default", name: "a.txt", leaf: 0 };
  const failure = await client
    .tell({ type: "leaf", ...place, passages: seal(Buffer.from("no JSON")) })
    .catch((reason) => reason);
  expect(failure).toMatchObject({ code: "internal", message: "The index of the documents broke off: search again" });
  expect(failure.cause.message).toMatch(/JSON.*\n\s+at /s);
  expect(client.isAlive).toBe(true);
  await client.close();
});
