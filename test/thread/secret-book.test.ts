import { expect, test } from "vitest";
import { SecretBook } from "../../src/thread/secret-book.js";

test("secrets that are held are blanked out, and let go of they are not", () => {
  const book = new SecretBook(["always-hidden"]);
  expect(book.text("always-hidden for-a-while")).toBe("[redacted] for-a-while");
  const letGo = book.hold(["for-a-while"]);
  expect(book.text("always-hidden for-a-while")).toBe("[redacted] [redacted]");
  expect(book.stream().push("for-a-while")).toBe("[redacted]");
  letGo();
  expect(book.text("always-hidden for-a-while")).toBe("[redacted] for-a-while");
});

test("one that two hold stays until both let go, each once", () => {
  const book = new SecretBook([]);
  const first = book.hold(["shared-secret", "shared-secret"]);
  const second = book.hold(["shared-secret"]);
  first();
  first();
  expect(book.text("shared-secret")).toBe("[redacted]");
  second();
  expect(book.text("shared-secret")).toBe("shared-secret");
});
