// The words of the log: one event type, its cases, and what each case is about.
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { type StreamThreadEventsResponse, StreamThreadEventsResponseSchema } from "../../gen/heddle/v1/event_pb.js";

export type ThreadEvent = StreamThreadEventsResponse;
export type ThreadEventInit = MessageInitShape<typeof StreamThreadEventsResponseSchema>;
export const ThreadEventSchema = StreamThreadEventsResponseSchema;

export type Payload = ThreadEvent["payload"];
export type PayloadCase = NonNullable<Payload["case"]>;
export type ControlCase = "ready" | "caughtUp" | "heartbeat" | "closing";
/** The cases that are stored. */
export type StoredCase = Exclude<PayloadCase, ControlCase>;
export type StoredPayload = Extract<Payload, { case: StoredCase }>;
export type CallPayload = Extract<Payload, { case: `toolCall${string}` }>;
export type ProcessPayload = Extract<Payload, { case: `process${string}` }>;

export function isStored(payload: Payload): payload is StoredPayload {
  switch (payload.case) {
    case undefined:
    case "ready":
    case "caughtUp":
    case "heartbeat":
    case "closing":
      return false;
    default:
      return true;
  }
}

export const isCallPayload = (payload: Payload): payload is CallPayload =>
  payload.case?.startsWith("toolCall") ?? false;

export const isProcessPayload = (payload: Payload): payload is ProcessPayload =>
  payload.case?.startsWith("process") ?? false;

/** As `create` makes it; its frame is written out, because every event begins here. */
export function newEvent({ threadId = "", sequence = 0n, time, runId = "", payload }: ThreadEventInit): ThreadEvent {
  const event: ThreadEvent = {
    $typeName: ThreadEventSchema.typeName,
    threadId,
    sequence,
    runId,
    payload: payload?.case === undefined ? { case: undefined } : newPayload(payload),
  };
  if (time) event.time = time.$typeName ? time : create(TimestampSchema, time);
  return event;
}

type PayloadInit = Extract<ThreadEventInit["payload"], { case: string }>;

const payloadSchemas: ReadonlyMap<string, DescMessage | undefined> = new Map(
  ThreadEventSchema.fields.map(({ localName, message }) => [localName, message]),
);

function newPayload({ case: name, value }: PayloadInit): Payload {
  return { case: name, value: value.$typeName ? value : create(payloadSchemas.get(name)!, value) } as Payload;
}

/** The case as the schema spells it: `toolCallStarted` → `tool_call_started`. */
export const caseName = (payload: Payload): string =>
  payload.case?.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`) ?? "none";

/** The id of what an event is about: a call, message, reasoning, discovery or process; for runs, the run. */
export function subjectId({ payload, runId }: ThreadEvent): string {
  switch (payload.case) {
    case "processStarted":
    case "processExited":
      return payload.value.processId;
    case "messageCreated":
    case "messageDelta":
    case "messageCompleted":
      return payload.value.messageId;
    case "reasoningDelta":
    case "reasoningCompleted":
      return payload.value.reasoningId;
    case "toolDiscoveryStarted":
    case "toolDiscoveryComplete":
      return payload.value.discoveryId;
    case "toolCallCreated":
    case "toolCallInputDelta":
    case "toolCallTextDelta":
    case "toolCallInputCompleted":
    case "toolCallApprovalRequested":
    case "toolCallApprovalResolved":
    case "toolCallStarted":
    case "toolCallClaimed":
    case "toolCallProgress":
    case "toolCallOutputDelta":
    case "toolCallComplete":
      return payload.value.toolCallId;
    case undefined:
      return "";
    default:
      return runId;
  }
}
