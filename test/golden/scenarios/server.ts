// Servers that stop in good order, and servers that are killed. The next one is upon the same log.

import { untilAborted } from "../../../src/model/pause.js";
import { recover } from "../../../src/recorder/recover.js";
import type { ReplyScript } from "../../support/agent.js";
import { calls, endless, piece, says, streams, texts } from "../agents.js";
import { type Cast, type Group, open, type Played, runUntil, type Scenario, toTheEnd } from "../scenario.js";
import { passes, type Stage } from "../stage.js";

const watching: Cast = {
  text: "Watch the build",
  replies: [calls({ name: "run_command", input: { command: "make watch" } })],
  tools: [endless],
};

/** A reply that is still streaming when the server goes. */
const unfinished = (script: ReplyScript): ReplyScript =>
  async function* (request, signal) {
    yield* typeof script === "function" ? script(request, signal) : script;
    await untilAborted(signal);
  };

/** Whatever was there is gone. The next server, a second later, looks after what it left open. */
async function startAgain(stage: Stage, cast: Cast, { threadId }: Played): Promise<Played> {
  stage.kill();
  await passes(1_000);
  const core = open(stage, cast);
  await recover(stage.log, core.recordings);
  return { core, threadId };
}

const killedWhile =
  (event: Parameters<typeof runUntil>[2], cast: Cast, next: readonly ReplyScript[]): Scenario["play"] =>
  async (stage) => {
    const running = await runUntil(stage, cast, event);
    await passes(1_000);
    return toTheEnd(await startAgain(stage, { ...cast, replies: next }, running));
  };

const stopped = async (stage: Stage, cast: Cast): Promise<Played> => {
  const running = await runUntil(stage, cast, "toolCallStarted");
  await passes(1_000);
  await running.core.runs.close();
  return running;
};

export const server: Group = {
  title: "Servers that go away",
  scenarios: [
    {
      name: "server-stops",
      title: "The server stops, and the run goes on",
      sentence:
        "What runs is interrupted while there is still time to say so; the run stays open, and the next server goes on with it.",
      play: async (stage) => {
        const running = await stopped(stage, watching);
        return toTheEnd(await startAgain(stage, { ...watching, replies: [says("It was cut short.")] }, running));
      },
    },
    {
      name: "server-stops-run-ends",
      title: "The server stops, and the run ends",
      sentence: "The same where runs are configured to end with their server.",
      play: async (stage) => toTheEnd(await stopped(stage, { ...watching, afterRestart: "end" })),
    },
    {
      name: "server-dies",
      title: "The server dies, and the run goes on",
      sentence:
        "The next server ends what was running as interrupted, since nobody knows what it did; nothing is run again, and the model decides.",
      play: killedWhile("toolCallStarted", watching, [says("I shall not try again.")]),
    },
    {
      name: "server-dies-mid-reply",
      title: "The server dies in the middle of a reply",
      sentence: "The half call and the half message end; the model is asked again, as if it had said nothing.",
      play: killedWhile(
        "toolCallInputDelta",
        {
          ...watching,
          replies: [
            unfinished(
              streams([...texts("Let me look."), piece(0, { name: "run_command" }), piece(0, { input: '{"comm' })]),
            ),
          ],
        },
        [says("Here I am again.")],
      ),
    },
    {
      name: "server-dies-run-ends",
      title: "The server dies, and the run ends",
      sentence: "Where runs are configured to end, the next server ends the run as well, and the model is not asked.",
      play: killedWhile("toolCallStarted", { ...watching, afterRestart: "end" }, []),
    },
  ],
};
