// Models that take their time, and the tools of the scenarios.
import { z } from "zod";
import { ModelError, type ModelErrorKind, type ModelEvent } from "../../src/model/model.js";
import { pause } from "../../src/model/pause.js";
import type { Kind, ToolContext, ToolDefinition, ToolOutcome } from "../../src/tool/tool.js";
import { type ReplyScript, tool } from "../support/agent.js";

/** How long a model thinks before it answers, and takes for each piece: longer than pieces wait to be joined. */
const thinkingMs = 400;
const pieceMs = 50;

/** A reply as it streams: to its end, or to the error that breaks it off. */
export const streams = (
  events: readonly ModelEvent[],
  { everyMs = pieceMs, error }: { everyMs?: number; error?: ModelError } = {},
): ReplyScript =>
  async function* (_, signal) {
    await pause(thinkingMs, signal);
    for (const [index, event] of events.entries()) {
      if (index > 0 && isPiece(event)) await pause(everyMs, signal);
      yield event;
    }
    if (error) await pause(everyMs, signal);
    if (error) throw error;
  };

const isPiece = ({ type }: ModelEvent): boolean => type !== "usage" && type !== "end" && type !== "tool_call_end";

/** Fails before the first token. */
export const fails = (kind: ModelErrorKind, message: string, retryAfterMs?: number): ReplyScript =>
  async function* (_, signal) {
    await pause(thinkingMs, signal);
    yield* [];
    throw new ModelError(kind, message, { retryAfterMs });
  };

/** Says it piece by piece, and is done. */
export const says = (...pieces: readonly string[]): ReplyScript => streams([...texts(...pieces), ...stop()]);

/** Calls tools one after the other, each input whole, and waits for them. */
export const calls = (...calls: readonly { name: string; input?: object | string; id?: string }[]): ReplyScript =>
  streams([
    ...calls.flatMap(({ name, input = {}, id = "" }, index) => [
      piece(index, { name, ...(id !== "" && { id }) }),
      piece(index, { input: typeof input === "string" ? input : JSON.stringify(input) }),
    ]),
    ...stop("tool_calls"),
  ]);

export const texts = (...pieces: readonly string[]): ModelEvent[] => pieces.map((text) => ({ type: "text", text }));

export const piece = (index: number, part: { id?: string; name?: string; input?: string }): ModelEvent => ({
  type: "tool_call",
  index,
  ...part,
});

/** How a whole reply ends: what it used, and why it stopped. */
export const stop = (
  reason: "stop" | "tool_calls" | "truncated" = "stop",
  providerReason: string = reason,
): ModelEvent[] => [
  { type: "usage", usage: { inputTokens: 120, cachedInputTokens: 0, outputTokens: 30, reasoningTokens: 0 } },
  { type: "end", reason, providerReason },
];

interface Wanted {
  readonly name: string;
  readonly title: string;
  readonly kind: Kind;
  readonly input?: z.ZodType;
  readonly describe: (input: never) => string;
  readonly run: (input: never, context: ToolContext) => Promise<Partial<ToolOutcome<unknown>>>;
  readonly timeoutMs?: number;
  readonly toModel?: (result: never) => string;
}

const define = ({ name, run, ...extra }: Wanted): ToolDefinition =>
  tool(name, run as Parameters<typeof tool>[1], extra as Partial<ToolDefinition>);

/** Takes as long as its input says; ends when it is called off. */
export const readFile = define({
  name: "read_file",
  title: "Read file",
  kind: "read",
  input: z.object({ path: z.string(), ms: z.number().default(300) }),
  describe: ({ path }: { path: string }) => `Reading ${path}`,
  run: async ({ path, ms }: { path: string; ms: number }, { signal }) => {
    await pause(ms, signal);
    return { result: { lines: 12 }, summary: `Read 12 lines of ${path}`, locations: [{ path }] };
  },
});

export const searchWeb = define({
  name: "search_web",
  title: "Search the web",
  kind: "search",
  input: z.object({ query: z.string() }),
  describe: ({ query }: { query: string }) => `Searching the web for "${query}"`,
  run: async ({ query }: { query: string }, { signal }) => {
    await pause(1_500, signal);
    return { result: { hits: 3 }, summary: `Found 3 pages about "${query}"` };
  },
});

/** A command that does what a test wants of it. */
export const runCommand = (
  run: (context: ToolContext) => Promise<Partial<ToolOutcome<unknown>>>,
  extra: Pick<Wanted, "timeoutMs" | "toModel"> = {},
): ToolDefinition =>
  define({
    name: "run_command",
    title: "Run command",
    kind: "execute",
    input: z.object({ command: z.string() }),
    describe: ({ command }: { command: string }) => `Running ${command}`,
    run: (_: never, context) => run(context),
    ...extra,
  });

/** A command that ends only when it is called off. */
export const endless = runCommand(async ({ signal }) => {
  await pause(86_400_000, signal);
  return {};
});

export const writeFile = define({
  name: "write_file",
  title: "Write file",
  kind: "edit",
  input: z.object({ path: z.string(), text: z.string() }),
  describe: ({ path }: { path: string }) => `Writing ${path}`,
  run: async ({ path, text }: { path: string; text: string }, { signal }) => {
    await pause(80, signal);
    return { result: { bytes: text.length }, summary: `Wrote ${path}`, locations: [{ path }] };
  },
});
