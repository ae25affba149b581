import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Documents } from "../../src/documents/documents.js";
import { createRedactor } from "../../src/thread/redact.js";
import { DocumentsDirectory, find, namesOf, never, pdfOf, putText } from "./support.js";

describe("a folder of 200 documents", () => {
  test("is indexed, changed and indexed again: only what has changed is worked on", { timeout: 180_000 }, async () => {
    await using dir = new DocumentsDirectory();
    const folder = sampleFolder(200);
    const documents = await dir.documents();
    expect(await putAll(documents, folder)).toEqual({ worked: [...folder.keys()], unchanged: 0 });
    expect(await documents.count()).toBe(200);
    for (const name of ["note-7.txt", "guide-21.md", "page-32.html", "paper-103.pdf"]) {
      const number = /\d+/.exec(name)![0];
      const found = await find(documents, `marker${number}`);
      expect(namesOf(found)[0], name).toBe(name);
      expect(found.passages[0]!.page).toBe(name.endsWith("pdf") ? 2 : undefined);
    }

    expect(await putAll(documents, folder)).toEqual({ worked: [], unchanged: 200 });
    folder.set("guide-21.md", Buffer.from("# Guide 21\n\nAll about the new otter.\n"));
    folder.set("paper-103.pdf", pdfOf(["All about the new badger"]));
    expect(await putAll(documents, folder)).toEqual({ worked: ["guide-21.md", "paper-103.pdf"], unchanged: 198 });
    expect(namesOf(await find(documents, "otter"))).toEqual(["guide-21.md"]);
    expect(namesOf(await find(documents, "badger"))).toEqual(["paper-103.pdf"]);
    expect(namesOf(await find(documents, "marker21"))).toEqual([]);

    await dir.close(documents);
    const again = await dir.documents();
    expect(await putAll(again, folder)).toEqual({ worked: [], unchanged: 200 });
    expect(namesOf(await find(again, "otter"))).toEqual(["guide-21.md"]);
    expect(namesOf(await find(again, "marker7"))).toEqual(["note-7.txt"]);
  });
});

describe("a document", () => {
  test("is there with what is known of it, replaced, and gone", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const { document, unchanged } = await putText(documents, "a/b.md", "# Title\n\nAbout herons.");
    expect(unchanged).toBe(false);
    expect(document).toMatchObject({
      collection: "default",
      name: "a/b.md",
      mediaType: "text/markdown",
      sizeBytes: 22,
      passages: 1,
    });
    expect(document.sha256).toHaveLength(32);
    expect(await documents.get("default", "a/b.md")).toEqual(document);
    expect(await documents.get("other", "a/b.md")).toBeUndefined();
    await putText(documents, "a/b.md", "About storks.");
    expect(namesOf(await find(documents, "herons"))).toEqual([]);
    expect(namesOf(await find(documents, "storks"))).toEqual(["a/b.md"]);
    expect(await documents.delete("default", "a/b.md")).toBe(true);
    expect(await documents.delete("default", "a/b.md")).toBe(false);
    expect(namesOf(await find(documents, "storks"))).toEqual([]);
    expect(await documents.count()).toBe(0);
  });

  test("of the same bytes but another media type is read again", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const upload = { collection: "", name: "a", data: Buffer.from("# Title\n\ntext") };
    await documents.put({ ...upload, mediaType: "text/plain" });
    expect((await find(documents, "title")).passages[0]!.headings).toEqual([]);
    expect(await documents.put({ ...upload, mediaType: "text/markdown; charset=utf-8" })).toMatchObject({
      unchanged: false,
    });
    expect((await find(documents, "title")).passages[0]!.headings).toEqual(["Title"]);
  });

  test("that cannot be read leaves the one before as it was", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    await putText(documents, "a.txt", "About herons.");
    await expect(putText(documents, "a.txt", Buffer.from([0xff, 0x00, 0xff]))).rejects.toMatchObject({
      code: "unsupported_document",
    });
    expect(namesOf(await find(documents, "herons"))).toEqual(["a.txt"]);
  });

  test.each([
    ["collection", { collection: "Big" }],
    ["collection", { collection: "-a" }],
    ["collection", { collection: "a".repeat(65) }],
    ["name", { name: "" }],
    ["name", { name: " " }],
    ["name", { name: "a\nb.txt" }],
    ["name", { name: "\ud800.txt" }],
    ["name", { name: `${"a".repeat(1_024)}b` }],
    ["name", { name: `key sk-ant-api03-${"x".repeat(80)}.txt` }],
    ["data", { data: Buffer.alloc(64 * 1024 * 1024 + 1) }],
  ])("with a wrong %s is refused by that field", async (field, wrong) => {
    await using dir = new DocumentsDirectory();
    const redactor = createRedactor({ secrets: [] });
    const documents = await dir.documents({ redact: (text) => redactor.text(text) });
    const upload = { collection: "", name: "a.txt", mediaType: "", data: Buffer.from("a"), ...wrong };
    await expect(documents.put(upload)).rejects.toMatchObject({ code: "invalid_field", detail: { field } });
    expect(await documents.count()).toBe(0);
  });

  test.each([
    ["a.exe", ""],
    ["README", ""],
    ["a.constructor", ""],
    ["a.txt", "image/png"],
  ])("named %s with media type %j is of no known kind", async (name, mediaType) => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const upload = { collection: "", name, mediaType, data: Buffer.from("a") };
    await expect(documents.put(upload)).rejects.toMatchObject({
      code: "unsupported_document",
      message: expect.stringContaining("text/markdown"),
    });
  });

  test("with the longest of names is kept apart from its neighbours", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const names = ["a", "b", "c"].map((end) => `${"語".repeat(1_019)}${end}.txt`);
    for (const name of names) await putText(documents, name, `About ${name.at(-5)}zebra`);
    for (const name of names) expect(await documents.get("default", name)).toMatchObject({ name });
    const listed: string[] = [];
    for (let after: { collection: string; name: string } | undefined; ; ) {
      const [next] = await documents.list({ collection: "default", limit: 1, after });
      if (next === undefined) break;
      listed.push(next.name);
      after = next;
    }
    expect(listed.sort()).toEqual(names);
    expect(await documents.delete("default", names[1]!)).toBe(true);
    expect(await documents.count()).toBe(2);
  });
});

describe("collections", () => {
  test("are listed, counted and searched apart", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    for (const collection of ["b", "a", "a.b"])
      for (const name of ["2.txt", "1.txt"]) await putText(documents, name, `herons of ${collection}`, collection);
    const all = await documents.list({ collection: "", limit: 10, after: undefined });
    expect(all.map(({ collection, name }) => `${collection}/${name}`)).toEqual([
      "a/1.txt",
      "a/2.txt",
      "a.b/1.txt",
      "a.b/2.txt",
      "b/1.txt",
      "b/2.txt",
    ]);
    const after = { collection: "a", name: "1.txt" };
    expect((await documents.list({ collection: "a", limit: 10, after })).map(({ name }) => name)).toEqual(["2.txt"]);
    expect(await documents.list({ collection: "a", limit: 10, after: { collection: "b", name: "1.txt" } })).toEqual([]);
    expect(await documents.count("a")).toBe(2);
    expect(await documents.count("none")).toBe(0);
    const found = await find(documents, "herons", { collection: "a" });
    expect(found.passages.map(({ collection }) => collection)).toEqual(["a", "a"]);
  });
});

describe("searching", () => {
  test("is safe with odd queries", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    await putText(documents, "a.txt", "About herons, of course.");
    const odd = [" ", "\0", "\ud800", "🙂", "(((", "*", "AND OR NOT", "__proto__ constructor", "a".repeat(1_000)];
    for (const query of [...odd, "é".repeat(1_000), "ab ".repeat(333), "語".repeat(1_000), "x\n\n\ty"])
      expect(await find(documents, query)).toMatchObject({ ranking: "text" });
    expect(namesOf(await find(documents, "__proto__ herons"))).toEqual(["a.txt"]);
    for (const query of ["", "a".repeat(1_001)])
      await expect(find(documents, query)).rejects.toMatchObject({ code: "invalid_field", detail: { field: "query" } });
  });

  test("does not let one document crowd out the others", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const section = (n: number) => `## Herons ${n}\n\nHerons, herons, herons.\n\n`;
    await putText(documents, "herons.md", Array.from({ length: 30 }, (_, n) => section(n)).join(""));
    await putText(documents, "birds.md", "Storks, cranes, and now and then some herons among all the other birds.");
    const found = namesOf(await find(documents, "herons", { limit: 4 }));
    expect(found).toHaveLength(4);
    expect(found).toContain("birds.md");
    expect(namesOf(await find(documents, "herons", { limit: 20 }))).toHaveLength(20);
  });

  test("is called off with its signal", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(documents.search({ query: "a", collection: undefined, limit: 1, signal })).rejects.toThrow("enough");
  });

  test("goes on beside puts and deletes, and sees the old or the new", { timeout: 60_000 }, async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const text = (name: string, turn: number) => `${`Herons of ${name}. `.repeat(200)}turn${turn}x`;
    const names = Array.from({ length: 8 }, (_, n) => `${n}.txt`);
    await Promise.all(names.map((name) => putText(documents, name, text(name, 0))));
    let isOver = false;
    const searching = Promise.all(
      [1, 2, 3].map(async () => {
        for (let times = 0; !isOver && times < 10_000; times++) {
          const { passages } = await find(documents, "herons", { limit: 50 });
          expect(new Set(passages.map(({ documentName }) => documentName)).size).toBe(names.length);
        }
      }),
    );
    for (let turn = 1; turn <= 15; turn++)
      await Promise.all(names.map((name) => putText(documents, name, text(name, turn))));
    isOver = true;
    await searching;
    expect(namesOf(await find(documents, "turn15x", { limit: 50 })).sort()).toEqual(names);
    expect(namesOf(await find(documents, "turn14x", { limit: 50 })).filter((name) => name === "0.txt")).toEqual([]);
  });
});

describe("puts of one name at the same time", () => {
  test("happen in the order they were asked for", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const turns = Array.from({ length: 20 }, (_, turn) => `Herons number${turn}`);
    await Promise.all(turns.map((text) => putText(documents, "a.txt", text)));
    expect((await find(documents, "herons")).passages.map(({ text }) => text)).toEqual(["Herons number19"]);
  });
});

describe("a store", () => {
  test("of a newer layout is refused with its directory, and what to do", async () => {
    await using dir = new DocumentsDirectory();
    await dir.close(await dir.documents());
    const { openEnvironment } = await import("../../src/log/lmdb-tables.js");
    const { seal } = await import("../../src/log/checksum.js");
    const { root, meta } = openEnvironment(dir.path, false)!;
    meta.putSync(Buffer.from("version"), seal(Buffer.from([9])));
    await root.close();
    await expect(dir.documents()).rejects.toMatchObject({
      code: "directory_version",
      detail: { path: dir.path, found: 9, supported: 1 },
      message: expect.stringContaining("index the documents again"),
    });
  });

  test("that is no store is refused, and left as it is", async () => {
    await using dir = new DocumentsDirectory();
    await dir.close(await dir.documents());
    const file = join(dir.path, "data.mdb");
    writeFileSync(file, "mine");
    await expect(dir.documents()).rejects.toMatchObject({ code: "storage_failed", detail: { path: file } });
    expect(readFileSync(file, "utf8")).toBe("mine");
  });

  test("with damaged passages finds the others, says so, and is healed by the same bytes", async () => {
    await using dir = new DocumentsDirectory();
    const before = await dir.documents();
    await putText(before, "a.txt", "About herons in the reeds.");
    await putText(before, "b.txt", "About herons in the trees.");
    await dir.close(before);
    const file = join(dir.path, "data.mdb");
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf("in the reeds"); at !== -1; at = bytes.indexOf("in the reeds", at + 1))
      bytes[at] = 0x58;
    writeFileSync(file, bytes);
    const problems: unknown[] = [];
    const documents = await dir.documents({ onProblem: (problem) => problems.push(problem) });
    expect(namesOf(await find(documents, "herons"))).toEqual(["b.txt"]);
    expect(problems).toMatchObject([{ code: "storage_failed", message: expect.stringContaining("a.txt") }]);
    const hashes = async () =>
      (await documents.list({ collection: "", limit: 9, after: undefined })).map(({ sha256 }) => sha256.length);
    expect(await hashes()).toEqual([0, 32]);
    expect(await putText(documents, "a.txt", "About herons in the reeds.")).toMatchObject({ unchanged: false });
    expect(namesOf(await find(documents, "reeds"))).toEqual(["a.txt"]);
    expect(await hashes()).toEqual([32, 32]);
  });

  test("whose passages are damaged when they are looked up finds the others, and says so once", async () => {
    await using dir = new DocumentsDirectory();
    const problems: unknown[] = [];
    const documents = await dir.documents({ onProblem: (problem) => problems.push(problem) });
    await putText(documents, "a.txt", "About herons in the reeds.");
    await putText(documents, "b.txt", "About herons in the trees.");
    expect(namesOf(await find(documents, "herons")).sort()).toEqual(["a.txt", "b.txt"]);
    const file = openSync(join(dir.path, "data.mdb"), "r+");
    const bytes = readFileSync(file);
    for (let at = bytes.indexOf("in the reeds"); at !== -1; at = bytes.indexOf("in the reeds", at + 1))
      writeSync(file, "X", at);
    closeSync(file);
    for (let times = 0; times < 2; times++) expect(namesOf(await find(documents, "herons"))).toEqual(["b.txt"]);
    expect(problems).toMatchObject([{ code: "storage_failed", message: expect.stringContaining("a.txt") }]);
    expect(await putText(documents, "a.txt", "About herons in the reeds.")).toMatchObject({ unchanged: false });
    expect(namesOf(await find(documents, "reeds"))).toEqual(["a.txt"]);
  });

  test("with a damaged document lists the others, page by page, and takes it again", async () => {
    await using dir = new DocumentsDirectory();
    const before = await dir.documents();
    for (const name of ["a.txt", "b.txt", "c.txt"]) await putText(before, name, `About ${name}`);
    await dir.close(before);
    const file = join(dir.path, "data.mdb");
    const bytes = readFileSync(file);
    const entry = '"name":"b.txt"';
    for (let at = bytes.indexOf(entry); at !== -1; at = bytes.indexOf(entry, at + 1)) bytes[at + 1] = 0x58;
    writeFileSync(file, bytes);
    const documents = await dir.documents();
    const list = async (after?: string) => {
      const place = after === undefined ? undefined : { collection: "default", name: after };
      return (await documents.list({ collection: "default", limit: 2, after: place })).map(({ name }) => name);
    };
    expect(await list()).toEqual(["a.txt", "c.txt"]);
    expect(await list("a.txt")).toEqual(["c.txt"]);
    expect(await list("c.txt")).toEqual([]);
    await putText(documents, "b.txt", "About b.txt");
    expect(await list()).toEqual(["a.txt", "b.txt"]);
  });

  test("is prepared in the background; puts and deletes do not wait for it, and count", {
    timeout: 60_000,
  }, async () => {
    await using dir = new DocumentsDirectory();
    const before = await dir.documents();
    const text = Array.from({ length: 400 }, (_, line) => `${"heron ".repeat(150)}${line}`).join("\n\n");
    for (let n = 0; n < 8; n++) await putText(before, `${n}.txt`, text);
    await putText(before, "old.txt", "an egret");
    await dir.close(before);
    const documents = await dir.documents();
    documents.prepare();
    const order: string[] = [];
    const searched = find(documents, "egret").then((found) => {
      order.push("searched");
      return found;
    });
    await putText(documents, "new.txt", "an egret");
    await documents.delete("default", "old.txt");
    await putText(documents, "0.txt", "an egret");
    order.push("changed");
    expect(namesOf(await searched).sort()).toEqual(["0.txt", "new.txt"]);
    expect(order).toEqual(["changed", "searched"]);
    expect(namesOf(await find(documents, "heron"))).not.toContain("0.txt");
  });

  test("is closed once what was asked for is over, and refuses afterwards", async () => {
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents();
    const putting = putText(documents, "a.pdf", pdfOf(["herons"]));
    await dir.close(documents);
    await expect(putting).rejects.toMatchObject({ code: "shutting_down" });
    await expect(putText(documents, "a.txt", "a")).rejects.toMatchObject({ code: "shutting_down" });
    await expect(find(documents, "a")).rejects.toMatchObject({ code: "shutting_down" });
    await expect(documents.count()).rejects.toMatchObject({ code: "shutting_down" });
  });
});

describe("whatever is put, replaced and deleted", () => {
  const words = ["heron", "stork", "crane", "reed", "river", "refund", "policy", "late", "東京", "straße"];
  const text = fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 30 }).map((chosen) => chosen.join(" "));
  const step = fc.record({ name: fc.constantFrom("a.md", "b.md", "c.md", "d.md", "e.md"), text: fc.option(text) });

  test("the index built anew finds the same, in the same order", { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        await using dir = new DocumentsDirectory();
        const documents = await dir.documents();
        const there = new Map<string, string>();
        for (const { name, text } of steps) {
          if (text === null) expect(await documents.delete("default", name)).toBe(there.delete(name));
          else {
            await putText(documents, name, text);
            there.set(name, text);
          }
        }
        const answers = await answersOf(documents);
        const listed = await documents.list({ collection: "", limit: 10, after: undefined });
        expect(listed.map(({ name }) => name)).toEqual([...there.keys()].sort());
        await dir.close(documents);
        expect(await answersOf(await dir.documents())).toEqual(answers);
        for (const [index, word] of words.entries())
          expect(new Set(namesOf(answers[index]!)), word).toEqual(
            new Set([...there].filter(([, text]) => text.split(" ").includes(word)).map(([name]) => name)),
          );
      }),
      { numRuns: 8, endOnFailure: true },
    );
  });

  const answersOf = (documents: Documents) =>
    Promise.all([...words, "late refund policy", "heron river"].map((query) => find(documents, query, { limit: 50 })));
});

/** Mostly text and Markdown, some HTML, a few PDFs. Each has a word of its own. */
function sampleFolder(size: number): Map<string, Buffer> {
  const folder = new Map<string, Buffer>();
  for (let n = 0; n < size; n++) {
    const text = `This document is about marker${n}. ${"It says much else besides. ".repeat(n % 40)}`;
    if (n % 50 === 3) folder.set(`paper-${n}.pdf`, pdfOf(["A cover", text]));
    else if (n % 20 === 12)
      folder.set(`page-${n}.html`, Buffer.from(`<title>Page ${n}</title><h1>Page</h1><p>${text}`));
    else if (n % 3 === 0) folder.set(`guide-${n}.md`, Buffer.from(`# Guide ${n}\n\n${text}\n\n## More\n\n${text}\n`));
    else folder.set(`note-${n}.txt`, Buffer.from(text));
  }
  return folder;
}

async function putAll(documents: Documents, folder: ReadonlyMap<string, Buffer>) {
  const worked: string[] = [];
  let unchanged = 0;
  for (const [name, data] of folder) {
    const put = await documents.put({ collection: "default", name, mediaType: "", data }, never);
    if (put.unchanged) unchanged++;
    else worked.push(name);
  }
  return { worked, unchanged };
}
