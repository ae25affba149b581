// What a command is given of the server's environment: what programs need to find their way, and what the operator names. Never
// more: keys and tokens of the server stand there too.

/** Given when they are there. */
const passedOn = /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR)$/;

/** For everybody: nobody answers a question, nobody turns a page, and colours are noise. */
const fixed: Readonly<Record<string, string>> = {
  TERM: "dumb",
  CI: "1",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  MANPAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "/bin/false",
  SSH_ASKPASS: "/bin/false",
  SSH_ASKPASS_REQUIRE: "never",
  GIT_SSH_COMMAND: "ssh -oBatchMode=yes",
  DEBIAN_FRONTEND: "noninteractive",
  PIP_NO_INPUT: "1",
  npm_config_update_notifier: "false",
};

const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** `named`: further variables that the operator lets commands have. */
export function commandEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  named: readonly string[],
): Readonly<Record<string, string>> {
  const given = Object.entries(environment).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && (passedOn.test(entry[0]) || named.includes(entry[0])),
  );
  return { PATH: standardPath, ...Object.fromEntries(given), ...withoutNamed(named) };
}

const withoutNamed = (named: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(fixed).filter(([name]) => !named.includes(name)));
