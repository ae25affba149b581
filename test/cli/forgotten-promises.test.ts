// What is told of promises that fail and that nobody waits for. Whatever they failed with, telling of it fails nothing.
import { expect, test } from "vitest";
import { tellForgottenPromises } from "../../src/cli/forgotten-promises.js";
import { createLogger } from "../../src/cli/logger.js";
import { fakeIo } from "./support.js";

const token = "0123456789abcdef0123456789abcdef";
const configured = "a secret of the configuration";

/** What is logged and said when a promise has failed with this. */
function tellOf(reason: unknown, { level = "info", isTTY = false } = {}) {
  const io = fakeIo({ isTTY, env: { NO_COLOR: "1" } });
  const said: string[] = [];
  const before = process.listeners("unhandledRejection");
  const stop = tellForgottenPromises(createLogger(level, io), {
    secrets: [configured],
    say: (text) => said.push(text),
  });
  const tell = process.listeners("unhandledRejection").find((listener) => !before.includes(listener));
  stop();
  expect(process.listeners("unhandledRejection")).toEqual(before);
  tell?.(reason, Promise.resolve());
  return { log: io.stderr.text, said };
}

const logged = (reason: unknown): unknown => JSON.parse(tellOf(reason).log).err;

test("an error is its type, its words and where they come from, with those of its causes", () => {
  const error = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
  expect(logged(error)).toEqual({
    type: "TypeError",
    message: "fetch failed: connect ECONNREFUSED",
    stack: expect.stringMatching(
      /^TypeError: fetch failed\n {4}at .*\ncaused by: Error: connect ECONNREFUSED\n {4}at /s,
    ),
  });
});

test("what hangs on an error stays out of the log, and so does what looks like a secret in its words", () => {
  const config = { headers: { Authorization: `Bearer ${token}` } };
  const error = Object.assign(new Error(`refused: Authorization: Bearer ${token}`), { config, cause: { config } });
  const { log } = tellOf(error);
  expect(log).toContain("refused");
  expect(log).not.toContain(token);
});

test.each([
  ["text", "no room", "no room"],
  [
    "an object",
    { code: 5, details: "no room", token, authorization: `Bearer ${token}`, password: "p4ss", config: { token } },
    "5, no room",
  ],
  ["nothing", undefined, "undefined"],
  ["null", null, "null"],
])("what is no error is told too: %s", (_, reason, message) => {
  expect(logged(reason)).toMatchObject({ message });
  expect(tellOf(reason, { isTTY: true }).log).toContain(`error=${JSON.stringify(message)}\n`);
});

const throws = () => {
  throw new Error("not so fast");
};

test.each([
  ["a stack", Object.defineProperty(new Error("sly"), "stack", { get: throws }), { message: "sly" }],
  ["a message", Object.defineProperty(new Error("sly"), "message", { get: throws }), { type: "Error" }],
  ["a cause", Object.defineProperty(new Error("sly"), "cause", { get: throws }), { message: "sly" }],
  [
    "a tag",
    {
      code: 5,
      get [Symbol.toStringTag]() {
        return throws();
      },
    },
    { type: "object" },
  ],
  [
    "anything",
    new Proxy({}, { get: throws, getPrototypeOf: throws, has: throws, ownKeys: throws }),
    { type: "object" },
  ],
])("a reason that throws where %s of it is read is told as far as it can be read", (_, reason, expected) => {
  expect(logged(reason)).toMatchObject(expected);
});

test("a secret of the configuration is told to nobody, whatever quotes it", () => {
  expect(logged(new Error(`refused ${configured}`))).toMatchObject({ message: "refused [redacted]" });
  expect(tellOf({ message: configured }, { level: "silent" }).said.join()).not.toContain(configured);
});

test("causes that never end are told in part, and so are long words", () => {
  const endless = (): Error =>
    Object.defineProperty(new Error("again"), "cause", {
      get: endless,
    });
  expect(logged(endless())).toMatchObject({ message: Array(8).fill("again").join(": ") });
  expect(tellOf(new Error("x".repeat(20_000_000))).log.length).toBeLessThan(100_000);
});

test("an error that is its own cause ends", () => {
  const error = new Error("round");
  error.cause = error;
  expect(logged(error)).toMatchObject({ message: "round" });
});

test("where the log says nothing of errors, a person is told in one line", () => {
  const { log, said } = tellOf(new Error("the floor is wet"), { level: "silent" });
  expect(log).toBe("");
  expect(said).toEqual(["a promise failed that nobody waits for, most likely a tool's: the floor is wet"]);
  expect(tellOf(new Error("the floor is wet")).said).toEqual([]);
});
