// A small project to let tools loose on, beside a file that none of them may read or change.
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What stands outside the workspace, and must be found nowhere else. */
export const canary = "the canary outside sings";

export interface SampleWorkspace extends AsyncDisposable {
  readonly path: string;
  /** Changes when anything in the workspace does: names, contents, modes, links. */
  fingerprint(): string;
  /** The same for what stands outside. */
  outside(): string;
}

const files: Readonly<Record<string, string>> = {
  "README.md": "# Sample\n\nA small project.\n",
  "package.json": '{ "name": "sample", "version": "1.0.0" }\n',
  "src/server.ts": 'import { port } from "./port.js";\n\n// TODO: listen\nconsole.log(port);\n',
  "src/port.ts": "export const port = 8080;\n",
  "old.log": "one\ntwo\n",
  ".gitignore": "ignored/\n",
  "ignored/big.txt": "TODO: nobody looks here\n",
};

/** `prepare` adds what a test needs. */
export async function sampleWorkspace(
  prepare: (path: string) => Promise<void> = async () => {},
): Promise<SampleWorkspace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "heddle-sample-")));
  const path = join(base, "workspace");
  await mkdir(join(base, "outside"));
  await writeFile(join(base, "outside/canary.txt"), canary);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(join(path, name, ".."), { recursive: true });
    await writeFile(join(path, name), text);
  }
  await prepare(path);
  return {
    path,
    fingerprint: () => fingerprintOf(path),
    outside: () => `${readdirSync(base).sort()} ${fingerprintOf(join(base, "outside"))}`,
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}

function fingerprintOf(root: string): string {
  const hash = createHash("sha256");
  const walk = (path: string): void => {
    const found = lstatSync(path);
    hash.update(`${path.slice(root.length)}\0${found.mode}\0`);
    if (found.isDirectory()) for (const name of readdirSync(path).sort()) walk(join(path, name));
    else if (found.isSymbolicLink()) hash.update(readlinkSync(path));
    else if (found.isFile()) hash.update(readFileSync(path));
  };
  walk(root);
  return hash.digest("hex");
}
