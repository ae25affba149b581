// The words of the log: one event type, its cases, and what each case is about.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
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

const controlCases: ReadonlySet<string> = new Set<ControlCase>(["ready", "caughtUp", "heartbeat", "closing"]);

export const isStored = (payload: Payload): payload is StoredPayload =>
  payload.case !== undefined && !controlCases.has(payload.case);

export const isCallPayload = (payload: Payload): payload is CallPayload =>
  payload.case?.startsWith("toolCall") ?? false;

export const isProcessPayload = (payload: Payload): payload is ProcessPayload =>
  payload.case?.startsWith("process") ?? false;

export const newEvent = (init: ThreadEventInit): ThreadEvent => create(ThreadEventSchema, init);

/** The case as the schema spells it: `toolCallStarted` → `tool_call_started`. */
export const caseName = (payload: Payload): string =>
  payload.case?.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`) ?? "none";

/** The id of what an event is about: a call, message, reasoning, discovery or process; for runs, the run. */
export function subjectId(event: ThreadEvent): string {
  const value = event.payload.value;
  if (value === undefined) return "";
  if ("processId" in value) return value.processId;
  if ("toolCallId" in value) return value.toolCallId;
  if ("messageId" in value) return value.messageId;
  if ("reasoningId" in value) return value.reasoningId;
  if ("discoveryId" in value) return value.discoveryId;
  return event.runId;
}
