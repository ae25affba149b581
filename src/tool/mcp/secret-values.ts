// Which values that servers are given are secret: all that nobody can say to be harmless. They are blanked out wherever they turn up.

/** Variables whose values are words of everyday. Blanked out everywhere, they would blank out half of a log. */
const plainVariables =
  /^(?:PATH|HOME|USER|SHELL|PWD|TMPDIR|TZ|LANG|LANGUAGE|LC_[A-Z]+|NODE_ENV|NODE_PATH|NODE_OPTIONS|DEBUG|PORT|HOST|LOG_LEVEL|\w+_LOG_LEVEL|PYTHON\w*|VIRTUAL_ENV)$/;
const plainHeaders = /^(?:accept|accept-language|content-type|user-agent)$/i;

export const secretsOfEnvironment = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env).flatMap(([name, value]) => (plainVariables.test(name) ? [] : [value]));

/** Of `Bearer abc…` only what is secret in it. */
export const secretsOfHeaders = (headers: Readonly<Record<string, string>>): string[] =>
  Object.entries(headers).flatMap(([name, value]) => (plainHeaders.test(name) ? [] : [secretPart(value)]));

const shortestPart = 8;

function secretPart(value: string): string {
  const [, part = ""] = /^[A-Za-z]+ +(\S+)$/.exec(value.trim()) ?? [];
  return part.length >= shortestPart ? part : value;
}

/** Keys often stand in the query. */
export const secretsOfUrl = (url: string): string[] =>
  URL.canParse(url) ? [...new URL(url).searchParams.values()] : [];
