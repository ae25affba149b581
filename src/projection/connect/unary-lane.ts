// The hot path of a call with one answer, in binary gRPC, gRPC-Web and Connect: straight off the request's stream and back.
// Connect's adapter makes iterators, headers and signals for every call; part of the messages outlives its call among them,
// and gets old before it is collected. Here nothing refers to a message but whoever works on it. Everything else is the Connect
// handler's (routes.ts); both pass the same tests.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Door } from "../../server/exchange.js";
import { outputOf } from "../../server/output.js";
import { HeddleError } from "../../thread/errors.js";
import { envelope } from "../../thread/frame.js";
import { binaryCalls } from "./dialect.js";
import { type LaneCall, type LaneOptions, laneDialect, timeoutOf } from "./lane-call.js";
import { refuse } from "./refuse.js";
import { binaryOptions, readOneMessage } from "./request-message.js";
import { asHeddleError, isServerFault } from "./wire-error.js";

/** A method and what answers it. Contract: `run` needs to know nothing of the caller but its message. */
export interface UnaryRpc<I extends DescMessage, O extends DescMessage> {
  readonly method: DescMethodUnary<I, O>;
  readonly run: (request: MessageShape<I>) => Promise<MessageInitShape<O>>;
}

export function createUnaryLane<I extends DescMessage, O extends DescMessage>(
  rpc: UnaryRpc<I, O>,
  options: LaneOptions,
): Door {
  const path = `/${rpc.method.parent.typeName}/${rpc.method.name}`;
  return (exchange) => {
    const dialect = laneDialect(exchange, path, binaryCalls);
    if (!dialect) return false;
    void serve(rpc, { exchange, dialect, options });
    return true;
  };
}

async function serve<I extends DescMessage, O extends DescMessage>(
  { method, run }: UnaryRpc<I, O>,
  call: LaneCall,
): Promise<void> {
  const reply = replyTo(call);
  try {
    reply.failAfter(timeoutOf(call));
    const request = parse(method.input, await readOneMessage(call, "unary"));
    if (reply.over) return;
    const response = create(method.output, await run(request));
    reply.succeed(toBinary(method.output, response));
  } catch (reason) {
    if (isServerFault(reason)) call.options.onUnexpected(reason);
    reply.fail(asHeddleError(reason));
  }
}

function parse<I extends DescMessage>(schema: I, bytes: Uint8Array): MessageShape<I> {
  try {
    return fromBinary(schema, bytes, binaryOptions);
  } catch (cause) {
    // The protocols call this INTERNAL. It is the client's doing all the same, and said as Connect's own handler says it.
    const words = cause instanceof Error ? cause.message : String(cause);
    throw new ConnectError(`parse binary: ${words}`, Code.Internal, undefined, undefined, cause);
  }
}

/** One answer: what comes first counts. */
interface Reply {
  /** Answered, or the caller has gone. */
  readonly over: boolean;
  /** The caller's deadline, if it has one. What the call does then goes on, and nobody hears of it. */
  failAfter(ms: number | undefined): void;
  succeed(message: Uint8Array): void;
  fail(error: HeddleError): void;
}

function replyTo({ exchange, dialect }: LaneCall): Reply {
  const output = outputOf(exchange);
  let over = false;
  let deadline: NodeJS.Timeout | undefined;
  const end = (act?: () => void): void => {
    if (over) return;
    over = true;
    clearTimeout(deadline);
    act?.();
  };
  const fail = (error: HeddleError): void => end(() => refuse(exchange, error));
  output.onClose(() => end());
  return {
    get over() {
      return over;
    },
    failAfter(ms) {
      if (ms === undefined) return;
      const passed = () => fail(new HeddleError("deadline_exceeded", "The caller's deadline has passed"));
      deadline = setTimeout(passed, ms);
    },
    succeed: (message) =>
      end(() => {
        const trailers = dialect.endTrailers(undefined);
        const frame = dialect.enveloped ? envelope(0, message) : message;
        const body = Buffer.concat([frame, dialect.endBody(undefined)]);
        const length = trailers ? {} : { "content-length": body.length };
        const headers = { ...exchange.responseHeaders, "content-type": exchange.contentType, ...length };
        output.start(headers, { trailers: trailers !== undefined });
        output.end(body, trailers);
      }),
    fail,
  };
}
