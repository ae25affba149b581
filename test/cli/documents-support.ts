// A server that keeps documents in memory, and folders to index.
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import { type Document, DocumentSchema, type DocumentService } from "../../gen/heddle/v1/document_service_pb.js";
import { type FakeServer, fakeServer } from "./support.js";

type Answers = Partial<ServiceImpl<typeof DocumentService>>;

export interface KeepingServer extends FakeServer {
  /** Text by `collection/name`. */
  readonly texts: ReadonlyMap<string, string>;
  /** Each upload's media type by `collection/name`. */
  readonly mediaTypes: ReadonlyMap<string, string>;
  /** What it was asked to do, such as `put docs/a.md` and `delete docs/a.md`. */
  readonly asked: string[];
}

/** Two documents a page. `before` comes first, and may refuse. */
export async function keepingServer(before: Answers = {}): Promise<KeepingServer> {
  const documents = new Map<string, Document>();
  const texts = new Map<string, string>();
  const mediaTypes = new Map<string, string>();
  const pieces = new Map<string, Uint8Array[]>();
  const asked: string[] = [];
  const keep = (
    { collection, name, mediaType }: { collection: string; name: string; mediaType: string },
    data: Buffer,
  ) => {
    const key = `${collection}/${name}`;
    asked.push(`put ${key}`);
    texts.set(key, data.toString());
    mediaTypes.set(key, mediaType);
    const sha256 = createHash("sha256").update(data).digest();
    const updateTime = timestampFromDate(new Date(2025, 5, 1, 9, 5, 0));
    const facts = { collection, name, mediaType, sizeBytes: BigInt(data.length), sha256, passages: 3, updateTime };
    documents.set(key, create(DocumentSchema, facts));
    return { document: documents.get(key)! };
  };
  const server = await fakeServer(
    {},
    {},
    {},
    {
      listDocuments({ collection, pageToken }) {
        const all = [...documents.keys()].sort().map((key) => documents.get(key)!);
        const meant = all.filter((document) => collection === "" || document.collection === collection);
        const start = Number(pageToken);
        const nextPageToken = start + 2 < meant.length ? String(start + 2) : "";
        return { documents: meant.slice(start, start + 2), nextPageToken };
      },
      async uploadDocument(request, context) {
        await before.uploadDocument?.(request, context);
        const { uploadId, data, more } = request;
        if (uploadId === "") return keep(request, Buffer.from(data));
        pieces.set(uploadId, [...(pieces.get(uploadId) ?? []), data]);
        return more ? {} : keep(request, Buffer.concat(pieces.get(uploadId)!));
      },
      async deleteDocument(request, context) {
        await before.deleteDocument?.(request, context);
        const key = `${request.collection}/${request.name}`;
        asked.push(`delete ${key}`);
        documents.delete(key);
        texts.delete(key);
        return {};
      },
      ...(before.searchDocuments && { searchDocuments: before.searchDocuments }),
      ...(before.listDocuments && { listDocuments: before.listDocuments }),
    },
  );
  return Object.assign(server, { texts, mediaTypes, asked });
}

export interface TestFolder extends AsyncDisposable {
  readonly path: string;
  write(name: string, data: string | Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
}

export async function testFolder(
  files: Readonly<Record<string, string | Uint8Array>>,
  name = "docs",
): Promise<TestFolder> {
  const parent = await mkdtemp(join(tmpdir(), "heddle-folder-"));
  const path = join(parent, name);
  await mkdir(path);
  const write = async (file: string, data: string | Uint8Array) => {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), data);
  };
  for (const [file, data] of Object.entries(files)) await write(file, data);
  return {
    path,
    write,
    remove: (file) => rm(join(path, file)),
    [Symbol.asyncDispose]: () => rm(parent, { recursive: true, force: true }),
  };
}
