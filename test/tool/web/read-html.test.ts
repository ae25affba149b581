// Pages of odd shapes. What an article becomes, and that a hostile page harms nobody, is shown with web_fetch.
import { describe, expect, test } from "vitest";
import readHtml from "../../../src/tool/web/read-html.js";

describe("readHtml", () => {
  test.each([
    [
      "a list is read whole",
      "<html><body><h1>Links</h1><ul><li><a href=/a>A</a><li><a href=/b>B</a></ul></body></html>",
      "# Links\n\n-   [A](http://example.com/a)\n-   [B](http://example.com/b)",
    ],
    ["a page without the usual tags", "<title>T</title><p>Hello<p>World", "Hello\n\nWorld"],
    [
      "hidden text stays hidden",
      "<body><p>Seen<p hidden>Unseen</p><template>Unseen</template><noscript>Unseen</noscript>",
      "Seen",
    ],
    [
      "a page with its own base",
      '<base href="https://other.example/x/"><a href="y">Y</a>',
      "[Y](https://other.example/x/y)",
    ],
    ["nothing", "", ""],
    ["a page that is not HTML at all", "just text", "just text"],
  ])("%s", (_, html, text) => {
    expect(readHtml({ html, url: "http://example.com/docs/page" }).markdown).toBe(text);
  });

  test.each([
    ["the title's", "<title> On\n heddles </title><p>a", "On\n heddles"],
    ["none", "<p>a", ""],
    ["one with entities", "<html><head><title>A &amp; B</title></head><body>a</body></html>", "A & B"],
  ])("gives as title %s", (_, html, title) => {
    expect(readHtml({ html, url: "http://example.com/" }).title.trim()).toBe(title);
  });

  test("leaves an address that is none out, and keeps its words", () => {
    const links = ["javascript:alert(1)", "data:text/html,a", "http://[", "vbscript:a", ""].map(
      (href) => `<a href="${href}">w</a>`,
    );
    expect(readHtml({ html: `<p>${links.join(" ")}`, url: "http://example.com/" }).markdown).toBe("w w w w w");
  });
});
