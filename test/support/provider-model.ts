// A model upon a provider on loopback, for tests of the models that speak a wire.
import { inspect } from "node:util";
import { afterEach, beforeEach } from "vitest";
import { type Model, ModelError, type ModelEvent, type ModelRequest } from "../../src/model/model.js";
import type { ProviderOptions } from "../../src/model/provider.js";
import { type ModelWire, openModelWire, type WireReply, type WireRequest } from "./model-wire.js";

export interface ProviderUnderTest {
  readonly name: string;
  readonly keyVariable: string;
  readonly baseUrlVariable: string;
  create(options: ProviderOptions): Model;
  urlOf(wire: ModelWire): string;
  keyOf(request: WireRequest): string | undefined;
  /** A reply that says "one" and then "two", in two events, and where the second begins in bytes. */
  readonly reply: { readonly body: string; readonly secondAt: number };
  /** An event in the middle of a stream that tells of a failure. */
  failureEvent(failure: { type: string; message: string }): string;
  /** A PNG of the bytes `iVBORw0K` with little detail, and `https://loom.invalid/a.png`, as the wire has them. */
  readonly images: { readonly bytes: object; readonly url: object };
  /** Variables that the SDK would look at. */
  readonly environment: Readonly<Record<string, string>>;
}

export const question: ModelRequest = {
  instructions: "",
  messages: [{ role: "user", text: "hello" }],
  tools: [],
  toolChoice: { type: "auto" },
  parallelToolCalls: true,
};

export const key = "sk-secret-0123456789abcdefghij";

export async function eventsOf(model: Model, request: ModelRequest = question): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of model.stream(request, new AbortController().signal)) events.push(event);
  return events;
}

export async function failureOf(model: Model, request: ModelRequest = question): Promise<ModelError> {
  const error = await eventsOf(model, request).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ModelError)) throw new Error(`no ModelError but ${inspect(error)}`);
  return error;
}

export const textIn = (events: readonly ModelEvent[]): string =>
  events.map((event) => (event.type === "text" ? event.text : "")).join("");

/** A wire for each test, and a model on it. */
export function useWire(under: Pick<ProviderUnderTest, "create" | "urlOf">) {
  let wire: ModelWire;
  beforeEach(async () => {
    wire = await openModelWire();
  });
  afterEach(() => wire[Symbol.asyncDispose]());
  const model = (apiKey: string | undefined = key): Model =>
    under.create({ name: "m", apiKey, baseUrl: under.urlOf(wire) });
  return {
    wire: () => wire,
    model,
    /** Plays the reply and gives the error that comes of it. */
    failsWith: (reply: WireReply, apiKey?: string): Promise<ModelError> => {
      wire.play(reply);
      return failureOf(model(apiKey));
    },
    /** Plays the replies and gives the events of the last. */
    played: async (...bodies: readonly string[]): Promise<ModelEvent[]> => {
      wire.play(...bodies.map((body) => ({ body })));
      let events: ModelEvent[] = [];
      for (const _ of bodies) events = await eventsOf(model());
      return events;
    },
    /** What the provider is asked with. */
    // biome-ignore lint/suspicious/noExplicitAny: tests look into it as they like.
    asked: async (body: string, request: Partial<ModelRequest>): Promise<any> => {
      wire.play({ body });
      await eventsOf(model(), { ...question, ...request });
      return wire.requests.at(-1)?.body;
    },
  };
}

/** An answer with an error, in the shape that most servers give it. */
export const refusal = (
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): WireReply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify({ error: { message, type: "some_error" } }),
});
