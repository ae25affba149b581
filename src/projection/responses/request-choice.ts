// Whether the model must use a tool, and which of those that were named it may use.
import { ToolChoiceMode } from "../../thread/schema.js";
import { wrong } from "./errors.js";
import type { ChosenTool, RequestedTool, ResponseRequest } from "./request-shape.js";
import { hostedName, type NamedTool, namesOf } from "./request-tools.js";

interface Choice {
  readonly toolChoice?: { readonly mode: ToolChoiceMode; readonly toolName?: string };
  /** Undefined: all that were named. */
  readonly allowedTools?: string[];
}

/** Throws an ApiError that names the tool. */
export function choiceOf(choice: ResponseRequest["tool_choice"], named: readonly NamedTool[]): Choice {
  if (!choice || choice === "auto") return {};
  if (choice === "none") return { toolChoice: { mode: ToolChoiceMode.NONE } };
  if (choice === "required") return { toolChoice: { mode: ToolChoiceMode.REQUIRED } };
  switch (choice.type) {
    case "allowed_tools":
      return {
        ...(choice.mode === "required" && { toolChoice: { mode: ToolChoiceMode.REQUIRED } }),
        allowedTools: choice.tools.flatMap((tool, index) => allowedBy(tool, named, `tool_choice.tools[${index}]`)),
      };
    case "function":
      return { toolChoice: { mode: ToolChoiceMode.NAMED, toolName: choice.name } };
    case "mcp": {
      const [name = ""] = allowedBy(choice, named, "tool_choice");
      // Of a server as a whole no provider can be asked for: any tool will do.
      return {
        toolChoice: choice.name ? { mode: ToolChoiceMode.NAMED, toolName: name } : { mode: ToolChoiceMode.REQUIRED },
      };
    }
    default:
      return { toolChoice: { mode: ToolChoiceMode.NAMED, toolName: hostedName(choice.type) } };
  }
}

/** What it stands for, by name. */
function allowedBy(chosen: ChosenTool, named: readonly NamedTool[], param: string): readonly string[] {
  const found = named.filter(({ tool }) => isThat(chosen, tool));
  if (found.length === 0) throw wrong(param, "It must be one of the tools of the request.", "invalid_value");
  const names = found.flatMap(({ names }) => names);
  if (chosen.type !== "mcp" || !chosen.name) return names;
  const [name = ""] = namesOf(found[0]!, [chosen.name]);
  const isAllowed = names.some(
    (known) => known === name || (known.endsWith("*") && name.startsWith(known.slice(0, -1))),
  );
  if (!isAllowed) throw wrong(`${param}.name`, "The request does not allow this tool of the server.", "invalid_value");
  return [name];
}

function isThat(chosen: ChosenTool, tool: RequestedTool): boolean {
  if (chosen.type === "function") return tool.type === "function" && tool.name === chosen.name;
  if (chosen.type === "mcp") return tool.type === "mcp" && tool.server_label === chosen.server_label;
  return hostedName(chosen.type) === hostedName(tool.type);
}
