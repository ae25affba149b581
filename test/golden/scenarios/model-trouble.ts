// Providers that do not answer, or stop in the middle.
import { ModelError } from "../../../src/model/model.js";
import { calls, fails, piece, readFile, says, streams, texts } from "../agents.js";
import { type Group, run } from "../scenario.js";

const broken = streams(
  [...texts("Let me look."), piece(0, { name: "read_file" }), piece(0, { input: '{"path":"no' })],
  {
    error: new ModelError("broken", "The connection to the model was lost in the middle of its reply"),
  },
);

export const modelTrouble: Group = {
  title: "Trouble with the model",
  scenarios: [
    {
      name: "reply-breaks",
      title: "The stream breaks in the middle of an input",
      sentence:
        "The attempt is dropped: its call is discarded, its message cut off. It is made once more, as attempt 2.",
      play: run({
        text: "Read the notes",
        replies: [broken, calls({ name: "read_file", input: { path: "notes.md" } }), says("Read.")],
        tools: [readFile],
      }),
    },
    {
      name: "reply-breaks-twice",
      title: "It breaks again",
      sentence: "Once is all that is tried after the first token; the run fails with the provider's trouble in a line.",
      play: run({ text: "Read the notes", replies: [broken, broken], tools: [readFile] }),
    },
    {
      name: "rate-limited",
      title: "A rate limit",
      sentence:
        "Before the first token trouble is waited out, as long as the provider asks for: nothing of it is in the log but the time.",
      play: run({
        text: "Hello",
        replies: [fails("rate_limited", "The provider is busy: 429", 20_000), says("Hello.")],
      }),
    },
    {
      name: "provider-error",
      title: "The provider refuses",
      sentence: "What will not pass by itself is not tried again; the run fails with a message that says what to do.",
      play: run({
        text: "Hello",
        replies: [fails("unauthorized", "The provider refuses the key: set OPENAI_API_KEY to one that is valid")],
      }),
    },
  ],
};
