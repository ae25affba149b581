// DocumentService through real connections, upon a whole server in this process.
import { createHash } from "node:crypto";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Client, Code, ConnectError, createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.js";
import { Health, HealthCheckResponse_ServingStatus } from "../../../gen/grpc/health/v1/health_pb.js";
import { DocumentService, Ranking } from "../../../gen/heddle/v1/document_service_pb.js";
import { FieldViolationSchema } from "../../../gen/heddle/v1/error_pb.js";
import { compose, type Heddle } from "../../../src/compose.js";
import { defaultConfig } from "../../../src/config.js";
import { newId } from "../../../src/thread/ids.js";
import { newDataDir, removeDataDir } from "../../support/server-process.js";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const tokens = [
  { name: "ada", token: "the-token-of-ada-lovelace" },
  { name: "bob", token: "the-token-of-bob-builder" },
];

async function start(given: { tokens?: typeof tokens } = {}) {
  const dataDir = await newDataDir();
  const config = { ...defaultConfig, dataDir, listen: { host: "127.0.0.1", port: 0 }, tokens: given.tokens ?? [] };
  const heddle: Heddle = await compose(config, silent);
  return {
    url: heddle.url,
    async stop() {
      await heddle.close();
      await removeDataDir(dataDir);
    },
  };
}

type Server = Awaited<ReturnType<typeof start>>;
type Documents = Client<typeof DocumentService>;

const withToken =
  (token: string): Interceptor =>
  (next) =>
  (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };

const over = (url: string, token?: string): Documents =>
  createClient(
    DocumentService,
    createGrpcTransport({ baseUrl: url, ...(token && { interceptors: [withToken(token)] }) }),
  );

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** The code, Heddle's own reason, and the field with its rule. */
async function refusal(call: Promise<unknown>) {
  const error = await call.then(
    () => Promise.reject(new Error("it was not refused")),
    (reason) => ConnectError.from(reason),
  );
  const [info] = error.findDetails(ErrorInfoSchema);
  const [violation] = error.findDetails(FieldViolationSchema);
  return { code: error.code, reason: info?.reason, field: violation?.field, rule: violation?.rule };
}

let server: Server;
let documents: Documents;
beforeAll(async () => {
  server = await start();
  documents = over(server.url);
});
afterAll(() => server.stop());

const transports: readonly [string, (baseUrl: string) => Transport][] = [
  ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
  ["gRPC-Web, HTTP/1.1", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ["Connect, JSON, HTTP/1.1", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["Connect, binary", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: true })],
];

describe.each(transports)("%s", (name, transport) => {
  const collection = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");

  test("a document is uploaded, found, replaced, listed and deleted", async () => {
    const client = createClient(DocumentService, transport(server.url));
    const data = bytes("# Refunds\n\nMoney back within thirty days.\n");
    const upload = { collection, name: "shop/refunds.md", data };
    const before = Date.now();
    const { document, unchanged } = await client.uploadDocument(upload);
    expect({ document, unchanged }).toMatchObject({
      document: { collection, name: "shop/refunds.md", mediaType: "text/markdown", passages: 1 },
      unchanged: false,
    });
    expect(document!.sizeBytes).toBe(BigInt(data.length));
    expect(Buffer.from(document!.sha256)).toEqual(createHash("sha256").update(data).digest());
    expect(timestampMs(document!.updateTime!)).toBeGreaterThanOrEqual(before);
    expect(await client.uploadDocument(upload)).toMatchObject({ unchanged: true, document: { name: upload.name } });

    const search = () => client.searchDocuments({ query: "money back", collection });
    expect(await search()).toMatchObject({
      ranking: Ranking.TEXT,
      passages: [{ collection, documentName: upload.name, firstLine: 1, lastLine: 3, page: 0, heading: "Refunds" }],
    });
    await client.uploadDocument({ ...upload, data: bytes("# Refunds\n\nWe give nothing.\n") });
    expect((await search()).passages).toEqual([]);
    expect((await client.listDocuments({ collection })).documents).toMatchObject([{ name: upload.name, passages: 1 }]);
    for (let n = 0; n < 2; n++) await client.deleteDocument({ collection, name: upload.name });
    expect((await client.listDocuments({ collection })).documents).toEqual([]);
  });

  test.each(name === "gRPC" ? [64, 1024] : [64])("one that comes in pieces of %d KiB is put together", async (kib) => {
    const client = createClient(DocumentService, transport(server.url));
    const size = kib * 1024;
    const line = "All work and no play makes Jack a dull boy.\n";
    // In five pieces: those of the largest kind are more than a message together.
    const data = bytes(`${line.repeat(Math.floor((4.5 * size) / line.length))}The last line is about zebras.\n`);
    const upload = { collection, name: "long.txt", uploadId: newId<string>() };
    let last = {};
    for (let offset = 0; offset < data.length; offset += size) {
      const more = offset + size < data.length;
      const piece = { ...upload, offset: BigInt(offset), data: data.subarray(offset, offset + size), more };
      last = await client.uploadDocument(piece);
      // The answer was lost: it is sent again.
      expect(await client.uploadDocument(piece)).toEqual(last);
      expect("document" in last && last.document !== undefined).toBe(!more);
    }
    expect(last).toMatchObject({ document: { sizeBytes: BigInt(data.length) } });
    const { passages } = await client.searchDocuments({ query: "zebras", collection, limit: 1 });
    expect(passages[0]).toMatchObject({ documentName: "long.txt", text: expect.stringContaining("zebras") });
    await client.deleteDocument({ collection, name: "long.txt" });
  });
});

describe("what is refused", () => {
  const upload = (fields: object) => documents.uploadDocument({ name: "a.md", data: bytes("x"), ...fields });
  const [inPieces, known] = [{ uploadId: newId<string>(), more: true }, newId<string>()];

  test.each<[string, () => Promise<unknown>, string, RegExp]>([
    ["a collection in capitals", () => upload({ collection: "Docs" }), "collection", /a-z 0-9/],
    ["a name that is empty", () => upload({ name: "" }), "name", /1 to 1024/],
    ["a name of two lines", () => upload({ name: "a\nb.md" }), "name", /one line/],
    ["pieces without an id", () => upload({ more: true }), "upload_id", /must be set/],
    ["an id that is none", () => upload({ uploadId: "x" }), "upload_id", /UUID/],
    ["a piece whose beginning is not here", () => upload({ uploadId: newId(), offset: 9n }), "offset", /must be 0/],
    ["the first piece of a bad name", () => upload({ ...inPieces, name: "" }), "name", /1 to 1024/],
    ["a token that is none", () => documents.listDocuments({ pageToken: "x" }), "page_token", /this server made/],
    ["a token of another kind", () => documents.listDocuments({ pageToken: "WzEsMl0" }), "page_token", /this server/],
    ["a list of no collection", () => documents.listDocuments({ collection: "?" }), "collection", /a-z 0-9/],
    ["a deletion without a name", () => documents.deleteDocument({}), "name", /1 to 1024/],
    ["an empty query", () => documents.searchDocuments({}), "query", /1 to 1000/],
    ["a long query", () => documents.searchDocuments({ query: "x".repeat(1001) }), "query", /1 to 1000/],
    [
      "a search in no collection",
      () => documents.searchDocuments({ query: "x", collection: "?" }),
      "collection",
      /a-z/,
    ],
  ])("%s", async (_, call, field, rule) => {
    expect(await refusal(call())).toEqual({
      code: Code.InvalidArgument,
      reason: "INVALID_FIELD",
      field,
      rule: expect.stringMatching(rule),
    });
  });

  test.each([
    ["an ending that says nothing", { name: "a.zip" }],
    ["a kind that cannot be read", { mediaType: "image/png" }],
    ["text that is no UTF-8", { data: Buffer.from([0xff, 0xfe, 0xfd]) }],
    ["the first piece of a kind that cannot be read", { ...inPieces, mediaType: "image/png" }],
  ])("%s", async (_, fields) => {
    expect(await refusal(upload(fields))).toMatchObject({ code: Code.InvalidArgument, reason: "UNSUPPORTED_DOCUMENT" });
  });

  test("a wrong offset: the error names the one that is expected, and the upload goes on", async () => {
    await upload({ uploadId: known, more: true, data: bytes("12345") });
    expect(await refusal(upload({ uploadId: known, offset: 7n }))).toMatchObject({
      field: "offset",
      rule: "must be 5: so many bytes of this upload are here",
    });
    expect(await upload({ uploadId: known, offset: 5n })).toMatchObject({ document: { sizeBytes: 6n } });
    await documents.deleteDocument({ name: "a.md" });
  });

  test("a message that is too large", async () => {
    const data = new Uint8Array(4 * 1024 * 1024 + 1);
    expect(await refusal(upload({ data }))).toMatchObject({ code: Code.ResourceExhausted });
  });

  test("nothing of all that was stored", async () => {
    expect((await documents.listDocuments({ collection: "default" })).documents).toEqual([]);
  });
});

describe("pages", () => {
  const collection = "pages";
  const names = ["A", "a", "b/c", "é", "日本"].map((name) => `${name}.md`);

  test("come in order of collection and name, and go on behind one that is gone", async () => {
    for (const name of [...names].reverse()) await documents.uploadDocument({ collection, name, data: bytes("x") });
    await documents.uploadDocument({ collection: "pages-2", name: "z.md", data: bytes("x") });
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await documents.listDocuments({ collection, pageSize: 2, pageToken });
      expect(page.documents.length).toBeLessThanOrEqual(2);
      seen.push(...page.documents.map(({ name }) => name));
      pageToken = page.nextPageToken;
      await documents.deleteDocument({ collection, name: page.documents.at(-1)!.name });
    } while (pageToken !== "");
    expect(seen).toEqual(names);
    const { documents: all, nextPageToken } = await documents.listDocuments({ pageSize: 10_000 });
    expect(all.map((each) => each.collection)).toEqual(["pages", "pages", "pages-2"]);
    expect(nextPageToken).toBe("");
  });

  test("hold fifty unless they are told otherwise", async () => {
    const many = Array.from({ length: 51 }, (_, n) => `${n}.md`);
    await Promise.all(many.map((name) => documents.uploadDocument({ collection: "many", name, data: bytes("x") })));
    const page = await documents.listDocuments({ collection: "many" });
    expect(page.documents).toHaveLength(50);
    const { documents: rest } = await documents.listDocuments({ collection: "many", pageToken: page.nextPageToken });
    expect(rest).toHaveLength(1);
  });
});

test("a search gives eight passages unless it is told otherwise, and fifty at most", async () => {
  const collection = "search";
  const names = Array.from({ length: 60 }, (_, n) => `${n}.md`);
  const data = (name: string) => bytes(`The walrus number ${name}\n`);
  await Promise.all(names.map((name) => documents.uploadDocument({ collection, name, data: data(name) })));
  const count = async (limit?: number) => {
    const { passages } = await documents.searchDocuments({ query: "walrus", collection, ...(limit && { limit }) });
    return passages.length;
  };
  expect([await count(), await count(3), await count(50), await count(4_000_000_000)]).toEqual([8, 3, 50, 50]);
});

test("two that send the same upload at once get one document", async () => {
  const collection = "twice";
  const uploadId = newId<string>();
  const first = { collection, name: "a.md", uploadId, data: bytes("one "), more: true };
  const last = { ...first, offset: 4n, data: bytes("two"), more: false };
  const send = async (client: Documents) => {
    await client.uploadDocument(first);
    return client.uploadDocument(last);
  };
  const [one, other] = await Promise.all([send(documents), send(over(server.url))]);
  expect(one).toEqual(other);
  expect(one).toMatchObject({ unchanged: false, document: { sizeBytes: 7n } });
});

test("health knows the service", async () => {
  const health = createClient(Health, createGrpcTransport({ baseUrl: server.url }));
  expect(await health.check({ service: "heddle.v1.DocumentService" })).toMatchObject({
    status: HealthCheckResponse_ServingStatus.SERVING,
  });
});

describe("a server with tokens", () => {
  let guarded: Server;
  beforeAll(async () => {
    guarded = await start({ tokens });
  });
  afterAll(() => guarded.stop());

  test.each<[string, (client: Documents) => Promise<unknown>]>([
    ["UploadDocument", (client) => client.uploadDocument({ name: "a.md", data: bytes("x") })],
    ["ListDocuments", (client) => client.listDocuments({})],
    ["DeleteDocument", (client) => client.deleteDocument({ name: "a.md" })],
    ["SearchDocuments", (client) => client.searchDocuments({ query: "x" })],
  ])("refuses %s without one, and with a wrong one", async (_, call) => {
    for (const token of [undefined, "not-the-token-of-anybody"])
      expect(await refusal(call(over(guarded.url, token)))).toMatchObject({
        code: Code.Unauthenticated,
        reason: "UNAUTHENTICATED",
      });
    await call(over(guarded.url, tokens[0]!.token));
  });

  test("does not let one sender into another's upload", async () => {
    const [ada, bob] = tokens.map(({ token }) => over(guarded.url, token)) as [Documents, Documents];
    const piece = { name: "a.md", uploadId: newId<string>(), more: true };
    await ada.uploadDocument({ ...piece, data: bytes("the text of ada") });
    expect(await refusal(bob.uploadDocument({ ...piece, offset: 15n, more: false }))).toMatchObject({
      field: "offset",
      rule: expect.stringMatching(/^must be 0/),
    });
  });
});
