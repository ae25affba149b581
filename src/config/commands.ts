// How commands of agents are held in, and what they are given.
import { z } from "zod";
import { section, variableName, whole } from "./rules.js";
import type { Layer } from "./sources.js";

const sandboxes = ["auto", "bubblewrap", "none"] as const;

export interface CommandsConfig {
  /** `auto`: bubblewrap where it works. `bubblewrap`: that, or no start. */
  readonly sandbox: (typeof sandboxes)[number];
  /** Whether commands in a sandbox reach the network. */
  readonly network: boolean;
  /** Names of further variables that commands are given. */
  readonly env: readonly string[];
  /** How long a command may take that asks for no other time. */
  readonly timeoutMs: number;
}

export const defaultCommands: CommandsConfig = { sandbox: "auto", network: false, env: [], timeoutMs: 120_000 };

/** Commands are the model's: what the server itself must keep to itself is no variable for them. */
const serverKey = /^(?:HEDDLE_.*|(?:OPENAI|ANTHROPIC|BRAVE|TAVILY)_API_KEY)$/i;
const keyRule = "a variable that holds no key of the server's own";

export const commandsSchema = section({
  sandbox: z.enum(sandboxes, `one of ${sandboxes.join(", ")}`).optional(),
  network: z.boolean("true or false").optional(),
  env: z
    .array(
      variableName.refine((name) => !serverKey.test(name), keyRule),
      "a list of names of variables",
    )
    .max(256, "a list of at most 256 names")
    .optional(),
  timeoutMs: whole(1_000, 3_600_000).optional(),
});

export function commandsOf(layers: readonly Layer[]): CommandsConfig {
  const given = layers.findLast(({ values }) => values.agent?.commands !== undefined)?.values.agent?.commands ?? {};
  const { sandbox, network, env, timeoutMs } = given;
  return {
    sandbox: sandbox ?? defaultCommands.sandbox,
    network: network ?? defaultCommands.network,
    env: env ?? defaultCommands.env,
    timeoutMs: timeoutMs ?? defaultCommands.timeoutMs,
  };
}
