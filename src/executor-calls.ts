// The verbs of executors: clients that run calls for an agent. They claim a call that waits, report on it, and end it.
import { randomBytes } from "node:crypto";
import type { EventLog } from "./log/event-log.js";
import { clientOutcomes } from "./loop/claimed-call.js";
import type { ClientCalls, Completion, Report } from "./loop/client-calls.js";
import { HeddleError, invalidField } from "./thread/errors.js";
import { limits } from "./thread/limits.js";
import type { ContentChunk } from "./thread/schema.js";
import { cleanSummary } from "./thread/summary.js";
import { utf8Bytes } from "./thread/text.js";
import { stateFromWire } from "./thread/tool-call.js";
import { findCall } from "./tool-calls.js";

export interface ClaimRequest {
  readonly toolCallId: string;
  readonly executorName: string;
  /** Empty: one is made. */
  readonly claimToken: string;
  /** Undefined: the usual. */
  readonly leaseMs: number | undefined;
}

export class ExecutorCalls {
  readonly #log: EventLog;
  readonly #calls: ClientCalls;

  constructor(log: EventLog, calls: ClientCalls) {
    this.#log = log;
    this.#calls = calls;
  }

  /** Of two claimers one wins. */
  async claim(request: ClaimRequest): Promise<{ claimToken: string; expiresMs: number }> {
    const executorName = cleanSummary(request.executorName);
    if (!executorName) throw invalidField("executor_name", "must be a name of 1 to 200 characters");
    if (request.claimToken !== "" && !tokenShape.test(request.claimToken))
      throw invalidField("claim_token", "must be empty, or 16 to 200 visible ASCII characters");
    const { min, max } = limits.leaseMs;
    const leaseMs = request.leaseMs ?? limits.leaseMs.default;
    if (!(leaseMs >= min && leaseMs <= max))
      throw invalidField("lease_duration", `must be between ${min / 1000} and ${max / 1000} seconds`);
    const claimToken = request.claimToken || randomBytes(24).toString("base64url");
    const { key, id } = await this.#open(request.toolCallId);
    return { claimToken, expiresMs: await this.#calls.claim(key, id, { executorName, token: claimToken, leaseMs }) };
  }

  /** Resolves with the time at which the lease ends unless it is renewed. */
  async report(toolCallId: string, token: string, report: Report): Promise<number> {
    const { outputs, bytes } = limits.report;
    if (report.outputs.length > outputs) throw invalidField("outputs", `may have at most ${outputs} entries`);
    if (report.outputs.reduce((sum, { text }) => sum + utf8Bytes(text), 0) > bytes)
      throw invalidField("outputs", `may have at most ${bytes} bytes together`);
    const { key, id } = await this.#open(toolCallId);
    return this.#calls.report(key, id, { ...report, token });
  }

  /** Resolves with the bytes of the body that were taken so far. */
  async write(chunk: ContentChunk, token: string): Promise<bigint> {
    const { key } = await this.#open(chunk.toolCallId);
    return this.#calls.write(key, chunk, token);
  }

  /** Resolves once the end is stored. */
  async complete(toolCallId: string, token: string, completion: Completion): Promise<void> {
    const { outcome, summary = "" } = completion.complete;
    if (outcome === undefined || !clientOutcomes.has(outcome))
      throw invalidField("complete.outcome", "must be SUCCEEDED, FAILED, CANCELLED, TIMED_OUT or INTERRUPTED");
    if (cleanSummary(summary) === "") throw invalidField("complete.summary", "must say in one line what came of it");
    if (completion.result.length > limits.contentChunkBytes)
      throw invalidField("result", `may have at most ${limits.contentChunkBytes} bytes: write a larger one in chunks`);
    const { key, id } = await this.#open(toolCallId);
    await this.#calls.complete(key, id, { ...completion, token });
  }

  /** One that is over says so without a write. */
  async #open(toolCallId: string) {
    const { key, call } = await findCall(this.#log, toolCallId);
    if (stateFromWire(call.state) === "over")
      throw new HeddleError("tool_call_over", `Tool call ${call.id} is over: stop working on it; nothing was stored`);
    return { key, id: call.id };
  }
}

const tokenShape = /^[\x21-\x7e]{16,200}$/;
