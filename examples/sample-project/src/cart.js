// What is in the cart, and what it comes to. Amounts are in cents.
import { shippingFor } from "./shipping.js";

/** A cart with one more item. The one that is given stays as it is. */
export function addItem(cart, item) {
  return [...cart, { quantity: 1, ...item }];
}

export function subtotal(cart) {
  let sum = 0;
  for (const { price, quantity } of cart) sum += price * quantity;
  return sum;
}

export function total(cart) {
  return subtotal(cart) + shippingFor(subtotal(cart));
}
