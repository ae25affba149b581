// The answers that an agent offers with its question. Only the question streams as text; the offer is in the call's raw input.

/** Whether calls of the tool ask the user, and may offer answers. */
export const asksUser = (toolName: string): boolean => toolName === "clarify";

/** The offer as text to stand below the question, an answer a line. Empty: nothing is offered, or the input is not whole. */
export const optionsText = (input: string): string =>
  optionsIn(input)
    .map((option) => `\n- ${option.trim().replace(/\s+/g, " ")}`)
    .join("");

function optionsIn(input: string): readonly string[] {
  try {
    const options: unknown = JSON.parse(input)?.options;
    return Array.isArray(options) ? options.filter((option) => typeof option === "string") : [];
  } catch {
    return [];
  }
}
