// Follows every candidate for a shape through a text. At most one candidate stands at each stage of each shape: two at
// the same stage see the same units from there on, and the older one hides more. So the work per unit is bounded.
import { Automaton, noWord } from "./automaton.js";
import type { Masks } from "./masks.js";
import type { Scan } from "./scan.js";
import { base64Row, type Seen, type Shape, type Stage, shapes, unitIndex } from "./shapes.js";
import { endsWord, isDigit, isWordUnit, unitsBefore } from "./word-start.js";

interface Lead {
  readonly lead: string;
  readonly shape: Shape;
}

const leads: readonly Lead[] = shapes.flatMap((shape) => shape.leads.map((lead) => ({ lead, shape })));
const leadAutomaton = new Automaton(leads.map(({ lead }) => lead));

/** False: nothing in the text looks like a secret. */
export const mayHoldShapes = (text: string): boolean => leadAutomaton.mayHold(text);

/** Units to remember of earlier pieces: the longest lead that must begin a word, and what tells that it does. */
const memory = unitsBefore + Math.max(...leads.map(({ lead, shape }) => (shape.anywhere ? 0 : lead.length)));

interface Candidate extends Seen {
  readonly shape: Shape;
  stage: number;
  /** Units taken by the stage. */
  taken: number;
  /** Where the secret begins, counted from the start of the piece; it may lie before it. */
  secretStart: number | undefined;
  /** The row of solid units that goes on now, and whether a digit is among them. */
  row: number;
  rowHasDigit: boolean;
  /** Units of the ending in a row. */
  endingUnits: number;
}

export class ShapeScan implements Scan {
  #lead = 0;
  /** The end of what was read before this piece. */
  #before = "";
  /** Oldest first. */
  #open: Candidate[] = [];

  take(piece: string, masks: Masks): void {
    const open = this.#open;
    let lead = this.#lead;
    for (let at = 0; at < piece.length; at++) {
      if (lead === 0 && open.length === 0) {
        at = leadAutomaton.skip(piece, at);
        if (at >= piece.length) break;
      }
      const unit = piece.charCodeAt(at);
      if (open.length > 0) this.#advanceAll(unit, at, masks);
      lead = leadAutomaton.step(lead, unit);
      if (lead === 0) continue;
      const found = leadAutomaton.word(lead);
      if (found !== noWord) this.#openAt(at, leads[found]!, piece);
    }
    this.#lead = lead;
    this.#before = endOf(piece.length < memory ? this.#before + piece : piece);
  }

  pause(length: number, masks: Masks): void {
    for (const candidate of this.#open) {
      if (candidate.secretStart === undefined) continue;
      if (candidate.shape.hides(candidate)) masks.add(candidate.secretStart, length);
      candidate.secretStart -= length;
    }
  }

  finish(length: number, masks: Masks): void {
    for (const candidate of this.#open) close(candidate, { at: length, masks });
    this.#open = [];
  }

  fork(): Scan {
    const copy = new ShapeScan();
    copy.#lead = this.#lead;
    copy.#before = this.#before;
    copy.#open = this.#open.map((candidate) => ({ ...candidate }));
    return copy;
  }

  /** A lead ends at `at`. */
  #openAt(at: number, { lead, shape }: Lead, piece: string): void {
    const start = at + 1 - lead.length;
    if (hasOlder(this.#open, this.#open.length, { shape, stage: 0 })) return;
    if (!shape.anywhere && !endsWord(this.#textBefore(start, piece))) return;
    const withLead = shape.secretStage === undefined;
    this.#open.push({
      shape,
      stage: 0,
      taken: 0,
      secretStart: withLead ? start : shape.secretStage === 0 ? at + 1 : undefined,
      units: withLead ? lead.length : 0,
      digits: 0,
      laterCapital: false,
      solid: 0,
      sinceBase64: 0,
      row: 0,
      rowHasDigit: false,
      endingUnits: 0,
    });
  }

  /** At least what `endsWord` needs of the text before a place in the piece, or before the piece. */
  #textBefore(at: number, piece: string): string {
    if (at >= unitsBefore) return piece.slice(at - unitsBefore, at);
    return at < 0 ? this.#before.slice(0, at) : this.#before + piece.slice(0, at);
  }

  #advanceAll(unit: number, at: number, masks: Masks): void {
    const open = this.#open;
    const before = open.length;
    let kept = 0;
    for (let index = 0; index < before; index++) {
      const candidate = open[index]!;
      if (!advance(candidate, unit, at)) close(candidate, { at, masks, next: unit });
      else if (!isOver(candidate, at, masks) && !hasOlder(open, kept, candidate)) open[kept++] = candidate;
    }
    if (kept < before) open.length = kept;
  }
}

/** Takes the unit if the candidate's stage, or the next one, can. */
function advance(candidate: Candidate, unit: number, at: number): boolean {
  const { stages, secretStage } = candidate.shape;
  const stage = stages[candidate.stage]!;
  const next = stages[candidate.stage + 1];
  if (holds(stage, unit) && candidate.taken < stage.max) {
    candidate.taken++;
  } else if (next && candidate.taken >= stage.min && holds(next, unit)) {
    candidate.stage++;
    candidate.taken = 1;
    if (candidate.stage === secretStage) candidate.secretStart = at;
  } else {
    return false;
  }
  if (candidate.secretStart !== undefined) note(candidate, unit);
  return true;
}

function note(candidate: Candidate, unit: number): void {
  candidate.units++;
  if (isDigit(unit)) candidate.digits++;
  if (candidate.taken > 1 && unit >= 0x41 && unit <= 0x5a) candidate.laterCapital = true;
  const solid = isWordUnit(unit) || unit === 0x2b || unit === 0x2f || unit === 0x3d;
  candidate.row = solid ? candidate.row + 1 : 0;
  candidate.rowHasDigit = solid && (candidate.rowHasDigit || isDigit(unit));
  if (candidate.rowHasDigit && candidate.row > candidate.solid) candidate.solid = candidate.row;
  candidate.sinceBase64 = candidate.rowHasDigit && candidate.row >= base64Row ? 0 : candidate.sinceBase64 + 1;
  candidate.endingUnits = unit === candidate.shape.ending?.unit ? candidate.endingUnits + 1 : 0;
}

/** Has the candidate come to its ending, or to nothing? */
function isOver(candidate: Candidate, at: number, masks: Masks): boolean {
  const { ending, patience, stages } = candidate.shape;
  if (ending && candidate.endingUnits >= ending.times) {
    const min = stages[candidate.stage]!.min;
    if (candidate.taken - ending.times >= min) masks.add(candidate.secretStart!, at + 1 - ending.times);
    return ending.closes;
  }
  if (candidate.sinceBase64 < patience) return false;
  close(candidate, { at: at + 1, masks });
  return true;
}

/** The candidate ends before `at`: hides it if it is a secret. */
function close(candidate: Candidate, end: { at: number; masks: Masks; next?: number }): void {
  const { stages, wordMustEnd, proof } = candidate.shape;
  const isFull = candidate.stage === stages.length - 1 && candidate.taken >= stages[candidate.stage]!.min;
  const isCut = wordMustEnd && end.next !== undefined && isWordUnit(end.next);
  if (isFull && !isCut && proof(candidate)) end.masks.add(candidate.secretStart!, end.at);
}

const holds = (stage: Stage, unit: number): boolean => stage.units[unitIndex(unit)] === 1;

function hasOlder(
  open: readonly Candidate[],
  kept: number,
  { shape, stage }: Pick<Candidate, "shape" | "stage">,
): boolean {
  for (let index = 0; index < kept; index++) {
    if (open[index]!.shape === shape && open[index]!.stage === stage) return true;
  }
  return false;
}

/** The end of the text to remember. A slice keeps the text it is taken from in memory, so that of a long one is copied. */
function endOf(text: string): string {
  const end = text.slice(-memory);
  return text.length <= shortText ? end : Buffer.from(end, "utf16le").toString("utf16le");
}

const shortText = 1024;
