// Documents as they are sent: whole, or in pieces that are put together here. What is not finished is held in memory alone,
// within bounds, and forgotten when nothing comes any more. A piece whose answer was lost may be sent again.
import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { HeddleError, invalidField } from "./thread/errors.js";
import { parseId } from "./thread/ids.js";

export interface Upload {
  readonly collection: string;
  readonly name: string;
  readonly mediaType: string;
  readonly data: Uint8Array;
}

export interface UploadPiece extends Upload {
  /** Empty: `data` is the whole document. */
  readonly uploadId: string;
  readonly offset: bigint;
  readonly more: boolean;
}

export interface Uploader {
  /** Whose upload it is: an id alone leads nobody into another's. */
  readonly principal: string;
  readonly signal: AbortSignal;
}

/** Where a whole document goes. */
export interface UploadTarget<Answer> {
  put(upload: Upload, signal?: AbortSignal): Promise<Answer>;
}

export const uploadLimits = {
  documentBytes: 64 * 1024 * 1024,
  /** All that are not finished, together. */
  unfinishedBytes: 256 * 1024 * 1024,
  unfinished: 64,
  /** Answers that are kept for those who ask once more. */
  answers: 1_000,
  /** Without a piece, an upload and its answer are forgotten. */
  quietMs: 60_000,
} as const;

export type UploadLimits = { readonly [Name in keyof typeof uploadLimits]: number };

/** Room that an upload begins with; it doubles. */
const firstBytes = 256 * 1024;

interface Unfinished {
  readonly state: "unfinished";
  readonly document: Omit<Upload, "data">;
  room: Buffer;
  size: number;
}

interface Over<Answer> {
  readonly state: "over";
  readonly document: Omit<Upload, "data">;
  readonly last: LastPiece;
  readonly answer: Promise<Answer>;
}

interface LastPiece {
  readonly offset: bigint;
  readonly sha256: string;
}

type Known<Answer> = Unfinished | Over<Answer>;

export class DocumentUploads<Answer> {
  readonly #target: UploadTarget<Answer>;
  readonly #limits: UploadLimits;
  readonly #known = new Map<string, Known<Answer>>();
  readonly #timers = new Map<string, NodeJS.Timeout>();
  readonly #closing = new AbortController();
  /** Those whose bytes are here; also while they are being stored. */
  #unfinished = 0;
  #bytes = 0;

  constructor(target: UploadTarget<Answer>, limits: UploadLimits = uploadLimits) {
    this.#target = target;
    this.#limits = limits;
    setMaxListeners(0, this.#closing.signal); // Each that is being stored listens.
  }

  /** What is held at this moment. */
  get held(): { readonly uploads: number; readonly bytes: number } {
    return { uploads: this.#unfinished, bytes: this.#bytes };
  }

  /** Undefined while more pieces follow. */
  async take(piece: UploadPiece, { principal, signal }: Uploader): Promise<Answer | undefined> {
    const { collection, name, mediaType, data } = piece;
    if (piece.uploadId === "") {
      refusePart(piece);
      return this.#target.put({ collection, name, mediaType, data }, signal);
    }
    const key = `${parseId(piece.uploadId, "upload_id")} ${principal}`;
    const known: Known<Answer> = this.#known.get(key) ?? {
      state: "unfinished",
      document: { collection, name, mediaType },
      ...nothing,
    };
    refuseOther(known.document, piece);
    if (known.state === "over") return repeatedAnswer(known, piece);
    const isNew = !this.#known.has(key);
    if (isNew && this.#unfinished >= this.#limits.unfinished)
      throw tooMany("unfinishedUploads", `${this.#unfinished} documents in pieces are not finished`);
    this.#add(known, piece);
    if (isNew) {
      this.#known.set(key, known);
      this.#unfinished++;
    }
    this.#forgetLater(key);
    return piece.more ? undefined : this.#finish(key, known, piece);
  }

  /** Forgets what is not finished. */
  close(): void {
    this.#closing.abort(new HeddleError("shutting_down", "The server is closing; send the document again later"));
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
    this.#known.clear();
    this.#unfinished = 0;
    this.#bytes = 0;
  }

  /** Bytes that are here already change nothing. */
  #add(upload: Unfinished, { offset, data, more }: UploadPiece): void {
    const end = offset + BigInt(data.length);
    const isHere = offset <= upload.size && end <= upload.size && holds(upload, Number(offset), data);
    if (isHere && (more || end === BigInt(upload.size))) return;
    if (offset !== BigInt(upload.size)) throw wrongOffset(upload.size);
    if (end > this.#limits.documentBytes)
      throw invalidField("data", `may have at most ${this.#limits.documentBytes} bytes in all pieces together`);
    this.#makeRoom(upload, Number(end));
    upload.room.set(data, upload.size);
    upload.size = Number(end);
  }

  #makeRoom(upload: Unfinished, needed: number): void {
    if (needed <= upload.room.length) return;
    const wanted = Math.max(needed, 2 * upload.room.length, firstBytes);
    const bytes = Math.min(wanted, this.#limits.documentBytes);
    if (this.#bytes + bytes - upload.room.length > this.#limits.unfinishedBytes)
      throw tooMany("unfinishedUploadBytes", "documents in pieces that are not finished take all the room");
    const room = Buffer.allocUnsafeSlow(bytes);
    upload.room.copy(room, 0, 0, upload.size);
    this.#bytes += bytes - upload.room.length;
    upload.room = room;
  }

  /** Not under the caller's signal: somebody else may wait for the same answer, and whoever lost it asks again. */
  #finish(key: string, upload: Unfinished, { offset, data }: UploadPiece): Promise<Answer> {
    const { document, room, size } = upload;
    const answer = this.#target.put({ ...document, data: room.subarray(0, size) }, this.#closing.signal);
    const over: Over<Answer> = { state: "over", document, last: { offset, sha256: sha256Of(data) }, answer };
    this.#forget(key); // And to the end of the line: the oldest answer is the first to go.
    this.#known.set(key, over);
    const settled = (isOver: boolean): void => {
      if (this.#known.get(key) !== over) return; // Closed meanwhile.
      this.#forgetLater(key);
      if (isOver) {
        this.#release(upload);
        this.#boundAnswers();
        return;
      }
      // The last piece is taken back: it may be sent again, and everything before it is still here.
      upload.size = Number(offset);
      this.#known.set(key, upload);
    };
    answer.then(
      () => settled(true),
      (reason) => settled(isAboutDocument(reason)),
    );
    return answer;
  }

  #release(upload: Unfinished): void {
    this.#unfinished--;
    this.#bytes -= upload.room.length;
    upload.room = nothing.room;
  }

  #boundAnswers(): void {
    const over = [...this.#known].filter(([key, { state }]) => state === "over" && this.#timers.has(key));
    for (const [key] of over.slice(0, Math.max(0, over.length - this.#limits.answers))) this.#forget(key);
  }

  #forgetLater(key: string): void {
    clearTimeout(this.#timers.get(key));
    const forget = (): void => {
      const known = this.#known.get(key);
      this.#forget(key);
      if (known?.state === "unfinished") this.#release(known);
    };
    this.#timers.set(key, setTimeout(forget, this.#limits.quietMs).unref());
  }

  #forget(key: string): void {
    clearTimeout(this.#timers.get(key));
    this.#timers.delete(key);
    this.#known.delete(key);
  }
}

const nothing = { room: Buffer.alloc(0), size: 0 } as const;

function refusePart({ offset, more }: UploadPiece): void {
  if (offset !== 0n || more)
    throw invalidField("upload_id", "must be set for a document in pieces: a UUID of your own");
}

function refuseOther(document: Omit<Upload, "data">, piece: UploadPiece): void {
  const field = (["collection", "name", "mediaType"] as const).find((each) => document[each] !== piece[each]);
  if (field !== undefined) throw invalidField("upload_id", "is that of another document: take a new one for each");
}

/** Whoever asks once more is told the same, as long as it is remembered. */
function repeatedAnswer<Answer>({ last, answer }: Over<Answer>, { offset, data, more }: UploadPiece): Promise<Answer> {
  if (!more && offset === last.offset && sha256Of(data) === last.sha256) return answer;
  throw invalidField("upload_id", "is that of an upload whose last piece was sent: take a new one for each document");
}

const holds = ({ room }: Unfinished, offset: number, data: Uint8Array): boolean =>
  room.subarray(offset, offset + data.length).equals(data);

const sha256Of = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex");

function wrongOffset(expected: number): HeddleError {
  const forgotten = expected === 0 ? "; what is not finished is forgotten after a minute without a piece" : "";
  return invalidField("offset", `must be ${expected}: so many bytes of this upload are here${forgotten}`);
}

/** The same bytes would be refused again. */
const isAboutDocument = (reason: unknown): boolean =>
  reason instanceof HeddleError && ["invalid_field", "unsupported_document"].includes(reason.code);

const tooMany = (limit: string, what: string): HeddleError =>
  new HeddleError("limit_exceeded", `At this moment ${what}: try again when others are done`, { detail: { limit } });
