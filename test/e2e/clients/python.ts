// Debian's python3-grpcio: gRPC's C core, with messages made from the server's reflection.
import { join } from "node:path";
import { hasPythonGrpc, python } from "../../support/tools.js";
import { type Frame, requestJson, type StreamClient } from "./client.js";
import { linesOf } from "./command.js";
import { failureOfStatus } from "./failure.js";

const script = join(import.meta.dirname, "stream_events.py");

type Line = { frame: Frame } | { code: number; message?: string; details?: string | null };

export const pythonClient: StreamClient = {
  name: "gRPC (python3-grpcio, reflection)",
  isHere: hasPythonGrpc(),
  isCommand: true,
  servedBy: "lane",
  trustsCertificates: true,
  async *frames({ url, token, ca }, request, { headers, signal, timeoutMs }) {
    const order = {
      address: new URL(url).host,
      request: requestJson(request),
      headers: headers ?? {},
      token,
      caFile: ca?.path,
      ...(timeoutMs !== undefined && { timeout: timeoutMs / 1000 }),
    };
    const lines = linesOf({
      file: python,
      args: [script, JSON.stringify(order)],
      signal,
      leave: "stdin",
    });
    for (;;) {
      const next = await lines.next();
      if (next.done) throw new Error(`the script ended with ${next.value.code} and no last word: ${next.value.stderr}`);
      const line = JSON.parse(next.value) as Line;
      if ("frame" in line) yield line.frame;
      else if (line.code === 0) return;
      else throw failureOfStatus({ code: line.code, message: line.message ?? "", details: line.details ?? undefined });
    }
  },
};
