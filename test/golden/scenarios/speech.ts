// Tools through which the agent speaks to the user: what it says is readable while the model still writes the input.
import { clarify } from "../../../src/tool/builtin/clarify.js";
import { informUser } from "../../../src/tool/builtin/inform-user.js";
import { workComplete } from "../../../src/tool/builtin/work-complete.js";
import { play, type ReplyScript } from "../../support/agent.js";
import { piece, says, stop, streams } from "../agents.js";
import { type Group, open, run, type Scenario } from "../scenario.js";

const tools = [clarify, informUser, workComplete];

const speaks = (name: string, ...input: readonly string[]): ReplyScript =>
  streams([piece(0, { name }), ...input.map((text) => piece(0, { input: text })), ...stop("tool_calls")]);

const asked: Scenario["play"] = async (stage) => {
  const core = open(stage, {
    text: "",
    replies: [
      speaks(
        "clarify",
        '{"question":"The blue one for ',
        "\\u20",
        "ac30 or the",
        " red one for \\u20AC45?",
        '","options":["blue","red"]}',
      ),
      says("The red one it is."),
    ],
    tools,
  });
  const { threadId } = await play(core, { text: "Order a loom" });
  await play(core, { threadId, text: "The red one" });
  return { core, threadId };
};

export const speech: Group = {
  title: "Tools that speak",
  scenarios: [
    {
      name: "clarify",
      title: "`clarify` asks the user",
      sentence:
        "TextDelta is the question as a person reads it, decoded from raw input that is cut anywhere, even inside an escape; the run ends, and the answer is the next one's message.",
      play: asked,
    },
    {
      name: "inform-user",
      title: "`inform_user` tells the user something",
      sentence: "Speech in the middle of the work: the run goes on.",
      play: run({
        text: "Tidy up",
        replies: [speaks("inform_user", '{"message":"Half ', "of it ", 'is done.\\n"}'), says("All tidy.")],
        tools,
      }),
    },
    {
      name: "work-complete",
      title: "`work_complete` says that all is done",
      sentence: "The summary is the last word: the run ends with the call.",
      play: run({
        text: "Tidy up",
        replies: [speaks("work_complete", '{"summary":"Moved ', "12 files 🧵", ' and deleted none."}')],
        tools,
      }),
    },
  ],
};
