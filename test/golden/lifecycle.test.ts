// The logs of all the scenarios, event for event, and the page that shows them. `UPDATE_GOLDEN=1 npx vitest run test/golden`
// writes both anew: read the diff before you commit it.
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import type { ModelMessage } from "../../src/model/model.js";
import { readRecords } from "../loop/call-records.js";
import { checkLog } from "../loop/log-rules.js";
import { valuesOf } from "../support/agent.js";
import { storedEvents } from "../support/core.js";
import { drawPage } from "./draw/page.js";
import { goldenNames, isUpdate, pagePath, readGolden, removeGolden, writeGolden } from "./golden-files.js";
import type { Scenario } from "./scenario.js";
import { groups, scenarios } from "./scenarios.js";
import { fromLines, toLines } from "./stable-log.js";
import { onStage } from "./stage.js";

vi.mock("node:timers/promises", () => import("./virtual-sleep.js"));

const textFields = { clarify: ["question"], inform_user: ["message"], work_complete: ["summary"] };

test.each(scenarios)("T1, T2, T3, T4, T5: $name", async ({ name, play }) => {
  const { events, records, asked, errors } = await onStage(async (stage) => {
    const { core, threadId } = await play(stage);
    const events = await storedEvents(core, threadId);
    const asked = stage.models.flatMap(({ requests }) => requests.flatMap(({ messages }) => messages));
    return { events, records: await readRecords(core, events), asked, errors: stage.errors };
  });
  checkLog(events, { records, textFields });
  const created = valuesOf(events, "toolCallCreated").map(({ toolCallId }) => toolCallId);
  expect(created).toEqual(expect.arrayContaining(asked.flatMap(callIdsOf)));
  expect(errors).toEqual([]);
  const lines = toLines(events);
  if (isUpdate) writeGolden(name, lines);
  expect(lines).toEqual(readGolden(name));
});

/** The ids by which the model knows its calls. */
function callIdsOf(message: ModelMessage): string[] {
  if (message.role === "tool") return [message.callId];
  return message.role === "assistant" ? message.calls.map(({ id }) => id) : [];
}

test("each golden log is that of a scenario", () => {
  const known = scenarios.map(({ name }) => name);
  if (isUpdate) for (const name of goldenNames()) if (!known.includes(name)) removeGolden(name);
  expect(goldenNames().sort()).toEqual(known.sort());
});

test("docs/lifecycle.md shows what is in the golden logs", () => {
  const page = readFileSync(pagePath, "utf8");
  const eventsOf = ({ name }: Scenario) => fromLines(readGolden(name));
  const drawn = drawPage(page, groups, eventsOf);
  if (isUpdate) writeFileSync(pagePath, drawn);
  expect(readFileSync(pagePath, "utf8")).toBe(drawn);
});
