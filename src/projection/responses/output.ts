// What a response has put out so far: its items, and the events that an event of the log makes of it. What belongs to another segment of
// the run is neither kept nor told.
import type { Item } from "./wire.js";
import type { EventFields, Frame } from "./wire-events.js";

/** An item that is not done. */
export interface Open {
  readonly index: number;
  readonly id: string;
}

export class Output {
  readonly #items: Item[] = [];
  /** Of those that are not done: the item with what there is of it so far. Made only where somebody looks. */
  readonly #standing = new Map<number, () => Item>();
  #frames: Frame[] = [];
  /** Whether what comes now belongs to the response. */
  isOwn = false;

  /** As they stand. */
  get items(): readonly Item[] {
    return this.#items.map((item, index) => this.#standing.get(index)?.() ?? item);
  }

  /** What was told since it was asked last. */
  takeFrames(): readonly Frame[] {
    const frames = this.#frames;
    this.#frames = [];
    return frames;
  }

  add(item: Item, standing: () => Item = () => item): Open {
    const open = { index: this.#items.length, id: item.id };
    if (!this.isOwn) return open;
    this.#items.push(item);
    this.#standing.set(open.index, standing);
    this.emit({ type: "response.output_item.added", output_index: open.index, item });
    return open;
  }

  done({ index }: Open, item: Item, words: Pick<EventFields["response.output_item.done"], "heddle"> = {}): void {
    if (!this.isOwn) return;
    this.#items[index] = item;
    this.#standing.delete(index);
    this.emit({ type: "response.output_item.done", output_index: index, item, ...words });
  }

  emit(frame: Frame): void {
    if (this.isOwn) this.#frames.push(frame);
  }
}

/** How events name the item that they are about. */
export const place = ({ id, index }: Open) => ({ item_id: id, output_index: index });
