// A process that indexes is killed, or its disk is full: what it has acknowledged is there, and nothing is there by half.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { DocumentsDirectory, find } from "./support.js";

const fixture = fileURLToPath(new URL("./fixtures/documents-process.ts", import.meta.url));
const node = [process.execPath, "--import", "tsx", fixture];

interface Line {
  readonly begun?: string;
  readonly stored?: string;
  readonly version: number;
}

describe("a process that is killed while it indexes", () => {
  test("10 times: each document it acknowledged is whole and found", { timeout: 300_000 }, async () => {
    await using dir = new DocumentsDirectory();
    const marks = new Map<string, { stored: string; begun: Set<string> }>();
    for (let round = 1; round <= 10; round++) {
      await killedAfter(15 + round * 7, start(dir.path, "loop", String(round)), ({ begun, stored, version }) => {
        const mark = `version${round}x${version}`;
        const known = marks.get(begun ?? stored!) ?? { stored: "", begun: new Set() };
        if (begun !== undefined) known.begun.add(mark);
        else marks.set(stored!, { stored: mark, begun: new Set([...known.begun].filter((other) => other !== mark)) });
        if (begun !== undefined) marks.set(begun, known);
      });
      const documents = await dir.documents();
      for (const [name, { stored, begun }] of marks) {
        const document = await documents.get("default", name);
        if (document === undefined) {
          expect(stored, `${name} was acknowledged`).toBe("");
          continue;
        }
        const { passages } = await find(documents, `part0 ${[stored, ...begun].join(" ")}`, { limit: 50 });
        const own = passages.filter(({ documentName }) => documentName === name);
        const versions = new Set(own.map(({ text }) => /version\d+x\d+/.exec(text)![0]));
        expect(versions.size, `${name} is of one version`).toBe(1);
        expect([stored, ...begun]).toContain([...versions][0]);
        expect(document.passages).toBe(40);
        // What was begun and not acknowledged may have landed: from here on it counts as stored.
        marks.set(name, { stored: [...versions][0]!, begun: new Set() });
      }
      await dir.close(documents);
    }
    expect(marks.size).toBeGreaterThan(20);
  });
});

describe("a disk that is full", () => {
  test("is storage_full; what was stored is still there and found", { timeout: 120_000 }, async () => {
    await using dir = new DocumentsDirectory();
    const child = spawn("bash", ["-c", 'ulimit -f 4096 && exec "$@"', "limited", ...node, dir.path, "fill"], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [lines, [code]] = await Promise.all([linesOf(child), once(child, "close")]);
    expect(code).toBe(0);
    const [end] = lines as { stored: number; code: string; message: string; count: number; found: string }[];
    expect(end).toMatchObject({ code: "storage_full", found: "n0", count: end!.stored });
    expect(end!.stored).toBeGreaterThan(5);
    expect(end!.message).toContain(join(dir.path, "data.mdb"));
    const documents = await dir.documents();
    expect(await documents.count()).toBe(end!.stored);
    await documents.put({ collection: "", name: "after.txt", mediaType: "", data: Buffer.from("there is room again") });
    expect((await find(documents, "room again")).passages).toHaveLength(1);
  });
});

const start = (...parameters: string[]): ChildProcess =>
  spawn(node[0]!, [...node.slice(1), ...parameters], { stdio: ["ignore", "pipe", "inherit"] });

/** Kills the process when it has said so much, and hears it out. */
async function killedAfter(lines: number, child: ChildProcess, onLine: (line: Line) => void): Promise<void> {
  const closed = once(child, "close");
  let heard = 0;
  for await (const text of createInterface({ input: child.stdout! })) {
    if (!text.endsWith("}")) continue;
    onLine(JSON.parse(text) as Line);
    if (++heard === lines) child.kill("SIGKILL");
  }
  await closed;
  expect(heard).toBeGreaterThanOrEqual(lines);
}

async function linesOf(child: ChildProcess): Promise<unknown[]> {
  const lines: unknown[] = [];
  for await (const text of createInterface({ input: child.stdout! })) lines.push(JSON.parse(text));
  return lines;
}
