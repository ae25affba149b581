// What the commands about documents ask of a server.
import { setTimeout } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type {
  Document,
  SearchDocumentsRequestSchema,
  SearchDocumentsResponse,
  UploadDocumentResponse,
} from "../../gen/heddle/v1/document_service_pb.js";
import { reasonOf } from "../client/index.js";
import { newId } from "../thread/ids.js";
import { openClients, type ServerPlace } from "./server-clients.js";

export interface LocalDocument {
  readonly collection: string;
  readonly name: string;
  readonly mediaType: string;
  readonly data: Uint8Array;
}

export interface DocumentsClient {
  /** All of a collection, or of all for an empty name, page by page. */
  list(collection: string, signal: AbortSignal): AsyncIterable<Document>;
  /** In pieces where it is larger than a message. Resolves once it is stored and can be found. */
  upload(document: LocalDocument, signal: AbortSignal): Promise<UploadDocumentResponse>;
  delete(document: { collection: string; name: string }, signal: AbortSignal): Promise<void>;
  search(
    request: MessageInitShape<typeof SearchDocumentsRequestSchema>,
    signal: AbortSignal,
  ): Promise<SearchDocumentsResponse>;
  close(): void;
}

const timeoutMs = 30_000;
/** A long document is read, cut and indexed before it is answered for; the first search waits for the index of all of them. */
const longTimeoutMs = 600_000;
const pageSize = 500;
/** Every server takes messages of this size. */
const pieceBytes = 1024 * 1024;
/** Others send documents too: what a server holds of their pieces, and how many it reads at once, is bounded. */
const tries = { pieces: 6, whole: 4 } as const;
const firstPauseMs = 250;

export function openDocumentsClient(place: ServerPlace): DocumentsClient {
  const { documents, close } = openClients(place);

  async function uploadPieces({ data, ...document }: LocalDocument, signal: AbortSignal) {
    const uploadId = newId<string>();
    for (let start = 0; ; start += pieceBytes) {
      const piece = data.subarray(start, start + pieceBytes);
      const more = start + pieceBytes < data.length;
      const request = { ...document, uploadId, offset: BigInt(start), data: piece, more };
      const send = () => documents().uploadDocument(request, { signal, timeoutMs: longTimeoutMs });
      const answer = await whereThereIsRoom(send, tries.pieces, signal);
      if (!more) return answer;
    }
  }

  return {
    async *list(collection, signal) {
      let pageToken = "";
      do {
        const page = await documents().listDocuments({ collection, pageSize, pageToken }, { signal, timeoutMs });
        yield* page.documents;
        pageToken = page.nextPageToken;
      } while (pageToken !== "");
    },
    upload(document, signal) {
      if (document.data.length > pieceBytes) return uploadPieces(document, signal);
      const send = () => documents().uploadDocument(document, { signal, timeoutMs: longTimeoutMs });
      return whereThereIsRoom(send, tries.whole, signal);
    },
    async delete(document, signal) {
      await documents().deleteDocument(document, { signal, timeoutMs });
    },
    search: (request, signal) => documents().searchDocuments(request, { signal, timeoutMs: longTimeoutMs }),
    close,
  };
}

async function whereThereIsRoom<Answer>(
  send: () => Promise<Answer>,
  mostTries: number,
  signal: AbortSignal,
): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (reason) {
      if (attempt === mostTries || reasonOf(ConnectError.from(reason)) !== "LIMIT_EXCEEDED") throw reason;
      await setTimeout(firstPauseMs * 2 ** (attempt - 1), undefined, { signal });
    }
  }
}
