// What a model saw and said, as a log tells it: turns of a user and replies of an assistant with their calls. Pure; the bodies of calls
// are joined in conversation.ts.
//
// A reply is what an assistant says and calls until the first of its calls starts or ends; what it says after that is the next
// one. Left out: attempts that were dropped (discarded calls, and text that broke off before something else came or at the
// very end), and calls whose input never became whole.
import type { ThreadEvent } from "../thread/event.js";
import type { ToolCallId } from "../thread/ids.js";
import { ApprovalDecision, Role, ToolCallOutcome } from "../thread/schema.js";
import { timestampMs } from "../thread/time.js";
import type { StoredImage } from "./told-images.js";

export interface CalledAs {
  readonly title: string;
  readonly isClients: boolean;
}

export interface Asked {
  readonly sha256: Uint8Array;
  /** Undefined: never. */
  readonly expiresMs: number | undefined;
  readonly isAllowed: boolean;
}

export interface UserTurn {
  readonly role: "user";
  readonly text: string;
  readonly images: readonly StoredImage[];
}

export interface AssistantTurn {
  readonly role: "assistant";
  readonly text: string;
  readonly isWhole: boolean;
  readonly calls: readonly FoldedCall[];
}

export type Turn = UserTurn | AssistantTurn;

export interface FoldedCall {
  readonly id: ToolCallId;
  readonly name: string;
  /** Its place in the reply. Names may come in another order. */
  readonly index: number;
  /** The raw input as far as its deltas say. */
  input: string;
  isInputWhole: boolean;
  isStarted: boolean;
  outcome: ToolCallOutcome;
  summary: string;
  message: string;
  /** The question that was asked of a person. Undefined: none. */
  asked: Asked | undefined;
  readonly calledAs: CalledAs;
}

type Completed = Extract<ThreadEvent["payload"], { case: "messageCompleted" }>["value"];
type Created = Extract<ThreadEvent["payload"], { case: "toolCallCreated" }>["value"];

interface OpenMessage {
  readonly role: Role;
  text: string;
  isWhole: boolean;
  isOver: boolean;
}

export class ConversationFold {
  readonly #turns: Turn[] = [];
  readonly #messages = new Map<string, OpenMessage>();
  readonly #calls = new Map<string, FoldedCall>();
  #spoken: OpenMessage[] = [];
  #called: FoldedCall[] = [];

  take({ payload }: ThreadEvent): void {
    switch (payload.case) {
      case "messageCreated":
        this.#open(payload.value.messageId, payload.value.role);
        break;
      case "messageDelta": {
        const message = this.#messages.get(payload.value.messageId);
        if (message) message.text += payload.value.text;
        break;
      }
      case "messageCompleted": {
        const message = this.#messages.get(payload.value.messageId);
        if (!message) break;
        this.#messages.delete(payload.value.messageId);
        message.isOver = true;
        message.isWhole = !payload.value.incomplete;
        message.text ||= payload.value.refusal;
        if (message.role === Role.USER) this.#turns.push(userTurn(message.text, payload.value));
        break;
      }
      case "toolCallCreated":
        this.#create(payload.value);
        break;
      case "toolCallInputDelta": {
        const call = this.#calls.get(payload.value.toolCallId);
        if (call) call.input += payload.value.text;
        break;
      }
      case "toolCallInputCompleted": {
        const call = this.#calls.get(payload.value.toolCallId);
        if (call) call.isInputWhole = true;
        break;
      }
      case "toolCallApprovalRequested": {
        const call = this.#calls.get(payload.value.toolCallId);
        const { approvalSha256: sha256, expireTime } = payload.value;
        const expiresMs = expireTime && timestampMs(expireTime);
        if (call) call.asked = { sha256, expiresMs, isAllowed: false };
        break;
      }
      case "toolCallApprovalResolved": {
        const call = this.#calls.get(payload.value.toolCallId);
        const isAllowed = payload.value.decision === ApprovalDecision.ALLOWED;
        if (call?.asked) call.asked = { ...call.asked, isAllowed };
        break;
      }
      case "toolCallStarted": {
        const call = this.#calls.get(payload.value.toolCallId);
        if (call) call.isStarted = true;
        break;
      }
      case "toolCallComplete": {
        const call = this.#calls.get(payload.value.toolCallId);
        if (!call) break;
        this.#calls.delete(call.id);
        call.outcome = payload.value.outcome;
        call.summary = payload.value.summary;
        call.message = payload.value.error?.message ?? "";
        break;
      }
      case "runCompleted":
        this.#endReply();
        break;
    }
  }

  finish(): readonly Turn[] {
    this.#endReply();
    return this.#turns;
  }

  #open(messageId: string, role: Role): void {
    if (role === Role.USER) this.#endReply();
    else this.#nextReply();
    const message = { role, text: "", isWhole: false, isOver: false };
    this.#messages.set(messageId, message);
    if (role === Role.ASSISTANT) this.#spoken.push(message);
  }

  #create({ toolCallId, toolName, index, title, source }: Created): void {
    this.#nextReply();
    const id = toolCallId as ToolCallId;
    const call: FoldedCall = {
      id,
      name: toolName,
      index,
      input: "",
      isInputWhole: false,
      isStarted: false,
      outcome: ToolCallOutcome.UNSPECIFIED,
      summary: "",
      message: "",
      asked: undefined,
      calledAs: { title, isClients: source?.source.case === "client" },
    };
    this.#calls.set(id, call);
    this.#called.push(call);
  }

  /** Something new is said or called. */
  #nextReply(): void {
    if (this.#called.some((call) => isKept(call) && (call.isStarted || call.outcome !== ToolCallOutcome.UNSPECIFIED)))
      this.#endReply();
    // What broke off, and was followed by something else, was an attempt that did not count.
    this.#spoken = this.#spoken.filter(({ isOver, isWhole }) => isWhole || !isOver);
  }

  #endReply(): void {
    const calls = this.#called.filter(isKept).sort((a, b) => a.index - b.index);
    const text = this.#spoken.map((message) => message.text).join("\n\n");
    const isWhole = this.#spoken.every((message) => message.isWhole);
    if (calls.length > 0 || text !== "") this.#turns.push({ role: "assistant", text, isWhole, calls });
    this.#spoken = [];
    this.#called = [];
  }
}

const userTurn = (text: string, { messageId, attachments }: Completed): UserTurn => ({
  role: "user",
  text,
  images: attachments.map((attachment) => ({ messageId, attachment })),
});

const isKept = ({ isInputWhole, outcome }: FoldedCall): boolean =>
  isInputWhole && outcome !== ToolCallOutcome.DISCARDED;
