// Ranking on a small labelled set: sane, not state of the art.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Documents } from "../../src/documents/documents.js";
import { labelled, library } from "./labelled-set.js";
import { DocumentsDirectory, find, namesOf, putText } from "./support.js";

let dir: DocumentsDirectory;
let documents: Documents;

beforeAll(async () => {
  dir = new DocumentsDirectory();
  documents = await dir.documents();
  for (const [name, text] of Object.entries(library)) await putText(documents, name, text);
});

afterAll(() => dir[Symbol.asyncDispose]());

describe(`${Object.keys(library).length} documents and ${labelled.length} queries`, () => {
  test.each(labelled)("%j finds %s among the first three", async (query, expected) => {
    expect(distinct(namesOf(await find(documents, query))).slice(0, 3)).toContain(expected);
  });

  test("have a mean reciprocal rank of at least 0.85", async () => {
    let sum = 0;
    for (const [query, expected] of labelled) {
      const rank = distinct(namesOf(await find(documents, query))).indexOf(expected);
      if (rank !== -1) sum += 1 / (rank + 1);
    }
    expect(sum / labelled.length).toBeGreaterThanOrEqual(0.85);
  });

  test("of which a word that nobody wrote finds nothing", async () => {
    expect(namesOf(await find(documents, "xylophone quizmaster"))).toEqual([]);
  });
});

const distinct = (names: readonly string[]): string[] => [...new Set(names)];
