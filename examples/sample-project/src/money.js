// Amounts as people read them.

// TODO: other currencies.
export function formatMoney(cents) {
  return `${(cents / 100).toFixed(2)} EUR`;
}
