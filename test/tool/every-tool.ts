// The built-in tools, as a server offers them that has everything configured.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentConfig, defaultConfig } from "../../src/config.js";
import { builtinTools } from "../../src/tool/builtin/index.js";
import { Interpreters } from "../../src/tool/interpreter/interpreters.js";
import type { ToolDefinition } from "../../src/tool/tool.js";
import { sampleDocuments } from "./sample-documents.js";
import { sampleProcesses } from "./sample-processes.js";
import { sampleSubRuns } from "./sample-sub-runs.js";

export interface EveryToolOptions {
  /** How commands are held in. */
  readonly sandbox?: AgentConfig["commands"]["sandbox"];
  /** `host:port` of a search service, and the only private host that may be fetched from. */
  readonly webHost?: string;
}

export function everyTool({ sandbox = "none", webHost = "127.0.0.1:1" }: EveryToolOptions = {}): ToolDefinition[] {
  const { agent } = defaultConfig;
  const configured: AgentConfig = {
    ...agent,
    workspace: join(tmpdir(), "heddle-workspace-of-every-tool"),
    commands: { ...agent.commands, sandbox },
    web: {
      ...agent.web,
      allowHosts: [webHost],
      search: { backend: "searxng", url: `http://${webHost}`, key: undefined },
    },
  };
  const interpreters = new Interpreters({ ...agent.interpreter, sandbox, workspace: configured.workspace });
  const processes = sampleProcesses(configured.commands);
  return builtinTools({ ...configured, processes, interpreters, documents: sampleDocuments, subRuns: sampleSubRuns });
}
