// A model that plays a script: for tests that must not need a provider, and always get the same replies.
//
// Which reply answers a request is read off the request alone: the turn by its last user message, the reply by how many the
// assistant has given since. One model can serve any number of threads, and a server that starts anew goes on where the log
// ends. The one thing it remembers is how often the same conversation was asked, for scripts that have `attempts`.
import { createHash } from "node:crypto";
import { cleanSummary } from "../thread/summary.js";
import { type Model, ModelError, type ModelMessage, type ModelRequest } from "./model.js";
import { type Script, type ScriptAttempt, type ScriptReply, type TextMatch, turnsOf } from "./script.js";
import { checkScript } from "./scripted-file.js";
import { play } from "./scripted-play.js";

export type { Script } from "./script.js";
export { readScript } from "./scripted-file.js";

/** Conversations whose attempts are counted; the oldest are forgotten. */
const countedConversations = 10_000;
/** What messages quote of a text, in UTF-16 units. */
const quotedUnits = 120;

/** Fails with `invalid_config` if the script is not as script.ts says. */
export function scriptedModel(given: Script): Model {
  const { name = "script", ...script } = given;
  checkScript(script, name);
  const attempts = new AttemptCounter();
  return {
    name: `scripted:${name}`,
    formats: ["json_object", "json_schema"], // The script answers as it does.
    async *stream(request, signal) {
      const conversation = readConversation(request);
      const { reply, path } = findReply(script, conversation, name);
      checkExpectation(reply, { request, conversation, place: `script ${name}: ${path}.expect` });
      const attempt = reply.attempts ? attempts.choose(reply.attempts, request) : (reply as ScriptAttempt);
      yield* play(attempt.events, { chunk: attempt.chunk ?? reply.chunk ?? script.chunk, signal });
    },
  };
}

interface Conversation {
  readonly lastUser: string | undefined;
  /** Replies since the last user message. */
  readonly replies: number;
  /** What the calls of the last of them have brought. */
  readonly results: readonly string[];
}

function readConversation({ messages }: ModelRequest): Conversation {
  const start = messages.findLastIndex(({ role }) => role === "user");
  const turn = messages.slice(start + 1);
  const lastReply = turn.findLastIndex(({ role }) => role === "assistant");
  return {
    lastUser: (messages[start] as Extract<ModelMessage, { role: "user" }> | undefined)?.text,
    replies: turn.filter(({ role }) => role === "assistant").length,
    results: turn.slice(lastReply + 1).flatMap((message) => (message.role === "tool" ? [message.text] : [])),
  };
}

function findReply(script: Script, { lastUser, replies, results }: Conversation, name: string) {
  const turns = turnsOf(script);
  const turn = turns.find(({ user }) => user === undefined || fits(user, lastUser));
  if (turn === undefined) {
    const known = turns.map(({ user }) => matchWords(user!)).join("; or ");
    throw unexpected(
      `script ${name}: no turn is for the last user message, ${quoted(lastUser)}; expected one that ${known}`,
    );
  }
  const path = `${turn.path}[${replies}]`;
  const reply = turn.replies[replies];
  if (reply === undefined) {
    const came = results.length === 0 ? "" : `; the last tool result was ${quoted(results.at(-1))}`;
    throw unexpected(
      `script ${name}: ${path} is not there: ${turn.replies.length} replies are expected to answer ${quoted(lastUser)}, and this is a request for number ${replies + 1}${came}`,
    );
  }
  return { reply, path };
}

function checkExpectation(
  { expect = {} }: ScriptReply,
  { request, conversation, place }: { request: ModelRequest; conversation: Conversation; place: string },
): void {
  const { lastUser, results } = conversation;
  if (expect.lastUser !== undefined && !fits(expect.lastUser, lastUser))
    throw unexpected(
      `${place}.lastUser: expected a user message that ${matchWords(expect.lastUser)}; it is ${quoted(lastUser)}`,
    );
  if (expect.toolResults !== undefined && expect.toolResults !== results.length)
    throw unexpected(`${place}.toolResults: expected ${expect.toolResults} tool results; there are ${results.length}`);
  if (expect.lastTool !== undefined && !fits(expect.lastTool, results.at(-1)))
    throw unexpected(
      `${place}.lastTool: expected a tool result that ${matchWords(expect.lastTool)}; it is ${quoted(results.at(-1))}`,
    );
  const offered = request.tools.map((tool) => tool.name);
  const missing = (expect.tools ?? []).filter((tool) => !offered.includes(tool));
  if (missing.length > 0)
    throw unexpected(
      `${place}.tools: expected ${missing.join(", ")} to be offered; offered: ${cleanSummary(offered.join(", ")) || "none"}`,
    );
}

const unexpected = (message: string): ModelError => new ModelError("unexpected_request", message);

const fits = (match: TextMatch, text: string | undefined): boolean =>
  match === "*" || (text !== undefined && (typeof match === "string" ? text.includes(match) : text === match.exact));

const matchWords = (match: TextMatch): string =>
  match === "*"
    ? "is any"
    : typeof match === "string"
      ? `contains ${quoted(match)}`
      : `is exactly ${quoted(match.exact)}`;

const quoted = (text: string | undefined): string =>
  text === undefined ? "none" : JSON.stringify(cleanSummary(text, quotedUnits));

/** The same conversation asked again is a further attempt: nothing else in a request could tell. */
class AttemptCounter {
  readonly #counts = new Map<string, number>();

  choose(attempts: readonly ScriptAttempt[], { messages }: ModelRequest): ScriptAttempt {
    const key = createHash("sha256").update(JSON.stringify(messages)).digest("base64");
    const count = this.#counts.get(key) ?? 0;
    this.#counts.delete(key);
    this.#counts.set(key, count + 1);
    if (this.#counts.size > countedConversations) this.#counts.delete(this.#counts.keys().next().value!);
    return attempts[Math.min(count, attempts.length - 1)]!;
  }
}
