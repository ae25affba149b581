// The built-in tools, as a server offers them that has everything configured.
import { defaultConfig } from "../../src/config.js";
import { builtinTools } from "../../src/tool/builtin/index.js";
import type { ToolDefinition } from "../../src/tool/tool.js";

export const everyTool = (): ToolDefinition[] => builtinTools({ ...defaultConfig.agent, workspace: "/" });
