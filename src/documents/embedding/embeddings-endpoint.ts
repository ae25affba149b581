// An endpoint that turns texts into vectors, in the wire format of OpenAI's. It is the operator's choice, and so is where it is;
// what it answers is checked and bounded. The key stands in no message.
import { setTimeout as pause } from "node:timers/promises";
import { waitedMs } from "./retry-after.js";
import { normalized } from "./vector-block.js";

export interface EmbeddingsSettings {
  readonly url: string;
  readonly model: string;
  readonly key: string | undefined;
}

/** What went wrong. Temporary: the same may work later. Refused: it will not, for it is about the texts. */
export class EmbeddingsError extends Error {
  readonly kind: "temporary" | "refused" | "unusable";
  readonly retryAfterMs: number | undefined;

  constructor(
    message: string,
    options: { kind: EmbeddingsError["kind"]; retryAfterMs?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.name = "EmbeddingsError";
    this.kind = options.kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

export interface EmbedOptions {
  readonly signal: AbortSignal;
  /** For each try. */
  readonly timeoutMs: number;
  /** How often it is tried at most. */
  readonly tries: number;
}

/** Above any model known today. */
const mostDimensions = 8_192;
/** What 64 vectors take as JSON, and some. */
const answerBytes = 32 * 1024 * 1024;
const firstWaitMs = 500;
const longestWaitMs = 20_000;

export class EmbeddingsEndpoint {
  readonly #settings: EmbeddingsSettings;
  readonly #address: string;

  constructor(settings: EmbeddingsSettings) {
    this.#settings = settings;
    this.#address = `${settings.url.replace(/\/+$/, "")}/embeddings`;
  }

  get model(): string {
    return this.#settings.model;
  }

  /** One vector of length 1 for each text, all of the same size. Rejects with an EmbeddingsError, or the signal's reason. */
  async embed(texts: readonly string[], { signal, timeoutMs, tries }: EmbedOptions): Promise<Float32Array[]> {
    for (let tried = 1; ; tried++) {
      try {
        return await this.#ask(texts, signal, timeoutMs);
      } catch (reason) {
        signal.throwIfAborted();
        const error = reason as EmbeddingsError;
        const waitMs = error.retryAfterMs ?? firstWaitMs * 2 ** (tried - 1);
        if (error.kind !== "temporary" || tried >= tries || waitMs > longestWaitMs) throw error;
        await pause(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  async #ask(texts: readonly string[], signal: AbortSignal, timeoutMs: number): Promise<Float32Array[]> {
    const control = new AbortController();
    const leave = (): void => control.abort();
    const timer = setTimeout(leave, timeoutMs);
    signal.addEventListener("abort", leave, { once: true });
    try {
      const answer = await fetch(this.#address, this.#request(texts, control.signal));
      if (!answer.ok) throw await refusal(answer);
      return vectorsOf(await boundedText(answer), texts.length);
    } catch (cause) {
      if (cause instanceof EmbeddingsError) throw cause;
      const words = control.signal.aborted ? `did not answer within ${timeoutMs / 1_000} s` : "cannot be reached";
      throw new EmbeddingsError(`The embeddings endpoint ${words}`, { kind: "temporary", cause });
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    }
  }

  #request(input: readonly string[], signal: AbortSignal): RequestInit {
    const { model, key } = this.#settings;
    return {
      method: "POST",
      // With a redirect the texts, and the key, would go to somebody whom the operator has not chosen.
      redirect: "error",
      signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ model, input, encoding_format: "float" }),
    };
  }
}

async function refusal(answer: Response): Promise<EmbeddingsError> {
  await answer.body?.cancel().catch(() => undefined);
  const { status, headers } = answer;
  const message = `The embeddings endpoint answered ${status}`;
  if (status === 429 || status === 408 || status >= 500)
    return new EmbeddingsError(message, { kind: "temporary", retryAfterMs: waitedMs(headers.get("retry-after")) });
  const isAboutTexts = status === 400 || status === 413 || status === 422;
  return new EmbeddingsError(`${message}: look at documents.embeddings`, {
    kind: isAboutTexts ? "refused" : "unusable",
  });
}

async function boundedText(answer: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const piece of answer.body ?? []) {
    bytes += piece.length;
    if (bytes > answerBytes) throw strange("answers with too much");
    text += decoder.decode(piece, { stream: true });
  }
  return text + decoder.decode();
}

function vectorsOf(text: string, count: number): Float32Array[] {
  const data = (parsed(text) as { data?: unknown } | null)?.data;
  if (!Array.isArray(data) || data.length !== count) throw strange("did not give one vector for each text");
  const vectors: Float32Array[] = new Array(count);
  data.forEach((item: { index?: unknown; embedding?: unknown } | null, position) => {
    const index = typeof item?.index === "number" ? item.index : position;
    if (isVector(item?.embedding) && Number.isInteger(index)) vectors[index] = normalized(item.embedding);
  });
  const dimensions = vectors[0]?.length;
  for (let index = 0; index < count; index++)
    if (vectors[index]?.length !== dimensions || dimensions === undefined)
      throw strange("gave something else than vectors");
  return vectors.slice(0, count);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw strange("did not answer with JSON");
  }
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= mostDimensions &&
  value.every((number) => typeof number === "number" && Number.isFinite(number));

const strange = (what: string): EmbeddingsError =>
  new EmbeddingsError(`The embeddings endpoint ${what}: look at documents.embeddings`, { kind: "unusable" });
