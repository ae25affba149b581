// Takes secrets out of text before it is stored: those that are known by their value, and those that are known by their
// looks (keys of well-known services, bearer tokens, private keys, passwords in URLs).
//
// A stream answers each piece at once and holds nothing back. So a secret that is cut into pieces can show its beginning:
// at most its first 8 units, for from there on it is hidden at a piece's end already, before it is known to be one. The
// price is that such a beginning is hidden too when it turns out to be harmless. A whole text has neither trouble.
//
// What is not seen: a secret that a writer has encoded (base64, other escapes than JSON's and a URL's) or that has
// something else between its characters.
import { Literals } from "./redact/literals.js";
import { Masks, type Span } from "./redact/masks.js";
import type { Scan } from "./redact/scan.js";
import { mayHoldShapes, ShapeScan } from "./redact/shape-scan.js";
import { leadingUnits } from "./redact/shapes.js";

export const redacted = "[redacted]";

/** A shorter secret would be found in innocent text, and is not looked for. In UTF-16 units. */
export const minSecretUnits = leadingUnits;

export interface Redactor {
  /** The text without secrets. Redact before cutting: half a secret is not recognised. */
  text(text: string): string;
  /** The same for a text that may have been cut off: what may be the beginning of a secret at its end is hidden as well. */
  cutText(text: string): string;
  /** For one text that arrives in pieces. */
  stream(): StreamRedactor;
}

export interface StreamRedactor {
  /** The piece without secrets, at once. Where a hidden place goes on from the piece before, it is not marked again. */
  push(piece: string): string;
  /** An independent copy that goes on from here. */
  fork(): StreamRedactor;
}

export interface RedactorOptions {
  /** Values to look for. Space around them is ignored. Those that `unusableSecrets` names are left out. */
  readonly secrets: readonly string[];
}

export function createRedactor({ secrets }: RedactorOptions): Redactor {
  const usable = secrets.map((secret) => secret.trim()).filter(isUsable);
  const literals = new Literals(usable, leadingUnits);
  const scans = (): Scan[] => [literals.scan(), new ShapeScan()];
  const whole = (text: string, end: "pause" | "finish"): string =>
    // Most texts hold nothing that a secret begins with: one look tells.
    literals.automaton.mayHold(text) || mayHoldShapes(text)
      ? marked(text, hiddenIn(text, { scans: scans(), end }))
      : text;
  return {
    text: (text) => whole(text, "finish"),
    cutText: (text) => whole(text, "pause"),
    stream: () => new PieceRedactor(scans()),
  };
}

/** Which of the values are too short to be looked for, by their place in the list: a log must not show them. */
export function unusableSecrets(secrets: readonly string[]): number[] {
  return secrets.flatMap((secret, index) => (isUsable(secret.trim()) ? [] : [index]));
}

// A part of the marker itself would be found again in everything that was redacted.
const isUsable = (secret: string): boolean => secret.length >= minSecretUnits && !redacted.includes(secret);

class PieceRedactor implements StreamRedactor {
  readonly #scans: readonly Scan[];
  #endsHidden: boolean;

  constructor(scans: readonly Scan[], endsHidden = false) {
    this.#scans = scans;
    this.#endsHidden = endsHidden;
  }

  push(piece: string): string {
    if (piece === "") return "";
    const spans = hiddenIn(piece, { scans: this.#scans, end: "pause" });
    const goesOn = this.#endsHidden;
    this.#endsHidden = spans.at(-1)?.end === piece.length;
    return marked(piece, spans, goesOn);
  }

  fork(): StreamRedactor {
    return new PieceRedactor(
      this.#scans.map((scan) => scan.fork()),
      this.#endsHidden,
    );
  }
}

function hiddenIn(piece: string, { scans, end }: { scans: readonly Scan[]; end: "pause" | "finish" }): readonly Span[] {
  const masks = new Masks();
  for (const scan of scans) {
    scan.take(piece, masks);
    scan[end](piece.length, masks);
  }
  return masks.merged();
}

/** The piece with each span marked; one at its very beginning is not, when it goes on from the piece before. */
function marked(piece: string, spans: readonly Span[], goesOn = false): string {
  let text = "";
  let from = 0;
  for (const { start, end } of spans) {
    text += piece.slice(from, start);
    if (start > 0 || !goesOn) text += redacted;
    from = end;
  }
  return from === 0 ? piece : text + piece.slice(from);
}
