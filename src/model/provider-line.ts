// The HTTP under an SDK, for one request. The SDKs read keys and headers from the environment, follow redirects with the key
// in hand, and keep only some shapes of an error's body: here the request carries exactly what the provider was given, goes
// nowhere else, and every answer that is not a stream of events becomes a ModelError at once.
import type { ModelError } from "./model.js";
import type { Provider } from "./provider.js";
import { failedInside, notAStream, refused, unsendableKey } from "./provider-error.js";
import { parsedObject } from "./wire-values.js";

/** What is read of the body of an error. */
const refusalBytes = 64 * 1024;

/** From the request to the head of its answer; local models read a long prompt first. */
export const answerMs = 300_000;

/** Contract: `failure`, once set, is what went wrong; the SDK throws something of its own in its place. */
export interface ProviderLine {
  readonly failure: ModelError | undefined;
  /** A stream of events has begun, though it may be empty so far. */
  readonly hasAnswered: boolean;
  fetch(url: string | URL | Request, init?: RequestInit): Promise<Response>;
}

export function openLine(provider: Provider): ProviderLine {
  let failure: ModelError | undefined;
  let hasAnswered = false;
  return {
    get failure() {
      return failure;
    },
    get hasAnswered() {
      return hasAnswered;
    },
    fetch: async (url, init = {}) => {
      if (!isSendable(provider)) failure = unsendableKey(provider);
      if (failure) throw failure;
      const response = await fetch(url, {
        ...init,
        headers: headersOf(provider, init),
        redirect: "manual",
        ...(typeof init.body === "string" && { body: wellFormedJson(init.body) }),
      });
      failure = await refusalIn(provider, response);
      if (failure) throw failure;
      hasAnswered = true;
      return response;
    },
  };
}

const isSendable = ({ keyHeader }: Provider): boolean => keyHeader === undefined || /^[\x20-\x7e]+$/.test(keyHeader[1]);

const sentHeaders = ["accept", "content-type", "user-agent", "anthropic-version"];

function headersOf({ keyHeader }: Provider, init: RequestInit): Headers {
  const made = new Headers(init.headers);
  const headers = new Headers(sentHeaders.flatMap((name) => (made.has(name) ? [[name, made.get(name)!]] : [])));
  if (keyHeader) headers.set(...keyHeader);
  return headers;
}

/** Half a surrogate pair, which only an escape can carry, would have the whole conversation refused. */
const wellFormedJson = (body: string): string =>
  body.replace(/\\\\|\\ud[89a-f][0-9a-f]{2}/g, (found) => (found === "\\\\" ? found : "\\ufffd"));

async function refusalIn(provider: Provider, response: Response): Promise<ModelError | undefined> {
  const { status, headers } = response;
  if (!response.ok) return refused(provider, { status, headers, text: await beginning(response) });
  const mediaType = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  // Small servers label their streams in many ways; these two are never one.
  if (mediaType !== "text/html" && mediaType !== "application/json") return undefined;
  const text = await beginning(response);
  return parsedObject(text)?.["error"] ? failedInside(provider, text) : notAStream(provider, mediaType);
}

/** As much of the body as is needed. A body that breaks off is no further trouble: the status is known. */
async function beginning(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      bytes += chunk.byteLength;
      if (bytes >= refusalBytes) break;
    }
  } catch {
    // Broken off, or called off: whoever called off looks at the signal first.
  }
  return text;
}
