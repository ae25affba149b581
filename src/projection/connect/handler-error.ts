// Connect's handler refuses some calls of one message before any of our code is asked: what came is no JSON, not of that type, or
// too much. Its answer has a code and words; here it gets the details that every error has.
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Compression,
  compressedFlag,
  createAsyncIterable,
  readAllBytes,
  type UniversalServerResponse,
} from "@connectrpc/connect/protocol";
import { errorFromJsonBytes, errorToJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerParse, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { envelope, envelopeBytes } from "../../thread/frame.js";
import type { Dialect } from "./dialect.js";
import { toWire } from "./wire-error.js";

/** Of an answer that says what is wrong and nothing else. It may quote a part of the request. */
const refusalBytes = 16 * 1024 * 1024;

type Refusal = UniversalServerResponse & { body: AsyncIterable<Uint8Array> };

/** Contract: the answer is the handler's own, so that it holds no message. One without a body is HTTP's (405, 415, 505), and stays. */
export async function withDetails(
  answer: UniversalServerResponse,
  { name }: Dialect,
  compressions: readonly Compression[],
): Promise<UniversalServerResponse> {
  if (answer.body === undefined) return answer;
  const refusal = { ...answer, body: answer.body };
  switch (name) {
    case "grpc":
      return inTrailers(refusal);
    case "grpc-web":
      return inLastFrame(refusal, compressions);
    case "connect":
      return inJson(refusal, compressions);
  }
}

async function inTrailers(answer: Refusal): Promise<UniversalServerResponse> {
  const body = await readAllBytes(answer.body, refusalBytes); // Empty; the trailers are whole behind it.
  if (answer.trailer) detail(answer.trailer);
  return { ...answer, body: createAsyncIterable([body]) };
}

async function inLastFrame(answer: Refusal, compressions: readonly Compression[]): Promise<UniversalServerResponse> {
  const frame = await readAllBytes(answer.body, refusalBytes);
  const isCompressed = (frame[0]! & compressedFlag) !== 0;
  const encoding = isCompressed ? answer.header?.get("grpc-encoding") : undefined;
  const trailers = trailerParse(await plain(frame.subarray(envelopeBytes), encoding, compressions));
  detail(trailers);
  return { ...answer, body: createAsyncIterable([envelope(trailerFlag, trailerSerialize(trailers))]) };
}

async function inJson(answer: Refusal, compressions: readonly Compression[]): Promise<UniversalServerResponse> {
  const header = new Headers(answer.header);
  const bytes = await plain(
    await readAllBytes(answer.body, refusalBytes),
    header.get("content-encoding"),
    compressions,
  );
  const unreadable = new ConnectError("the refusal could not be read", Code.Internal);
  const body = errorToJsonBytes(toWire(errorFromJsonBytes(bytes, undefined, unreadable)), undefined);
  header.delete("content-encoding");
  header.set("content-length", String(body.length));
  return { ...answer, header, body: createAsyncIterable([body]) };
}

/** What else the trailers hold, such as the compressions that are known, stays. */
function detail(trailers: Headers): void {
  const error = findTrailerError(trailers);
  if (error && error.details.length === 0) setTrailerStatus(trailers, toWire(error));
}

async function plain(
  bytes: Uint8Array,
  encoding: string | null | undefined,
  compressions: readonly Compression[],
): Promise<Uint8Array> {
  const compression = compressions.find(({ name }) => name === encoding);
  return compression ? compression.decompress(bytes, refusalBytes) : bytes;
}
