// Structured logs on standard error: JSON for machines, one line of text for a person at a terminal.
import { type Logger, pino, stdTimeFunctions } from "pino";
import type { Io } from "./io.js";
import { type Style, safeBlock, safeLine, styleFor } from "./terminal.js";

/** A second fence: nothing that is logged should hold a token in the first place. */
const secretPaths = ["token", "tokens", "authorization", "*.token", "*.tokens", "*.authorization", "*.*.authorization"];

export function createLogger(level: string, io: Io): Logger {
  const print = io.stderr.isTTY ? textLine(styleFor(io, "stderr")) : (line: string) => line;
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretPaths, censor: "[hidden]" },
    },
    { write: (line: string) => void io.stderr.write(print(line)).catch(() => {}) },
  );
}

const paints: Readonly<Record<string, keyof Style>> = { warn: "yellow", error: "red", fatal: "red", info: "green" };

/** `12:03:41.120 info message key=value …`; an error's stack below it. */
const textLine =
  (style: Style) =>
  (json: string): string => {
    const { level, time, msg, pid: _, err, ...facts } = JSON.parse(json);
    const pairs = Object.entries(facts).map(
      ([key, value]) => `${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
    );
    if (err !== undefined) pairs.push(`error=${JSON.stringify(err?.message ?? err)}`);
    const what = style[paints[level] ?? "dim"](String(level).padEnd(5));
    const stack = !err?.stack || level === "info" ? "" : `${style.dim(safeBlock(String(err.stack)))}\n`;
    return (
      `${style.dim(String(time).slice(11, 23))} ${what} ${safeLine(String(msg ?? ""))} ${style.dim(safeLine(pairs.join(" ")))}`.trimEnd() +
      `\n${stack}`
    );
  };
