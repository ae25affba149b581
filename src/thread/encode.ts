// A message as bytes: the bytes of `toBinary`, byte for byte, in a fraction of its time. Every event and document passes here.
//
// A type's writer is made once, out of its descriptor. What is not done here is left to `toBinary`: kinds of fields that are rare,
// and values that are not what their type says, of which it knows what to make or what to complain about.
import { type DescField, type DescMessage, type MessageShape, ScalarType, toBinary } from "@bufbuild/protobuf";
import {
  begin,
  end,
  irregular,
  startAt,
  taken,
  writeBool,
  writeBytes,
  writeDouble,
  writeInt32,
  writeInt64,
  writeRaw,
  writeString,
  writeUint32,
  writeUint64,
  writeVarint,
} from "./wire-memory.js";

/** The message behind `room` bytes that are the caller's to fill. */
export function encode<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>, room = 0): Buffer {
  startAt(room);
  try {
    writerOf(schema).write(message as unknown as Values);
  } catch (reason) {
    if (reason !== irregular) throw reason;
    startAt(room);
    writeRaw(toBinary(schema, message));
  }
  return taken();
}

type Values = Readonly<Record<string, unknown>>;
type Write<Value> = (value: Value) => void;

interface MessageWriter {
  write: Write<Values>;
}

const writers = new WeakMap<DescMessage, MessageWriter>();

/** Registered before its fields are looked at: a message may hold messages of its own type. */
function writerOf(schema: DescMessage): MessageWriter {
  const known = writers.get(schema);
  if (known) return known;
  const writer: MessageWriter = { write: writeNothing };
  writers.set(schema, writer);
  const parts = partsOf(schema);
  if (parts) writer.write = (message) => writeMessage(schema.typeName, parts, message);
  return writer;
}

/** The writer of a type that only `toBinary` knows. */
const writeNothing = (): never => {
  throw irregular;
};

function writeMessage(typeName: string, parts: readonly Write<Values>[], message: Values): void {
  if (message["$typeName"] !== typeName) throw irregular;
  for (const write of parts) write(message);
  const unknown = message["$unknown"];
  if (unknown !== undefined) writeUnknown(unknown as NonNullable<MessageShape<DescMessage>["$unknown"]>);
}

/** Fields of a newer version, kept as they came. */
function writeUnknown(fields: NonNullable<MessageShape<DescMessage>["$unknown"]>): void {
  for (const { no, wireType, data } of fields) {
    writeVarint(((no << 3) | wireType) >>> 0);
    writeRaw(data);
  }
}

/** The fields in the order of their numbers, as `toBinary` has them. Undefined: not a type for here. */
function partsOf({ fields, file }: DescMessage): Write<Values>[] | undefined {
  if (file.edition !== proto3) return undefined;
  const parts: Write<Values>[] = [];
  const oneofs = new Map<string, Map<unknown, Write<unknown>>>();
  let last: DescField["oneof"];
  for (const field of [...fields].sort((a, b) => a.number - b.number)) {
    const write = fieldWriter(field);
    if (!write) return undefined;
    const { oneof, localName } = field;
    if (!oneof) parts.push(partWriter(field, write));
    else if (oneof === last) oneofs.get(oneof.localName)!.set(localName, write);
    else if (oneofs.has(oneof.localName))
      return undefined; // Another field stands among its cases.
    else {
      const cases = new Map([[localName as unknown, write]]);
      oneofs.set(oneof.localName, cases);
      parts.push(oneofWriter(oneof.localName, cases));
    }
    last = oneof;
  }
  return parts;
}

const proto3 = 999;

/** One look, however many cases there are. */
function oneofWriter(name: string, cases: ReadonlyMap<unknown, Write<unknown>>): Write<Values> {
  return (message) => {
    const chosen = message[name] as { readonly case?: unknown; readonly value?: unknown };
    if (chosen.case !== undefined) cases.get(chosen.case)?.(chosen.value);
  };
}

/** Leaves out what counts as not set. */
function partWriter(field: DescField, write: Write<unknown>): Write<Values> {
  const { localName: name } = field;
  if (field.fieldKind === "list" || field.fieldKind === "map") return (message) => write(message[name]);
  if (field.fieldKind === "message" || field.presence !== implicit)
    return (message) => {
      const value = message[name];
      if (value !== undefined) write(value);
    };
  if (field.fieldKind === "scalar" && field.scalar === ScalarType.BYTES)
    return (message) => {
      const value = message[name];
      if (!(value instanceof Uint8Array) || value.length > 0) write(value);
    };
  const zero = zeroOf(field);
  return (message) => {
    const value = message[name];
    if (value !== zero) write(value);
  };
}

/** Zero is not written unless the field says whether it is there. */
const implicit = 2;

function zeroOf(field: DescField): unknown {
  switch (field.scalar) {
    case ScalarType.STRING:
      return "";
    case ScalarType.BOOL:
      return false;
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return 0n;
    default:
      return 0;
  }
}

/** Writes a value with its tag. Undefined: not a field for here. */
function fieldWriter(field: DescField): Write<unknown> | undefined {
  switch (field.fieldKind) {
    case "scalar":
      // Of a double, minus zero is not zero.
      if (field.scalar === ScalarType.DOUBLE && field.presence === implicit) return undefined;
      return scalarWriter(field.scalar, field.number);
    case "enum":
      return field.enum.values[0]?.number === 0 ? scalarWriter(ScalarType.INT32, field.number) : undefined;
    case "message":
      return field.delimitedEncoding ? undefined : messageWriter(field.message, field.number);
    case "list": {
      if (field.listKind === "message" && field.delimitedEncoding) return undefined;
      if (field.listKind === "message") return each(messageWriter(field.message, field.number));
      return field.listKind === "scalar" && !field.packed ? each(scalarWriter(field.scalar, field.number)) : undefined;
    }
    case "map":
      return field.mapKey === ScalarType.STRING && field.mapKind === "scalar"
        ? mapWriter(field.number, scalarWriter(field.scalar, 2))
        : undefined;
  }
}

function each(write: Write<unknown> | undefined): Write<unknown> | undefined {
  return write && ((list) => (list as readonly unknown[]).forEach(write));
}

function mapWriter(number: number, writeValue: Write<unknown> | undefined): Write<unknown> | undefined {
  if (!writeValue) return undefined;
  const tag = (number << 3) | lengthFirst;
  const writeKey = scalarWriter(ScalarType.STRING, 1)!;
  return (map) => {
    for (const [key, value] of Object.entries(map as Values)) {
      writeVarint(tag);
      const start = begin();
      writeKey(key);
      writeValue(value);
      end(start);
    }
  };
}

/** Wire types. */
const [varint, eightBytes, lengthFirst] = [0, 1, 2] as const;

/** Some of protobuf's own types look different in memory than on the wire. */
const plainTypes = new Set(["google.protobuf.Timestamp", "google.protobuf.Duration"]);

function messageWriter(schema: DescMessage, number: number): Write<unknown> | undefined {
  if (schema.typeName.startsWith("google.protobuf.") && !plainTypes.has(schema.typeName)) return undefined;
  const writer = writerOf(schema);
  const tag = (number << 3) | lengthFirst;
  return (message) => {
    writeVarint(tag);
    const start = begin();
    writer.write(message as Values);
    end(start);
  };
}

function scalarWriter(type: ScalarType, number: number): Write<unknown> | undefined {
  const tagged = (wireType: number, write: Write<unknown>): Write<unknown> => {
    const tag = (number << 3) | wireType;
    return (value) => {
      writeVarint(tag);
      write(value);
    };
  };
  switch (type) {
    case ScalarType.STRING:
      return tagged(lengthFirst, writeString);
    case ScalarType.BYTES:
      return tagged(lengthFirst, writeBytes);
    case ScalarType.BOOL:
      return tagged(varint, writeBool);
    case ScalarType.INT32:
      return tagged(varint, writeInt32);
    case ScalarType.UINT32:
      return tagged(varint, writeUint32);
    case ScalarType.INT64:
      return tagged(varint, writeInt64);
    case ScalarType.UINT64:
      return tagged(varint, writeUint64);
    case ScalarType.DOUBLE:
      return tagged(eightBytes, writeDouble);
    default:
      return undefined;
  }
}
