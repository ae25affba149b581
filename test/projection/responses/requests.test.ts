// What becomes of requests inside: what is kept of them, and who goes on from a response.
import { expect, test } from "vitest";
import type { ResponseRecord } from "../../../src/projection/responses/request.js";
import { replies, said } from "../../support/agent.js";
import { useCores } from "../../support/core.js";
import { openApi } from "./api.js";

const core = useCores();

test("texts of which two together look like one secret are kept as they are", async () => {
  const text = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc";
  const request = { input: text, metadata: { text } };
  const created = await openApi(core({ model: replies(said("Half a key.")) })).create(request);
  expect((await created.events()).at(-1)?.frame.type).toBe("response.completed");
  const { echo, input } = JSON.parse(created.stored.record) as ResponseRecord;
  expect(echo.metadata).toEqual({ text });
  expect(input).toMatchObject([{ role: "user", content: [{ text }] }]);
});

test("a secret is not kept, wherever it stands", async () => {
  const secret = 'tok"en-of-the-server';
  const opened = core({ model: replies(said("Yes.")), secrets: [secret] });
  const created = await openApi(opened).create({ input: `Is it ${secret}?`, metadata: { [secret]: secret } });
  await created.events();
  const { echo, input } = JSON.parse(created.stored.record) as ResponseRecord;
  expect(echo.metadata).toEqual({ "[redacted]": "[redacted]" });
  expect(input).toMatchObject([{ content: [{ text: "Is it [redacted]?" }] }]);
});
