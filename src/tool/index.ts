// What an author of tools imports. The default export of a module that an operator names is a tool, or a list of tools.
export {
  defineTool,
  type Kind,
  type Phase,
  type TextField,
  type ToolContent,
  type ToolContext,
  type ToolDefinition,
  ToolFailure,
  type ToolOutcome,
} from "./tool.js";
