import { create, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { changedRun, changedThread } from "../../src/recorder/changed-document.js";
import { RunDocumentSchema, ThreadDocumentSchema } from "../../src/thread/schema.js";

/** A message in which every field has a value of its own, whatever its type. */
function marked<Desc extends DescMessage>(schema: Desc): MessageShape<Desc> & Record<string, unknown> {
  const message = create(schema) as MessageShape<Desc> & Record<string, unknown>;
  const marks = Object.fromEntries(schema.fields.map(({ localName }) => [localName, `the value of ${localName}`]));
  return Object.assign(message, marks, { $unknown: [{ no: 999, wireType: 0, data: new Uint8Array([1]) }] });
}

test("a changed thread has every field of the one before, and what has changed", () => {
  const before = marked(ThreadDocumentSchema);
  expect(changedThread(before, {})).toEqual(before);
  expect(changedThread(before, { title: "new", run: undefined })).toEqual({ ...before, title: "new", run: undefined });
  expect(before.title).toBe("the value of title");
});

test("a changed run has every field of the one before, and what has changed", () => {
  const before = marked(RunDocumentSchema);
  expect(changedRun(before, {})).toEqual(before);
  expect(changedRun(before, { steps: 7 })).toEqual({ ...before, steps: 7 });
});
