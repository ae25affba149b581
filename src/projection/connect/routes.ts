// Every RPC in all three protocols through Connect's own handler. RPCs without an implementation answer UNIMPLEMENTED.
import { Code, ConnectError, type ConnectRouter, type Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { RecorderService } from "../../../gen/heddle/v1/recorder_service_pb.js";
import { ThreadService } from "../../../gen/heddle/v1/thread_service_pb.js";
import { ToolCallService } from "../../../gen/heddle/v1/tool_call_service_pb.js";
import { ToolService } from "../../../gen/heddle/v1/tool_service_pb.js";
import type { Threads } from "../../threads.js";
import type { ToolCalls } from "../../tool-calls.js";
import { type Health, registerHealth } from "./health.js";
import { recorderService } from "./recorder-service.js";
import { registerReflection } from "./reflection.js";
import { threadService } from "./thread-service.js";
import { toolCallService } from "./tool-call-service.js";
import { toWire } from "./wire-error.js";

export const services = [ThreadService, ToolCallService, RecorderService, ToolService] as const;

type NodeHandler = ReturnType<typeof connectNodeAdapter>;

export interface RoutesOptions {
  readonly threads: Threads;
  readonly toolCalls: ToolCalls;
  readonly health: Health;
  readonly messageBytes: number;
  /** Told of every error that the server did not expect. */
  readonly onUnexpected: (error: unknown) => void;
}

export function createRoutes(options: RoutesOptions): NodeHandler {
  const routes = (router: ConnectRouter): void => {
    router.service(ThreadService, threadService(options.threads));
    router.service(ToolCallService, toolCallService(options.toolCalls));
    router.service(RecorderService, recorderService(options.threads));
    router.service(ToolService, {});
    registerHealth(router, options.health);
    registerReflection(router, services);
  };
  return connectNodeAdapter({
    routes,
    interceptors: [translateErrors(options.onUnexpected)],
    readMaxBytes: options.messageBytes,
    fallback: notFound,
  });
}

/** Errors become wire errors here, for answers and for streams alike: a stream fails while it is read, not when it is made. */
const translateErrors =
  (onUnexpected: (error: unknown) => void): Interceptor =>
  (next) =>
  async (request) => {
    const translate = (reason: unknown) => {
      const error = toWire(reason);
      // What the library calls internal is what a client sent.
      if (error.code === Code.Internal && !(reason instanceof ConnectError)) onUnexpected(reason);
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

const notFound: NodeHandler = (_request, response) => {
  response.writeHead(404, { "content-type": "text/plain" });
  response.end("Nothing here. The API is heddle.v1: list it with `buf curl --list-services` or `grpcurl list`.\n");
};
