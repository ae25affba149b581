// Texts that a model may be talked into writing.

/** A secret of the configuration, for suites that configure it. */
export const configuredSecret = "correct horse battery staple";

/** Put together here, so that nothing which looks for keys finds one in the sources. */
const key = `sk-${"a1B2c3D4".repeat(6)}`;

export const hostileTexts: readonly { readonly what: string; readonly text: string; readonly secret?: string }[] = [
  { what: "line breaks and terminal codes", text: "a\r\nb\u2028c\u0085d \u001b[31mred\u001b]0;title\u0007\u009b1m" },
  { what: "marks that turn text around", text: "\u202etxt.exe\u2066 \u200f\u061c" },
  { what: "half a character and NUL", text: "\ud800a\u0000b\udfff" },
  { what: "a megabyte", text: "n".repeat(1_000_000) },
  { what: "a megabyte of marks", text: "\u0301\u200d".repeat(500_000) },
  { what: "a long name", text: `${"n".repeat(250)}/${"m".repeat(250)}` },
  { what: "a key", text: `see ${key} here`, secret: key },
  { what: "a key where a summary is cut", text: `${"n".repeat(170)}/${key}`, secret: key },
  { what: "a configured secret", text: configuredSecret, secret: configuredSecret },
  { what: "a way out", text: "../outside/canary.txt" },
  { what: "a place outside", text: "/etc/passwd" },
  { what: "an option", text: "--output=pwned" },
  { what: "a command", text: "$(cat ../outside/canary.txt); `id` | tee pwned" },
  { what: "nothing", text: "" },
];
