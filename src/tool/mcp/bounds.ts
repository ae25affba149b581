// What an MCP server may use up. It is somebody else's program: everything that it can send has an end.

export const bounds = {
  /** One message of a server, on one line of its output or in one event of its stream. */
  messageBytes: 64 * 1024 * 1024,
  /** Pages of one list of tools, and tools in it. */
  pages: 256,
  tools: 512,
  /** Of one tool: what is longer is cut, or leaves the tool out. */
  descriptionUnits: 16 * 1024,
  schemaBytes: 64 * 1024,
  /** All tools of one server, as JSON. */
  listBytes: 8 * 1024 * 1024,
  /** A line of a server in the operator's log, and how many of them in a minute. */
  logUnits: 2_000,
  logLinesPerMinute: 600,
  /** How long a server that is told to end may take before it is killed. */
  closeMs: 2_000,
  /** After a list has changed, others may change with it. */
  refreshDebounceMs: 200,
  refreshEveryMs: 1_000,
  /** Waiting before a server that is down is tried again: doubled each time. */
  firstRetryMs: 1_000,
  longestRetryMs: 60_000,
  /** A connection that lasted so long was a good one: the next loss begins to count anew. */
  stableMs: 10_000,
  /** How long a run waits for a server that could not be had the last time. When it comes later, it is taken up then. */
  patienceMs: 2_000,
  /** Threads whose servers are held in memory. Beyond it, those that were not used for longest are forgotten. */
  threads: 1_000,
} as const;
