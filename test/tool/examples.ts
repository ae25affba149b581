// A call of each built-in tool that succeeds in a sample workspace: what `toolConformance` starts from.
import type { ToolUnderTest } from "../conformance/tool.js";

export type ToolExample = Omit<ToolUnderTest, "tool">;

export const examples: Readonly<Record<string, ToolExample>> = {
  clarify: { input: { question: "Which environment?", options: ["staging", "production"] } },
  inform_user: { input: { message: "Half of it is done." } },
  work_complete: { input: { summary: "All of it is done." } },
  think: { input: { thoughts: ["It may fail.", "It may not."] } },
  list_directory: { input: { path: "src" } },
};
