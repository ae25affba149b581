// What a text cites of what searches have found: each place where it is named, once, and nothing that only looks like it.
import { describe, expect, test } from "vitest";
import { Citations, inCharacters } from "../../../src/projection/responses/citations.js";

const pages = (...urls: readonly string[]) => {
  const citations = new Citations();
  citations.know("web_search", { results: urls.map((url) => ({ url, title: `Title of ${url}` })) });
  return citations;
};

const files = (...names: readonly string[]) => {
  const citations = new Citations();
  const passages = names.map((name) => {
    const [document = "", collection = "default"] = name.split("@");
    return { document, collection, text: "…" };
  });
  citations.know("file_search", { passages });
  return citations;
};

/** The words that are cited, each with its URL. */
const cited = (citations: Citations, text: string): string[][] =>
  citations.in(text).map((note) => {
    const characters = [...text];
    if (note.type === "file_citation") return [characters.slice(0, note.index).join(""), note.file_id];
    return [characters.slice(note.start_index, note.end_index).join(""), note.url];
  });

const loom = "https://loom.example/";
const today = "https://loom.example/today";

describe("URLs", () => {
  test("with their titles, and places in characters, the end exclusive", () => {
    expect(pages(loom).in(`🧵 See ${loom}.`)).toEqual([
      { type: "url_citation", start_index: 6, end_index: 27, url: loom, title: `Title of ${loom}` },
    ]);
  });

  test.each([
    ["a bare one", `See ${loom} now`, loom],
    ["at the end of a sentence", `See ${loom}.`, loom],
    ["without its last slash", "See https://loom.example, too", "https://loom.example"],
    ["with a host in capitals", "See HTTPS://Loom.Example/", "HTTPS://Loom.Example/"],
    ["a place in the page", `See ${loom}#history!`, `${loom}#history`],
    ["in brackets", `(${loom})`, loom],
    ["in angles", `<${loom}>`, loom],
    ["in quotes", `"${loom}"`, loom],
    ["stressed", `**${loom}**`, loom],
    ["as code", `\`${loom}\``, loom],
    ["behind a word", `Source:${loom}`, loom],
    ["between ideographs", `请看${loom}。`, loom],
    ["a link", `See [looms](${loom}).`, `[looms](${loom})`],
    ["a link in brackets of its own", `Looms weave. ([loom.example](${loom}))`, `([loom.example](${loom}))`],
    ["a link in brackets with more", `(see [looms](${loom}))`, `[looms](${loom})`],
    ["a link that says its URL", `[${loom}](${loom})`, `[${loom}](${loom})`],
    ["a link with a title", `[looms](${loom} "Looms")`, loom],
  ])("%s", (_, text, words) => {
    expect(cited(pages(loom), text)).toEqual([[words, loom]]);
  });

  test("one that another begins with is not named by it", () => {
    const text = `${today} and ${loom} and ${loom}tomorrow and ${today}.html`;
    expect(cited(pages(loom, today), text)).toEqual([
      [today, today],
      [loom, loom],
    ]);
  });

  test.each([`${today}/日本`, `${today}é`, `${today}[1]`, `${loom}織機`])(
    "nor by one that goes on in another script: %s",
    (text) => {
      expect(cited(pages(loom, today), text)).toEqual([]);
    },
  );

  test("two of them with nothing but a comma between, and the next word of a script without blanks", () => {
    expect(cited(pages(loom, today), `${loom},${today}を見て`)).toEqual([
      [loom, loom],
      [today, today],
    ]);
  });

  test("a link whose words have brackets", () => {
    expect(cited(pages(loom), `[looms [old] and new](${loom})`)).toEqual([[`[looms [old] and new](${loom})`, loom]]);
  });

  test("one with brackets of its own, also in a link", () => {
    const url = "https://en.wikipedia.org/wiki/Loom_(weaving)";
    expect(cited(pages(url), `[Loom](${url}), ${url}, (${url}).`)).toEqual([
      [`[Loom](${url})`, url],
      [url, url],
      [url, url],
    ]);
  });

  test.each([
    ["another", "https://other.example/"],
    ["the query of another", `https://other.example/?to=${loom}`],
    ["an archive's copy", `https://archive.example/web/2020/${loom}`],
    ["the same host by another scheme", "http://loom.example/"],
    ["a block of code", `\`\`\`sh\ncurl ${loom}\n\`\`\``],
    ["a block of code in a list", `1. So:\n\n   - \`\`\`sh\n     curl ${loom}\n     \`\`\`\n`],
    ["a block of code in a quotation", `> \`\`\`\n> ${loom}\n> \`\`\``],
    ["a block of code with a shorter fence in it", `\`\`\`\`\n\`\`\`\n${loom}\n\`\`\`\``],
    ["a block of code that is not closed", `~~~\n${loom}\n\n${loom}`],
  ])("not: %s", (_, text) => {
    expect(pages(loom).in(text)).toEqual([]);
  });

  test("behind a block of code in a list", () => {
    expect(cited(pages(loom), `- \`\`\`\n  ${loom}\n  \`\`\`\n- ${loom}`)).toEqual([[loom, loom]]);
  });

  test("far behind the start of a text that is too long nothing is looked for", () => {
    expect(pages(loom).in(`${" ".repeat(1024 * 1024)}${loom}`)).toEqual([]);
  });

  test("behind a block of code places are right again", () => {
    const text = `\`\`\`\n${loom}\n\`\`\`\nSee ${loom}`;
    expect(cited(pages(loom), text)).toEqual([[loom, loom]]);
    expect(pages(loom).in(text)).toMatchObject([{ start_index: text.lastIndexOf(loom) }]);
  });

  test("each time that it is named, to a bound", () => {
    expect(cited(pages(loom), `${loom} and ${loom}`)).toHaveLength(2);
    expect(pages(loom).in(`${loom} `.repeat(200))).toHaveLength(100);
  });

  test("the first title of a URL counts", () => {
    const citations = pages(loom);
    citations.know("web_search", { results: [{ url: loom, title: "Another" }] });
    expect(citations.in(loom)).toMatchObject([{ title: `Title of ${loom}` }]);
  });
});

describe("files", () => {
  test("the index is right behind the words that name it, in characters", () => {
    expect(files("policy.md").in("🧵 See policy.md:3-5.")).toEqual([
      { type: "file_citation", index: 19, file_id: "default/policy.md", filename: "policy.md" },
    ]);
  });

  test.each([
    ["a name", "See policy.md.", "See policy.md"],
    ["with lines", "See policy.md:12-30, please", "See policy.md:12-30"],
    ["in code", "See `policy.md:3`", "See `policy.md:3"],
    ["in brackets", "(policy.md)", "(policy.md"],
    ["with its collection", "See default/policy.md", "See default/policy.md"],
    ["between ideographs", "见policy.md。", "见policy.md"],
  ])("%s", (_, text, upTo) => {
    expect(cited(files("policy.md"), text)).toEqual([[upTo, "default/policy.md"]]);
  });

  test.each([
    ["a part of another name", "old-policy.md, policy.md.bak, policy.mdx and docs/policy.md"],
    ["a URL", "https://loom.example/policy.md"],
    ["a block of code", "```\ncat policy.md\n```"],
  ])("not: %s", (_, text) => {
    expect(files("policy.md").in(text)).toEqual([]);
  });

  test("a name with blanks, and the longest of two", () => {
    expect(
      cited(files("Hand", "Hand book.pdf", "Hand book.pdf.txt"), "In Hand book.pdf.txt and Hand book.pdf"),
    ).toEqual([
      ["In Hand book.pdf.txt", "default/Hand book.pdf.txt"],
      ["In Hand book.pdf.txt and Hand book.pdf", "default/Hand book.pdf"],
    ]);
  });

  test("a name like a word only with lines", () => {
    expect(cited(files("notes"), "My notes say so: notes:3")).toEqual([["My notes say so: notes:3", "default/notes"]]);
  });

  test("of two collections the one that is named, else the better one", () => {
    const both = files("policy.md@hr", "policy.md@it");
    expect(cited(both, "it/policy.md").map(([, id]) => id)).toEqual(["it/policy.md"]);
    expect(cited(both, "policy.md").map(([, id]) => id)).toEqual(["hr/policy.md"]);
  });
});

test("what was recorded with a message in UTF-16 units is told in characters", () => {
  const note = { type: "url_citation", start_index: 5, end_index: 7, url: loom, title: "Looms" } as const;
  expect(inCharacters("🧵🧵 ab", [note])).toEqual([{ ...note, start_index: 3, end_index: 5 }]);
});

test("pages and files together, in the order of the text", () => {
  const citations = files("policy.md");
  citations.know("web_search", { results: [{ url: loom, title: "Looms" }] });
  expect(citations.in(`policy.md, ${loom}, policy.md`).map(({ type }) => type)).toEqual([
    "file_citation",
    "url_citation",
    "file_citation",
  ]);
});

test.each([undefined, null, "text", {}, { results: [null, 1, {}], passages: [{}] }])(
  "a result like %j is none",
  (result) => {
    const citations = new Citations();
    citations.know("web_search", result);
    citations.know("file_search", result);
    expect(citations.in("See https://loom.example/ and policy.md")).toEqual([]);
  },
);

describe("texts of a megabyte and hundreds of results take moments", () => {
  const size = 1024 * 1024;
  const many = new Citations();
  const results = Array.from({ length: 500 }, (_, at) => ({
    url: `https://loom.example/${"https://".repeat(20)}${at}`,
  }));
  const passages = Array.from({ length: 500 }, (_, at) => ({
    document: `${"a ".repeat(50)}${at}.md`,
    collection: "c",
  }));
  many.know("web_search", { results });
  many.know("file_search", { passages });
  test.each([
    ["one URL", `https://loom.example/${"a".repeat(size)}`],
    ["URLs in URLs", "https://".repeat(size / 8)],
    ["URLs without ends", "https://loom.example/x ".repeat(size / 23)],
    ["marks", `https://loom.example/${")".repeat(size)}`],
    ["brackets", `${"[".repeat(size)}](https://loom.example/`],
    ["names that begin alike", "a ".repeat(size / 2)],
    ["code that is not closed", "```\n".repeat(size / 4)],
    ["emoji", "🧵".repeat(size / 2)],
  ])(
    "%s",
    (_, text) => {
      many.in(text);
    },
    3_000,
  );
});
