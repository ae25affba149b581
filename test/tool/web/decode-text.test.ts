import { describe, expect, test } from "vitest";
import { decodeText } from "../../../src/tool/web/decode-text.js";
import { charsetOf, mediaClassOf, mediaTypeOf } from "../../../src/tool/web/media-type.js";

const latin1 = (text: string) => Buffer.from(text, "latin1");
const utf16be = (text: string) => Buffer.from(`\ufeff${text}`, "utf16le").swap16();

describe("decodeText", () => {
  test.each([
    ["UTF-8 by the header", Buffer.from("Größe"), "text/plain; charset=UTF-8", "Größe"],
    ["Latin 1 by the header", latin1("Größe"), 'text/plain; charset="iso-8859-1"', "Größe"],
    ["Cyrillic by the header", Buffer.from([0xcf, 0xf0, 0xe8]), "text/plain;charset=windows-1251", "При"],
    ["Japanese by the header", Buffer.from([0x93, 0xfa, 0x96, 0x7b]), "text/html; charset=Shift_JIS", "日本"],
    ["Chinese by the header", Buffer.from([0xc4, 0xe3]), "text/html; charset=gbk", "你"],
    [
      "UTF-8 by its mark, whatever the header says",
      Buffer.from("\ufeffGröße"),
      "text/plain; charset=iso-8859-1",
      "Größe",
    ],
    ["UTF-16 by its mark", Buffer.from("\ufeffGröße", "utf16le"), undefined, "Größe"],
    ["UTF-16, the other way round", utf16be("Größe"), undefined, "Größe"],
    [
      "by the page's own word",
      Buffer.concat([latin1('<meta charset="windows-1251">'), Buffer.from([0xcf, 0xf0, 0xe8])]),
      "text/html",
      '<meta charset="windows-1251">При',
    ],
    [
      "by the page's own word, the old way",
      latin1('<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">ß'),
      "text/html",
      '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1">ß',
    ],
    [
      "by XML's own word",
      latin1('<?xml version="1.0" encoding="ISO-8859-1"?>ß'),
      "text/xml",
      '<?xml version="1.0" encoding="ISO-8859-1"?>ß',
    ],
    [
      "a page that claims UTF-16 in ASCII",
      Buffer.from("<meta charset=utf-16>ß"),
      "text/html",
      "<meta charset=utf-16>ß",
    ],
    ["a label that nobody knows", Buffer.from("Größe"), "text/plain; charset=klingon", "Größe"],
    ["nothing said, and UTF-8", Buffer.from("Größe"), undefined, "Größe"],
    ["nothing said, and not UTF-8", latin1("Größe"), undefined, "Größe"],
    ["broken UTF-8 that claims to be UTF-8", latin1("Gr\xf6\xdfe"), "text/plain; charset=utf-8", "Gr\ufffd\ufffde"],
    ["nothing", Buffer.alloc(0), undefined, ""],
  ])("%s", (_, bytes, contentType, text) => {
    expect(decodeText(bytes, contentType)).toBe(text);
  });
});

test.each([
  ["text/html; charset=utf-8", "html"],
  ["application/xhtml+xml", "html"],
  ["TEXT/HTML", "html"],
  ["text/plain", "text"],
  ["text/markdown", "text"],
  ["application/json", "text"],
  ["application/ld+json", "text"],
  ["application/rss+xml", "text"],
  ["image/svg+xml", "text"],
  ["application/pdf", "other"],
  ["image/png", "other"],
  ["application/octet-stream", "other"],
  ["garbage", "other"],
  [undefined, "unknown"],
] as const)("%s is %s", (contentType, expected) => {
  expect(mediaClassOf(mediaTypeOf(contentType))).toBe(expected);
});

test("a charset is found wherever it stands", () => {
  expect(charsetOf('text/html; boundary=a; Charset = "utf-8"')).toBe("utf-8");
  expect(charsetOf("text/html")).toBeUndefined();
});
