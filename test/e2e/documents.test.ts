// Documents from outside: a folder of 200 files through the real command, changed and indexed again; the server or the command
// killed in the middle; and clients that know nothing of Heddle but its schema.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Client, credentials, type MethodDefinition, type ServiceDefinition } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { DocumentService } from "../../gen/heddle/v1/document_service_pb.js";
import { collected } from "../support/command-process.js";
import { type ServerProcess, startServerProcess } from "../support/server-process.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");
const children: ChildProcess[] = [];
const servers: ServerProcess[] = [];
const fileCount = 200;

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "heddle-documents-"));
});
afterEach(async () => {
  for (const child of [...children.splice(0), ...servers.splice(0).map((server) => server.child)]) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  await rm(dir, { recursive: true, force: true });
});

const dataDir = () => join(dir, "data");
const folder = () => join(dir, "handbook");

async function serve(): Promise<ServerProcess> {
  const server = await startServerProcess({ dataDir: dataDir() });
  servers.push(server);
  return server;
}

function start(...args: string[]) {
  const child = spawn(process.execPath, [command, ...args], {
    cwd: dir,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
  });
  children.push(child);
  return collected(child);
}

async function heddle(...args: string[]) {
  const run = start(...args);
  await run.ended;
  return { code: run.child.exitCode, stdout: run.stdout, stderr: run.stderr };
}

const index = (...args: string[]) => heddle("index", folder(), "--data", dataDir(), ...args);
const lastLine = (stdout: string): string => stdout.trimEnd().split("\n").at(-1)!;

/** A word that no other document has. */
const syllables = ["ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru"];
const wordOf = (n: number, prefix = "xa"): string =>
  prefix + [...String(n).padStart(4, "0")].map((digit) => syllables[Number(digit)]).join("");

const endings = ["md", "txt", "html", "rst"] as const;
const nameOf = (n: number): string =>
  `part-${n % 7}/${n % 2 === 0 ? "even" : "odd"}/${n}.${endings[n % endings.length]}`;
const textOf = (n: number, prefix?: string): string =>
  n % endings.length === 2
    ? `<h1>Chapter ${n}</h1>\n<p>It is all about ${wordOf(n, prefix)}.</p>\n`
    : `# Chapter ${n}\n\nIt is all about ${wordOf(n, prefix)}.\n`;

async function writeFiles(numbers: readonly number[], prefix?: string): Promise<void> {
  for (const n of numbers) {
    await mkdir(dirname(join(folder(), nameOf(n))), { recursive: true });
    await writeFile(join(folder(), nameOf(n)), textOf(n, prefix));
  }
}

const range = (first: number, last: number): number[] => Array.from({ length: last - first }, (_, n) => first + n);

const clientOf = (url: string) => createClient(DocumentService, createGrpcTransport({ baseUrl: url }));

/** The documents that hold the word, as `collection/name`. Others may be found too, for words that are like it. */
async function whereIs(url: string, word: string): Promise<string[]> {
  const { passages } = await clientOf(url).searchDocuments({ query: word });
  const holding = passages.filter(({ text }) => text.includes(word));
  return holding.map(({ collection, documentName }) => `${collection}/${documentName}`);
}

async function namesIn(url: string): Promise<string[]> {
  const names: string[] = [];
  let pageToken = "";
  do {
    const page = await clientOf(url).listDocuments({ collection: "handbook", pageSize: 100, pageToken });
    names.push(...page.documents.map(({ name }) => name));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return names;
}

describe(`a folder of ${fileCount} documents`, () => {
  test("is indexed, changed and indexed again: exact counts, the new text is found and the old is not", async () => {
    await writeFiles(range(0, fileCount));
    const server = await serve();
    const first = await index();
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: "" });
    expect(lastLine(first.stdout)).toBe("Indexed 200 new, 0 changed, 0 unchanged, 0 removed (0 failed)");
    expect(await namesIn(server.url)).toEqual(range(0, fileCount).map(nameOf).sort());
    for (const n of [0, 2, 3, 57, 199]) expect(await whereIs(server.url, wordOf(n))).toEqual([`handbook/${nameOf(n)}`]);

    await writeFiles(range(10, 25), "ze");
    for (const n of range(30, 38)) await rm(join(folder(), nameOf(n)));
    await writeFiles(range(fileCount, fileCount + 12));
    const dry = await index("--dry-run");
    expect(lastLine(dry.stdout)).toBe("Would index 12 new, 15 changed, 177 unchanged, 8 would be removed (0 failed)");
    const second = await index();
    expect(second.code).toBe(0);
    expect(lastLine(second.stdout)).toBe("Indexed 12 new, 15 changed, 177 unchanged, 8 removed (0 failed)");
    for (const n of [10, 17, 24]) {
      expect(await whereIs(server.url, wordOf(n, "ze"))).toEqual([`handbook/${nameOf(n)}`]);
      expect(await whereIs(server.url, wordOf(n))).toEqual([]);
    }
    for (const n of [30, 37]) expect(await whereIs(server.url, wordOf(n))).toEqual([]);
    for (const n of [200, 211, 9, 25]) expect(await whereIs(server.url, wordOf(n))).toEqual([`handbook/${nameOf(n)}`]);

    // And the same from the disk, without a server: the command starts its own.
    expect(await server.stop()).toBe(0);
    const third = await index();
    expect(third.stdout).toBe("Indexed 0 new, 0 changed, 204 unchanged, 0 removed (0 failed)\n");
    const found = await heddle("documents", "search", wordOf(17, "ze"), "--data", dataDir());
    expect(found).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`^${nameOf(17)}:1-\\d+  handbook`)),
    });
    const listed = await heddle("documents", "--data", dataDir(), "--json");
    expect(listed.stdout.trim().split("\n")).toHaveLength(204);
  }, 120_000);

  test("kill -9 of the server in the middle: the command says what happened, and the next one makes it whole", async () => {
    await writeFiles(range(0, fileCount));
    const server = await serve();
    const run = start("index", folder(), "--server", server.url);
    await until(run, 40);
    await server.kill();
    await run.ended;
    expect(run.child.exitCode).toBe(4);
    expect(run.stderr).toMatch(
      new RegExp(
        `^heddle: the server went away after (\\d+) of 200 files: .*${server.url}.*\\. What was indexed stays; run the same command again to go on\\n$`,
      ),
    );
    const answered = run.stdout.match(/^new /gm)!.length;
    expect(answered).toBeLessThan(fileCount);

    const again = await serve();
    const stored = (await namesIn(again.url)).length;
    // All that was answered for is there; so may be what was stored when the answer was cut off.
    expect(stored).toBeGreaterThanOrEqual(answered);
    const { code, stdout } = await index();
    expect({ code, line: lastLine(stdout) }).toEqual({
      code: 0,
      line: `Indexed ${fileCount - stored} new, 0 changed, ${stored} unchanged, 0 removed (0 failed)`,
    });
    expect(await namesIn(again.url)).toEqual(range(0, fileCount).map(nameOf).sort());
    for (const n of range(0, fileCount)) expect(await whereIs(again.url, wordOf(n))).toEqual([`handbook/${nameOf(n)}`]);
  }, 120_000);

  test.each([
    ["kill -9", "SIGKILL"],
    ["Ctrl-C", "SIGINT"],
  ] as const)(
    "%s of the command with a server of its own: the next one goes on",
    async (_, signal) => {
      await writeFiles(range(0, fileCount));
      const run = start("index", folder(), "--data", dataDir());
      await until(run, 40);
      run.child.kill(signal);
      await run.ended;
      if (signal === "SIGINT") {
        expect(run.child.exitCode).toBe(130);
        expect(run.stderr).toMatch(/^heddle: stopped after \d+ of 200 files\. What was indexed stays; /);
      }
      const answered = run.stdout.match(/^new /gm)!.length;
      const { code, stdout } = await index();
      const [, added, unchanged] = /^Indexed (\d+) new, 0 changed, (\d+) unchanged, 0 removed \(0 failed\)$/.exec(
        lastLine(stdout),
      )!;
      expect({ code, sum: Number(added) + Number(unchanged) }).toEqual({ code: 0, sum: fileCount });
      expect(Number(unchanged)).toBeGreaterThanOrEqual(answered);
      expect(Number(added)).toBeGreaterThan(0);
    },
    120_000,
  );
});

/** So many documents are answered for. */
async function until(run: ReturnType<typeof start>, count: number): Promise<void> {
  while ((run.stdout.match(/^new /gm)?.length ?? 0) < count) {
    await Promise.race([once(run.child.stdout!, "data"), run.ended.then(() => Promise.reject(new Error(run.stderr)))]);
  }
}

describe("clients that know only the schema", () => {
  const document = { collection: "notes", name: "a.md", data: Buffer.from("# Zebras\n\nStriped.\n") };

  test.each(["grpc", "connect", "grpcweb"])("buf curl over %s, by reflection", async (protocol) => {
    const server = await serve();
    const buf = join(import.meta.dirname, "../../node_modules/.bin/buf");
    const call = async (method: string, request: object) => {
      const path = `${server.url}/heddle.v1.DocumentService/${method}`;
      const args = ["curl", "--protocol", protocol, "--http2-prior-knowledge", "--data", JSON.stringify(request), path];
      return JSON.parse((await promisify(execFile)(buf, args)).stdout || "{}");
    };
    const request = { ...document, data: document.data.toString("base64") };
    expect(await call("UploadDocument", request)).toMatchObject({ document: { name: "a.md", sizeBytes: "19" } });
    expect(await call("SearchDocuments", { query: "zebras" })).toMatchObject({
      passages: [{ documentName: "a.md", firstLine: 1, lastLine: 3, heading: "Zebras" }],
      ranking: "RANKING_TEXT",
    });
    expect(await call("DeleteDocument", { collection: "notes", name: "a.md" })).toEqual({});
    expect(await call("ListDocuments", {})).toEqual({});
    const refused = call("ListDocuments", { collection: "?" }).catch(({ stderr }) => stderr);
    expect(await refused).toContain('"code": "invalid_argument"');
  });

  test("grpc-js, by proto-loader", async () => {
    const server = await serve();
    const schema = loadSync("heddle/v1/document_service.proto", {
      includeDirs: [join(import.meta.dirname, "../../proto")],
    });
    const service = schema["heddle.v1.DocumentService"] as ServiceDefinition;
    const client = new Client(new URL(server.url).host, credentials.createInsecure());
    const call = (name: string, request: object): Promise<Record<string, unknown>> =>
      new Promise((resolve, reject) => {
        const { path, requestSerialize, responseDeserialize } = service[name] as MethodDefinition<object, object>;
        client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, answer) =>
          error ? reject(error) : resolve(answer as Record<string, unknown>),
        );
      });
    try {
      expect(await call("UploadDocument", document)).toMatchObject({ document: { name: "a.md", passages: 1 } });
      expect(await call("ListDocuments", {})).toMatchObject({ documents: [{ collection: "notes", name: "a.md" }] });
      await expect(call("UploadDocument", { ...document, collection: "?" })).rejects.toMatchObject({ code: 3 });
    } finally {
      client.close();
    }
  });
});
