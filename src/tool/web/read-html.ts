// A page as a person would read it: its article, or all of it where it has none, as Markdown. Runs in a thread of its own
// (read-page.ts), for a hostile page can keep a parser busy for as long as it likes.
import { isProbablyReaderable, Readability } from "@mozilla/readability";
import { parseHTML } from "linkedom";
import Turndown from "turndown";

export interface HtmlPage {
  readonly html: string;
  /** Where it was found: its links are relative to it. */
  readonly url: string;
}

export interface ReadablePage {
  /** Empty when it has none. */
  readonly title: string;
  readonly markdown: string;
}

/** What is never text for a reader. */
const noText =
  "head, title, script, style, noscript, template, svg, canvas, iframe, object, embed, link, meta, [hidden], [aria-hidden=true]";
/** Readability gives up on pages with more: it would take minutes. They are read whole. */
const mostElements = 50_000;

export default function readHtml({ html, url }: HtmlPage): ReadablePage {
  const document = parse(html);
  const title = document.querySelector("title")?.textContent ?? "";
  setLinks(document, url);
  const article = articleOf(document);
  if (article !== undefined) return { title: article.title || title, markdown: toMarkdown(article.content) };
  for (const element of document.querySelectorAll(noText)) element.remove();
  return { title, markdown: toMarkdown(document.documentElement) };
}

/** The parser wants the tags that authors may leave out. */
function parse(html: string): Document {
  const isWhole = /<html[\s>]/i.test(html) && /<body[\s>]/i.test(html);
  const { document } = parseHTML(isWhole ? html : `<!doctype html><html><head></head><body>${html}</body></html>`);
  return document as unknown as Document;
}

function setLinks(document: Document, url: string): void {
  const base = absolute(document.querySelector("base")?.getAttribute("href") ?? "", url) ?? url;
  for (const link of document.querySelectorAll("a[href]")) {
    const target = absolute(link.getAttribute("href")!, base);
    if (target === undefined) link.removeAttribute("href");
    else link.setAttribute("href", target);
  }
  // A picture without words says nothing to a reader of text.
  for (const image of document.querySelectorAll("img")) {
    const target = absolute(image.getAttribute("src") ?? "", base);
    if (target === undefined || !image.getAttribute("alt")) image.remove();
    else image.setAttribute("src", target);
  }
}

/** Undefined: not an address of the web. */
function absolute(link: string, base: string): string | undefined {
  if (link === "" || !URL.canParse(link, base)) return undefined;
  const url = new URL(link, base);
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
}

/** Undefined: the page is no article, but a list, a form, a front page. Contract: may be called once; it changes the page. */
function articleOf(document: Document): { title: string; content: Node } | undefined {
  if (document.querySelectorAll("*").length > mostElements || !isProbablyReaderable(document)) return undefined;
  const copy = document.cloneNode(true) as Document;
  const found = new Readability<Node>(copy, { keepClasses: true, serializer: (node) => node }).parse();
  return found?.content ? { title: found.title ?? "", content: found.content } : undefined;
}

function toMarkdown(content: Node): string {
  const turndown = new Turndown({ headingStyle: "atx", codeBlockStyle: "fenced", bulletListMarker: "-", hr: "---" });
  turndown.addRule("row", {
    filter: "tr",
    replacement: (cells) => `\n|${cells}`,
  });
  turndown.addRule("cell", {
    filter: ["th", "td"],
    replacement: (text) => ` ${text.trim().replace(/\s*\n\s*/g, " ")} |`,
  });
  return turndown.turndown(content as HTMLElement).trim();
}
