import assert from "node:assert/strict";
import { test } from "node:test";
import { shippingFor } from "../src/shipping.js";

test("a large order is sent free of charge", () => {
  assert.equal(shippingFor(12_000), 0);
});

test("an order of exactly 50.00 is sent free of charge", () => {
  assert.equal(shippingFor(5_000), 0);
});
