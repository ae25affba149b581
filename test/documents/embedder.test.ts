// How the embedder looks for what has no vectors: it forgets nobody who wakes it, and looks at nothing twice.
import { expect, test } from "vitest";
import { Embedder } from "../../src/documents/embedding/embedder.js";
import type { EmbeddingsEndpoint } from "../../src/documents/embedding/embeddings-endpoint.js";
import type { DocumentEntry } from "../../src/documents/store/document-entry.js";
import type { DocumentStore } from "../../src/documents/store/document-store.js";

/** A store of documents with one passage each. */
class SmallStore {
  readonly entries: Pick<DocumentEntry, "number" | "leaves">[] = [];
  readonly #vectors = new Map<number, Buffer>();
  looks = 0;
  onAllSeen = (): void => undefined;

  *intact() {
    yield* this.entries;
    this.onAllSeen();
  }

  vectors(number: number): Buffer | undefined {
    this.looks++;
    return this.#vectors.get(number);
  }

  passagesUnlessDamaged(number: number) {
    return [{ headings: [], text: `passage ${number}` }];
  }

  async putVectors({ number }: DocumentEntry, _leaf: number, block: Buffer): Promise<boolean> {
    this.#vectors.set(number, block);
    return true;
  }
}

function embedding(store: SmallStore) {
  const embedded: number[] = [];
  const endpoint = { model: "small", embed: async (texts: string[]) => texts.map(() => Float32Array.of(1)) };
  const embedder = new Embedder(store as unknown as DocumentStore, {
    endpoint: endpoint as unknown as EmbeddingsEndpoint,
    onVectors: async ({ documentNumber }) => void embedded.push(documentNumber),
    onProblem: (problem) => {
      throw problem;
    },
  });
  return { embedder, embedded };
}

test.each(Array.from({ length: 16 }, (_, turns) => turns + 1))(
  "is woken %i turns after its last look",
  async (turns) => {
    const store = new SmallStore();
    const { embedder, embedded } = embedding(store);
    const late = new Promise<void>((resolve) => {
      store.onAllSeen = async () => {
        store.onAllSeen = () => undefined;
        for (let turn = 0; turn < turns; turn++) await undefined;
        store.entries.push({ number: 1, leaves: 1 });
        embedder.wake();
        resolve();
      };
    });
    embedder.wake();
    await late;
    await embedder.settled();
    expect(embedded).toEqual([1]);
  },
);

test("does not look again at what has its vectors, and lets others work while it looks", async () => {
  const store = new SmallStore();
  for (let number = 1; number <= 500; number++) store.entries.push({ number, leaves: 1 });
  const { embedder, embedded } = embedding(store);
  let turns = 0;
  const counting = setInterval(() => turns++);
  embedder.wake();
  await embedder.settled();
  expect(embedded).toHaveLength(500);
  const look = async () => {
    store.looks = 0;
    embedder.wake();
    await embedder.settled();
    return store.looks;
  };
  expect(await look()).toBe(500);
  store.entries.splice(0, 100);
  store.entries.push({ number: 501, leaves: 1 });
  expect(await look()).toBe(1);
  clearInterval(counting);
  expect(embedded).toHaveLength(501);
  expect(turns).toBeGreaterThan(5);
});
