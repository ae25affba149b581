// What MCP servers say that is for operators: their log messages, what they print, and what happens to them. One line each, bounded,
// without secrets, and not more than a log can bear.
import { oneLine } from "../words.js";
import { bounds } from "./bounds.js";

export type LogLevel = "debug" | "info" | "warn";

/** The part of the server's logger that is used here. */
export type McpLogger = Readonly<Record<LogLevel, (facts: object, message: string) => void>>;

export class ServerLog {
  readonly #label: string;
  readonly #write: (level: LogLevel, facts: object, message: string) => void;
  #minute = 0;
  #lines = 0;

  constructor(label: string, write: (level: LogLevel, facts: object, message: string) => void) {
    this.#label = label;
    this.#write = write;
  }

  /** What happens to the server, in our words. */
  say(level: LogLevel, message: string, facts: object = {}): void {
    this.#write(level, { mcpServer: this.#label, ...facts }, message);
  }

  /** What the server says. `from`: a level of the protocol, or the stream that it was printed to. */
  quote(from: string, text: string): void {
    const line = oneLine(text.slice(0, bounds.logUnits));
    if (line !== "") this.sayUnlessTooMany(levels[from] ?? "info", line, { from });
  }

  /** What the server can make us say as often as it likes. */
  sayUnlessTooMany(level: LogLevel, message: string, facts: object): void {
    const minute = Math.floor(performance.now() / 60_000);
    if (minute !== this.#minute) this.#lines = 0;
    this.#minute = minute;
    this.#lines++;
    const most = bounds.logLinesPerMinute;
    if (this.#lines <= most) this.say(level, message, facts);
    else if (this.#lines === most + 1) this.say("info", "[more lines of this minute are left out]");
  }
}

const levels: Readonly<Record<string, LogLevel>> = {
  debug: "debug",
  stdout: "debug",
  warning: "warn",
  error: "warn",
  critical: "warn",
  alert: "warn",
  emergency: "warn",
};
