// What GetToolCall must tell of calls that are over, beside their events: the same facts, and bodies that fit the deltas.
import { createHash } from "node:crypto";
import { ToolCallState } from "../../gen/heddle/v1/tool_call_pb.js";
import type { CallPayload, ThreadEvent } from "../../src/thread/event.js";
import { Executor, type ToolCall, ToolCallOutcome } from "../../src/thread/schema.js";
import type { Core } from "../support/core.js";

/** One call's events in their order, Created first. */
export interface CallEvents {
  readonly id: string;
  readonly toolName: string;
  readonly events: readonly (ThreadEvent & { payload: CallPayload })[];
}

/** Says which rule a thread breaks, and where. */
export function must(holds: boolean, rule: string, event?: ThreadEvent): asserts holds {
  if (holds) return;
  const at = event ? ` (event ${event.sequence}, ${event.payload.case})` : "";
  throw new Error(`${rule.slice(0, shownUnits)}${at}`);
}

/** Of a rule and what broke it: a text may be large. */
const shownUnits = 500;

export interface CallRecord {
  readonly call: ToolCall;
  /** Every visible body, whole. */
  readonly bodies: ReadonlyMap<string, Buffer>;
}

export type CallRecords = ReadonlyMap<string, CallRecord>;

/** Every call that the events speak of, with its bodies of whatever size. */
export async function readRecords(
  { toolCalls }: Pick<Core, "toolCalls">,
  events: readonly ThreadEvent[],
): Promise<CallRecords> {
  const records = new Map<string, CallRecord>();
  for (const { payload } of events) {
    if (payload.case !== "toolCallCreated") continue;
    const { toolCallId } = payload.value;
    const { call } = await toolCalls.get(toolCallId);
    const bodies = new Map<string, Buffer>();
    for (const { contentId } of call.contents) {
      const pieces: Uint8Array[] = [];
      for await (const { data } of toolCalls.readContent({ toolCallId, contentId, offset: 0n })) pieces.push(data);
      bodies.set(contentId, Buffer.concat(pieces));
    }
    records.set(toolCallId, { call, bodies });
  }
  return records;
}

interface RecordEvidence {
  readonly records: CallRecords;
  readonly textFields: Readonly<Record<string, readonly string[]>>;
}

export function checkRecords(calls: readonly CallEvents[], { records, textFields }: RecordEvidence): void {
  must(records.size === calls.length, "GetToolCall knows every call");
  for (const call of calls) {
    const record = records.get(call.id);
    must(record !== undefined, `GetToolCall knows call ${call.id}`);
    checkFacts(call, record.call);
    checkInput(call, record, textFields[call.toolName] ?? []);
    checkResult(call, record);
  }
}

function checkFacts({ id, toolName, events }: CallEvents, call: ToolCall): void {
  const is = (holds: boolean, what: string): void => must(holds, `GetToolCall tells the ${what} of the events`, last);
  const first = events[0]!;
  const last = events.at(-1)!;
  must(last.payload.case === "toolCallComplete", "T1: a call ends with Complete", last);
  const { outcome, summary, error, exitCode, locations, outputBytes } = last.payload.value;
  is(call.id === id && call.toolName === toolName && call.runId === first.runId, "ids and name");
  is(call.state === ToolCallState.OVER, "state");
  is(call.outcome === outcome, "outcome");
  is(call.completeSummary === summary, "last summary");
  is(call.error?.kind === error?.kind && call.error?.message === error?.message, "error");
  is(call.exitCode === exitCode && call.locations.length === locations.length, "exit code and locations");
  is(call.outputBytes === outputBytes, "size of the output");
  is(call.createdSequence === first.sequence && call.completedSequence === last.sequence, "sequences");
  const told = firstOf(events, "toolCallStarted") ?? firstOf(events, "toolCallInputCompleted");
  is(call.startedSummary === (told?.summary ?? ""), "first summary");
  is((call.startTime !== undefined) === (firstOf(events, "toolCallStarted") !== undefined), "time of the start");
}

function checkInput({ id, events }: CallEvents, { bodies }: CallRecord, fields: readonly string[]): void {
  const completed = firstOf(events, "toolCallInputCompleted");
  const input = bodies.get("input");
  must((completed === undefined) === (input === undefined), `call ${id} has an input body once the input is complete`);
  if (!completed || !input) return;
  must(completed.inputBytes === BigInt(input.length), `the size of call ${id}'s input is that of its body`);
  const sha256 = createHash("sha256").update(input).digest();
  must(sha256.equals(completed.inputSha256), `the hash of call ${id}'s input is that of its body`);
  const isCut = completed.deltasTruncated;
  const streamed = joined(events, "toolCallInputDelta");
  must(isAllOf(input.toString(), streamed, isCut), `call ${id} streams its input: not ${streamed}, of ${input}`);
  const value = parsed(input.toString());
  if (value === undefined) return;
  for (const field of fields) {
    const text = value[field];
    const spoken = joined(events, "toolCallTextDelta", field);
    const expected = typeof text === "string" ? Buffer.from(text).toString() : "";
    must(isAllOf(expected, spoken, isCut), `call ${id} speaks its ${field}: not ${spoken}, of ${expected}`);
  }
}

/** Or its beginning, where deltas were cut off: the cut may fall into a pair of surrogates. */
const isAllOf = (whole: string, streamed: string, isCut: boolean): boolean =>
  isCut ? whole.startsWith(streamed.replace(/\uFFFD$/, "")) : whole === streamed;

const ranToAnEnd = new Set([ToolCallOutcome.SUCCEEDED, ToolCallOutcome.FAILED, ToolCallOutcome.REJECTED]);

function checkResult({ id, events }: CallEvents, { bodies }: CallRecord): void {
  const complete = firstOf(events, "toolCallComplete")!;
  const result = bodies.get("result");
  must(complete.resultBytes === BigInt(result?.length ?? 0), `the size of call ${id}'s result is that of its body`);
  must(!complete.success || result !== undefined, `call ${id} succeeded and has a result`);
  // What a client's call gave is told to the model as it is, unless the client says otherwise.
  const isClients = firstOf(events, "toolCallStarted")?.executor === Executor.CLIENT;
  must(
    isClients || !ranToAnEnd.has(complete.outcome) || bodies.has("model"),
    `call ${id} keeps what the model was told`,
  );
}

type Value<Case> = Extract<ThreadEvent["payload"], { case: Case }>["value"];

function firstOf<Case extends ThreadEvent["payload"]["case"]>(
  events: readonly ThreadEvent[],
  name: Case,
): Value<Case> | undefined {
  return events.find(({ payload }) => payload.case === name)?.payload.value as Value<Case> | undefined;
}

function joined(
  events: readonly ThreadEvent[],
  name: "toolCallInputDelta" | "toolCallTextDelta",
  field?: string,
): string {
  return events
    .flatMap(({ payload }) => (payload.case === name ? [payload.value] : []))
    .filter((value) => field === undefined || ("field" in value && value.field === field))
    .map(({ text }) => text)
    .join("");
}

/** Undefined for what is no JSON object. */
function parsed(input: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(input);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
