// The events of all the scenarios, to the byte. `UPDATE_GOLDEN=1 npx vitest run test/projection/responses` writes them anew: read the
// diff before you commit it.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test, vi } from "vitest";
import { isUpdate } from "../../golden/golden-files.js";
import { onStage } from "../../golden/stage.js";
import { checkOrder } from "./order-rules.js";
import { type Scenario, scenarios } from "./scenarios.js";

vi.mock("node:timers/promises", () => import("../../golden/virtual-sleep.js"));

const folder = fileURLToPath(new URL("golden/", import.meta.url));
const pathOf = (name: string): string => `${folder}${name}.sse`;

const play = ({ play }: Scenario) =>
  onStage(async (stage) => {
    const responses = await play(stage);
    const played = [];
    for (const response of responses)
      played.push({
        wire: await response.wire(),
        frames: await response.events(),
        again: await response.wire(),
        snapshot: await response.response(),
        after: await response.events(3),
      });
    expect(stage.errors).toEqual([]);
    return played;
  });

describe.each(scenarios)("$name", (scenario) => {
  test("P1: has these events, in this order, and the same ones whenever it is read", async () => {
    const played = await play(scenario);
    const text = stable(played.map(({ wire }) => wire).join("\n"));
    if (isUpdate) {
      mkdirSync(folder, { recursive: true });
      writeFileSync(pathOf(scenario.name), text);
    }
    expect(text).toBe(readFileSync(pathOf(scenario.name), "utf8"));
    for (const { wire, again, frames, snapshot, after } of played) {
      expect(again).toBe(wire);
      expect(after).toEqual(frames.slice(4));
      checkOrder(frames);
      expect((frames.at(-1)!.frame as unknown as { response: unknown }).response).toEqual(snapshot);
    }
  });
});

test("each golden file is that of a scenario", () => {
  const known = scenarios.map(({ name }) => `${name}.sse`);
  expect(readdirSync(folder).sort()).toEqual(known.sort());
});

/** Names in place of ids: an id has one name wherever it stands. */
function stable(text: string): string {
  const names = new Map<string, string>();
  return text.replace(/\b([a-z]+)_([0-9a-f]{32}(?:[0-9a-f]{16})?)\b/g, (_, prefix: string, hex: string) => {
    const name = names.get(hex) ?? `${names.size + 1}`;
    names.set(hex, name);
    return `${prefix}_${name}`;
  });
}
