// A provider on loopback that speaks the streaming wires of OpenAI and of Anthropic. It plays one reply a request, in the order
// given, whole or cut into pieces, and can break, hang and refuse; what it was asked is kept.
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface WireReply {
  /** 200. */
  readonly status?: number;
  /** `content-type` is that of a stream of events. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** Where the body is cut, in bytes from its beginning, ascending. Each piece is written and flushed alone. */
  readonly cuts?: readonly number[];
  /** Waited for before each piece but the first. */
  readonly beforePiece?: (piece: number) => Promise<void>;
  /** What comes after the body: `end` (the default); `break` cuts the connection; `hang` leaves it open. */
  readonly ending?: "end" | "break" | "hang";
}

/** Takes the request and never answers. */
export const silence = "silence";

/** Takes the request and cuts the connection. */
export const hangUp = "hangUp";

export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like.
  readonly body: any;
  /** Resolves when the exchange is over: `true` when the client left before all was sent. */
  readonly over: Promise<boolean>;
}

export interface ModelWire extends AsyncDisposable {
  /** As `OPENAI_BASE_URL` and as `ANTHROPIC_BASE_URL`. */
  readonly openaiUrl: string;
  readonly anthropicUrl: string;
  readonly requests: readonly WireRequest[];
  play(...replies: readonly (WireReply | typeof silence | typeof hangUp)[]): void;
  /** The first request that no earlier `request` gave, as soon as it is there. */
  request(): Promise<WireRequest>;
}

const paths = ["/v1/chat/completions", "/v1/messages"];

export async function openModelWire(): Promise<ModelWire> {
  const replies: (WireReply | typeof silence | typeof hangUp)[] = [];
  const requests: WireRequest[] = [];
  const arrivals = new EventEmitter();
  let given = 0;
  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests.push(await received(incoming, response));
    arrivals.emit("request");
    const known = incoming.method === "POST" && paths.includes(incoming.url ?? "");
    const reply = known ? replies.shift() : undefined;
    if (reply === undefined) response.writeHead(404).end(`the wire has no reply to ${incoming.method} ${incoming.url}`);
    else if (reply === hangUp) response.destroy();
    else if (reply !== silence) await send(response, reply);
  };
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    openaiUrl: `${url}/v1`,
    anthropicUrl: url,
    requests,
    play: (...more) => void replies.push(...more),
    request: async () => {
      while (requests.length <= given) await once(arrivals, "request");
      return requests[given++]!;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function received(incoming: IncomingMessage, response: ServerResponse): Promise<WireRequest> {
  const over = once(response, "close").then(() => !response.writableFinished);
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString("utf8");
  const { method = "", url: path = "", headers } = incoming;
  return { method, path, headers, body: text === "" ? undefined : JSON.parse(text), over };
}

async function send(response: ServerResponse, reply: WireReply): Promise<void> {
  const { status = 200, headers, body, cuts = [], beforePiece, ending = "end" } = reply;
  response.socket?.setNoDelay(true);
  response.writeHead(status, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
  const bytes = Buffer.from(body);
  const borders = [0, ...cuts, bytes.length];
  for (let piece = 0; piece + 1 < borders.length; piece++) {
    if (piece > 0) await beforePiece?.(piece);
    const part = bytes.subarray(borders[piece], borders[piece + 1]);
    if (part.length > 0) await new Promise<void>((resolve) => response.write(part, () => resolve()));
  }
  if (ending === "end") response.end();
  if (ending === "break") response.destroy();
}

/** Chunks as OpenAI sends them. */
export const openaiSse = (chunks: readonly unknown[], { done = true }: { done?: boolean } = {}): string =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") + (done ? "data: [DONE]\n\n" : "");

/** One chunk of a chat completion: its delta, and the reason when it is the last one. */
export const openaiChunk = (delta: unknown, finishReason: string | null = null): object => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: finishReason }],
});

export interface WireEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** Events as Anthropic sends them. */
export const anthropicSse = (events: readonly WireEvent[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

/** A whole message around the events of its blocks. */
export const anthropicMessage = (blocks: readonly WireEvent[], stopReason: string): string =>
  anthropicSse([
    {
      type: "message_start",
      message: { id: "msg_1", role: "assistant", content: [], usage: { input_tokens: 10, output_tokens: 1 } },
    },
    ...blocks,
    { type: "message_delta", delta: { stop_reason: stopReason, stop_sequence: null }, usage: { output_tokens: 7 } },
    { type: "message_stop" },
  ]);

/** A whole block of a message: its place, how it starts, and its deltas. */
export const anthropicBlock = (index: number, start: object, deltas: readonly object[]): readonly WireEvent[] => [
  { type: "content_block_start", index, content_block: start },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index },
];
