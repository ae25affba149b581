import { inspect } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { EmbeddingsEndpoint } from "../../src/documents/embedding/embeddings-endpoint.js";
import { waitedMs } from "../../src/documents/embedding/retry-after.js";
import { decodeBlock, encodeBlock } from "../../src/documents/embedding/vector-block.js";
import { EmbeddingsServer } from "./embeddings-server.js";
import { DocumentsDirectory, find, namesOf, never, putText } from "./support.js";

const key = "sk-embeddings-0123456789";
const settingsOf = ({ url }: EmbeddingsServer, model = "small") => ({ url, model, key });
const once = { signal: never, timeoutMs: 5_000, tries: 1 };

describe("ranking with vectors", () => {
  test("finds by meaning what has none of the words, and says that it does", async () => {
    await using server = await EmbeddingsServer.start();
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents({ embeddings: settingsOf(server) });
    await putText(documents, "policy.txt", "Customers get their money back.");
    await putText(documents, "time-off.txt", "Every employee may go on vacation.");
    await putText(documents, "words.txt", "reimburse is a verb");
    await documents.embedded();
    const found = await find(documents, "refund");
    expect(found.ranking).toBe("hybrid");
    expect(namesOf(found).slice(0, 2).sort()).toEqual(["policy.txt", "words.txt"]);
    expect(namesOf(await find(documents, "holiday"))[0]).toBe("time-off.txt");
    expect(server.asked[0]).toMatchObject({ path: "/v1/embeddings", model: "small", authorization: `Bearer ${key}` });
    await dir.close(documents);

    const before = server.asked.length;
    const again = await dir.documents({ embeddings: settingsOf(server) });
    expect(namesOf(await find(again, "holiday"))[0]).toBe("time-off.txt");
    await again.embedded();
    expect(server.asked.slice(before).map(({ input }) => input)).toEqual([["holiday"]]);
  });

  test("puts what fits both ways before what fits one way", async () => {
    await using server = await EmbeddingsServer.start();
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents({ embeddings: settingsOf(server) });
    await putText(documents, "a.txt", "The hound sleeps.");
    await putText(documents, "b.txt", "A dog barks.");
    await putText(documents, "c.txt", "Nothing about animals.");
    await documents.embedded();
    expect(namesOf(await find(documents, "dog"))).toEqual(["b.txt", "a.txt", "c.txt"]);
  });

  test("embeds what was put before, in batches, and anew for another model", async () => {
    await using server = await EmbeddingsServer.start();
    await using dir = new DocumentsDirectory();
    const plain = await dir.documents();
    for (let n = 0; n < 100; n++) await putText(plain, `${n}.txt`, n === 42 ? "A puppy." : `Number ${n}`);
    expect((await find(plain, "dog")).ranking).toBe("text");
    await dir.close(plain);

    const first = await dir.documents({ embeddings: settingsOf(server) });
    await find(first, "begin");
    await first.embedded();
    expect(server.asked.filter(({ input }) => input.length > 1).map(({ input }) => input.length)).toEqual([64, 36]);
    expect(namesOf(await find(first, "dog"))[0]).toBe("42.txt");
    await dir.close(first);

    const second = await dir.documents({ embeddings: settingsOf(server, "large") });
    await find(second, "begin");
    await second.embedded();
    expect(server.asked.filter(({ model, input }) => model === "large" && input.length > 1)).toHaveLength(2);
    expect(await find(second, "dog")).toMatchObject({ ranking: "hybrid" });
  });

  test("embeds what was put before without being searched, once it is prepared", async () => {
    await using server = await EmbeddingsServer.start();
    await using dir = new DocumentsDirectory();
    const plain = await dir.documents();
    await putText(plain, "a.txt", "A puppy.");
    await dir.close(plain);
    const documents = await dir.documents({ embeddings: settingsOf(server) });
    documents.prepare();
    await vi.waitFor(() => expect(server.asked.map(({ input }) => input)).toEqual([["A puppy."]]), { timeout: 10_000 });
  });

  test("forgets the vectors of what is replaced or deleted", async () => {
    await using server = await EmbeddingsServer.start();
    await using dir = new DocumentsDirectory();
    const documents = await dir.documents({ embeddings: settingsOf(server) });
    await putText(documents, "a.txt", "A hound.");
    await putText(documents, "b.txt", "A vehicle.");
    await documents.embedded();
    await putText(documents, "a.txt", "An automobile.");
    await documents.delete("default", "b.txt");
    await documents.embedded();
    expect((await find(documents, "dog")).passages.map(({ text }) => text)).toEqual(["An automobile."]);
    expect((await find(documents, "car")).passages.map(({ text }) => text)).toEqual(["An automobile."]);
  });
});

describe("an endpoint that is away", () => {
  test("leaves documents to be found by their words, and is asked again later", async () => {
    await using server = await EmbeddingsServer.start();
    await using dir = new DocumentsDirectory();
    let isAway = true;
    server.answering = (response) => {
      if (isAway) response.writeHead(503).end();
      return isAway;
    };
    const problems: unknown[] = [];
    const documents = await dir.documents({
      embeddings: settingsOf(server),
      embeddingRestMs: 50,
      onProblem: (problem) => problems.push(problem),
    });
    await putText(documents, "a.txt", "A puppy in the reeds.");
    const found = await find(documents, "reeds");
    expect(found).toMatchObject({ ranking: "text" });
    expect(namesOf(found)).toEqual(["a.txt"]);
    await documents.embedded();
    expect(problems.length).toBeGreaterThan(0);
    expect(inspect(problems, { depth: 10 })).toContain("answered 503");
    expect(inspect(problems, { depth: 10 })).not.toContain(key);
    isAway = false;
    const embedded = new Promise<void>((resolve) => {
      server.answering = () => {
        resolve();
        return false;
      };
    });
    await embedded;
    await documents.embedded();
    await dir.close(documents);
    const again = await dir.documents({ embeddings: settingsOf(server) });
    expect(await find(again, "dog")).toMatchObject({ ranking: "hybrid", passages: [{ documentName: "a.txt" }] });
  });

  test("and one that answers nonsense, or leads elsewhere, is an error in words", async () => {
    await using server = await EmbeddingsServer.start();
    const endpoint = new EmbeddingsEndpoint(settingsOf(server));
    const answers: [string, (response: import("node:http").ServerResponse) => void][] = [
      ["JSON", (response) => response.end("<html>")],
      ["one vector for each", (response) => response.end('{"data":[]}')],
      ["one vector for each", (response) => response.end("null")],
      ["else than vectors", (response) => response.end('{"data":[{"index":0,"embedding":["a"]}]}')],
      ["else than vectors", (response) => response.end('{"data":[{"index":7,"embedding":[1]}]}')],
      ["else than vectors", (response) => response.end('{"data":[{"index":0,"embedding":[]}]}')],
      ["answered 401", (response) => response.writeHead(401).end()],
      ["cannot be reached", (response) => response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()],
      ["cannot be reached", (response) => response.destroy()],
    ];
    for (const [words, answer] of answers) {
      server.answering = (response) => {
        answer(response);
        return true;
      };
      const failing = endpoint.embed(["a"], once);
      await expect(failing, words).rejects.toThrow(words);
      await failing.catch((error) => expect(inspect(error, { depth: 10 })).not.toContain(key));
    }
  });

  test("is given up when its time is over, or the caller leaves", async () => {
    await using server = await EmbeddingsServer.start();
    server.answering = () => true;
    const endpoint = new EmbeddingsEndpoint(settingsOf(server));
    await expect(endpoint.embed(["a"], { ...once, timeoutMs: 50 })).rejects.toThrow("did not answer within 0.05 s");
    const control = new AbortController();
    const asking = endpoint.embed(["a"], { ...once, signal: control.signal });
    control.abort(new Error("enough"));
    await expect(asking).rejects.toThrow("enough");
  });

  test("that is busy is asked again after the time it names", async () => {
    await using server = await EmbeddingsServer.start();
    let busy = 2;
    server.answering = (response) => {
      if (busy-- <= 0) return false;
      response.writeHead(429, { "retry-after": "0" }).end();
      return true;
    };
    const endpoint = new EmbeddingsEndpoint(settingsOf(server));
    expect(await endpoint.embed(["dog"], { ...once, tries: 3 })).toHaveLength(1);
    expect(server.asked).toHaveLength(3);
  });

  test("that refuses one text embeds the others", async () => {
    await using server = await EmbeddingsServer.start();
    await using dir = new DocumentsDirectory();
    server.answering = (response, { input }) => {
      if (!input.some((text) => text.includes("unspeakable"))) return false;
      response.writeHead(400).end();
      return true;
    };
    const documents = await dir.documents({ embeddings: settingsOf(server) });
    await putText(documents, "a.md", "# One\n\nA hound.\n\n# Two\n\nunspeakable vehicle");
    await putText(documents, "b.txt", "unspeakable");
    await putText(documents, "c.txt", "A vehicle.");
    await documents.embedded();
    expect((await find(documents, "dog")).passages[0]!.text).toContain("hound");
    expect(namesOf(await find(documents, "car"))[0]).toBe("c.txt");
    expect(namesOf(await find(documents, "unspeakable"))).toEqual(expect.arrayContaining(["a.md", "b.txt"]));
  });
});

test("blocks of vectors come back as they were", () => {
  const block = { model: "größe", dimensions: 2, vectors: Float32Array.of(0.5, -0.25, 0, 1) };
  expect(decodeBlock(encodeBlock(block))).toEqual(block);
});

test("Retry-After is seconds or a date", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  expect(waitedMs(null, now)).toBeUndefined();
  expect(waitedMs("7", now)).toBe(7_000);
  expect(waitedMs("Thu, 01 Jan 2026 00:00:05 GMT", now)).toBe(5_000);
  expect(waitedMs("Wed, 31 Dec 2025 00:00:00 GMT", now)).toBe(0);
  expect(waitedMs("soon", now)).toBeUndefined();
});
