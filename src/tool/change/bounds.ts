// How much a tool that changes files takes and works on.
export const bounds = {
  /** A whole file that a model writes, or a piece of one, in UTF-16 units. */
  writtenUnits: 1_000_000,
  /** A file that is changed. */
  editedBytes: 4 * 1024 * 1024,
  /** A file that is deleted is shown up to this size. */
  shownBytes: 1_000_000,
} as const;
