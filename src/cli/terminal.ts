// Text from elsewhere, made fit for a terminal; and colours where they are wanted.
import type { Io } from "./io.js";

/** Everything that moves the cursor, changes colours or reorders what is read. Joiners stay: emoji and scripts need them. */
const unsafe = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
const names: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

const visible = (char: string): string => names[char] ?? `\\u{${char.codePointAt(0)!.toString(16)}}`;

/** One line: no character of it does anything but show. */
export const safeLine = (text: string): string => text.replace(unsafe, visible);

/** Several lines: line ends and tabs stay. */
export const safeBlock = (text: string): string =>
  text.replace(unsafe, (char) => (char === "\n" || char === "\t" ? char : visible(char)));

/** At most so many characters; a cut is shown. */
export function clip(text: string, length: number): string {
  if (text.length <= length) return text;
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, Math.max(0, length - 1)).join("")}…`;
}

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const;

export type Style = Readonly<Record<keyof typeof codes, (text: string) => string>>;

/** Colours on a terminal, unless NO_COLOR asks for none (no-color.org). */
export const styleFor = (io: Io, output: "stdout" | "stderr"): Style =>
  isScreen(io, output) && !io.env["NO_COLOR"] ? coloured : plainStyle;

/** A terminal that understands control sequences. */
export const isScreen = (io: Io, output: "stdout" | "stderr"): boolean => io[output].isTTY && io.env["TERM"] !== "dumb";

const styled = (paint: (text: string, codes: readonly [on: number, off: number]) => string): Style =>
  Object.fromEntries(
    Object.entries(codes).map(([name, pair]) => [name, (text: string) => paint(text, pair)]),
  ) as unknown as Style;

export const plainStyle: Style = styled((text) => text);
const coloured: Style = styled((text, [on, off]) => (text === "" ? "" : `\u001b[${on}m${text}\u001b[${off}m`));
