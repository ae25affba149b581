// What a scenario is, and the plain one: a message, and the run to its end.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { RunOptionsSchema } from "../../src/thread/schema.js";
import { isCase, play, type ReplyScript, replies, send, until } from "../support/agent.js";
import type { Core, CoreOptions } from "../support/core.js";
import type { Stage } from "./stage.js";

export interface Scenario {
  /** Of its golden file. */
  readonly name: string;
  readonly title: string;
  /** What to see in it: a sentence. */
  readonly sentence: string;
  /** Resolves when the log is as the golden file has it. */
  play(stage: Stage): Promise<Played>;
}

export interface Played {
  /** The server to read the log from. */
  readonly core: Core;
  readonly threadId: string;
}

export interface Group {
  readonly title: string;
  readonly scenarios: readonly Scenario[];
}

export interface Cast extends Pick<CoreOptions, "tools" | "servers" | "limits" | "afterRestart" | "policy"> {
  /** What the user writes. */
  readonly text: string;
  readonly replies: readonly ReplyScript[];
  readonly options?: MessageInitShape<typeof RunOptionsSchema>;
}

/** Plays a run to its end. */
export const run =
  (cast: Cast): Scenario["play"] =>
  async (stage) => {
    const core = open(stage, cast);
    const { threadId } = await play(core, message(cast));
    return { core, threadId };
  };

/** Plays a run until an event has come, and leaves the rest to the scenario. */
export async function runUntil(
  stage: Stage,
  cast: Cast,
  name: Parameters<typeof isCase>[0],
): Promise<Played & { runId: string; toolCallId: string }> {
  const core = open(stage, cast);
  const { threadId, runId } = await send(core, message(cast));
  const events = await until(core, threadId, isCase(name));
  const created = events.find(isCase("toolCallCreated"))?.payload;
  return { core, threadId, runId, toolCallId: created?.case === "toolCallCreated" ? created.value.toolCallId : "" };
}

export const toTheEnd = async ({ core, threadId }: Played): Promise<Played> => {
  await until(core, threadId, isCase("runCompleted"));
  return { core, threadId };
};

export const open = (stage: Stage, cast: Cast): Core => {
  const { replies: scripts, tools = [], servers, limits, afterRestart = "continue", policy } = cast;
  return stage.open({
    model: replies(...scripts),
    tools,
    afterRestart,
    ...(policy && { policy }),
    ...(servers && { servers }),
    limits: { firstBackoffMs: 500, ...limits },
    defaults: { model: "test:model" },
  });
};

const message = ({ text, options }: Cast) => ({
  text,
  ...(options && { options: create(RunOptionsSchema, options) }),
});
