// How much the documents may take. docs/documents.md states the same numbers.

export const documentLimits = {
  /** A document as uploaded. */
  bytes: 64 * 1024 * 1024,
  nameUnits: 1_024,
  queryUnits: 1_000,
  /** What one search gives at most. */
  found: 50,
  /** Of one document. What has more is mostly markup. */
  passages: 65_536,
  /** Of all documents: the index of their words is kept in memory. */
  passagesInAll: 100_000,
  pdfPages: 5_000,
} as const;
