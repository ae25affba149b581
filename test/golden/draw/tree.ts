// A log as a tree: runs, in them what was said and called, and below each call its stages. Sequences and seconds stand on the
// left; what runs side by side is nested, so the sequences of one call have gaps where another one's events came.
import { type StoredPayload, subjectId, type ThreadEvent } from "../../../src/thread/event.js";
import { timestampMs } from "../../../src/thread/time.js";
import { wordsOf } from "./event-words.js";
import { quoted } from "./marks.js";

interface Row {
  readonly events: readonly ThreadEvent[];
  readonly text: string;
  /** A second line, without a sequence of its own. */
  readonly more?: string | undefined;
}

/** An event, or something of which several events tell, with what stands below it. */
interface Branch extends Row {
  readonly stages: readonly Row[];
}

/** Sequence, seconds since the run began, and the line. */
type Cells = [sequence: string, seconds: string, line: string];

export function drawTree(events: readonly ThreadEvent[]): string {
  const runs = grouped(events, ({ runId }) => runId).map(drawRun);
  const rows: Cells[] = [["#", "s", ""], ...runs.flatMap((run, index) => (index === 0 ? run : [blank, ...run]))];
  const [sequenceWidth, secondsWidth] = [0, 1].map((cell) => Math.max(...rows.map((row) => row[cell]!.length)));
  return rows
    .map(([sequence, seconds, line]) =>
      `${sequence.padStart(sequenceWidth!)}  ${seconds.padStart(secondsWidth!)}  ${line}`.trimEnd(),
    )
    .join("\n");
}

const blank: Cells = ["", "", ""];

function drawRun(events: readonly ThreadEvent[]): Cells[] {
  const [started, ...rest] = events;
  const begun = timestampMs(started!.time!);
  /** `stem` leads to the row, `below` past it. */
  const cells = ({ events, text, more }: Row, stem: string, below: string): Cells[] => {
    const [first, last] = [events[0]!, events.at(-1)!];
    const sequence = first === last ? `${first.sequence}` : `${first.sequence}–${last.sequence}`;
    const seconds = ((timestampMs(first.time!) - begun) / 1_000).toFixed(2);
    const row: Cells = [sequence, seconds, `${stem}${text}`];
    return more === undefined ? [row] : [row, ["", "", `${below}${more}`]];
  };
  return [
    ...cells({ events: [started!], text: `${started!.runId} ${nameAndText(started!)}` }, "", ""),
    ...branchesOf(rest).flatMap((branch, index, all) => {
      const [stem, below] = index === all.length - 1 ? lastStems : stems;
      return [
        ...cells(branch, stem, below),
        ...branch.stages.flatMap((stage, at, { length }) => {
          const [inner, past] = at === length - 1 ? lastStems : stems;
          return cells(stage, below + inner, below + past);
        }),
      ];
    }),
  ];
}

const stems = ["├─ ", "│  "] as const;
const lastStems = ["└─ ", "   "] as const;

/** Each of a run's own events stands for itself. */
const branchesOf = (events: readonly ThreadEvent[]): Branch[] =>
  grouped(events, (event) => (subjectId(event) === event.runId ? event : subjectId(event))).map(branchOf);

function grouped(events: readonly ThreadEvent[], by: (event: ThreadEvent) => unknown): ThreadEvent[][] {
  const groups = new Map<unknown, ThreadEvent[]>();
  for (const event of events) groups.set(by(event), [...(groups.get(by(event)) ?? []), event]);
  return [...groups.values()];
}

function branchOf(events: readonly ThreadEvent[]): Branch {
  const [first, ...rest] = events;
  const id = subjectId(first!);
  const said = saidAtOnce(events);
  if (said !== undefined) return { events, text: `${id} ${wordsOf(first!).text}: ${quoted(said)}`, stages: [] };
  const name = id === first!.runId ? "" : `${id} `;
  return { events: [first!], text: `${name}${nameAndText(first!)}`, stages: stagesOf(rest) };
}

/** The text of a message that came in one piece: a line is enough for it. */
function saidAtOnce(events: readonly ThreadEvent[]): string | undefined {
  const [created, delta, completed, ...more] = events.map(({ payload }) => payload);
  const isPlain = created?.case === "messageCreated" && more.length === 0;
  if (!isPlain || delta?.case !== "messageDelta" || completed?.case !== "messageCompleted") return undefined;
  return completed.value.incomplete || completed.value.refusal ? undefined : delta.value.text;
}

function nameAndText(event: ThreadEvent): string {
  const { name, text } = wordsOf(event);
  return text === "" ? name : `${name} · ${text}`;
}

/** Deltas of one kind in a row that are shown; of more, the first ones and the last. */
const shownDeltas = 8;
const shownFirst = 3;

function stagesOf(events: readonly ThreadEvent[]): Row[] {
  const width = Math.max(0, ...events.map((event) => wordsOf(event).name.length));
  const row = (event: ThreadEvent): Row => {
    const { name, text, more } = wordsOf(event);
    const line = `${name.padEnd(width)}  ${text}`.trimEnd();
    return { events: [event], text: line, more: more && `${" ".repeat(width)}  ${more}` };
  };
  return inARow(events).flatMap((same): Row[] => {
    if (same.length <= shownDeltas) return same.map(row);
    const hidden = same.slice(shownFirst, -1);
    return [
      ...same.slice(0, shownFirst).map(row),
      { events: hidden, text: `${"⋮".padEnd(width)}  ${hidden.length} more of them` },
      row(same.at(-1)!),
    ];
  });
}

/** Neighbours of one kind together. */
function inARow(events: readonly ThreadEvent[]): ThreadEvent[][] {
  const rows: ThreadEvent[][] = [];
  let before: StoredPayload["case"] | undefined;
  for (const event of events) {
    const { case: name } = event.payload as StoredPayload;
    if (name === before) rows.at(-1)!.push(event);
    else rows.push([event]);
    before = name;
  }
  return rows;
}
