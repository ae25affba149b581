import { expect, test } from "vitest";
import { isUuid, newId } from "../../src/thread/ids.js";

test("new ids are random UUIDs of version 4, each another one", () => {
  const ids = Array.from({ length: 10_000 }, () => newId());
  expect(new Set(ids).size).toBe(ids.length);
  const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  expect(ids.filter((id) => !version4.test(id))).toEqual([]);
  expect(ids.filter((id) => !isUuid(id))).toEqual([]);
  // Every digit that may vary does.
  for (let at = 0; at < 36; at++) {
    const digits = new Set(ids.map((id) => id[at])).size;
    expect([at, digits]).toEqual([at, at === 14 || [8, 13, 18, 23].includes(at) ? 1 : at === 19 ? 4 : 16]);
  }
});

test("what is no UUID is none, also right behind one that is", () => {
  const id = newId();
  const wrong = [
    "",
    " ",
    id.toUpperCase(),
    `${id} `,
    id.slice(1),
    id.replaceAll("-", ""),
    `${id.slice(0, 14)}9${id.slice(15)}`,
  ];
  for (const text of wrong) {
    expect([text, isUuid(text)]).toEqual([text, false]);
    expect(isUuid(id)).toBe(true);
    expect([text, isUuid(text)]).toEqual([text, false]);
  }
});
