// What one source (the file, the environment, the flags) may say. Every key is optional here: sources are laid over one
// another, and what none of them says is a default. docs/configuration.md lists the same keys; a test compares them.
import { z } from "zod";
import { limits } from "../thread/limits.js";
import { commandsSchema } from "./commands.js";
import { delegationSchema } from "./delegation.js";
import { documentsSchema } from "./documents.js";
import { interpreterSchema } from "./interpreter.js";
import { listenRule, parseListen } from "./listen.js";
import { mcpSchema, mcpServersSchema } from "./mcp.js";
import { responsesSchema } from "./responses.js";
import { section, text, variableName, whole } from "./rules.js";
import { webSchema } from "./web.js";

export const logLevels = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** The environment's own name for a token: what HEDDLE_TOKEN is called in logs. */
export const environmentTokenName = "env";

const tokenRule = "16 to 512 characters of printable ASCII without spaces";
const tokenShape = /^[\x21-\x7e]{16,512}$/;
const shortestSecret = 8;
const kib = 1024;
const mib = 1024 * kib;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** What becomes of runs that were under way when the last process ended. */
export const restartPolicies = ["continue", "end"] as const;
export type RestartPolicy = (typeof restartPolicies)[number];

const policies = ["allow", "ask", "deny"] as const;

/** Whether calls that need a yes wait for one, or are denied because nobody answers. */
export const approvalModes = ["ask", "deny"] as const;
export type ApprovalMode = (typeof approvalModes)[number];

/** Does the text do as a bearer token? */
export const isToken = (value: string): boolean => tokenShape.test(value);

/** A tool of Heddle's own kind, one of an MCP server, or all of a server. */
const policyName = /^(?:[a-z0-9][a-z0-9_-]{0,63}|mcp__[a-zA-Z0-9_-]{1,59}|mcp__[a-zA-Z0-9_-]{1,57}__\*)$/;

const listen = z.string(listenRule).transform((value, context) => {
  const address = parseListen(value);
  if (address !== undefined) return address;
  context.addIssue({ code: "custom", message: listenRule });
  return z.NEVER;
});

const tokenEntryRule = 'an object with "name" and either "token" or "tokenEnv"';
const token = z
  .strictObject(
    {
      name: z.string("a name").regex(/^[\w.-]{1,64}$/, "a name of 1 to 64 letters, digits, . _ or -"),
      token: z.string(tokenRule).regex(tokenShape, tokenRule).optional(),
      tokenEnv: variableName.optional(),
    },
    { error: tokenEntryRule },
  )
  .refine((entry) => (entry.token === undefined) !== (entry.tokenEnv === undefined), tokenEntryRule);

const originRule = "an origin such as https://app.example.com or http://localhost:5173, without path or *";
const origin = z.string(originRule).regex(/^[a-z][a-z0-9+.-]*:\/\/[^/*?#@\s]+\/?$/i, originRule);

const modelRule = "provider:name, such as openai:gpt-4o-mini, anthropic:claude-sonnet-4-5 or demo:demo";
const model = z.string(modelRule).regex(/^[a-z][a-z0-9-]{0,31}:[^\s\p{C}][^\p{C}]{0,160}$/u, modelRule);

const largestInstructions = 256 * kib;
const instructionsRule = "text of at most 256 KiB";
const instructions = z
  .string(instructionsRule)
  .refine((value) => Buffer.byteLength(value) <= largestInstructions, instructionsRule);

export const sourceSchema = section({
  listen: listen.optional(),
  data: text("the path of a directory").optional(),
  logLevel: z.enum(logLevels, `one of ${logLevels.join(", ")}`).optional(),
  tls: section({
    certFile: text("the path of a PEM file").optional(),
    keyFile: text("the path of a PEM file").optional(),
  }).optional(),
  tokens: z.array(token, "a list of tokens").max(1000, "a list of at most 1000 tokens").optional(),
  allowedOrigins: z.array(origin, "a list of origins").max(1000, "a list of at most 1000 origins").optional(),
  secrets: z
    .array(z.string("text").min(shortestSecret, `text of at least ${shortestSecret} characters`), "a list of texts")
    .max(1000, "a list of at most 1000 texts")
    .optional(),
  limits: section({
    connections: whole(1, 1_000_000).optional(),
    // RFC 9113 advises at least 100: fewer would make one client's threads wait for each other.
    streamsPerConnection: whole(100, 65_536).optional(),
    // The schema promises that a chunk of a body fits into a request, whatever else the request carries.
    messageBytes: whole(2 * limits.contentChunkBytes, 64 * mib).optional(),
    headerBytes: whole(4 * kib, mib).optional(),
  }).optional(),
  timing: section({
    // Clients take 45 seconds without a word for a dead connection.
    heartbeatMs: whole(100, 30_000).optional(),
    pingMs: whole(100, hourMs).optional(),
    pingTimeoutMs: whole(100, hourMs).optional(),
    drainMs: whole(0, hourMs).optional(),
    streamMaxAgeMs: whole(1_000, 7 * dayMs).optional(),
  }).optional(),
  agent: section({
    model: model.optional(),
    models: z.array(model, "a list of models").max(256, "a list of at most 256 models").optional(),
    instructions: instructions.optional(),
    workspace: text("the path of a directory").optional(),
    tools: z
      .array(text("the path of an ES module"), "a list of paths")
      .max(256, "a list of at most 256 paths")
      .optional(),
    maxSteps: whole(1, 1_000).optional(),
    maxTokens: whole(0, 1_000_000_000).optional(),
    timeLimitMs: whole(1_000, dayMs).optional(),
    toolTimeoutMs: whole(10, dayMs).optional(),
    quietMs: whole(100, 600_000).optional(),
    stopGraceMs: whole(0, 60_000).optional(),
    trusted: z.boolean("true or false").optional(),
    policy: z
      .record(
        z.string().regex(policyName, "the name of a tool, or mcp__SERVER__* for all tools of an MCP server"),
        z.enum(policies, `one of ${policies.join(", ")}`),
        "an object of tool names and allow, ask or deny",
      )
      .optional(),
    approvals: z.enum(approvalModes, `one of ${approvalModes.join(", ")}`).optional(),
    // As long as a timer can be.
    approvalTimeoutMs: whole(1_000, 24 * dayMs).optional(),
    claimTimeoutMs: whole(1_000, 24 * dayMs).optional(),
    afterRestart: z.enum(restartPolicies, `one of ${restartPolicies.join(", ")}`).optional(),
    web: webSchema.optional(),
    commands: commandsSchema.optional(),
    interpreter: interpreterSchema.optional(),
    delegation: delegationSchema.optional(),
    mcp: mcpSchema.optional(),
  }).optional(),
  mcpServers: mcpServersSchema.optional(),
  documents: documentsSchema.optional(),
  responses: responsesSchema.optional(),
});

/** One source, checked. */
export type Source = z.output<typeof sourceSchema>;

/** Every key of the schema as a path: `listen`, `tls.certFile`, `tokens[].name`, … */
export const configKeys: readonly string[] = leavesOf(sourceSchema, "");

/** The keys that may stand inside the object at the path. */
export function keysAt(path: readonly PropertyKey[]): readonly string[] {
  let at: z.core.$ZodType = sourceSchema;
  for (const part of path) at = child(bare(at), part) ?? at;
  const object = bare(at);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

function leavesOf(type: z.core.$ZodType, path: string): readonly string[] {
  const inner = bare(type);
  if (inner instanceof z.ZodArray && bare(inner.element) instanceof z.ZodObject)
    return leavesOf(inner.element, `${path}[]`);
  if (inner instanceof z.ZodRecord && bare(inner.valueType) instanceof z.ZodObject)
    return leavesOf(inner.valueType, `${path}.NAME`);
  if (!(inner instanceof z.ZodObject)) return [path];
  return Object.entries(inner.shape).flatMap(([key, value]) => leavesOf(value, path === "" ? key : `${path}.${key}`));
}

function child(type: z.core.$ZodType, part: PropertyKey): z.core.$ZodType | undefined {
  if (type instanceof z.ZodArray) return type.element;
  if (type instanceof z.ZodRecord) return type.valueType;
  return type instanceof z.ZodObject ? type.shape[part as string] : undefined;
}

function bare(type: z.core.$ZodType): z.core.$ZodType {
  return type instanceof z.ZodOptional ? bare(type.unwrap()) : type;
}
