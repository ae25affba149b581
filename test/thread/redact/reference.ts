// The same shapes, the slow and obvious way: regular expressions tried at every place. For short texts.
const edge =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes begin with one.
  /(?:^|[^A-Za-z0-9]|\\[bfnrt]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\x1b\[[0-9;]{0,8}m)$/;

interface Rule {
  /** Its group `secret`, or else the whole, is the secret. */
  readonly pattern: RegExp;
  readonly proof?: (secret: string) => boolean;
  readonly anywhere?: true;
}

const solid = (secret: string, units: number): boolean =>
  (secret.match(/[A-Za-z0-9+/=]+/g) ?? []).some((row) => row.length >= units && /[0-9]/.test(row));
const random = (secret: string): boolean => /[0-9]|.[A-Z]/.test(secret);
const digit = (secret: string): boolean => /[0-9]/.test(secret);

const rules: readonly Rule[] = [
  { pattern: /sk-[\w-]{16,}/y, proof: (secret) => solid(secret.slice(3), 16) },
  { pattern: /sk-(?:ant|proj|svcacct|admin)-[\w-]{20,}/y, proof: digit },
  { pattern: /gh[pousr]_[A-Za-z0-9]{30,}/y },
  { pattern: /github_pat_\w{22,}/y, proof: digit },
  { pattern: /(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/y },
  { pattern: /xox[abprs]-[A-Za-z0-9-]{10,}/y, proof: digit },
  { pattern: /AIza[\w-]{35,}/y },
  { pattern: /[rs]k_live_[A-Za-z0-9]{16,}/y },
  { pattern: /npm_[A-Za-z0-9]{30,}/y },
  { pattern: /eyJ[\w-]{7,}\.[\w-]{8,}\.[\w.-]{8,}/y },
  { pattern: /(?:Bearer|bearer|BEARER)[ \t]{1,8}(?<secret>[\w.~+/=-]{8,})/dy, proof: random },
  {
    pattern:
      /(?:Authorization|authorization|AUTHORIZATION)[\s:="'\\]{1,8}[Bb][Aa][Ss][Ii][Cc][ \t]{1,8}(?<secret>[A-Za-z0-9.~+/=_-]{4,})/dy,
    proof: random,
  },
  {
    pattern: /:\/\/[!$%&*+,;=.~\w-]*:(?<secret>[!$%&*+,;=.~\w\-:@#()^|\u0080-\uFFFF]+)@/dy,
    anywhere: true,
  },
  {
    pattern:
      /BEGIN (?:(?:RSA |EC |DSA |OPENSSH |ENCRYPTED )?PRIVATE KEY|PGP PRIVATE KEY BLOCK)-----(?<secret>(?:(?!-----)[\s\S])*)-----/dy,
    proof: (secret) => secret.length >= 16,
    anywhere: true,
  },
];

/** Every secret of a known shape: where it begins and ends. */
export function secretsIn(text: string): [start: number, end: number][] {
  const found: [number, number][] = [];
  for (let at = 0; at < text.length; at++) {
    for (const { pattern, proof, anywhere } of rules) {
      if (!anywhere && !edge.test(text.slice(0, at))) continue;
      pattern.lastIndex = at;
      const match = pattern.exec(text);
      if (!match) continue;
      const [start, end] = match.indices?.groups?.["secret"] ?? [at, at + match[0].length];
      if (!proof || proof(text.slice(start, end))) found.push([start, end]);
    }
  }
  return found;
}

/** The text with every secret of a known shape marked; those that touch share a mark. */
export function redactByHand(text: string): string {
  const hidden = new Uint8Array(text.length);
  for (const [start, end] of secretsIn(text)) hidden.fill(1, start, end);
  let marked = "";
  for (let at = 0; at < text.length; at++) {
    if (hidden[at] === 0) marked += text[at];
    else if (at === 0 || hidden[at - 1] === 0) marked += "[redacted]";
  }
  return marked;
}
