// Made-up secrets of every shape. They are put together here so that no scanner of repositories takes them for real ones.
import fc from "fast-check";

export interface Example {
  readonly name: string;
  /** What stands before the secret and stays. */
  readonly before: string;
  readonly secret: string;
  /** What stands behind it and stays. */
  readonly after: string;
}

const mixed = "a1B2c3D4e5";
const line = `${mixed.repeat(6)}+/aZ`;

const example = (name: string, secret: string, before = "", after = ""): Example => ({ name, before, secret, after });

export const examples: readonly Example[] = [
  example("OpenAI", `sk-${mixed.repeat(4)}`),
  example("OpenAI project", `sk-proj-${mixed.repeat(3)}_-x`),
  example("Anthropic", `sk-ant-api03-${mixed.repeat(3)}_-AA`),
  example("OpenRouter", `sk-or-v1-${"0123456789abcdef".repeat(4)}`),
  ...["ghp_", "gho_", "ghu_", "ghs_", "ghr_"].map((lead) => example(lead, `${lead}${mixed.repeat(3)}abcdef`)),
  example("GitHub fine-grained", `github_pat_11${mixed.repeat(2)}_${mixed.repeat(5)}`),
  example("AWS", `AKIA${"ABCD2345".repeat(2)}`),
  example("AWS temporary", `ASIA${"ABCD2345".repeat(2)}`),
  ...["a", "b", "p", "r", "s"].map((kind) => example(`Slack ${kind}`, `xox${kind}-123456789012-${mixed}`)),
  example("Google", `AIza${mixed.repeat(3)}_-abc`),
  example("Stripe", `sk_live_${mixed.repeat(2)}abcd`),
  example("Stripe restricted", `rk_live_${mixed.repeat(2)}abcd`),
  example("npm", `npm_${mixed.repeat(3)}abcdef`),
  example("JWT", `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${mixed.repeat(4)}_-`),
  example("bearer token", `${mixed}._~+/-==`, "Bearer "),
  example("bearer token, lower case", mixed, "authorization: bearer "),
  example("bearer token behind a repeated word", mixed, "Authorization: Bearer Bearer "),
  example("basic credentials", "dXNlcjpwYXNzd29yZA==", "Authorization: Basic "),
  example("basic credentials in JSON", "dXNlcjpwYXNzd29yZA==", '{"authorization": "Basic ', '"}'),
  example("basic credentials in JSON in JSON", "dXNlcjpwYXNzd29yZA==", '{\\"Proxy-Authorization\\":\\"basic ', '\\"}'),
  example("password in a URL", "hunter2", "postgres://admin:", "@db.example.org/app"),
  example("password with a bare @", "P@ssw0rd", "postgres://admin:", "@db/app"),
  example("password without a user", "hunter2", "redis://:", "@cache:6379"),
  example("password beyond ASCII", "pässwörd", "https://admin:", "@example.org"),
  example("number as a password", "12345", "https://admin:", "@example.org"),
  ...["", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "].map((kind) =>
    example(
      `${kind}private key`,
      `\n${line}\n${line}\nab==\n`,
      `-----BEGIN ${kind}PRIVATE KEY-----`,
      `-----END ${kind}PRIVATE KEY-----`,
    ),
  ),
  example(
    "private key with headers",
    `\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\n${line}\n`,
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
  ),
  example(
    "PGP private key",
    `\nVersion: GnuPG v2.0.22 (Linux)\n\n${line}\n=abcd\n`,
    "-----BEGIN PGP PRIVATE KEY BLOCK-----",
    "-----END PGP PRIVATE KEY BLOCK-----",
  ),
  example(
    "private key in JSON",
    `\\n${line}\\n${line}\\n`,
    '{"key":"-----BEGIN PRIVATE KEY-----',
    '-----END PRIVATE KEY-----\\n"}',
  ),
  example(
    "private key with line numbers",
    `\n    2→${line}\n    3→${line}\n    4→`,
    "    1→-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
  ),
  example("private key without its end", `\n${line}\n${line}\n`, "-----BEGIN PRIVATE KEY-----"),
  example(
    "private key of great size",
    `\n${`${line}\n`.repeat(500)}`,
    "-----BEGIN RSA PRIVATE KEY-----",
    "-----END RSA PRIVATE KEY-----",
  ),
];

/** What must never be taken for a secret. */
export const harmless: readonly string[] = [
  "sk-learn, sk-image and scikit-learn; a skilled task-force; desk-sk-sk-",
  "pip install sk-learn-contrib-internationalization-v2",
  "see sk-550e8400-e29b-41d4-a716-446655440000",
  "the Bearer of news, bearer authentication, Bearer tokens and Bearers",
  'WWW-Authenticate: Bearer realm="example", error="invalid_token"',
  "WWW-Authenticate: Bearer error_description=expired",
  "Authorization: Bearer <token>, Authorization: Bearer $TOKEN, Authorization: Basic <credentials>",
  "Authorization: Basic auth is plain; Authorization: Basic authentication",
  "Basic Introduction2Programming",
  "550e8400-e29b-41d4-a716-446655440000",
  "d41d8cd98f00b204e9800998ecf8427e da39a3ee5e6b4b0d3255bfef95601890afd80709",
  `sha256-${"e3b0c44298fc1c149afbf4c8996fb924".repeat(2)}`,
  "commit 8be3db5c0ffee8be3db5c0ffee8be3db5c0ffee8",
  "npm_config_registry npm_package_version npm_lifecycle_event npm_execpath",
  "github_pat_token_environment_variable",
  "AKIA, ASIA and EURASIA; AKIA1234; ASIAPACIFIC",
  `AKIA${"ABCD2345".repeat(2)}x AKIA${"ABCD2345".repeat(3)} xAKIA${"ABCD2345".repeat(2)}`,
  "xoxo-hugs-and-kisses xoxb-",
  "AIzawa is a name",
  "eyJust.kidding.here eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
  "http://localhost:3000/a@b http://[::1]:8080/ https://example.org:443/?mail=me@example.org",
  "git@github.com:org/repo.git ssh://git@host:22/x mailto:me@example.org",
  `postgres://user:\${PASSWORD}@host postgres://user:<password>@host`,
  "jdbc:mysql://host:port/db",
  "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
  "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
  "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
  `A key begins with -----BEGIN PRIVATE KEY----- and then come ${"many words of prose, ".repeat(50)}-----`,
];

/** The text cut at random places. Empty pieces come too. */
export const cutAtRandom = (text: string): fc.Arbitrary<string[]> =>
  fc.array(fc.nat(text.length), { maxLength: 30 }).map((places) => {
    const borders = [0, ...places.sort((a, b) => a - b), text.length];
    return borders.slice(1).map((end, index) => text.slice(borders[index], end));
  });
