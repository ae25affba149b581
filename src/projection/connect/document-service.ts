// DocumentService over the verbs: what agents can search, put there, listed, removed and searched.

import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type DocumentSchema,
  type DocumentService,
  type PassageSchema,
  Ranking,
} from "../../../gen/heddle/v1/document_service_pb.js";
import type { DocumentUploads } from "../../document-uploads.js";
import { checkUpload, defaultCollection } from "../../documents/check-upload.js";
import type { Documents, StoredDocument } from "../../documents/documents.js";
import { clampPageSize } from "../../request-fields.js";
import { invalidField } from "../../thread/errors.js";
import { principalKey } from "./principal.js";

/** What the services need of the documents. */
export type ServedDocuments = Pick<Documents, "list" | "delete" | "search">;
export type ServedUploads = DocumentUploads<{ readonly document: StoredDocument; readonly unchanged: boolean }>;

export const documentService = (
  documents: ServedDocuments,
  uploads: ServedUploads,
): Partial<ServiceImpl<typeof DocumentService>> => ({
  uploadDocument: async (request, { signal, values }) => {
    const piece = { ...request, collection: request.collection || defaultCollection };
    // Before the rest of it is sent.
    if (piece.more && piece.offset === 0n) checkUpload({ ...piece, data: nothing }, (text) => text);
    const stored = await uploads.take(piece, { principal: values.get(principalKey), signal });
    return stored ? { document: shown(stored.document), unchanged: stored.unchanged } : {};
  },
  listDocuments: async ({ collection, pageSize, pageToken }) => {
    const limit = clampPageSize(pageSize);
    const found = await documents.list({ collection, limit: limit + 1, after: parsePlace(pageToken) });
    const page = found.slice(0, limit);
    const isLast = found.length <= limit;
    return { documents: page.map(shown), nextPageToken: isLast ? "" : placeOf(page.at(-1)!) };
  },
  deleteDocument: async ({ collection, name }) => {
    await documents.delete(collection || defaultCollection, name);
    return {};
  },
  searchDocuments: async ({ query, collection, limit }, { signal }) => {
    const { passages, ranking } = await documents.search({
      query,
      collection: collection || undefined,
      limit: limit || usualPassages,
      signal,
    });
    return { passages: passages.map(found), ranking: ranking === "hybrid" ? Ranking.HYBRID : Ranking.TEXT };
  },
});

/** Contract of `Documents.search`: more than it gives at most is taken as that. */
const usualPassages = 8;
const nothing = new Uint8Array();

const shown = ({ sizeBytes, updateTimeMs, ...document }: StoredDocument): MessageInitShape<typeof DocumentSchema> => ({
  ...document,
  sizeBytes: BigInt(sizeBytes),
  updateTime: timestampFromMs(updateTimeMs),
});

type Found = Awaited<ReturnType<ServedDocuments["search"]>>["passages"][number];

const found = ({ page, headings, ...passage }: Found): MessageInitShape<typeof PassageSchema> => ({
  ...passage,
  page: page ?? 0,
  heading: headings.join(" › "),
});

interface Place {
  readonly collection: string;
  readonly name: string;
}

/** Page tokens are the last document of the page before: they outlive its removal. */
const placeOf = ({ collection, name }: Place): string =>
  Buffer.from(JSON.stringify([collection, name])).toString("base64url");

function parsePlace(token: string): Place | undefined {
  if (token === "") return undefined;
  const [collection, name] = entriesOf(token);
  if (typeof collection === "string" && typeof name === "string") return { collection, name };
  throw invalidField("page_token", "must be one that this server made");
}

function entriesOf(token: string): readonly unknown[] {
  try {
    const entries: unknown = JSON.parse(Buffer.from(token, "base64url").toString());
    return Array.isArray(entries) ? entries : [];
  } catch {
    return [];
  }
}
