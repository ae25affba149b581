// What a run is asked for, checked, with the server's defaults filled in.
import { create } from "@bufbuild/protobuf";
import type { Model } from "../model/model.js";
import { invalidField } from "../thread/errors.js";
import type { EveryField } from "../thread/every-field.js";
import { limits } from "../thread/limits.js";
import {
  ApprovalMode,
  type RunOptions,
  RunOptionsSchema,
  type TextFormat,
  TextFormatKind,
  ToolChoiceMode,
} from "../thread/schema.js";
import { utf8Bytes } from "../thread/text.js";
import { durationFromMs, durationMs, isSpan } from "../thread/time.js";
import { checkClientTools } from "../tool/client/check-client-tool.js";
import { isNamed } from "./tool-names.js";

export interface RunDefaults {
  readonly model: string;
  readonly instructions: string;
  readonly maxSteps: number;
  /** 0: no bound. */
  readonly maxTokens: number;
  readonly timeLimitMs: number;
  /** `deny`: nobody answers here. */
  readonly approvals: "ask" | "deny";
}

/** Whether a run might have a tool of this name. */
export type IsTool = (name: string) => boolean;

export function resolveOptions(asked: RunOptions | undefined, defaults: RunDefaults, isTool: IsTool): RunOptions {
  const options = asked ?? create(RunOptionsSchema);
  check(options, isTool);
  const resolved: EveryField<RunOptions> = {
    $typeName: options.$typeName,
    model: options.model || defaults.model,
    instructions: options.instructions || defaults.instructions,
    parallelToolCalls: options.parallelToolCalls ?? true,
    maxSteps: options.maxSteps || defaults.maxSteps,
    maxTokens: options.maxTokens || BigInt(defaults.maxTokens),
    maxOutputTokens: options.maxOutputTokens,
    timeLimit: options.timeLimit ?? durationFromMs(defaults.timeLimitMs),
    toolChoice: options.toolChoice,
    allowedTools: options.allowedTools,
    // A caller can be stricter than the server, not the other way round.
    approvalMode: defaults.approvals === "deny" ? ApprovalMode.DENY : options.approvalMode || ApprovalMode.ASK,
    clientTools: options.clientTools,
    onlyAllowedTools: options.onlyAllowedTools,
    approvedTools: options.approvedTools,
    guardedTools: options.guardedTools,
    maxToolCalls: options.maxToolCalls,
    temperature: options.temperature,
    topP: options.topP,
    endWhenUnclaimed: options.endWhenUnclaimed,
    textFormat: options.textFormat,
    presencePenalty: options.presencePenalty,
    frequencyPenalty: options.frequencyPenalty,
    endWhenCutOff: options.endWhenCutOff,
    $unknown: options.$unknown,
  };
  return resolved;
}

function check(options: RunOptions, isTool: IsTool): void {
  const { run } = limits;
  if (utf8Bytes(options.instructions) > run.instructionsBytes)
    throw invalidField("options.instructions", `may have at most ${run.instructionsBytes} bytes`);
  if (ApprovalMode[options.approvalMode] === undefined)
    throw invalidField("options.approval_mode", "must be a value that this server knows");
  if (options.maxSteps > run.steps) throw invalidField("options.max_steps", `may be at most ${run.steps}`);
  if (options.timeLimit) {
    const ms = isSpan(options.timeLimit) ? durationMs(options.timeLimit) : 0;
    if (!(ms >= 1 && ms <= run.timeLimitMs))
      throw invalidField("options.time_limit", "must be from a millisecond to a day");
  }
  if (options.allowedTools.length > run.allowedTools)
    throw invalidField("options.allowed_tools", `may have at most ${run.allowedTools} entries`);
  checkClientTools(options.clientTools, "options.client_tools");
  for (const field of ["approvedTools", "guardedTools"] as const)
    if (options[field].length > run.allowedTools)
      throw invalidField(`options.${field.replace("Tools", "_tools")}`, `may have at most ${run.allowedTools} entries`);
  checkFormat(options.textFormat);
  checkRange(options.temperature, [0, 2], "options.temperature");
  checkRange(options.topP, [0, 1], "options.top_p");
  checkRange(options.presencePenalty, [-2, 2], "options.presence_penalty");
  checkRange(options.frequencyPenalty, [-2, 2], "options.frequency_penalty");
  const isKnown = (name: string): boolean =>
    isTool(name) || name.endsWith("*") || options.clientTools.some((tool) => tool.name === name);
  const unknown = options.allowedTools.find((name) => !isKnown(name));
  if (unknown !== undefined)
    throw invalidField(
      "options.allowed_tools",
      `names ${JSON.stringify(unknown.slice(0, 64))}, which is no tool of this server or thread`,
    );
  checkChoice(options, isKnown);
}

function checkFormat(format: TextFormat | undefined): void {
  if (!format) return;
  const { kind, name, description, schemaJson } = format;
  const field = "options.text_format";
  if (TextFormatKind[kind] === undefined) throw invalidField(`${field}.kind`, "must be a value that this server knows");
  if (kind !== TextFormatKind.JSON_SCHEMA) {
    if (name + description + schemaJson !== "") throw invalidField(`${field}.name`, "belongs to JSON_SCHEMA only");
    return;
  }
  const { descriptionBytes, schemaBytes } = limits.textFormat;
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name))
    throw invalidField(`${field}.name`, "must be 1 to 64 characters of a-z A-Z 0-9 _ -");
  if (utf8Bytes(description) > descriptionBytes)
    throw invalidField(`${field}.description`, `may have at most ${descriptionBytes} bytes`);
  if (utf8Bytes(schemaJson) > schemaBytes)
    throw invalidField(`${field}.schema`, `may have at most ${schemaBytes} bytes`);
  if (!isObject(schemaJson)) throw invalidField(`${field}.schema`, "must be a JSON object");
}

function isObject(json: string): boolean {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Throws `invalid_field` where the model cannot be asked for it. */
export function checkModel({ textFormat, presencePenalty, frequencyPenalty }: RunOptions, model: Model): void {
  const { name, formats = [], takesPenalties = false } = model;
  const kind = textFormat?.kind ?? TextFormatKind.TEXT;
  const wanted =
    kind === TextFormatKind.JSON_OBJECT ? "json_object" : kind === TextFormatKind.JSON_SCHEMA ? "json_schema" : "";
  if (wanted !== "" && !formats.includes(wanted))
    throw invalidField("options.text_format", `asks for ${wanted}, which the model ${name} does not support`);
  const penalty = presencePenalty ? "presence_penalty" : frequencyPenalty ? "frequency_penalty" : "";
  if (penalty !== "" && !takesPenalties)
    throw invalidField(`options.${penalty}`, `must be 0: the model ${name} does not support it`);
}

function checkRange(value: number | undefined, [least, most]: readonly [number, number], field: string): void {
  if (value !== undefined && !(value >= least && value <= most))
    throw invalidField(field, `must be from ${least} to ${most}`);
}

function checkChoice({ toolChoice, allowedTools }: RunOptions, isTool: IsTool): void {
  if (!toolChoice) return;
  const { mode, toolName } = toolChoice;
  if (ToolChoiceMode[mode] === undefined)
    throw invalidField("options.tool_choice.mode", "must be a value that this server knows");
  if (mode !== ToolChoiceMode.NAMED) {
    if (toolName !== "") throw invalidField("options.tool_choice.tool_name", "belongs to NAMED only");
    return;
  }
  const isThere = isTool(toolName) && (allowedTools.length === 0 || isNamed(allowedTools, toolName));
  if (!isThere) throw invalidField("options.tool_choice.tool_name", "must be a tool that the run may use");
}
