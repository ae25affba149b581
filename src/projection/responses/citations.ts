// What a message cites: the results of the run's own searches that its text names. Nobody has to ask a model for anything: a URL that
// web_search found, or a document that file_search found, is cited wherever the text names it.
import { limits } from "../../thread/limits.js";
import { KnownFiles } from "./file-mentions.js";
import { type FoundFile, type FoundPage, foundFiles, foundPages } from "./found.js";
import { withoutCodeBlocks } from "./prose.js";
import { KnownUrls, type Mention } from "./url-mentions.js";
import type { Annotation } from "./wire.js";

/** Different pages, and also names of files, of one run that can be cited. */
const mostSources = 1_000;

/** How much of one message is looked at, in UTF-16 units: more would hold up the server. */
const textUnits = 1024 * 1024;

export class Citations {
  readonly #pages = new KnownUrls<FoundPage>();
  readonly #files = new KnownFiles<FoundFile>();

  /** Those of a search that is over. */
  know(tool: string, result: unknown): void {
    if (tool === "web_search")
      for (const page of foundPages(result)) if (this.#pages.size < mostSources) this.#pages.add(page.url, page);
    if (tool === "file_search") for (const file of foundFiles(result)) this.#knowFile(file);
  }

  /** A document of another collection may have the same name: with the collection before it, it is that one. */
  #knowFile(file: FoundFile): void {
    for (const name of [file.filename, file.fileId]) if (this.#files.size < mostSources) this.#files.add(name, file);
  }

  /** In the order of the text. */
  in(text: string): readonly Annotation[] {
    if (this.#pages.size === 0 && this.#files.size === 0) return [];
    const prose = withoutCodeBlocks(text.slice(0, textUnits));
    const pages = this.#pages.mentions(prose, limits.annotations).map(asUrlCitation);
    const files = this.#files.mentions(prose, limits.annotations).map(asFileCitation);
    const cited = [...pages, ...files].sort((a, b) => a.start - b.start).slice(0, limits.annotations);
    return inCharacters(
      text,
      cited.map(({ annotation }) => annotation),
    );
  }
}

interface Cited {
  readonly start: number;
  readonly annotation: Annotation;
}

const asUrlCitation = ({ start, end, source: { url, title } }: Mention<FoundPage>): Cited => ({
  start,
  annotation: { type: "url_citation", start_index: start, end_index: end, url, title },
});

/** OpenAI's index is the place in the text where the citation belongs, whatever its types say: right behind what it is for. */
const asFileCitation = ({ start, end, source: { fileId, filename } }: Mention<FoundFile>): Cited => ({
  start,
  annotation: { type: "file_citation", index: end, file_id: fileId, filename },
});

/** Places are counted in characters, as OpenAI counts them, and not in UTF-16 units. One pass for all of them. */
export function inCharacters(text: string, annotations: readonly Annotation[]): readonly Annotation[] {
  if (!/[\ud800-\udbff]/.test(text)) return annotations;
  const places = annotations.flatMap((note) =>
    note.type === "url_citation" ? [note.start_index, note.end_index] : [note.index],
  );
  const characters = new Map<number, number>();
  let [unit, count] = [0, 0];
  for (const place of places.sort((a, b) => a - b)) {
    for (; unit < place && unit < text.length; count++) unit += text.codePointAt(unit)! > 0xffff ? 2 : 1;
    characters.set(place, count);
  }
  const at = (place: number): number => characters.get(place) ?? place;
  return annotations.map((note) =>
    note.type === "url_citation"
      ? { ...note, start_index: at(note.start_index), end_index: at(note.end_index) }
      : { ...note, index: at(note.index) },
  );
}
