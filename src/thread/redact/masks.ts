// Which units of one piece of text are hidden. Spans may be added in any order and overlap.
export interface Span {
  start: number;
  end: number;
}

export class Masks {
  readonly #spans: Span[] = [];

  /** Hides the units from `start` to before `end`. What lies before the piece is gone already, and is ignored. */
  add(start: number, end: number): void {
    const from = Math.max(0, start);
    if (end <= from) return;
    const last = this.#spans.at(-1);
    // Joined at once where they touch: a text of nothing but overlapping secrets still makes one span.
    if (last && from <= last.end && end >= last.start) {
      last.start = Math.min(last.start, from);
      last.end = Math.max(last.end, end);
    } else {
      this.#spans.push({ start: from, end });
    }
  }

  /** In order, apart from each other by at least one unit. */
  merged(): readonly Span[] {
    const merged: Span[] = [];
    for (const span of this.#spans.sort((a, b) => a.start - b.start)) {
      const last = merged.at(-1);
      if (last && span.start <= last.end) last.end = Math.max(last.end, span.end);
      else merged.push({ ...span });
    }
    return merged;
  }
}
