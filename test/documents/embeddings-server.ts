// An embeddings endpoint in OpenAI's wire format on loopback. Its vectors know a few ideas: texts about the same one are near,
// whatever their words.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Words that mean the same have the same place. */
const ideas = [
  ["refund", "money", "reimburse"],
  ["holiday", "vacation", "leave"],
  ["dog", "hound", "puppy"],
  ["car", "automobile", "vehicle"],
];

export interface AskedRequest {
  readonly authorization: string | undefined;
  readonly path: string;
  readonly model: string;
  readonly input: readonly string[];
}

type Answering = (response: ServerResponse, request: AskedRequest) => boolean;

export class EmbeddingsServer implements AsyncDisposable {
  readonly asked: AskedRequest[] = [];
  /** Says what else to answer; true when it has. */
  answering: Answering = () => false;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<EmbeddingsServer> {
    const server = new EmbeddingsServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { model, input } = JSON.parse(Buffer.concat(pieces).toString()) as { model: string; input: string[] };
    const asked = { authorization: request.headers.authorization, path: request.url!, model, input };
    this.asked.push(asked);
    if (this.answering(response, asked)) return;
    const data = input.map((text, index) => ({ object: "embedding", index, embedding: vectorOf(text) }));
    response.setHeader("content-type", "application/json");
    // In any order: the index counts.
    response.end(JSON.stringify({ object: "list", data: data.reverse(), model }));
  }
}

function vectorOf(text: string): number[] {
  const words = text.toLowerCase();
  return [...ideas.map((idea) => idea.filter((word) => words.includes(word)).length), 0.01];
}
