// docs/lifecycle.md: an introduction that people write, and behind it the scenarios, drawn from their golden files.
import { outcomeWord, word } from "../../../src/cli/words.js";
import type { ThreadEvent } from "../../../src/thread/event.js";
import { RunOutcome } from "../../../src/thread/schema.js";
import type { Group, Scenario } from "../scenario.js";
import { drawLanes, laneLegend } from "./lanes.js";
import { callMarks, legend, runMarks } from "./marks.js";
import { drawTree } from "./tree.js";

const mark =
  "<!-- Drawn from test/golden/lifecycle by `UPDATE_GOLDEN=1 npx vitest run test/golden`: do not edit below. -->";

type EventsOf = (scenario: Scenario) => readonly ThreadEvent[];

/** The page with the introduction that it has, and everything else drawn again. */
export function drawPage(page: string, groups: readonly Group[], eventsOf: EventsOf): string {
  const [introduction] = page.split(mark);
  return [
    `${introduction!.trimEnd()}\n\n${mark}`,
    `\`\`\`text\n${legend}\n${laneLegend}\n\`\`\``,
    overview(groups, eventsOf),
    ...groups.flatMap((group) => [
      `## ${group.title}`,
      ...group.scenarios.map((scenario) => drawScenario(scenario, eventsOf)),
    ]),
    "",
  ]
    .join("\n\n")
    .trimEnd()
    .concat("\n");
}

function overview(groups: readonly Group[], eventsOf: EventsOf): string {
  const rows = groups.flatMap(({ title, scenarios }) => [
    `| **${title}** | | |`,
    ...scenarios.map((scenario) => {
      const events = eventsOf(scenario);
      return `| [${scenario.title}](#${anchor(scenario.title)}) | ${callEnds(events)} | ${runEnds(events)} |`;
    }),
  ]);
  return ["| scenario | its calls | its run |", "| --- | --- | --- |", ...rows].join("\n");
}

const callEnds = (events: readonly ThreadEvent[]): string =>
  events
    .flatMap(({ payload }) => (payload.case === "toolCallComplete" ? [payload.value.outcome] : []))
    .map((outcome) => `${callMarks[outcome]} ${outcomeWord(outcome)}`)
    .join("<br>");

const runEnds = (events: readonly ThreadEvent[]): string =>
  events
    .flatMap(({ payload }) => (payload.case === "runCompleted" ? [payload.value] : []))
    .map(({ outcome, finishReason }) => {
      const how = word(RunOutcome, outcome);
      const why = finishReason === "" || finishReason === how ? "" : ` (\`${finishReason}\`)`;
      return `${runMarks[outcome]} ${how}${why}`;
    })
    .join("<br>");

/** As GitHub makes it from a heading. */
const anchor = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");

function drawScenario(scenario: Scenario, eventsOf: EventsOf): string {
  const events = eventsOf(scenario);
  const pictures = [drawTree(events), drawLanes(events)].filter((picture) => picture !== undefined);
  return [
    `### ${scenario.title}`,
    `${scenario.sentence} ([log](../test/golden/lifecycle/${scenario.name}.jsonl))`,
    ...pictures.map((picture) => `\`\`\`text\n${picture}\n\`\`\``),
  ].join("\n\n");
}
