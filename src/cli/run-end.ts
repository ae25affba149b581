// How a run ended, for a person: one icon, one word, and why in plain words.
import { type RunCompleted, RunOutcome, type Usage } from "../../gen/heddle/v1/event_pb.js";
import { type Mark, marks } from "./marks.js";
import { word } from "./words.js";

export interface RunEnd {
  readonly mark: Mark;
  /** Such as `succeeded`. */
  readonly outcome: string;
  /** Empty when the outcome says it all. Not made safe for a terminal. */
  readonly why: string;
  /** Empty where nobody counted. */
  readonly tokens: string;
}

export function runEndOf({ outcome, finishReason, errorMessage, usage }: RunCompleted): RunEnd {
  const outcomeText = word(RunOutcome, outcome);
  const reason = Object.hasOwn(reasons, finishReason) ? reasons[finishReason]! : finishReason;
  const why = errorMessage || (outcome === RunOutcome.SUCCEEDED ? "" : reason);
  return { mark: markOf[outcome] ?? marks.failed, outcome: outcomeText, why, tokens: tokensText(usage) };
}

const markOf: Partial<Record<RunOutcome, Mark>> = {
  [RunOutcome.SUCCEEDED]: marks.succeeded,
  [RunOutcome.CANCELLED]: marks.calledOff,
  [RunOutcome.INTERRUPTED]: marks.interrupted,
};

const lengthReached = "the model's reply reached its length limit";

/** Heddle's reasons, and what providers call theirs. Others are shown as they are. */
const reasons: Readonly<Record<string, string>> = {
  step_limit: "stopped at its limit of steps (--max-steps, agent.maxSteps)",
  time_limit: "stopped at its time limit (agent.timeLimitMs)",
  token_limit: "stopped at its limit of tokens (agent.maxTokens)",
  length: lengthReached,
  max_tokens: lengthReached,
  model_length: lengthReached,
  content_filter: "the provider's filter stopped the model's reply",
  server_stopping: "the server stopped",
  cancelled: "",
};

/** Zero is what a provider that does not count says. */
const tokensText = (usage: Usage | undefined): string =>
  usage === undefined || usage.inputTokens + usage.outputTokens === 0n
    ? ""
    : `${usage.inputTokens} tokens in, ${usage.outputTokens} out`;
