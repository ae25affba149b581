// Every size that the schema promises, in one place. proto/heddle/v1 documents the same numbers.
export const limits = {
  /** One stored event, encoded. */
  eventBytes: 64 * 1024,
  /** One text delta. */
  deltaBytes: 32 * 1024,
  /** One delta of Heddle's own runs: redaction may more than double it, and it must still fit into an event. */
  ownDeltaBytes: 16 * 1024,
  /** Input that goes out as deltas; the rest is only in the body. */
  inputDeltaBytes: 512 * 1024,
  /** A summary, in UTF-16 units (T5). */
  summaryUnits: 200,
  pathUnits: 4096,
  locations: 100,
  planEntries: 100,
  annotations: 100,
  openCallIds: 256,
  batchEvents: 1000,
  /** Pieces of bodies in one batch. */
  batchContents: 1000,
  /** Calls, and also messages, reasonings and discoveries, of one run that are open at the same time. */
  openSubjects: 1000,
  /** All of them together in one run. */
  subjectsPerRun: 100_000,
  /** Different fields of one call's decoded text. */
  textFields: 16,
  /** Levels of a run's echoed request. */
  requestEchoDepth: 16,
  /** Background processes of one thread that run at the same time. */
  processes: 64,
  contentChunkBytes: 1024 * 1024,
  /** Bodies of one call. */
  contentsPerCall: 64,
  /** Bodies that GetToolCall sends along. */
  inlineContentBytes: 1024 * 1024,
  /** One piece of ReadToolCallContent. */
  readChunkBytes: 256 * 1024,
  requestEchoBytes: 16 * 1024,
  refusalBytes: 8 * 1024,
  /** Documents of one page. */
  pageBytes: 1024 * 1024,
  pageSize: { default: 50, max: 500 },
  labels: { count: 32, keyUnits: 63, valueUnits: 256 },
  /** What SendMessage takes. */
  run: {
    textBytes: 256 * 1024,
    requestIdUnits: 200,
    /** Request ids that a thread remembers. */
    rememberedRequests: 64,
    instructionsBytes: 256 * 1024,
    steps: 1000,
    timeLimitMs: 86_400_000,
    allowedTools: 256,
  },
  /** Images of messages. `perRequest` and `requestBytes`: what a model is shown of a conversation, the newest first. */
  images: { perMessage: 16, bytes: 5 * 1024 * 1024, urlUnits: 2048, perRequest: 32, requestBytes: 20 * 1024 * 1024 },
  /** The schema of an answer. */
  textFormat: { descriptionBytes: 16 * 1024, schemaBytes: 64 * 1024 },
  /** What clients declare or offer. */
  clientTools: { perOffer: 256, descriptionBytes: 16 * 1024, schemaBytes: 64 * 1024, templateUnits: 1000 },
  /** MCP servers of one thread. */
  threadServers: { count: 16, labelUnits: 64, urlUnits: 2048, headers: 32 },
  /** What one report of a client may hold. */
  report: { outputs: 100, bytes: 1024 * 1024 },
  leaseMs: { min: 1_000, default: 30_000, max: 600_000 },
} as const;
