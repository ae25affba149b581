// A directory in which an agent of a scripted model works: `work` is its workspace, `config.json` its configuration.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** `script`: as docs/scripted-model.md has it. `tools`: a module with further tools. */
export function writeScriptedAgent(dir: string, script: object, tools: string): void {
  mkdirSync(join(dir, "work"));
  writeFileSync(join(dir, "script.json"), JSON.stringify(script));
  const agent = { model: `scripted:${join(dir, "script.json")}`, tools: [tools], workspace: join(dir, "work") };
  writeFileSync(join(dir, "config.json"), JSON.stringify({ agent }));
}
