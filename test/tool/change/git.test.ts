// Git as a second opinion: it takes the diffs that we make, and we take the diffs that it makes.
import { execFileSync } from "node:child_process";
import { rm } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyPatch } from "../../../src/tool/builtin/apply-patch.js";
import { compareTexts } from "../../../src/tool/change/compare-texts.js";
import { formatDiff } from "../../../src/tool/change/format-diff.js";
import { requireTool } from "../../support/tools.js";
import { SampleWorkspace } from "./sample-workspace.js";

const text = fc
  .tuple(fc.array(fc.constantFrom("a", "b", "c", "", "-- x", "++ y", "@@", "ü"), { maxLength: 40 }), fc.boolean())
  .map(([lines, isEnded]) => lines.join("\n") + (isEnded && lines.length > 0 ? "\n" : ""));
/** Undefined: there is no file. */
const maybeText = fc.option(text, { nil: undefined });
const name = fc.constantFrom("plain", "dir/deep", "two words", "ünï", "tab\tx", 'quo"te', "\u202emark");

/** Without anybody's settings. */
const git = (cwd: string, args: readonly string[], input = ""): string =>
  execFileSync("git", args, {
    cwd,
    input,
    encoding: "utf8",
    env: {
      PATH: process.env["PATH"],
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_SYSTEM: "/dev/null",
      GIT_CEILING_DIRECTORIES: cwd,
    },
  });

describe.skipIf(!requireTool("git", ["git", "version"]))("diffs of git (needs git)", () => {
  test("git applies ours", async () => {
    await fc.assert(
      fc.asyncProperty(name, maybeText, maybeText, async (path, before, after = "") => {
        fc.pre(before !== after);
        await using files = await SampleWorkspace.with(before === undefined ? {} : { [path]: before });
        const from = before === undefined ? undefined : path;
        const comparison = compareTexts(before ?? "", after);
        git(files.directory, ["apply", "--whitespace=nowarn", "-"], formatDiff({ from, to: path, comparison, after }));
        expect(await files.read(path)).toBe(after);
      }),
      { numRuns: 40 },
    );
  });

  test("we apply git's, renames and deletions too", async () => {
    await fc.assert(
      fc.asyncProperty(name, maybeText, maybeText, fc.boolean(), async (path, before, after, isMoved) => {
        fc.pre(before !== after);
        const to = isMoved && before !== undefined && after !== undefined ? `moved/${path}` : path;
        const files = before === undefined ? {} : { [path]: before };
        await using source = await SampleWorkspace.with(files);
        await using target = await SampleWorkspace.with(files);
        git(source.directory, ["init", "-q"]);
        git(source.directory, ["add", "-A"]);
        const tree = git(source.directory, ["write-tree"]).trim();
        await rm(source.at(path), { force: true });
        if (after !== undefined) await source.put(to, after);
        git(source.directory, ["add", "-A"]);
        await target.run(applyPatch, { patch: git(source.directory, ["diff", "--cached", "-M", tree]) });
        expect(Object.keys(await target.everything())).toEqual(after === undefined ? [] : [to]);
        if (after !== undefined) expect(await target.read(to)).toBe(after);
      }),
      { numRuns: 12 },
    );
  });
});
