// A message as bytes: the bytes of `toBinary`, byte for byte, in a fraction of its time. Every event and document passes here.
//
// What the log stores has a writer of its own, generated from the schema. What that does not do is left to `toBinary`: kinds of fields
// that are rare, and values that are not what their type says, of which it knows what to make or what to complain about.
import { type DescMessage, type MessageShape, toBinary, type UnknownField } from "@bufbuild/protobuf";
import { createWriters } from "../../gen/heddle/writers.js";
import * as wire from "./wire-memory.js";

/** The message behind `room` bytes that are the caller's to fill. */
export function encode<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>, room = 0): Buffer {
  wire.startAt(room);
  const write = writers.get(schema.typeName) ?? writeNothing;
  try {
    write(message as never);
  } catch (reason) {
    if (reason !== wire.irregular) throw reason;
    wire.startAt(room);
    wire.writeRaw(toBinary(schema, message));
  }
  return wire.taken();
}

/** Fields of a newer version, kept as they came. */
function writeUnknown(fields: readonly UnknownField[]): void {
  for (const { no, wireType, data } of fields) {
    wire.writeVarint(((no << 3) | wireType) >>> 0);
    wire.writeRaw(data);
  }
}

/** The writer of a type that only `toBinary` knows. */
const writeNothing = (): never => {
  throw wire.irregular;
};

const writers = createWriters({ ...wire, writeUnknown });
