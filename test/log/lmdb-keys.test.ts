// The keys of the store are part of the data directory: what an older version wrote is found by a newer one.
import { describe, expect, test } from "vitest";
import {
  bodyKey,
  bodyPrefix,
  callIndexKey,
  callIndexKeyIn,
  callKey,
  decodePlace,
  encodePlace,
  eventKey,
  sequenceAt,
  threadKey,
  threadOf,
} from "../../src/log/lmdb-keys.js";
import type { ThreadId, ToolCallId } from "../../src/thread/ids.js";

const threadId = "00112233-4455-6677-8899-aabbccddeeff" as ThreadId;
const callId = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0" as ToolCallId;
const threadHex = "00112233445566778899aabbccddeeff";
const callHex = "0f1e2d3c4b5a69788796a5b4c3d2e1f0";

describe.each([
  ["default", "0764656661756c74"],
  ["é€😀", "09c3a9e282acf09f9880"],
])("of the tenant %s", (tenant, tenantHex) => {
  const thread = threadKey({ tenant, threadId });

  test("a thread's key is its tenant and its id, and tells both", () => {
    expect(thread.toString("hex")).toBe(tenantHex + threadHex);
    expect(threadOf(thread)).toEqual({ tenant, threadId });
  });

  test.each([
    [1n, "0000000000000001"],
    [2n ** 32n - 1n, "00000000ffffffff"],
    [2n ** 32n, "0000000100000000"],
    [2n ** 53n - 1n, "001fffffffffffff"],
    [2n ** 53n + 1n, "0020000000000001"],
    [2n ** 64n - 2n, "fffffffffffffffe"],
  ])("sequence %s is in the order of its bytes", (sequence, hex) => {
    expect(eventKey(thread, sequence).toString("hex")).toBe(tenantHex + threadHex + hex);
    expect(callKey(thread, sequence, callId).toString("hex")).toBe(tenantHex + threadHex + hex + callHex);
    expect(sequenceAt(eventKey(thread, sequence), thread.length)).toBe(sequence);
    expect(encodePlace(thread, sequence).toString("hex")).toBe(threadHex + hex);
    expect(decodePlace(encodePlace(thread, sequence))).toEqual({ threadId, createdSequence: sequence });
  });

  test("the index of calls has the tenant and the call", () => {
    expect(callIndexKeyIn(thread, callId).toString("hex")).toBe(tenantHex + callHex);
    expect(callIndexKey(tenant, callId)).toEqual(callIndexKeyIn(thread, callId));
  });

  test.each([
    [0, "0000000000000000"],
    [2 ** 32 + 5, "0000000100000005"],
  ])("a piece of a body at %s lies behind what all of its pieces begin with", (offset, hex) => {
    const body = { callId, contentId: "result" };
    const prefix = `${tenantHex}${threadHex}${callHex}06726573756c74`;
    expect(bodyPrefix(thread, body).toString("hex")).toBe(prefix);
    expect(bodyKey(thread, body, offset).toString("hex")).toBe(prefix + hex);
  });

  test.each([Number.NaN, 1.5, undefined as unknown as number])("a piece at %s is nowhere", (offset) => {
    expect(() => bodyKey(thread, { callId, contentId: "result" }, offset)).toThrow("An offset that was never checked");
  });
});
