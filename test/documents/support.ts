// What tests of documents share: a directory, documents in it, and PDFs made by hand.
import { setMaxListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Documents, type DocumentsSettings } from "../../src/documents/documents.js";
import type { DocumentAnswer } from "../../src/tool/documents/document-search.js";

export class DocumentsDirectory implements AsyncDisposable {
  readonly #root = mkdtempSync(join(tmpdir(), "heddle-documents-"));
  readonly path = join(this.#root, "documents");
  readonly #open = new Set<Documents>();

  async documents(settings: Partial<DocumentsSettings> = {}): Promise<Documents> {
    const documents = await Documents.open({ dir: this.path, embeddings: undefined, ...settings });
    this.#open.add(documents);
    return documents;
  }

  async close(documents: Documents): Promise<void> {
    this.#open.delete(documents);
    await documents.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const documents of this.#open) await documents.close();
    rmSync(this.#root, { recursive: true, force: true });
  }
}

export const never = new AbortController().signal;
setMaxListeners(0, never);

export const putText = (documents: Documents, name: string, text: string | Uint8Array, collection = "") =>
  documents.put({ collection, name, mediaType: "", data: Buffer.from(text) });

export const find = (documents: Documents, query: string, { limit = 8, collection }: FindOptions = {}) =>
  documents.search({ query, collection, limit, signal: never });

interface FindOptions {
  readonly limit?: number;
  readonly collection?: string;
}

export const namesOf = ({ passages }: DocumentAnswer): string[] => passages.map(({ documentName }) => documentName);

/** A PDF with a page for each text, whose lines stand one below the other. */
export function pdfOf(pages: readonly string[], { encrypted = false } = {}): Buffer {
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, index) => `${4 + 2 * index} 0 R`).join(" ")}] >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((text, index) => [pageObject(5 + 2 * index), streamObject(contentOf(text))]),
  ];
  return pdfFile(
    objects.map((object) => Buffer.from(object, "latin1")),
    encrypted,
  );
}

/** A PDF whose only page unpacks to endless spaces. */
export function pdfBomb(packed: Buffer): Buffer {
  const head = `<< /Filter /FlateDecode /Length ${packed.length} >>\nstream\n`;
  return pdfFile([
    Buffer.from("<< /Type /Catalog /Pages 2 0 R >>"),
    Buffer.from("<< /Type /Pages /Count 1 /Kids [4 0 R] >>"),
    Buffer.from("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"),
    Buffer.from(pageObject(5)),
    Buffer.concat([Buffer.from(head), packed, Buffer.from("\nendstream")]),
  ]);
}

const pageObject = (contents: number): string =>
  `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${contents} 0 R >>`;

const streamObject = (content: string): string => `<< /Length ${content.length} >>\nstream\n${content}\nendstream`;

const contentOf = (text: string): string =>
  `BT /F1 12 Tf 14 TL 72 720 Td ${text
    .split("\n")
    .map((line) => `(${line.replace(/[\\()]/g, "\\$&")}) Tj T*`)
    .join(" ")} ET`;

function pdfFile(objects: readonly Buffer[], encrypted = false): Buffer {
  const parts: Buffer[] = [Buffer.from("%PDF-1.4\n")];
  const offsets: number[] = [];
  let length = parts[0]!.length;
  const add = (part: Buffer): void => {
    parts.push(part);
    length += part.length;
  };
  objects.forEach((object, index) => {
    offsets.push(length);
    add(Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from("\nendobj\n")]));
  });
  const start = length;
  const rows = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const key = "<00000000000000000000000000000000000000000000000000000000000000ff>";
  const lock = encrypted
    ? ` /Encrypt << /Filter /Standard /V 1 /R 2 /O ${key} /U ${key} /P -4 >> /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]`
    : "";
  const size = objects.length + 1;
  add(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${size} /Root 1 0 R${lock} >>\nstartxref\n${start}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(parts);
}
