// The documents on disk: the truth that the index is built from. A document, its passages and its vectors are replaced or taken
// away in one transaction.
import { seal, unseal } from "../../log/checksum.js";
import { damaged } from "../../log/storage-error.js";
import { HeddleError } from "../../thread/errors.js";
import { documentLimits } from "../document-limits.js";
import type { Passage } from "../passage.js";
import { Commits, type Operation } from "./commits.js";
import { type DocumentEntry, decodeEntry, encodeEntry } from "./document-entry.js";
import { after, collectionEnd, collectionPrefix, documentKey, leafKey } from "./document-keys.js";
import { type DocumentTables, openTables } from "./document-tables.js";
import { decodeLeaf } from "./passage-leaf.js";

const lastNumberKey = Buffer.from("last number");
const passageCountKey = Buffer.from("passages");

const entriesAtATime = 50;

export interface NewDocument extends Omit<DocumentEntry, "leaves"> {
  /** Of encodeLeaves. */
  readonly leaves: readonly Uint8Array[];
}

export interface Place {
  readonly collection: string;
  readonly name: string;
}

export class DocumentStore {
  readonly #dir: string;
  readonly #commits: Commits;
  #lastNumber: number;

  constructor(dir: string) {
    this.#dir = dir;
    this.#commits = new Commits(dir, openTables(dir));
    this.#lastNumber = this.#commits.look((tables) => this.#figure(tables, lastNumberKey));
  }

  /** For a document that is to be put. It counts as used once something is put. */
  nextNumber(): number {
    return ++this.#lastNumber;
  }

  get({ collection, name }: Place): DocumentEntry | undefined {
    return this.#commits.look(({ documents }) => this.#entry(documents.getBinary(documentKey(collection, name))));
  }

  /** For who can do without it. */
  getUnlessDamaged({ collection, name }: Place): DocumentEntry | undefined {
    return this.#commits.look(({ documents }) =>
      this.#entryUnlessDamaged(documents.getBinary(documentKey(collection, name))),
    );
  }

  /** In order of collection and name. An empty collection: all of them. Damaged ones are left out. */
  list({ collection, limit, after: place }: { collection: string; limit: number; after: Place | undefined }) {
    const start = place ? after(documentKey(place.collection, place.name)) : Buffer.from([0]);
    const range =
      collection === ""
        ? { start }
        : { start: laterOf(start, collectionPrefix(collection)), end: collectionEnd(collection) };
    const entries: DocumentEntry[] = [];
    for (const entry of this.#entries(range)) {
      if (entry !== undefined) entries.push(entry);
      if (entries.length === limit) break;
    }
    return entries;
  }

  /** All documents, in order, those that come or go meanwhile perhaps. Damaged ones are counted by `onDamaged`, and left out. */
  *intact(onDamaged: () => void = () => undefined): Generator<DocumentEntry> {
    for (const entry of this.#entries({ start: Buffer.from([0]) })) {
      if (entry === undefined) onDamaged();
      else yield entry;
    }
  }

  /** Undefined in place of one that is damaged. */
  *#entries({ start: first, end }: { start: Buffer; end?: Buffer }): Generator<DocumentEntry | undefined> {
    for (let start = first; end === undefined || Buffer.compare(start, end) < 0; ) {
      const range = { start, ...(end && { end }), limit: entriesAtATime };
      const page = this.#commits.look(({ documents }) => [...documents.getRange(range)]);
      for (const { value } of page) yield this.#entryUnlessDamaged(value);
      const last = page.at(-1);
      if (last === undefined) return;
      start = after(last.key);
    }
  }

  count(collection: string): number {
    return this.#commits.look(({ documents }) =>
      collection === ""
        ? documents.getKeysCount({})
        : documents.getKeysCount({ start: collectionPrefix(collection), end: collectionEnd(collection) }),
    );
  }

  /** Resolves with what is stored now, and the number of what it replaced. Rejects with `limit_exceeded` when there is too much. */
  put({ leaves, ...document }: NewDocument): Promise<{ entry: DocumentEntry; replaced: number | undefined }> {
    return this.#commits.commit((tables) => {
      const key = documentKey(document.collection, document.name);
      const before = this.#entryUnlessDamaged(tables.documents.getBinary(key));
      const passages = this.#figure(tables, passageCountKey) - (before?.passages ?? 0) + document.passages;
      if (passages > documentLimits.passagesInAll) throw tooMuch();
      const entry: DocumentEntry = { ...document, leaves: leaves.length };
      const write: Operation[] = [
        ...(before ? removal(before) : []),
        { table: "documents", key, value: seal(encodeEntry(entry)) },
        ...leaves.map((leaf, index) => ({
          table: "passages" as const,
          key: leafKey(entry.number, index),
          value: Buffer.from(leaf.buffer, leaf.byteOffset, leaf.length),
        })),
        figureOperation(lastNumberKey, this.#lastNumber),
        figureOperation(passageCountKey, passages),
      ];
      return { write, result: { entry, replaced: before?.number } };
    });
  }

  /** Resolves with what was there. */
  delete({ collection, name }: Place): Promise<DocumentEntry | undefined> {
    return this.#commits.commit((tables) => {
      const key = documentKey(collection, name);
      const stored = tables.documents.getBinary(key);
      if (stored === undefined) return { write: [], result: undefined };
      const entry = this.#entryUnlessDamaged(stored);
      const passages = this.#figure(tables, passageCountKey) - (entry?.passages ?? 0);
      const write: Operation[] = [
        ...(entry ? removal(entry) : []),
        { table: "documents", key },
        figureOperation(passageCountKey, passages),
      ];
      return { write, result: entry };
    });
  }

  /** A leaf as it is stored; undefined when it is gone. */
  leaf(documentNumber: number, leaf: number): Buffer | undefined {
    return this.#commits.look(({ passages }) => passages.getBinary(leafKey(documentNumber, leaf)));
  }

  /** Undefined when they are gone or damaged. */
  passagesUnlessDamaged(documentNumber: number, leaf: number): Passage[] | undefined {
    const stored = this.leaf(documentNumber, leaf);
    return stored && decodeLeaf(stored);
  }

  /** The vectors of a leaf (vector-block.ts); undefined when there are none, or they are damaged. */
  vectors(documentNumber: number, leaf: number): Buffer | undefined {
    const stored = this.#commits.look(({ vectors }) => vectors.getBinary(leafKey(documentNumber, leaf)));
    return stored && unseal(stored);
  }

  /** Resolves with whether the document is still there to have them. */
  putVectors(entry: DocumentEntry, leaf: number, block: Uint8Array): Promise<boolean> {
    return this.#commits.commit((tables) => {
      const now = this.#entryUnlessDamaged(tables.documents.getBinary(documentKey(entry.collection, entry.name)));
      if (now?.number !== entry.number) return { write: [], result: false };
      return { write: [{ table: "vectors", key: leafKey(entry.number, leaf), value: seal(block) }], result: true };
    });
  }

  close(): Promise<void> {
    return this.#commits.close();
  }

  #entry(stored: Buffer | undefined): DocumentEntry | undefined {
    if (stored === undefined) return undefined;
    const payload = unseal(stored);
    if (payload === undefined) throw this.#damaged("A document");
    return decodeEntry(payload);
  }

  /** For who writes over it anyway. */
  #entryUnlessDamaged(stored: Buffer | undefined): DocumentEntry | undefined {
    const payload = stored && unseal(stored);
    return payload && decodeEntry(payload);
  }

  #figure({ meta }: DocumentTables, key: Buffer): number {
    const stored = meta.getBinary(key);
    if (stored === undefined) return 0;
    const payload = unseal(stored);
    if (payload === undefined) throw this.#damaged("A count");
    return Number(payload.readBigUInt64BE());
  }

  #damaged(what: string): HeddleError {
    return damaged(`${what} of the indexed documents`, this.#dir);
  }
}

function removal({ number, leaves }: DocumentEntry): Operation[] {
  return Array.from({ length: leaves }, (_, leaf) => leafKey(number, leaf)).flatMap((key) => [
    { table: "passages", key },
    { table: "vectors", key },
  ]);
}

function figureOperation(key: Buffer, figure: number): Operation {
  const value = Buffer.allocUnsafe(8);
  value.writeBigUInt64BE(BigInt(figure));
  return { table: "meta", key, value: seal(value) };
}

const laterOf = (a: Buffer, b: Buffer): Buffer => (Buffer.compare(a, b) > 0 ? a : b);

const tooMuch = (): HeddleError =>
  new HeddleError(
    "limit_exceeded",
    `All documents together may have ${documentLimits.passagesInAll} passages: delete some, or leave this one out`,
    { detail: { limit: "documents.passagesInAll" } },
  );
