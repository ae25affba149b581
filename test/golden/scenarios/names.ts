// What providers' chunks look like is nobody else's concern: one id, made here, from the first event on (T3).
import { piece, readFile, says, searchWeb, stop, streams } from "../agents.js";
import { type Group, run } from "../scenario.js";

const tools = [readFile, searchWeb];

export const names: Group = {
  title: "Names and ids",
  scenarios: [
    {
      name: "late-name",
      title: "A name that arrives late",
      sentence:
        "Input that comes before the name is kept, and goes out right behind Created; nobody sees a call without a name.",
      play: run({
        text: "Read the notes",
        replies: [
          streams([
            piece(0, { id: "call_late" }),
            piece(0, { input: '{"path":' }),
            piece(0, { name: "read_" }),
            piece(0, { name: "file" }),
            piece(0, { input: '"notes.md"}' }),
            ...stop("tool_calls"),
          ]),
          says("Read."),
        ],
        tools,
      }),
    },
    {
      name: "interleaved",
      title: "Interleaved calls",
      sentence: "Pieces of two inputs come in turns, and each goes to its own call.",
      play: run({
        text: "Look it up, and read the notes",
        replies: [
          streams([
            piece(0, { id: "call_a", name: "search_web" }),
            piece(1, { id: "call_b", name: "read_file" }),
            piece(0, { input: '{"query":' }),
            piece(1, { input: '{"path":' }),
            piece(0, { input: '"looms"}' }),
            piece(1, { input: '"notes.md"}' }),
            ...stop("tool_calls"),
          ]),
          says("Both agree."),
        ],
        tools,
      }),
    },
    {
      name: "no-provider-ids",
      title: "A provider without ids",
      sentence: "Two calls of the same tool, and the provider names neither: each has an id all the same.",
      play: run({
        text: "Compare the notes",
        replies: [
          streams([
            piece(0, { name: "read_file", input: '{"path":"monday.md"}' }),
            piece(1, { name: "read_file", input: '{"path":"friday.md"}' }),
            ...stop("tool_calls"),
          ]),
          says("They differ."),
        ],
        tools,
      }),
    },
  ],
};
