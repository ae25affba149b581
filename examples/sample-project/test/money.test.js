import assert from "node:assert/strict";
import { test } from "node:test";
import { formatMoney } from "../src/money.js";

test("cents become an amount", () => {
  assert.equal(formatMoney(1_999), "19.99 EUR");
});
