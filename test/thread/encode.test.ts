import {
  create,
  type DescField,
  type DescMessage,
  type MessageShape,
  ScalarType,
  toBinary,
  type UnknownField,
} from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { file_heddle_storage_v1_storage } from "../../gen/heddle/storage/v1/storage_pb.js";
import { file_heddle_v1_content } from "../../gen/heddle/v1/content_pb.js";
import { file_heddle_v1_event } from "../../gen/heddle/v1/event_pb.js";
import { file_heddle_v1_run_options } from "../../gen/heddle/v1/run_options_pb.js";
import { file_heddle_v1_thread_service } from "../../gen/heddle/v1/thread_service_pb.js";
import { file_heddle_v1_tool_call } from "../../gen/heddle/v1/tool_call_pb.js";
import { encode } from "../../src/thread/encode.js";
import { newEvent, ThreadEventSchema } from "../../src/thread/event.js";
import { ToolCallDocumentSchema, ToolCallSchema } from "../../src/thread/schema.js";

const withNested = (message: DescMessage): DescMessage[] => [message, ...message.nestedMessages.flatMap(withNested)];
const files = [
  file_heddle_storage_v1_storage,
  file_heddle_v1_content,
  file_heddle_v1_event,
  file_heddle_v1_run_options,
  file_heddle_v1_thread_service,
  file_heddle_v1_tool_call,
];
const schemas = files.flatMap(({ messages }) => messages.flatMap(withNested));

/** What makes a value of a field, or of an entry of it, out of choices. Borders are chosen often. */
function scalar(type: ScalarType): fc.Arbitrary<unknown> {
  const borders = (...values: bigint[]) => fc.constantFrom(...values);
  switch (type) {
    case ScalarType.STRING:
      return fc.oneof(
        fc.string({ unit: "binary", maxLength: 80 }),
        fc.string({ unit: "grapheme", maxLength: 300 }),
        fc.constantFrom("", "\ud800", "a\udc00b", "é".repeat(64), "x".repeat(127), "x".repeat(128), "ü".repeat(9000)),
      );
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 200 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.DOUBLE:
      return fc.double();
    case ScalarType.INT32:
      return fc.oneof(fc.integer(), fc.constantFrom(0, -1, 127, 128, 2 ** 31 - 1, -(2 ** 31)));
    case ScalarType.UINT32:
      return fc.oneof(fc.nat(), fc.constantFrom(0, 127, 128, 2 ** 31, 2 ** 32 - 1));
    case ScalarType.INT64:
      return fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n), borders(0n, -1n, 127n, 128n, 2n ** 53n, -(2n ** 63n)));
    case ScalarType.UINT64:
      return fc.oneof(fc.bigInt(0n, 2n ** 64n - 1n), borders(0n, 2n ** 31n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 64n - 1n));
    default:
      throw new Error(`No field of Heddle's has the type ${ScalarType[type]}`);
  }
}

const enumNumber = (values: readonly { number: number }[]) =>
  fc.constantFrom(99, ...values.map(({ number }) => number));

function value(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const message = (schema: DescMessage) => messageOf(schema, depth - 1);
  switch (field.fieldKind) {
    case "scalar":
      return scalar(field.scalar);
    case "enum":
      return enumNumber(field.enum.values);
    case "message":
      return field.message === StructSchema ? fc.constant({ a: [1, { b: null }] }) : message(field.message);
    case "list":
      return fc.array(field.listKind === "message" ? message(field.message) : scalar(field.scalar!), { maxLength: 3 });
    case "map":
      return fc.dictionary(fc.string(), field.mapKind === "message" ? message(field.message) : scalar(field.scalar!), {
        maxKeys: 3,
      });
  }
}

const unknownFields = fc.constantFrom<UnknownField[] | undefined>(undefined, [
  { no: 4000, wireType: 2, data: Uint8Array.of(2, 7, 8) },
  { no: 536_870_911, wireType: 0, data: Uint8Array.of(1) },
]);

function messageOf(schema: DescMessage, depth = 4): fc.Arbitrary<MessageShape<DescMessage>> {
  const fields = schema.fields.filter(({ message }) => depth > 0 || !message);
  const chosen = fc
    .subarray(fields)
    .chain((some) => fc.tuple(...some.map((field) => value(field, depth))).map((values) => ({ some, values })));
  return fc.tuple(chosen, unknownFields).map(([{ some, values }, unknown]) => {
    const made = create(schema) as MessageShape<DescMessage> & Record<string, unknown>;
    for (const [index, { oneof, localName }] of some.entries()) {
      if (oneof) made[oneof.localName] = { case: localName, value: values[index] };
      else made[localName] = values[index];
    }
    if (unknown) made.$unknown = unknown;
    return made;
  });
}

describe("encode gives the bytes of toBinary", () => {
  test.each(schemas.map((schema) => [schema.typeName, schema] as const))("for %s", (_, schema) => {
    fc.assert(
      fc.property(messageOf(schema), fc.nat(9), (message, room) => {
        expect(encode(schema, message, room).subarray(room).equals(toBinary(schema, message))).toBe(true);
      }),
    );
  });

  test("for a text that is larger than the memory that is kept", () => {
    const event = newEvent({ payload: { case: "messageDelta", value: { text: "ä".repeat(700_000) } } });
    for (let time = 0; time < 2; time++)
      expect(encode(ThreadEventSchema, event).equals(toBinary(ThreadEventSchema, event))).toBe(true);
  });
});

describe("what is not what its type says", () => {
  const call = create(ToolCallSchema);
  test.each([
    ["a fraction", { ...call, index: 1.5 }],
    ["a negative count", { ...call, index: -1 }],
    ["too large a sequence", { ...call, createdSequence: 2n ** 64n }],
    ["a negative sequence", { ...call, createdSequence: -1n }],
    ["another message", { ...call, source: call }],
  ])("%s is refused in the words of toBinary", (_, toolCall) => {
    const document = create(ToolCallDocumentSchema);
    const wrong = { ...document, toolCall: toolCall as typeof call };
    const words = (write: () => unknown): string => {
      try {
        return `accepted: ${write()}`;
      } catch (error) {
        return String(error);
      }
    };
    const refusal = words(() => toBinary(ToolCallDocumentSchema, wrong));
    expect(refusal).not.toContain("accepted");
    expect(words(() => encode(ToolCallDocumentSchema, wrong))).toBe(refusal);
  });

  test("a number for 64 bits is taken as toBinary takes it", () => {
    const loose = { ...create(ToolCallSchema), createdSequence: 7 as unknown as bigint };
    expect(encode(ToolCallSchema, loose).equals(toBinary(ToolCallSchema, loose))).toBe(true);
  });
});
