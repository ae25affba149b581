// What the model says and thinks, as items of a response.
import type { ThreadEvent } from "../../thread/event.js";
import { type Citations, inCharacters } from "./citations.js";
import { type Open, type Output, place } from "./output.js";
import { itemId } from "./response-id.js";
import type { Annotation, ContentPart, MessageItem, ReasoningItem } from "./wire.js";

interface OpenText extends Open {
  text: string;
}

interface OpenMessage extends OpenText {
  /** Its text is a part from the first word on: a refusal has none. */
  hasText: boolean;
}

export class Spoken {
  readonly #out: Output;
  readonly #citations: Citations;
  readonly #messages = new Map<string, OpenMessage>();
  readonly #reasonings = new Map<string, OpenText>();
  /** Said to its end, but not done: whether it was cut off shows in the event behind it. */
  #said: { readonly open: Open; readonly item: MessageItem } | undefined;

  constructor(out: Output, citations: Citations) {
    this.#out = out;
    this.#citations = citations;
  }

  open(messageId: string): void {
    const item: MessageItem = {
      id: itemId("msg", messageId),
      type: "message",
      status: "in_progress",
      role: "assistant",
      content: [],
    };
    const said = (): ContentPart[] => (open.hasText ? [textPart(open.text)] : []);
    const open: OpenMessage = {
      ...this.#out.add(item, () => ({ ...item, content: said() })),
      text: "",
      hasText: false,
    };
    this.#messages.set(messageId, open);
  }

  say(messageId: string, text: string): void {
    const open = this.#messages.get(messageId);
    if (!open) return;
    this.#beginText(open);
    open.text += text;
    this.#out.emit({
      type: "response.output_text.delta",
      ...place(open),
      content_index: 0,
      delta: text,
      logprobs: [],
    });
  }

  #beginText(open: OpenMessage): void {
    if (open.hasText) return;
    open.hasText = true;
    this.#out.emit({ type: "response.content_part.added", ...place(open), content_index: 0, part: textPart("") });
  }

  close(completed: Completed): void {
    const open = this.#messages.get(completed.messageId);
    if (!open) return;
    this.#messages.delete(completed.messageId);
    if (completed.refusal === "") this.#beginText(open);
    const said = open.hasText ? [this.#endText(open, completed)] : [];
    const content = [...said, ...this.#refuse(open, said.length, completed.refusal)];
    const status = completed.incomplete ? "incomplete" : "completed";
    this.#said = { open, item: { id: open.id, type: "message", status, role: "assistant", content } };
  }

  #endText(open: OpenMessage, completed: Completed): ContentPart {
    const at = { ...place(open), content_index: 0 };
    const annotations = this.#cited(open.text, completed);
    for (const [annotation_index, annotation] of annotations.entries())
      this.#out.emit({ type: "response.output_text.annotation.added", ...at, annotation_index, annotation });
    this.#out.emit({ type: "response.output_text.done", ...at, text: open.text, logprobs: [] });
    const part = textPart(open.text, annotations);
    this.#out.emit({ type: "response.content_part.done", ...at, part });
    return part;
  }

  /** What was recorded with the message; otherwise what its text names. */
  #cited(text: string, { annotations }: Completed): readonly Annotation[] {
    if (!this.#out.isOwn) return [];
    return annotations.length > 0 ? inCharacters(text, annotations.map(citation)) : this.#citations.in(text);
  }

  /** A refusal is a part of its own. */
  #refuse(open: Open, content_index: number, refusal: string): ContentPart[] {
    if (refusal === "") return [];
    const at = { ...place(open), content_index };
    this.#out.emit({ type: "response.content_part.added", ...at, part: { type: "refusal", refusal: "" } });
    this.#out.emit({ type: "response.refusal.delta", ...at, delta: refusal });
    this.#out.emit({ type: "response.refusal.done", ...at, refusal });
    const part: ContentPart = { type: "refusal", refusal };
    this.#out.emit({ type: "response.content_part.done", ...at, part });
    return [part];
  }

  /** Before whatever comes next. */
  settle(isCutOff: boolean): void {
    if (!this.#said) return;
    const { open, item } = this.#said;
    this.#said = undefined;
    this.#out.done(open, isCutOff ? { ...item, status: "incomplete" } : item);
  }

  reason(reasoningId: string, text: string): void {
    const open = this.#reasonings.get(reasoningId) ?? this.#openReasoning(reasoningId);
    open.text += text;
    this.#out.emit({ type: "response.reasoning_summary_text.delta", ...place(open), summary_index: 0, delta: text });
  }

  #openReasoning(reasoningId: string): OpenText {
    const item: ReasoningItem = {
      id: itemId("rs", reasoningId),
      type: "reasoning",
      status: "in_progress",
      summary: [],
    };
    const thought = () => [{ type: "summary_text" as const, text: open.text }];
    const open: OpenText = { ...this.#out.add(item, () => ({ ...item, summary: thought() })), text: "" };
    this.#reasonings.set(reasoningId, open);
    const part = { type: "summary_text" as const, text: "" };
    this.#out.emit({ type: "response.reasoning_summary_part.added", ...place(open), summary_index: 0, part });
    return open;
  }

  closeReasoning(reasoningId: string): void {
    const open = this.#reasonings.get(reasoningId);
    if (!open) return;
    this.#reasonings.delete(reasoningId);
    const at = { ...place(open), summary_index: 0 };
    const part = { type: "summary_text" as const, text: open.text };
    this.#out.emit({ type: "response.reasoning_summary_text.done", ...at, text: open.text });
    this.#out.emit({ type: "response.reasoning_summary_part.done", ...at, part });
    this.#out.done(open, { id: open.id, type: "reasoning", status: "completed", summary: [part] });
  }
}

type Completed = Extract<ThreadEvent["payload"], { case: "messageCompleted" }>["value"];

const textPart = (text: string, annotations: readonly Annotation[] = []): ContentPart => ({
  type: "output_text",
  text,
  annotations,
  logprobs: [],
});

const citation = ({ startIndex, endIndex, uri, title }: Completed["annotations"][number]): Annotation => ({
  type: "url_citation",
  start_index: startIndex,
  end_index: endIndex,
  url: uri,
  title,
});
