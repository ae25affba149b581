// The scenarios in the order in which docs/lifecycle.md shows them.
import type { Group } from "./scenario.js";
import { asked } from "./scenarios/asked.js";
import { atClients } from "./scenarios/at-clients.js";
import { bodies } from "./scenarios/bodies.js";
import { calledOff } from "./scenarios/called-off.js";
import { failed, rejected } from "./scenarios/endings.js";
import { limits } from "./scenarios/limits.js";
import { mcp } from "./scenarios/mcp.js";
import { modelTrouble } from "./scenarios/model-trouble.js";
import { names } from "./scenarios/names.js";
import { ordinary } from "./scenarios/ordinary.js";
import { server } from "./scenarios/server.js";
import { speech } from "./scenarios/speech.js";
import { whileRunning } from "./scenarios/while-running.js";

export const groups: readonly Group[] = [
  ordinary,
  names,
  speech,
  whileRunning,
  bodies,
  asked,
  atClients,
  mcp,
  rejected,
  failed,
  calledOff,
  modelTrouble,
  limits,
  server,
];

export const scenarios = groups.flatMap((group) => group.scenarios);
