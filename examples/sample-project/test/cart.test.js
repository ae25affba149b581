import assert from "node:assert/strict";
import { test } from "node:test";
import { addItem, subtotal, total } from "../src/cart.js";

const tea = { name: "tea", price: 450 };

test("an empty cart costs nothing", () => {
  assert.equal(total([]), 0);
});

test("items count as often as they were ordered", () => {
  assert.equal(subtotal(addItem([], { ...tea, quantity: 3 })), 1_350);
});

test("a small order pays for shipping", () => {
  assert.equal(total(addItem([], tea)), 940);
});
