// What the differ makes, apply_patch does; and a patch with one file that does not fit does nothing.
import fc from "fast-check";
import { expect, test } from "vitest";
import { applyPatch } from "../../../src/tool/builtin/apply-patch.js";
import { compareTexts } from "../../../src/tool/change/compare-texts.js";
import { formatDiff } from "../../../src/tool/change/format-diff.js";
import { SampleWorkspace } from "./sample-workspace.js";

const line = fc.oneof(
  fc.constantFrom("a", "b", "", "-- a/x", "++ b/x", "@@ -1 +1 @@", "\\ No newline", "diff --git a/x b/x"),
  // No NUL, and no half of a character: neither is text.
  fc.string({ unit: "grapheme", maxLength: 8 }).map((text) => text.replaceAll("\0", "")),
);
const text = fc
  .tuple(fc.array(line, { maxLength: 25 }), fc.constantFrom("\n", "\r\n"), fc.boolean())
  .map(([lines, end, isEnded]) => lines.join(end) + (isEnded && lines.length > 0 ? end : ""));

const name = fc.constantFrom(
  "plain",
  "dir/deep",
  "two words",
  "ünï",
  "tab\t",
  'quo"te',
  "back\\slash",
  "\u202emark",
  "a/b",
  "b/a",
);

/** Undefined: there is no file. */
const change = fc
  .record({
    before: fc.option(text, { nil: undefined }),
    after: fc.option(text, { nil: undefined }),
    isRenamed: fc.boolean(),
  })
  .filter(({ before, after }) => before !== after);
const changes = fc.uniqueArray(fc.tuple(name, change), { minLength: 1, maxLength: 5, selector: ([path]) => path });

type Changes = readonly (readonly [
  string,
  { before: string | undefined; after: string | undefined; isRenamed: boolean },
])[];

const newName = (path: string, { before, after, isRenamed }: Changes[number][1]): string =>
  isRenamed && before !== undefined && after !== undefined ? `moved/${path}` : path;

const patchOf = (all: Changes): string =>
  all
    .map(([path, one]) =>
      formatDiff({
        from: one.before === undefined ? undefined : path,
        to: one.after === undefined ? undefined : newName(path, one),
        comparison: compareTexts(one.before ?? "", one.after ?? ""),
        after: one.after ?? "",
      }),
    )
    .join("");

const present = (all: Changes): Record<string, string> =>
  Object.fromEntries(all.flatMap(([path, { before }]) => (before === undefined ? [] : [[path, before]])));

test("apply_patch makes of the old files the new ones, whatever changes between them", async () => {
  await fc.assert(
    fc.asyncProperty(changes, async (all) => {
      await using files = await SampleWorkspace.with(present(all));
      await files.run(applyPatch, { patch: patchOf(all) });
      const after: Record<string, string> = {};
      for (const path of Object.keys(await files.everything())) after[path] = await files.read(path);
      expect(after).toEqual(
        Object.fromEntries(
          all.flatMap(([path, one]) => (one.after === undefined ? [] : [[newName(path, one), one.after]])),
        ),
      );
    }),
    { numRuns: 150 },
  );
});

test("one file that does not fit, wherever it stands in the patch, leaves all others untouched", async () => {
  await fc.assert(
    fc.asyncProperty(changes, fc.nat(), async (all, place) => {
      await using files = await SampleWorkspace.with({ ...present(all), misfit: "found\n" });
      const misfit = ["misfit", { before: "sought\n", after: "changed\n", isRenamed: false }] as const;
      const before = await files.everything();
      const patch = patchOf((all as Changes).toSpliced(place % (all.length + 1), 0, misfit));
      await expect(files.run(applyPatch, { patch })).rejects.toMatchObject({
        name: "ToolFailure",
        message: expect.stringMatching(/^Did not apply to misfit: hunk 1 of 1/),
      });
      expect(await files.everything()).toEqual(before);
    }),
    { numRuns: 100 },
  );
});
