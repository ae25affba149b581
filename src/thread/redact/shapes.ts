// Secrets that are known by their looks. A shape is a lead, which is found wherever it stands, and stages that follow it
// without a gap. Nothing here branches or looks back, so that any text is read once.

export interface Shape {
  /** How it begins. */
  readonly leads: readonly string[];
  /** What follows the lead, in order. */
  readonly stages: readonly Stage[];
  /** The lead counts inside a word too, not only where one begins. */
  readonly anywhere: boolean;
  /** The stage at which the secret begins. `undefined`: the lead is a part of the secret. */
  readonly secretStage: number | undefined;
  /** Are the looks enough, once the last stage is full? */
  readonly proof: (seen: Seen) => boolean;
  /** Is an unfinished candidate hidden at a piece's end? */
  readonly hides: (seen: Seen) => boolean;
  /** The next unit after the last stage must not belong to a word. */
  readonly wordMustEnd: boolean;
  /** What proves the secret, and ends it in front of itself: so many of this unit in a row. */
  readonly ending: { readonly unit: number; readonly times: number; readonly closes: boolean } | undefined;
  /** Over after this many units without a solid row of `base64Row`. */
  readonly patience: number;
}

/** Takes between `min` and `max` of some units. */
export interface Stage {
  readonly units: Uint8Array;
  readonly min: number;
  readonly max: number;
}

/** What is known of a candidate's secret so far. */
export interface Seen {
  units: number;
  digits: number;
  /** A capital was seen after the first unit of the last stage. */
  laterCapital: boolean;
  /** The longest row of letters, digits, `+`, `/` and `=` with a digit among them. */
  solid: number;
  /** Units since a solid row of `base64Row`, or since the beginning. */
  sinceBase64: number;
}

/** No words are this long; the lines of a key in base64 are. */
export const base64Row = 40;

/** At most this many leading units of a secret get through when it is cut into pieces. */
export const leadingUnits = 8;

/** Table index of a UTF-16 unit in a stage: all beyond ASCII share one. */
export const unitIndex = (unit: number): number => (unit < beyondAscii ? unit : beyondAscii);

const beyondAscii = 128;

const always = (): boolean => true;
const never = (): boolean => false;
const hasDigit = (seen: Seen): boolean => seen.digits > 0;
const looksRandom = (seen: Seen): boolean => seen.digits > 0 || seen.laterCapital;
const isLong = (seen: Seen): boolean => seen.units > leadingUnits;
// "https://localhost:3000" may still become a password only in theory.
const isNoPort = (seen: Seen): boolean => seen.units > 5 || seen.digits < seen.units;

/** Units by a regular expression's class; U+0080 in it stands for all beyond ASCII. */
function stage(of: string, min: number, max = Number.POSITIVE_INFINITY): Stage {
  const pattern = new RegExp(`[${of}]`);
  const units = Uint8Array.from({ length: beyondAscii + 1 }, (_, unit) =>
    Number(pattern.test(String.fromCharCode(unit))),
  );
  return { units, min, max };
}

const letters = (word: string): Stage[] =>
  [...word].map((letter) => stage(letter.toLowerCase() + letter.toUpperCase(), 1, 1));

/** A key that is known by its lead alone. The other shapes say in what they differ. */
const plain: Omit<Shape, "leads" | "stages"> = {
  anywhere: false,
  secretStage: undefined,
  proof: always,
  hides: isLong,
  wordMustEnd: false,
  ending: undefined,
  patience: Number.POSITIVE_INFINITY,
};

function key(leads: readonly string[], stages: Stage | readonly Stage[], proof: Shape["proof"] = always): Shape {
  return { ...plain, leads, stages: [stages].flat(), proof };
}

const word = "A-Za-z0-9";
const keyUnits = "A-Za-z0-9_-";
const tokenUnits = "A-Za-z0-9._~+/=-";
const userUnits = "!$%&*+,;=._~A-Za-z0-9-";
const blank = stage(" \\t", 1, 8);

export const shapes: readonly Shape[] = [
  // OpenAI, Anthropic and those who copy them. The bare lead needs more proof: sk-learn is a library.
  key(["sk-"], stage(keyUnits, 16), (seen) => seen.solid >= 16),
  key(["sk-ant-", "sk-proj-", "sk-svcacct-", "sk-admin-"], stage(keyUnits, 20), hasDigit),
  // GitHub
  key(["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], stage(word, 30)),
  key(["github_"], [...letters("pat_"), stage("A-Za-z0-9_", 22)], hasDigit),
  // AWS access key ids
  { ...key(["AKIA", "ASIA"], stage("A-Z0-9", 16, 16)), wordMustEnd: true },
  // Slack
  key(["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"], stage("A-Za-z0-9-", 10), hasDigit),
  // Google
  key(["AIza"], stage(keyUnits, 35)),
  // Stripe
  key(["sk_live_", "rk_live_"], stage(word, 16)),
  // npm
  key(["npm_"], stage(word, 30)),
  // JSON Web Tokens: three parts, of which the first is an object in base64. What hangs on behind goes with them.
  key(["eyJ"], [stage(keyUnits, 7), stage(".", 1, 1), stage(keyUnits, 8), stage(".", 1, 1), stage(`.${keyUnits}`, 8)]),
  {
    ...plain,
    leads: ["Bearer", "bearer", "BEARER"],
    stages: [blank, stage(`_${tokenUnits}`, 8)],
    secretStage: 1,
    proof: looksRandom,
  },
  {
    ...plain,
    leads: ["Authorization", "authorization", "AUTHORIZATION"],
    stages: [stage("\\s:=\"'\\\\", 1, 8), ...letters("Basic"), blank, stage(tokenUnits, 4)],
    secretStage: 7,
    proof: looksRandom,
    hides: always,
  },
  // A password in a URL. One that holds a bare @ ends at the last of them.
  {
    ...plain,
    leads: ["://"],
    anywhere: true,
    stages: [stage(userUnits, 0), stage(":", 1, 1), stage(`:@#()^|\\u0080${userUnits}`, 1)],
    secretStage: 2,
    proof: never,
    hides: isNoPort,
    ending: { unit: 0x40, times: 1, closes: false },
  },
  // Private keys in PEM, up to the dashes of the END line. Whatever stands between the lines (quotes, line numbers, diff
  // marks) goes too. The header alone, in a text about keys, is soon followed by something that is not base64.
  {
    ...plain,
    leads: ["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "]
      .map((kind) => `BEGIN ${kind}PRIVATE KEY-----`)
      .concat("BEGIN PGP PRIVATE KEY BLOCK-----"),
    anywhere: true,
    stages: [stage("\\s\\S", 16)],
    secretStage: 0,
    proof: (seen) => seen.solid >= base64Row,
    ending: { unit: 0x2d, times: 5, closes: true },
    patience: 512,
  },
];
