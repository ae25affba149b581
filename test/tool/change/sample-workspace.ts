import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { checkInput } from "../../../src/tool/check-input.js";
import { checkOutput } from "../../../src/tool/check-output.js";
import type { ToolDefinition } from "../../../src/tool/tool.js";
import { KeptContext } from "../support.js";

/** A directory of its own with some files, removed at the end of the scope. */
export class SampleWorkspace {
  readonly directory: string;

  private constructor(directory: string) {
    this.directory = directory;
  }

  static async with(files: Readonly<Record<string, string | Uint8Array>> = {}): Promise<SampleWorkspace> {
    const sample = new SampleWorkspace(await realpath(await mkdtemp(join(tmpdir(), "heddle-change-"))));
    for (const [path, data] of Object.entries(files)) await sample.put(path, data);
    return sample;
  }

  at(path: string): string {
    return join(this.directory, path);
  }

  async put(path: string, data: string | Uint8Array, mode?: number): Promise<void> {
    await mkdir(dirname(this.at(path)), { recursive: true });
    await writeFile(this.at(path), data);
    if (mode !== undefined) await chmod(this.at(path), mode);
  }

  read(path: string): Promise<string> {
    return readFile(this.at(path), "utf8");
  }

  async mode(path: string): Promise<number> {
    return (await lstat(this.at(path))).mode & 0o777;
  }

  /** Everything that is not a directory, with permissions and content. */
  async everything(): Promise<Record<string, string>> {
    const entries = await readdir(this.directory, { recursive: true, withFileTypes: true });
    const found: Record<string, string> = {};
    for (const entry of entries.filter((one) => !one.isDirectory())) {
      const path = join(entry.parentPath, entry.name);
      const content = entry.isFile()
        ? await readFile(path, "latin1")
        : entry.isSymbolicLink()
          ? await readlink(path)
          : "other";
      found[path.slice(this.directory.length + 1)] = `${((await lstat(path)).mode & 0o777).toString(8)} ${content}`;
    }
    return Object.fromEntries(Object.entries(found).sort());
  }

  /** From a model's input to the outcome; the result fits its schema, and the preview, made before, has changed nothing. */
  async run(tool: ToolDefinition, input: unknown, signal?: AbortSignal) {
    const checked = checkInput(tool, JSON.stringify(input));
    if (!checked.ok) throw new Error(checked.message);
    const context = new KeptContext({ workspace: this.directory, ...(signal && { signal }) });
    const before = await this.everything();
    const previews = [await outcomeOf(tool, checked.input, context), await outcomeOf(tool, checked.input, context)];
    if (JSON.stringify(previews[0]) !== JSON.stringify(previews[1])) throw new Error("Two previews differ");
    if (JSON.stringify(before) !== JSON.stringify(await this.everything()))
      throw new Error("A preview changed something");
    const outcome = await tool.run(checked.input, context).catch((reason: Error) => {
      throw Object.assign(reason, { preview: previews[0] });
    });
    const output = checkOutput(tool, outcome.result);
    if (!output.ok) throw new Error(output.message);
    const diff = outcome.content?.find(({ id }) => id === "diff")?.data as string | undefined;
    return {
      ...outcome,
      started: tool.describe(checked.input),
      toModel: tool.toModel!(output.result),
      diff,
      preview: previews[0],
      context,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(this.directory, { recursive: true, force: true });
  }
}

/** A preview, or the message with which it fails. */
const outcomeOf = async (tool: ToolDefinition, input: unknown, context: KeptContext) =>
  tool.preview?.(input, context).catch((reason: Error) => ({ failure: reason.message }));
