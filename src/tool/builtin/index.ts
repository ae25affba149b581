// The tools that come with Heddle: one file each beside this one, and one line each in the list.
import { type CommandSettings, prepareCommands } from "../command/commands.js";
import type { SubRuns } from "../delegate/sub-runs.js";
import type { DocumentSearch } from "../documents/document-search.js";
import type { Interpreters } from "../interpreter/interpreters.js";
import type { Processes } from "../process/processes.js";
import type { ToolDefinition } from "../tool.js";
import type { WebSettings } from "../web/settings.js";
import { applyPatch } from "./apply-patch.js";
import { clarify } from "./clarify.js";
import { codeInterpreter } from "./code-interpreter.js";
import { delegateTask } from "./delegate-task.js";
import { deleteFile } from "./delete-file.js";
import { editFile } from "./edit-file.js";
import { fileSearch } from "./file-search.js";
import { gather } from "./gather.js";
import { gitDiff } from "./git-diff.js";
import { globFiles } from "./glob-files.js";
import { grepFiles } from "./grep-files.js";
import { informUser } from "./inform-user.js";
import { listDirectory } from "./list-directory.js";
import { listProcesses } from "./list-processes.js";
import { moveFile } from "./move-file.js";
import { readFile } from "./read-file.js";
import { readProcessOutput } from "./read-process-output.js";
import { runCommand } from "./run-command.js";
import { startProcess } from "./start-process.js";
import { stopProcess } from "./stop-process.js";
import { think } from "./think.js";
import { updateTodos } from "./update-todos.js";
import { webFetch } from "./web-fetch.js";
import { webSearch } from "./web-search.js";
import { workComplete } from "./work-complete.js";
import { writeFile } from "./write-file.js";

const everywhere: readonly ToolDefinition[] = [clarify, informUser, think, updateTodos, workComplete];
const inWorkspace: readonly ToolDefinition[] = [
  applyPatch,
  deleteFile,
  editFile,
  listDirectory,
  moveFile,
  writeFile,
  globFiles,
  grepFiles,
  readFile,
];

export interface BuiltinSettings {
  /** Undefined: there is none, and tools that work in it are left out. */
  readonly workspace: string | undefined;
  /** How commands are run. Undefined: none are. */
  readonly commands?: CommandSettings;
  /** What runs in the background of threads. Undefined: nothing does. */
  readonly processes?: Processes;
  /** What may be reached on the web. Undefined: nothing. */
  readonly web?: WebSettings;
  /** What file_search looks into. Undefined: it is not offered. */
  readonly documents?: DocumentSearch;
  /** Who runs code. Undefined: nobody does. */
  readonly interpreters?: Interpreters;
  /** Who runs delegated tasks. Undefined: nobody delegates. */
  readonly subRuns?: SubRuns;
}

/** All of them, also those that need settings to be offered. */
export const builtinNames: readonly string[] = [
  ...[...everywhere, ...inWorkspace].map(({ name }) => name),
  ...["list_processes", "read_process_output", "start_process", "stop_process"],
  ...[
    "code_interpreter",
    "delegate_task",
    "file_search",
    "gather",
    "git_diff",
    "run_command",
    "web_fetch",
    "web_search",
  ],
];

/** What an agent is offered. Throws `invalid_config` when commands cannot be held in as they should be. */
export function builtinTools({
  workspace,
  commands,
  processes,
  web,
  documents,
  interpreters,
  subRuns,
}: BuiltinSettings): ToolDefinition[] {
  const anywhere = [
    ...everywhere,
    ...(web ? webTools(web) : []),
    ...(documents ? [fileSearch(documents)] : []),
    ...(interpreters ? [codeInterpreter(interpreters)] : []),
    ...(subRuns ? [delegateTask(subRuns)] : []),
  ];
  if (workspace === undefined) return anywhere;
  const background = processes ? processTools(processes) : [];
  return [...anywhere, ...inWorkspace, ...(commands ? commandTools(commands, workspace) : []), ...background];
}

function commandTools(settings: CommandSettings, workspace: string): ToolDefinition[] {
  const commands = prepareCommands(settings, workspace);
  return [gather(commands), gitDiff(commands), runCommand(commands)];
}

const processTools = (processes: Processes): ToolDefinition[] => [
  listProcesses(processes),
  readProcessOutput(processes),
  startProcess(processes),
  stopProcess(processes),
];

/** Without a service to ask there is no search. */
function webTools({ search, ...settings }: WebSettings): ToolDefinition[] {
  return [webFetch(settings), ...(search ? [webSearch({ ...settings, search })] : [])];
}
