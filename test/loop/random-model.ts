// Models that do all that providers do: names that come late, in pieces, again or never; calls that interleave; ids that are
// missing or used twice; inputs that are cut anywhere and are no JSON; replies that break, hang or end without an end.
import { once } from "node:events";
import fc from "fast-check";
import { type EndReason, type Model, ModelError, type ModelEvent, type ModelRequest } from "../../src/model/model.js";
import { cutAt, type Pause, pause, take, text } from "./random-text.js";
import { toolNames } from "./random-tools.js";

interface CallPlan {
  readonly id: string;
  readonly idWhen: "first" | "late" | "always" | "never";
  readonly name: string;
  readonly nameWhen: "first" | "in pieces" | "repeated" | "late" | "never";
  readonly input: string;
  readonly cuts: readonly number[];
  readonly saysEnd: boolean;
}

type ReplyEnd =
  | { readonly kind: "end"; readonly reason: EndReason; readonly providerReason: string }
  | { readonly kind: "without end" }
  | {
      readonly kind: "throws";
      readonly error: "rate_limited" | "unavailable" | "broken" | "rejected" | "invalid_reply";
    }
  | { readonly kind: "hangs"; readonly hears: boolean };

export interface ReplyPlan {
  readonly said: readonly ModelEvent[];
  readonly calls: readonly CallPlan[];
  /** Which of those that have something left goes next. */
  readonly turns: readonly number[];
  readonly pauses: readonly Pause[];
  readonly end: ReplyEnd;
}

const input: fc.Arbitrary<string> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ text: text(), n: fc.nat() }).map((value) => JSON.stringify(value)) },
  { weight: 2, arbitrary: fc.tuple(text(20), fc.nat(40)).map(([text, end]) => JSON.stringify({ text }).slice(0, end)) },
  { weight: 1, arbitrary: text() },
  { weight: 1, arbitrary: fc.constantFrom("", "[1]", "null", '{"text":5}', '{"__proto__":{}}', '{"text":"\\ud83d"}') },
);

/** Stands for an input larger than what goes out as deltas: a counterexample should fit on a page. Rare, for it is slow. */
const large = "a large input";
const largeInput = JSON.stringify({ text: "large 😀 ".repeat(60_000) });

const name = fc.oneof(
  { weight: 16, arbitrary: fc.constantFrom(...toolNames) },
  { weight: 2, arbitrary: fc.constantFrom("nothing", "two words", "\u0007", "x".repeat(300), "tur\u202ened", "run_") },
);

const call: fc.Arbitrary<CallPlan> = fc.record({
  id: fc.constantFrom("call_1", "call_2", "", "\u0007", "i".repeat(300)),
  idWhen: fc.constantFrom("first", "late", "always", "never"),
  name,
  nameWhen: fc.constantFrom(
    "first",
    "first",
    "first",
    "in pieces",
    "in pieces",
    "repeated",
    "repeated",
    "late",
    "late",
    "never",
  ),
  input: fc.oneof({ weight: 120, arbitrary: input }, { weight: 1, arbitrary: fc.constant(large) }),
  cuts: fc.array(fc.nat(60), { maxLength: 5 }),
  saysEnd: fc.boolean(),
});

const tokens = fc.constantFrom(0, 7, 1e300, Number.NaN, -1, 0.5);
const said: fc.Arbitrary<ModelEvent> = fc.oneof(
  fc.record({ type: fc.constantFrom("text", "text", "reasoning", "refusal"), text: text() }),
  fc.record({
    type: fc.constant("usage" as const),
    usage: fc.record({
      inputTokens: tokens,
      cachedInputTokens: tokens,
      outputTokens: tokens,
      reasoningTokens: tokens,
    }),
  }),
) as fc.Arbitrary<ModelEvent>;

const end: fc.Arbitrary<ReplyEnd> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc.record({
      kind: fc.constant("end" as const),
      reason: fc.constantFrom("stop", "tool_calls", "truncated", "filtered"),
      providerReason: fc.constantFrom("stop", "length", "", "a reason\n".repeat(20)),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "without end" as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("throws" as const),
      error: fc.constantFrom("rate_limited", "unavailable", "broken", "broken", "rejected", "invalid_reply"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("hangs" as const), hears: fc.boolean() }) },
) as fc.Arbitrary<ReplyEnd>;

export const reply: fc.Arbitrary<ReplyPlan> = fc.record({
  said: fc.array(said, { maxLength: 4 }),
  calls: fc.array(call, { maxLength: 5 }),
  turns: fc.array(fc.nat(5), { maxLength: 30 }),
  pauses: fc.array(pause, { maxLength: 30 }),
  end,
});

export interface RandomModel extends Model {
  readonly requests: ModelRequest[];
}

/** Replies by plan; when there are no more plans it says a last word. */
export function randomModel(plans: readonly ReplyPlan[]): RandomModel {
  const requests: ModelRequest[] = [];
  return {
    name: "random:model",
    requests,
    async *stream(request, signal) {
      const plan = plans[requests.length] ?? lastWord;
      requests.push(structuredClone(request));
      yield* play(plan, signal);
    },
  };
}

const lastWord: ReplyPlan = {
  said: [{ type: "text", text: "That is all." }],
  calls: [],
  turns: [],
  pauses: [],
  end: { kind: "end", reason: "stop", providerReason: "stop" },
};

async function* play(plan: ReplyPlan, signal: AbortSignal): AsyncGenerator<ModelEvent> {
  for (const [at, event] of merged([plan.said, ...plan.calls.map(piecesOf)], plan.turns).entries()) {
    await take(plan.pauses[at] ?? "none");
    yield event;
  }
  switch (plan.end.kind) {
    case "end":
      yield { type: "end", reason: plan.end.reason, providerReason: plan.end.providerReason };
      return;
    case "without end":
      return;
    case "throws":
      throw new ModelError(plan.end.error, "The provider has\ntrouble", { retryAfterMs: 1 });
    case "hangs":
      if (!plan.end.hears) await new Promise<never>(() => {});
      if (!signal.aborted) await once(signal, "abort");
      throw signal.reason;
  }
}

/** One event of one list at a time, each list in its order. */
function merged(lists: readonly (readonly ModelEvent[])[], turns: readonly number[]): ModelEvent[] {
  const rest = lists.map((list) => [...list]);
  const events: ModelEvent[] = [];
  for (let at = 0; ; at++) {
    const left = rest.filter((list) => list.length > 0);
    if (left.length === 0) return events;
    events.push(left[(turns[at] ?? 0) % left.length]!.shift()!);
  }
}

function piecesOf({ id, idWhen, name, nameWhen, input, cuts, saysEnd }: CallPlan, index: number): ModelEvent[] {
  const pieces: { id?: string; name?: string; input?: string }[] = cutAt(
    input === large ? largeInput : input,
    cuts,
  ).map((piece) => ({
    input: piece,
  }));
  if (nameWhen === "first") pieces.unshift({ name });
  if (nameWhen === "in pieces") pieces.unshift(...cutAt(name, [2, 4]).map((piece) => ({ name: piece })));
  if (nameWhen === "repeated") for (const piece of pieces) piece.name = name;
  if (nameWhen === "late") pieces.push({ name });
  if (pieces.length === 0) pieces.push({});
  if (idWhen === "first") pieces[0]!.id = id;
  if (idWhen === "late") pieces.at(-1)!.id = id;
  if (idWhen === "always") for (const piece of pieces) piece.id = id;
  const events = pieces.map((piece): ModelEvent => ({ type: "tool_call", index, ...piece }));
  return saysEnd ? [...events, { type: "tool_call_end", index }] : events;
}
