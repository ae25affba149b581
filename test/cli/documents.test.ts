import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromJsonString } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { DocumentSchema, PassageSchema, type SearchDocumentsRequest } from "../../gen/heddle/v1/document_service_pb.js";
import { heddleError } from "../../src/client/resumable.js";
import { silence } from "../client/support.js";
import { keepingServer, testFolder } from "./documents-support.js";
import { fakeIo, heddle } from "./support.js";

async function filled() {
  const server = await keepingServer();
  await using one = await testFolder({ "a.md": "a".repeat(2048), "b\u202e.md": "b", "c.txt": "c" }, "one");
  await using other = await testFolder({ "d.md": "" }, "other");
  for (const { path } of [one, other]) await heddle(["index", path, "--server", server.url]);
  server.asked.length = 0;
  return server;
}

describe("heddle documents", () => {
  test("lists all pages in columns, made safe", async () => {
    await using server = await filled();
    expect(await heddle(["documents", "--server", server.url])).toEqual({
      code: 0,
      stdout: [
        "COLLECTION              SIZE  PASSAGES  INDEXED              NAME",
        "one                  2.0 KiB         3  2025-06-01 09:05:00  a.md",
        "one                   1 byte         3  2025-06-01 09:05:00  b\\u{202e}.md",
        "one                   1 byte         3  2025-06-01 09:05:00  c.txt",
        "other                0 bytes         3  2025-06-01 09:05:00  d.md",
        "",
      ].join("\n"),
      stderr: "",
    });
  });

  test("--collection and --json", async () => {
    await using server = await filled();
    const { stdout } = await heddle(["documents", "--collection", "other", "--json", "--server", server.url]);
    expect(stdout.match(/\n/g)).toHaveLength(1);
    expect(fromJsonString(DocumentSchema, stdout)).toMatchObject({ collection: "other", name: "d.md", passages: 3 });
  });

  test("none at all is said on standard error", async () => {
    await using server = await keepingServer();
    const list = (...flags: string[]) => heddle(["documents", "--server", server.url, ...flags]);
    const none = `There are no documents yet: put some there with heddle index <dir> --server ${server.url}.\n`;
    expect(await list()).toEqual({ code: 0, stdout: "", stderr: none });
    expect((await list("--collection", "x")).stderr).toBe("There are no documents in x.\n");
    expect(await list("--json")).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("search prints each passage with its document and lines", async () => {
    const requests: SearchDocumentsRequest[] = [];
    await using server = await keepingServer({
      searchDocuments(request) {
        requests.push(request);
        return {
          passages: [
            {
              collection: "handbook",
              documentName: "refunds.md",
              firstLine: 12,
              lastLine: 13,
              heading: "Shop › Refunds",
              text: "Money back\nwithin 30 days.\u001b[2J\n",
            },
            { collection: "law", documentName: "a.pdf", firstLine: 1, lastLine: 1, page: 3, text: "Refunds." },
          ],
        };
      },
    });
    const search = (...args: string[]) => heddle(["documents", "search", ...args, "--server", server.url]);
    expect(await search("refund policy")).toEqual({
      code: 0,
      stdout: `refunds.md:12-13  handbook, Shop › Refunds
  Money back
  within 30 days.\\u{1b}[2J
a.pdf:1-1  law, page 3
  Refunds.
`,
      stderr: "",
    });
    const json = (await search("refund policy", "--json", "--limit", "5", "--collection", "law")).stdout;
    const [first] = json.split("\n");
    expect(fromJsonString(PassageSchema, first!)).toMatchObject({ documentName: "refunds.md", lastLine: 13 });
    expect(requests).toMatchObject([
      { query: "refund policy", collection: "", limit: 0 },
      { query: "refund policy", collection: "law", limit: 5 },
    ]);
  });

  test("search that finds nothing says so", async () => {
    await using server = await keepingServer({ searchDocuments: () => ({}) });
    expect(await heddle(["documents", "search", "x", "--server", server.url])).toEqual({
      code: 0,
      stdout: "",
      stderr: "Nothing was found.\n",
    });
  });

  test("delete removes one, in the collection that is named, also before the verb", async () => {
    await using server = await filled();
    expect(await heddle(["documents", "delete", "a.md", "--collection", "one", "--server", server.url])).toEqual({
      code: 0,
      stdout: "a.md is no longer in one.\n",
      stderr: "",
    });
    await heddle(["documents", "--collection", "one", "--server", server.url, "delete", "c.txt"]);
    await heddle(["documents", "delete", "e.md", "--server", server.url]);
    expect(server.asked).toEqual(["delete one/a.md", "delete one/c.txt", "delete default/e.md"]);
  });

  test.each([
    [["search", " "], "the query is empty"],
    [["search", "x", "--limit", "51"], "whole number from 1 to 50"],
    [["search"], "missing required argument"],
    [["delete"], "missing required argument"],
    [["--collection", "A"], '"A" is no name of a collection'],
    [["remove", "x"], "too many arguments"],
  ])("refuses %j", async (args, words) => {
    const { code, stderr } = await heddle(["documents", ...args, "--server", "http://127.0.0.1:1"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) });
  });

  test.each([
    [Code.Unauthenticated, "UNAUTHENTICATED", 5],
    [Code.ResourceExhausted, "LIMIT_EXCEEDED", 1],
  ])("ends as the other commands do for %d", async (code, reason, exitCode) => {
    const listDocuments = () => {
      throw heddleError(code, reason, "no");
    };
    await using server = await keepingServer({ listDocuments });
    expect(await heddle(["documents", "--server", server.url])).toMatchObject({ code: exitCode, stdout: "" });
  });

  test("Ctrl-C while it waits for an answer ends it quietly", async () => {
    const io = fakeIo();
    await using server = await keepingServer({
      searchDocuments: (_, context) => {
        io.signal("SIGINT");
        return silence(context);
      },
    });
    expect(await heddle(["documents", "search", "x", "--server", server.url], io)).toEqual({
      code: 130,
      stdout: "",
      stderr: "",
    });
  });

  test.each([
    [["documents"], "There are no documents yet: put some there with heddle index <dir> --data DATA.\n"],
    [["documents", "search", "x"], "Nothing was found.\n"],
    [["documents", "delete", "x"], ""],
    [["index", "FOLDER", "--dry-run"], ""],
  ])("%j makes no data directory where there is none", async (args, stderr) => {
    await using folder = await testFolder({ "a.md": "a" });
    const dataDir = join(folder.path, "..", "data");
    const given = args.map((each) => (each === "FOLDER" ? folder.path : each));
    expect(await heddle([...given, "--data", dataDir])).toMatchObject({
      code: 0,
      stderr: stderr.replace("DATA", dataDir),
    });
    expect(existsSync(dataDir)).toBe(false);
  });

  test("none at all in a directory that the settings name is said with what leads there", async () => {
    await using folder = await testFolder({});
    const dataDir = join(folder.path, "data");
    const config = join(folder.path, "heddle.json");
    writeFileSync(config, JSON.stringify({ data: dataDir }));
    const hint = (where: string) => `There are no documents yet: put some there with heddle index <dir>${where}.\n`;
    const list = ["documents", "--config", config];
    expect((await heddle(list)).stderr).toBe(hint(` --data ${dataDir}`));
    expect((await heddle(list, fakeIo({ env: { HEDDLE_DATA: dataDir } }))).stderr).toBe(hint(""));
  });

  test("asks with the token", async () => {
    await using server = await keepingServer();
    const env = { HEDDLE_SERVER: server.url, HEDDLE_TOKEN: "a-token-of-16-characters" };
    await heddle(["documents"], fakeIo({ env }));
    expect(server.authorizations).toEqual(["Bearer a-token-of-16-characters"]);
  });
});
