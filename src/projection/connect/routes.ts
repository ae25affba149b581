// Every RPC in all three protocols through Connect's own handler. RPCs without an implementation answer UNIMPLEMENTED.
import type { ConnectRouter, Interceptor } from "@connectrpc/connect";
import { DocumentService } from "../../../gen/heddle/v1/document_service_pb.js";
import { RecorderService } from "../../../gen/heddle/v1/recorder_service_pb.js";
import { ThreadService } from "../../../gen/heddle/v1/thread_service_pb.js";
import { ToolCallService } from "../../../gen/heddle/v1/tool_call_service_pb.js";
import { ToolService } from "../../../gen/heddle/v1/tool_service_pb.js";
import type { ExecutorCalls } from "../../executor-calls.js";
import { answer } from "../../server/answer.js";
import type { Exchange } from "../../server/exchange.js";
import type { RequestHandler } from "../../server/options.js";
import { HeddleError } from "../../thread/errors.js";
import type { Threads } from "../../threads.js";
import type { ToolCalls } from "../../tool-calls.js";
import type { ToolOffers } from "../../tool-offers.js";
import { createAdapter } from "./adapter.js";
import { streamingDialect } from "./dialect.js";
import { documentService, type ServedDocuments, type ServedUploads } from "./document-service.js";
import { type Health, registerHealth } from "./health.js";
import { recorderService } from "./recorder-service.js";
import { registerReflection } from "./reflection.js";
import { refuse } from "./refuse.js";
import { binaryOptions } from "./request-message.js";
import { threadService } from "./thread-service.js";
import { toolCallService } from "./tool-call-service.js";
import { toolService } from "./tool-service.js";
import { isServerFault, toWire } from "./wire-error.js";

export const services = [ThreadService, ToolCallService, RecorderService, ToolService, DocumentService] as const;

export interface RoutesOptions {
  readonly threads: Threads;
  readonly toolCalls: ToolCalls;
  readonly executorCalls: ExecutorCalls;
  readonly toolOffers: ToolOffers;
  readonly documents: { readonly stored: ServedDocuments; readonly uploads: ServedUploads };
  readonly health: Health;
  readonly messageBytes: number;
  /** Told of every error that the server did not expect. */
  readonly onUnexpected: (error: unknown) => void;
}

export function createRoutes(options: RoutesOptions): RequestHandler {
  const routes = (router: ConnectRouter): void => {
    router.service(ThreadService, threadService(options.threads));
    router.service(ToolCallService, toolCallService(options.toolCalls, options.executorCalls));
    router.service(RecorderService, recorderService(options.threads));
    router.service(ToolService, toolService(options.toolCalls, options.toolOffers));
    router.service(DocumentService, documentService(options.documents.stored, options.documents.uploads));
    registerHealth(router, options.health);
    registerReflection(router, services);
  };
  return createAdapter({
    routes,
    notFound,
    interceptors: [translateErrors(options.onUnexpected)],
    readMaxBytes: options.messageBytes,
    binaryOptions,
  });
}

/** Errors become wire errors here, for answers and for streams alike: a stream fails while it is read, not when it is made. */
const translateErrors =
  (onUnexpected: (error: unknown) => void): Interceptor =>
  (next) =>
  async (request) => {
    const translate = (reason: unknown) => {
      const error = toWire(
        hasLeft(reason) ? new HeddleError("cancelled", "The caller left in the middle of its request") : reason,
      );
      if (isServerFault(reason) && !hasLeft(reason)) onUnexpected(reason);
      return error;
    };
    try {
      const response = await next(request);
      if (!response.stream) return response;
      const messages = response.message;
      async function* translated() {
        try {
          yield* messages;
        } catch (reason) {
          throw translate(reason);
        }
      }
      return { ...response, message: translated() };
    } catch (reason) {
      throw translate(reason);
    }
  };

/** What Node says to the reader of a request whose connection or stream was closed. */
const hasLeft = (reason: unknown): boolean =>
  reason instanceof Error &&
  "code" in reason &&
  (reason.code === "ECONNRESET" || reason.code === "ERR_STREAM_PREMATURE_CLOSE");

const unaryTypes: ReadonlySet<string> = new Set(["application/json", "application/proto"]);

/** Programs are told in their own protocol, people in words. */
function notFound(exchange: Exchange): void {
  const message = `There is no ${exchange.path}. The API is heddle.v1: list it with \`buf curl --list-services\` or \`grpcurl list\``;
  const isCall = streamingDialect(exchange.contentType) !== undefined || unaryTypes.has(exchange.contentType);
  if (exchange.method === "POST" && isCall) refuse(exchange, new HeddleError("unimplemented", message));
  else answer(exchange, { status: 404, text: `${message}\n` });
}
