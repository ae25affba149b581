// What it costs to send an order. Amounts are in cents.

const freeFrom = 5_000;
const flatRate = 490;

export function shippingFor(amount) {
  if (amount === 0) return 0;
  // Orders of 50.00 or more are sent free of charge.
  if (amount > freeFrom) return 0;
  return flatRate;
}
