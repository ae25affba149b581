// Bodies as they arrive in pieces: each piece is checked against what came before, text is redacted, and inputs are hashed.
import { createHash, type Hash, hash } from "node:crypto";
import type { BodyWrite } from "../log/event-log.js";
import { type HeddleError, invalidField } from "../thread/errors.js";
import { ForkedMap } from "../thread/forked-map.js";
import type { ToolCallId } from "../thread/ids.js";
import { limits } from "../thread/limits.js";
import { type OpenCall, type OpenContent, withContents } from "../thread/open-call.js";
import { type ContentChunk, ContentRole } from "../thread/schema.js";
import type { ThreadState } from "../thread/state.js";
import type { Redactions } from "./redactions.js";

/** An input as far as it has come. Most are small and come whole: those are hashed in one go, when somebody asks. */
type Arrived =
  | { readonly bytes: number; readonly whole: Uint8Array; readonly hash?: undefined }
  | { readonly bytes: number; readonly hash: Hash };

/** A larger one is hashed as it comes, and not kept. */
const keptBytes = 4 * 1024;

/** The hashes of inputs that are still arriving. */
export class Inputs {
  readonly #arrived: ForkedMap<string, Arrived>;

  constructor(arrived = new ForkedMap<string, Arrived>()) {
    this.#arrived = arrived;
  }

  fork(): Inputs {
    return new Inputs(this.#arrived.fork());
  }

  /** Contract: the bytes do not change. */
  add(callId: string, bytes: Uint8Array): void {
    const before = this.#arrived.get(callId);
    if (!before && bytes.length <= keptBytes) this.#arrived.set(callId, { bytes: bytes.length, whole: bytes });
    else this.#arrived.set(callId, { bytes: (before?.bytes ?? 0) + bytes.length, hash: begun(before).update(bytes) });
  }

  of(callId: string): { bytes: number; sha256: Uint8Array } | undefined {
    const input = this.#arrived.get(callId);
    if (!input) return undefined;
    const sha256 = input.hash ? input.hash.copy().digest() : sha256Of(input.whole);
    return { bytes: input.bytes, sha256 };
  }

  forget(callId: string): void {
    this.#arrived.delete(callId);
  }
}

/** By way of a text: a digest that Node gives as a buffer has memory of its own, which costs more than all the rest. */
const sha256Of = (bytes: Uint8Array): Buffer => Buffer.from(hash("sha256", bytes, "binary"), "latin1");

/** Copied before it changes: a draft that is thrown away must leave the original alone. */
function begun(before: Arrived | undefined): Hash {
  if (before?.hash) return before.hash.copy();
  const hash = createHash("sha256");
  return before ? hash.update(before.whole) : hash;
}

interface Around {
  readonly state: ThreadState;
  readonly redactions: Redactions;
  readonly inputs: Inputs;
}

/** A piece as it comes. */
export interface Arriving {
  readonly chunk: ContentChunk;
  /** Its place in the batch, for the error. */
  readonly index: number;
  /** It is all of its body: nothing follows. */
  readonly isWhole: boolean;
}

/** The call with the piece added, and what to store of it. */
export function addContent(
  { chunk, index, isWhole }: Arriving,
  around: Around,
): { open: OpenCall; body: BodyWrite | undefined } {
  const refuse = ({ field, rule }: { field: string; rule: string }): HeddleError => {
    return invalidField(`contents[${index}].${field}`, rule);
  };
  const open = around.state.calls.get(chunk.toolCallId);
  if (!open)
    throw refuse({
      field: "tool_call_id",
      rule: "must be an open call of this thread, created before or in this batch",
    });
  const known = open.contents.find(({ info }) => info.contentId === chunk.contentId);
  const fault = chunkFault(chunk, open, known);
  if (fault) throw refuse(fault);
  const bytes = storedBytes(chunk, { known, isWhole }, around);
  const before = known?.info.sizeBytes ?? 0n;
  const content: OpenContent = {
    receivedBytes: (known?.receivedBytes ?? 0) + chunk.data.length,
    info: {
      $typeName: "heddle.v1.ContentInfo",
      contentId: chunk.contentId,
      role: chunk.role,
      mediaType: known?.info.mediaType ?? (chunk.mediaType || "application/octet-stream"),
      sizeBytes: before + BigInt(bytes.length),
    },
  };
  const contents = known
    ? open.contents.map((other) => (other === known ? content : other))
    : [...open.contents, content];
  const body = { callId: chunk.toolCallId as ToolCallId, contentId: chunk.contentId, offset: Number(before), bytes };
  // An empty body is stored as one empty piece, so that it can be read; later empty pieces add nothing.
  return { open: withContents(open, contents), body: bytes.length > 0 || !known ? body : undefined };
}

/** The shape of a body's name. */
export const contentId = /^[a-z0-9][a-z0-9._-]{0,63}$/;
/** The shape of a media type. */
export const mediaType = /^[\x20-\x7e]{0,200}$/;

function chunkFault(
  chunk: ContentChunk,
  open: OpenCall,
  known: OpenContent | undefined,
): { field: string; rule: string } | undefined {
  if (!contentId.test(chunk.contentId))
    return {
      field: "content_id",
      rule: "must be 1 to 64 characters of a-z 0-9 - _ . and start with a letter or digit",
    };
  if (chunk.role === ContentRole.UNSPECIFIED || ContentRole[chunk.role] === undefined)
    return { field: "role", rule: "must be set to a value that this server knows" };
  if ((chunk.role === ContentRole.INPUT) !== (chunk.contentId === "input"))
    return { field: "content_id", rule: "must be `input` for the input, and for nothing else" };
  if ((chunk.role === ContentRole.RESULT) !== (chunk.contentId === "result"))
    return { field: "content_id", rule: "must be `result` for the result, and for nothing else" };
  if ((chunk.role === ContentRole.MODEL_TEXT) !== (chunk.contentId === "model"))
    return { field: "content_id", rule: "must be `model` for what the model was told, and for nothing else" };
  if (known && known.info.role !== chunk.role)
    return { field: "role", rule: "must be the same in every chunk of a body" };
  if (!mediaType.test(chunk.mediaType))
    return { field: "media_type", rule: "may have at most 200 printable ASCII characters" };
  if (chunk.data.length > limits.contentChunkBytes)
    return { field: "data", rule: `may have at most ${limits.contentChunkBytes} bytes in one chunk` };
  if (chunk.role === ContentRole.INPUT && open.state !== "created")
    return { field: "content_id", rule: "the input is complete: nothing can be added to it" };
  if (!known && open.contents.length >= limits.contentsPerCall)
    return { field: "content_id", rule: `a call may have at most ${limits.contentsPerCall} bodies` };
  const expected = BigInt(known?.receivedBytes ?? 0);
  if (chunk.offset !== expected)
    return { field: "offset", rule: `must be ${expected}, the number of bytes received before` };
  return undefined;
}

const textual = /^text\/|[/+](json|xml|javascript|x-ndjson|yaml)\b/i;

/** Inputs are stored as they are: whoever runs the call needs them exact, and their hash is on the stream. */
function storedBytes(
  chunk: ContentChunk,
  { known, isWhole }: { known: OpenContent | undefined; isWhole: boolean },
  { redactions, inputs }: Around,
): Uint8Array {
  if (chunk.role === ContentRole.INPUT) {
    inputs.add(chunk.toolCallId, chunk.data);
    return chunk.data;
  }
  if (!textual.test(known?.info.mediaType ?? chunk.mediaType)) return chunk.data;
  // Read as one character a byte, so that a character that a chunk's end cuts in two stays whole; the redactor knows secrets
  // in this form too.
  const text = Buffer.from(chunk.data.buffer, chunk.data.byteOffset, chunk.data.length).toString("latin1");
  const redacted =
    isWhole && !known
      ? redactions.wholeIfCut(text)
      : redactions.inStream(chunk.toolCallId, `body ${chunk.contentId}`, text);
  return redacted === text ? chunk.data : Buffer.from(redacted, "latin1");
}
