// The thread's side of offload.ts: loads the module, does the job, says what came of it.
import { parentPort, workerData } from "node:worker_threads";
import { ToolFailure } from "../tool.js";
import type { FromThread, OffloadedWork } from "./offload.js";

const { moduleUrl, job } = workerData as { moduleUrl: string; job: unknown };
const say = (message: FromThread): void => parentPort!.postMessage(message);

try {
  const { default: work } = (await import(moduleUrl)) as { default: OffloadedWork<unknown, unknown, unknown> };
  say({ type: "result", result: await work(job, (progress) => say({ type: "progress", progress })) });
} catch (reason) {
  const message = reason instanceof Error ? reason.message : String(reason);
  const where = reason instanceof Error ? reason.stack : undefined;
  say({ type: "thrown", message, where, code: reason instanceof ToolFailure ? reason.code : undefined });
}
