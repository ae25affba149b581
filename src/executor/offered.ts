// The tools of an executor as it offers them.
import { create } from "@bufbuild/protobuf";
import { listedTools } from "../loop/listed-tools.js";
import { type ClientTool, ClientToolSchema } from "../thread/schema.js";
import type { PolicySettings } from "../tool/policy.js";
import type { ToolRegistry } from "../tool/registry.js";

/** What is about to happen, in the words that the tools have for it. The others say their title and what they are about. */
const summaries: Readonly<Record<string, string>> = {
  delete_file: "Deleting {path}",
  edit_file: "Editing {path}",
  gather: "Gathering: {command}",
  glob_files: "Finding files matching {pattern}",
  grep_files: 'Searching files for "{pattern}"',
  list_directory: "Listing {path}",
  move_file: "Moving {from} to {to}",
  read_file: "Reading {path}",
  run_command: "Running {command}",
  write_file: "Writing {path}",
};

/** Those that policy denies too: an agent that calls one is told so, and does not look for another of that name. */
export const offeredTools = (tools: ToolRegistry, policy: PolicySettings): ClientTool[] =>
  listedTools(tools, policy).map(({ name, title, description, kind, inputSchemaJson, outputSchemaJson, policy }) =>
    create(ClientToolSchema, {
      name,
      title,
      description,
      kind,
      inputSchemaJson,
      outputSchemaJson,
      policy,
      summaryTemplate: summaries[name] ?? "",
    }),
  );
