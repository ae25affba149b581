// An error as a client got it, in one form for all protocols: the code and the typed details. Texts are for people.
import { createRegistry, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Any, anyUnpack } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { file_google_rpc_error_details } from "../../../gen/google/rpc/error_details_pb.js";
import { file_heddle_v1_error } from "../../../gen/heddle/v1/error_pb.js";

const registry = createRegistry(file_google_rpc_error_details, file_heddle_v1_error);

export interface Detail {
  readonly type: string;
  readonly value: JsonValue;
}

export class StreamFailure extends Error {
  /** As Connect spells it, such as `not_found`. */
  readonly code: string;
  readonly details: readonly Detail[];

  constructor(code: string, message: string, details: readonly Detail[]) {
    super(message);
    this.name = "StreamFailure";
    this.code = code;
    this.details = details;
  }
}

/** What Connect's own clients throw. */
export function failureOf(reason: unknown): StreamFailure {
  const error = ConnectError.from(reason);
  const details = error.details.map((detail) => {
    if (!("type" in detail)) throw new Error("a received detail has a type and bytes");
    return detailOf(detail.type, detail.value);
  });
  return new StreamFailure(codeToString(error.code), error.rawMessage, details);
}

/** What gRPC libraries hand out: a status number, a text, and the bytes of grpc-status-details-bin in base64. */
export function failureOfStatus(status: { code: number; message: string; details: string | undefined }): StreamFailure {
  const headers = new Headers({
    "grpc-status": String(status.code),
    "grpc-message": encodeURIComponent(status.message),
  });
  if (status.details !== undefined) headers.set("grpc-status-details-bin", status.details);
  return failureOf(findTrailerError(headers));
}

/** One detail from its type name and its bytes. A type that is not ours, or bytes that are not of it, are an error. */
export function detailOf(type: string, value: Uint8Array): Detail {
  const packed = { $typeName: "google.protobuf.Any", typeUrl: `type.googleapis.com/${type}`, value } as Any;
  const message = anyUnpack(packed, registry);
  const schema = registry.getMessage(type);
  if (!message || !schema) throw new Error(`unknown error detail ${type}`);
  return { type, value: toJson(schema, message) };
}
