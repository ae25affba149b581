// A stream of bytes as lines, each bounded. What a server prints may be cut anywhere, and need not be text.

const lineFeed = 0x0a;

export interface LineRules {
  readonly maxBytes: number;
  onLine(line: Buffer): void;
  /** A line is longer. What was there of it is gone, and the rest is skipped. */
  onTooLong(): void;
}

/** Takes pieces as they come. */
export function lineReader({ maxBytes, onLine, onTooLong }: LineRules): (piece: Buffer) => void {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  let isSkipping = false;
  const finish = (end: Buffer): void => {
    const line = begun.length === 0 ? end : Buffer.concat([...begun, end]);
    begun = [];
    begunBytes = 0;
    if (!isSkipping) onLine(line);
    isSkipping = false;
  };
  return (piece) => {
    let from = 0;
    for (let end = piece.indexOf(lineFeed); end >= 0; end = piece.indexOf(lineFeed, from)) {
      finish(piece.subarray(from, end));
      from = end + 1;
    }
    if (isSkipping || from === piece.length) return;
    begun.push(piece.subarray(from));
    begunBytes += piece.length - from;
    if (begunBytes <= maxBytes) return;
    begun = [];
    begunBytes = 0;
    isSkipping = true;
    onTooLong();
  };
}
