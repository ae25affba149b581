// Calls that wait for a yes on a real server: over kill and restart, answered by two clients at once, too late, for something
// else, and with the command.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import type { StreamThreadEventsResponse } from "../../gen/heddle/v1/event_pb.js";
import {
  ToolCallApprovalResolved_Decision as Decision,
  RunOutcome,
  SuspendReason,
} from "../../gen/heddle/v1/event_pb.js";
import { type ToolCall, ToolCallOutcome } from "../../gen/heddle/v1/tool_call_pb.js";
import { newId } from "../../src/thread/ids.js";
import { type AgentServer, useAgentServers } from "../fixtures/engine/agent-server.js";
import { Session } from "../fixtures/engine/session.js";
import { valuesOf } from "../support/agent.js";
import { type AnsweringClient, openConnect, openGrpcJs } from "./clients/answering.js";
import { StreamFailure } from "./clients/failure.js";

const command = join(import.meta.dirname, "../../dist/src/cli/main.js");

/** Its one call needs a yes; whatever comes of it, the model is done then. */
const script = {
  replies: [
    { events: [{ toolCall: { name: "leave_trace", input: { work: "it", busyMs: 0 } } }] },
    { expect: { toolResults: 1 }, events: [{ text: "Done." }] },
  ],
};

const useServer = useAgentServers();
const opened: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

const open = <Opened extends { close(): unknown }>(each: Opened): Opened => {
  opened.push(each);
  return each;
};

async function start(agent: Record<string, unknown> = {}): Promise<{ server: AgentServer; session: Session }> {
  const server = await (await useServer({ script, agent: { trusted: false, ...agent } })).start();
  return { server, session: open(new Session(server.url)) };
}

/** Threads whose one call waits, and their questions. */
async function park(session: Session, count: number) {
  const started = await Promise.all(Array.from({ length: count }, () => session.start("go")));
  const parked = [];
  for (const { threadId } of started) {
    const [question] = valuesOf(await session.until(threadId, "runSuspended"), "toolCallApprovalRequested");
    parked.push({ threadId, toolCallId: question!.toolCallId, sha256: question!.approvalSha256 });
  }
  return parked;
}

type Parked = Awaited<ReturnType<typeof park>>[number];

async function listed({ clients }: Session, pageSize: number): Promise<ToolCall[]> {
  const calls: ToolCall[] = [];
  let pageToken = "";
  do {
    const page = await clients.toolCalls.listApprovals({ pageSize, pageToken });
    calls.push(...page.toolCalls);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return calls;
}

const reasonIn = (reason: unknown): string => {
  if (!(reason instanceof StreamFailure)) throw reason;
  return (reason.details[0]!.value as { reason: string }).reason;
};

const traces = async ({ dir }: AgentServer): Promise<string[]> =>
  (await readFile(join(dir, "traces"), "utf8").catch(() => "")).split("\n").filter(Boolean);

describe("20 calls that wait", () => {
  test("T1: over a kill and a restart, answered by two clients at once: one decision, one effect and one Complete each", {
    timeout: 60_000,
  }, async () => {
    const { server, session } = await start();
    const parked = await park(session, 20);
    await server.kill();
    expect(await traces(server)).toEqual([]);
    await server.start();

    const waiting = await listed(session, 7);
    expect(waiting.map(({ id }) => id).sort()).toEqual(parked.map(({ toolCallId }) => toolCallId).sort());
    const askedAt = waiting.map(
      ({ approval }) => Number(approval!.requestTime!.seconds) * 1e9 + approval!.requestTime!.nanos,
    );
    expect(askedAt).toEqual([...askedAt].sort((a, b) => a - b));

    const clients = [open(openGrpcJs(server.url)), open(openConnect(server.url))];
    const won = await Promise.all(parked.map((question, index) => race(question, clients, index)));

    for (const { threadId, toolCallId, decision, client } of won) {
      const events = await session.until(threadId, "runCompleted");
      expect(valuesOf(events, "toolCallApprovalResolved")).toMatchObject([
        { toolCallId, decision, resolvedBy: client },
      ]);
      const isAllowed = decision === Decision.ALLOWED;
      expect(valuesOf(events, "toolCallStarted")).toHaveLength(isAllowed ? 1 : 0);
      expect(valuesOf(events, "toolCallComplete")).toMatchObject([
        isAllowed
          ? { outcome: ToolCallOutcome.SUCCEEDED, summary: "Left a trace of it" }
          : { outcome: ToolCallOutcome.DENIED, summary: `Denied: ${client} says no` },
      ]);
      expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
      expect(events.map(({ sequence }) => Number(sequence))).toEqual(events.map((_, at) => at + 1));
    }
    const allowed = won.filter(({ decision }) => decision === Decision.ALLOWED);
    expect((await traces(server)).sort()).toEqual(
      allowed.map(({ toolCallId, threadId }) => `${toolCallId} ${threadId}/it`).sort(),
    );
    expect(await listed(session, 500)).toEqual([]);
    expect(server.log().match(/"level":"(error|fatal)".*/g)).toBeNull();
  });

  /** One says yes, the other no, at once. Returns whose answer counted. */
  async function race({ threadId, toolCallId, sha256 }: Parked, clients: readonly AnsweringClient[], index: number) {
    const answers = clients.map(({ name }, at) => ({
      toolCallId,
      approvalSha256: sha256,
      decision: (index + at) % 2 === 0 ? Decision.ALLOWED : Decision.DENIED,
      reason: (index + at) % 2 === 0 ? "" : `${name} says no`,
      resolvedBy: name,
    }));
    const results = await Promise.allSettled(clients.map((client, at) => client.answer(answers[at]!)));
    const winner = results.findIndex(({ status }) => status === "fulfilled");
    const loser = results[1 - winner];
    expect([winner, loser?.status]).toEqual([expect.toSatisfy((at) => at >= 0), "rejected"]);
    if (loser?.status === "rejected")
      expect(["APPROVAL_NOT_PENDING", "TOOL_CALL_OVER"]).toContain(reasonIn(loser.reason));
    return { threadId, toolCallId, decision: answers[winner]!.decision, client: clients[winner]!.name };
  }
});

describe("an answer that is refused", () => {
  test("another hash, no hash, no decision and an unknown call change nothing, whoever sends them", async () => {
    const { server, session } = await start();
    const [question] = await park(session, 1);
    const { threadId, toolCallId, sha256 } = question!;
    const head = session.seen(threadId).length;
    for (const client of [open(openGrpcJs(server.url)), open(openConnect(server.url))]) {
      const yes = { toolCallId, approvalSha256: sha256, decision: Decision.ALLOWED };
      const other = Uint8Array.from(sha256, (byte) => byte ^ 1);
      const refusals = [
        [{ ...yes, approvalSha256: other }, "failed_precondition", "APPROVAL_MISMATCH"],
        [{ ...yes, approvalSha256: new Uint8Array() }, "invalid_argument", "INVALID_FIELD"],
        [{ ...yes, decision: Decision.EXPIRED }, "invalid_argument", "INVALID_FIELD"],
        [{ ...yes, toolCallId: newId() }, "not_found", "TOOL_CALL_NOT_FOUND"],
      ] as const;
      for (const [answer, code, reason] of refusals) {
        const failure = await client.answer(answer).then(
          () => undefined,
          (error: StreamFailure) => error,
        );
        expect(failure, client.name).toMatchObject({ code });
        expect(reasonIn(failure)).toBe(reason);
      }
    }
    expect((await listed(session, 10)).map(({ id }) => id)).toEqual([toolCallId]);
    const { thread } = await session.clients.threads.getThread({ threadId });
    expect(Number(thread!.headSequence)).toBe(head);
    expect(await traces(server)).toEqual([]);
  });
});

describe("a question that nobody answers", () => {
  const expectExpired = (events: readonly StreamThreadEventsResponse[]) => {
    expect(valuesOf(events, "runSuspended")).toMatchObject([{ reason: SuspendReason.APPROVAL }]);
    expect(valuesOf(events, "toolCallApprovalResolved")).toMatchObject([
      { decision: Decision.EXPIRED, resolvedBy: "" },
    ]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([
      {
        outcome: ToolCallOutcome.DENIED,
        summary: "Denied: nobody answered within 1 s",
        error: { kind: "approval_expired" },
      },
    ]);
    expect(valuesOf(events, "runCompleted")).toMatchObject([{ outcome: RunOutcome.SUCCEEDED }]);
  };

  test("expires while the server runs, and while it does not; an answer is too late then", async () => {
    const { server, session } = await start({ approvalTimeoutMs: 1_000 });
    const [here] = await park(session, 1);
    expectExpired(await session.until(here!.threadId, "runCompleted"));
    const [away] = await park(session, 1);
    await server.kill();
    await server.start();
    expectExpired(await session.until(away!.threadId, "runCompleted"));
    const late = { toolCallId: away!.toolCallId, approvalSha256: away!.sha256, decision: Decision.ALLOWED };
    const failure = await open(openConnect(server.url)).answer(late).catch(reasonIn);
    expect(failure).toBe("TOOL_CALL_OVER");
    expect(await traces(server)).toEqual([]);
  });
});

describe("heddle approvals", () => {
  async function heddle(server: AgentServer, ...args: string[]) {
    const npx = { npm_lifecycle_event: "npx", npm_lifecycle_script: "'heddle'" };
    const env = { PATH: process.env["PATH"], HOME: process.env["HOME"], ...npx };
    const child = spawn(process.execPath, [command, "approvals", ...args], {
      cwd: server.dir,
      stdio: ["ignore", "pipe", "pipe"],
      env,
    });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    await once(child, "close");
    return { code: child.exitCode, stdout, stderr };
  }

  test("lists, shows, allows and denies, on the server and out of its directory", { timeout: 90_000 }, async () => {
    const { server, session } = await start();
    const [one, two] = (await park(session, 2)) as [Parked, Parked];
    const at = ["--server", server.url];
    const json = await heddle(server, "--json", ...at);
    const ids = json.stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { id: string }).id);
    expect(ids.sort()).toEqual([one.toolCallId, two.toolCallId].sort());

    const shown = await heddle(server, "show", one.toolCallId, "--data", server.dataDir);
    expect(shown.stdout).toMatch(/^Leave a trace {2}waits for a yes\n {2}summary {4}Leaving a trace of it\n/);
    expect(shown.stdout).toContain('    {"work":"it","busyMs":0}\n');
    // The server that holds the directory takes the answer.
    const allowed = await heddle(server, "allow", one.toolCallId, "--data", server.dataDir);
    expect(allowed).toMatchObject({ code: 0, stderr: "" });
    const events = await session.until(one.threadId, "runCompleted");
    expect(valuesOf(events, "toolCallApprovalResolved")).toMatchObject([
      { decision: Decision.ALLOWED, resolvedBy: expect.stringMatching(/ \(heddle approvals\)$/) },
    ]);
    expect(valuesOf(events, "toolCallComplete")).toMatchObject([{ outcome: ToolCallOutcome.SUCCEEDED }]);
    expect(await heddle(server, "allow", one.toolCallId, ...at)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`the call is over: there is nothing to answer. See what became of it`),
    });

    await server.kill();
    const left = await heddle(server, "deny", two.toolCallId, "--data", server.dataDir);
    const advice = /^heddle: no server takes answers for .*"npx heddle run" .*"npx heddle serve --data /;
    expect(left).toMatchObject({ code: 4, stderr: expect.stringMatching(advice) });
    await server.start();
    const denied = await heddle(server, "deny", two.toolCallId.slice(0, 13), "--reason", "not today", ...at);
    expect(denied).toMatchObject({ code: 0, stdout: "Denied: Leave a trace: Leaving a trace of it\n" });
    expect(valuesOf(await session.until(two.threadId, "runCompleted"), "toolCallComplete")).toMatchObject([
      { outcome: ToolCallOutcome.DENIED, summary: "Denied: not today" },
    ]);
    expect(await heddle(server, ...at)).toEqual({ code: 0, stdout: "", stderr: "Nothing waits for a yes.\n" });
  });
});
