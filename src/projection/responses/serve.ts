// The Responses API over HTTP: POST and GET /v1/responses, cancel, delete, input items, and the models. Everything is read from the
// log: what streams is the fold of project.ts.
import type { Responses, StoredResponse } from "../../responses.js";
import { answer } from "../../server/answer.js";
import type { Door, Exchange } from "../../server/exchange.js";
import { outputOf } from "../../server/output.js";
import { readBody } from "../../server/read-body.js";
import { isError } from "../../thread/errors.js";
import type { BuiltInShape } from "./call-shapes.js";
import { ApiError, asApiError, notFound, wrong } from "./errors.js";
import { eventsOf, keepAlive, lastBytes } from "./events.js";
import { inputPage } from "./input-items.js";
import type { Bodies } from "./join.js";
import { LiveResponses } from "./live.js";
import type { ResponseFold } from "./project.js";
import { Query } from "./query.js";
import { type Offered, type ResponseRecord, understand } from "./request.js";
import { parseRequest } from "./request-shape.js";
import { parseResponseId, responseId } from "./response-id.js";
import { folded } from "./snapshot.js";

export interface ResponsesDoorOptions {
  readonly responses: Responses;
  readonly bodies: Bodies;
  readonly offered: () => Promise<Offered>;
  readonly builtIn: BuiltInShape;
  readonly messageBytes: number;
  readonly heartbeatMs: number;
  readonly onUnexpected: (error: unknown) => void;
}

type Handler = (call: Call) => Promise<void>;

interface Call {
  readonly exchange: Exchange;
  readonly options: ResponsesDoorOptions;
  readonly live: LiveResponses;
  readonly id: string;
  /** Aborted when the caller has gone. */
  readonly signal: AbortSignal;
}

const routes: readonly { readonly method: string; readonly path: RegExp; readonly handle: Handler }[] = [
  { method: "POST", path: /^\/v1\/responses$/, handle: createResponse },
  { method: "GET", path: /^\/v1\/responses\/([^/]+)$/, handle: getResponse },
  { method: "DELETE", path: /^\/v1\/responses\/([^/]+)$/, handle: deleteResponse },
  { method: "POST", path: /^\/v1\/responses\/([^/]+)\/cancel$/, handle: cancelResponse },
  { method: "GET", path: /^\/v1\/responses\/([^/]+)\/input_items$/, handle: listInput },
  { method: "GET", path: /^\/v1\/models$/, handle: listModels },
  { method: "GET", path: /^\/v1\/models\/(.+)$/, handle: getModel },
];

/** Whether errors of a request are told in this API's words. */
export const isApiPath = (path: string): boolean => path === "/v1" || path.startsWith("/v1/");

export function createResponsesDoor(options: ResponsesDoorOptions): Door {
  const live = new LiveResponses((stored, signal) => eventsOf(stored, options, signal));
  return (exchange) => {
    if (!isApiPath(exchange.path)) return false;
    void serve(exchange, { options, live });
    return true;
  };
}

async function serve(exchange: Exchange, { options, live }: Pick<Call, "options" | "live">): Promise<void> {
  const gone = new AbortController();
  outputOf(exchange).onClose(() => gone.abort());
  try {
    const onPath = routes.filter(({ path }) => path.test(exchange.path));
    const route = onPath.find(({ method }) => method === exchange.method);
    if (!route) throw noRoute(exchange, onPath.length > 0);
    const [, id = ""] = route.path.exec(exchange.path) ?? [];
    await route.handle({ exchange, options, live, id: decoded(id), signal: gone.signal });
  } catch (reason) {
    if (gone.signal.aborted) return;
    const error = asApiError(reason);
    if (error.status >= 500 && !(reason instanceof ApiError)) options.onUnexpected(reason);
    refuse(exchange, error);
  }
}

/** What cannot be decoded is the name of nothing. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const noRoute = ({ method, path }: Exchange, isKnown: boolean): ApiError =>
  isKnown
    ? new ApiError(405, `Not allowed to ${method} on ${path}.`, { code: "method_not_supported" })
    : new ApiError(404, `Invalid URL (${method} ${path}).`, { code: "unknown_url" });

export function refuse(exchange: Exchange, reason: unknown): void {
  const error = asApiError(reason);
  json(exchange, error.body, error.status);
}

const json = (exchange: Exchange, body: unknown, status = 200): void =>
  answer(exchange, { status, headers: { "content-type": "application/json" }, text: `${JSON.stringify(body)}\n` });

async function createResponse(call: Call): Promise<void> {
  const { exchange, options, signal } = call;
  const { responses, offered } = options;
  const asked = understand(parseRequest(await bodyText(exchange, options.messageBytes)), await offered());
  const record = JSON.stringify(asked.record);
  const segment = await responses.begin({ ...asked.begin, record }, asked.previous).catch((error: unknown) => {
    if (asked.previous && isError(error, "response_not_found"))
      throw wrong(
        "previous_response_id",
        `Previous response with id '${responseId(asked.previous)}' not found.`,
        "previous_response_not_found",
      );
    throw error;
  });
  const stored = await responses.get(segment);
  const { background, store } = asked.record.echo;
  // Nobody else can wait for it.
  const callOff = (): void => void responses.cancel(stored).catch(options.onUnexpected);
  if (!background) signal.addEventListener("abort", callOff);
  // It has gone while the response began.
  if (!background && signal.aborted) callOff();
  // Before its caller has the last word of it; also when the caller has gone. A run that waits for the caller must not be called off
  // because the caller has its question, and goes.
  const ended = once(async () => {
    signal.removeEventListener("abort", callOff);
    if (!store) await responses.delete(stored).catch(options.onUnexpected);
  });
  try {
    if (asked.isStream) return await stream(call, stored, { after: -1, beforeEnd: ended });
    const response = background ? await snapshot(call, stored) : (await toEnd(call, stored)).response();
    await ended();
    json(exchange, response);
  } finally {
    await ended();
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

async function getResponse(call: Call): Promise<void> {
  const stored = await find(call);
  const query = new Query(call.exchange);
  const isStream = query.oneOf("stream", ["true", "false"]) === "true";
  // Behind the last event comes nothing: one that has seen all of it is told so.
  const after = query.wholeNumber("starting_after", { min: 0, max: Number.MAX_SAFE_INTEGER }) ?? -1;
  if (isStream) await stream(call, stored, { after });
  else json(call.exchange, await snapshot(call, stored));
}

async function cancelResponse(call: Call): Promise<void> {
  const stored = await find(call);
  const { echo } = JSON.parse(stored.record) as ResponseRecord;
  if (!echo.background) throw new ApiError(400, "Cannot cancel a synchronous response.");
  const { status } = await snapshot(call, stored);
  if (status === "completed" || status === "failed" || status === "incomplete")
    throw new ApiError(400, `Cannot cancel a ${status} response.`);
  await call.options.responses.cancel(stored);
  json(call.exchange, (await toEnd(call, stored)).response());
}

async function deleteResponse(call: Call): Promise<void> {
  await call.options.responses.delete(await find(call));
  json(call.exchange, { id: call.id, object: "response", deleted: true });
}

async function listInput(call: Call): Promise<void> {
  const { input } = JSON.parse((await find(call)).record) as ResponseRecord;
  json(call.exchange, inputPage(input, new Query(call.exchange)));
}

const modelObject = (id: string) => ({ id, object: "model", created: 0, owned_by: "heddle" });

async function listModels({ exchange, options }: Call): Promise<void> {
  json(exchange, { object: "list", data: (await options.offered()).models.map(modelObject) });
}

async function getModel({ exchange, options, id }: Call): Promise<void> {
  if (!(await options.offered()).models.includes(id))
    throw new ApiError(404, `The model '${id.slice(0, 100)}' does not exist.`, { code: "model_not_found" });
  json(exchange, modelObject(id));
}

async function find({ id, options }: Call): Promise<StoredResponse> {
  const segment = parseResponseId(id);
  if (!segment) throw notFound(id);
  try {
    return await options.responses.get(segment);
  } catch (error) {
    throw isError(error, "response_not_found") ? notFound(id) : error;
  }
}

/** The fold at the end of the response. */
async function toEnd({ options, signal }: Call, stored: StoredResponse): Promise<ResponseFold> {
  const events = eventsOf(stored, options, signal);
  for (;;) {
    const next = await events.next();
    if (next.done) return next.value;
  }
}

/** As it stands now. */
async function snapshot({ options }: Call, stored: StoredResponse): Promise<Readonly<Record<string, unknown>>> {
  return (await folded(stored, options)).response();
}

/** An event is never split over two writes. What the caller has seen is left out, and nothing else is different. */
async function stream(
  { exchange, options, live, signal }: Call,
  stored: StoredResponse,
  { after, beforeEnd }: { after: number; beforeEnd?: () => Promise<void> },
): Promise<void> {
  const output = outputOf(exchange);
  output.start(
    { ...exchange.responseHeaders, "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" },
    { trailers: false },
  );
  let drained: () => void = () => {};
  output.onDrain(() => drained());
  signal.addEventListener("abort", () => drained());
  const alive = setInterval(() => output.write(keepAlive), options.heartbeatMs);
  try {
    for await (const { bytes } of live.follow(stored, after, signal)) {
      alive.refresh();
      if (output.write(bytes) || signal.aborted) continue;
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
    }
    await beforeEnd?.();
    output.end(lastBytes, undefined);
  } catch (reason) {
    // Without its last bytes: whoever reads it knows that there is more, and how to go on with it.
    if (!signal.aborted && !isError(reason, "shutting_down")) options.onUnexpected(reason);
    output.end(Buffer.alloc(0), undefined);
  } finally {
    clearInterval(alive);
  }
}

async function bodyText({ transport, headers }: Exchange, maxBytes: number): Promise<string> {
  const tooLarge = (): ApiError => new ApiError(413, `The body may have at most ${maxBytes} bytes.`);
  if (Number(headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  const source = transport.version === 2 ? transport.stream : transport.request;
  return (await readBody(source, { bytes: maxBytes, beyond: tooLarge })).toString("utf8");
}
