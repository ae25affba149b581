// `buf curl`: knows nothing of Heddle but what the server's reflection tells it.
import { join } from "node:path";
import { authorization, type Frame, requestJson, type StreamClient } from "./client.js";
import { linesOf } from "./command.js";
import { detailOf, StreamFailure } from "./failure.js";

const buf = join(import.meta.dirname, "../../../node_modules/.bin/buf");
const method = "heddle.v1.ThreadService/StreamThreadEvents";

const protocols = [
  { protocol: "grpc", name: "gRPC" },
  { protocol: "connect", name: "Connect" },
  { protocol: "grpcweb", name: "gRPC-Web" },
] as const;

export const bufCurlClients: readonly StreamClient[] = protocols.map(({ protocol, name }) => ({
  name: `${name} (buf curl, reflection)`,
  isHere: true,
  isCommand: true,
  servedBy: "lane",
  trustsCertificates: true,
  async *frames(target, request, { headers, signal, timeoutMs }) {
    const args = ["curl", "--protocol", protocol, "--data", JSON.stringify(requestJson(request))];
    if (target.ca) args.push("--cacert", target.ca.path);
    else args.push("--http2-prior-knowledge");
    if (timeoutMs !== undefined) args.push("--timeout", `${timeoutMs}ms`);
    for (const [key, value] of Object.entries({ ...authorization(target), ...headers }))
      args.push("--header", `${key}: ${value}`);
    // The schema is asked for with the target's own token, also where the call is to carry a wrong one.
    if (target.token) args.push("--reflect-header", `authorization: Bearer ${target.token}`);
    args.push(`${target.url}/${method}`);
    const lines = linesOf({ file: buf, args, signal, leave: "SIGINT" });
    let document = "";
    for (;;) {
      const next = await lines.next();
      if (next.done) {
        const { code, stderr } = next.value;
        if (code === 0) return;
        throw failureOfOutput(code, stderr);
      }
      // One frame after the other, each written over several lines.
      document += next.value;
      if (next.value === "}") {
        yield JSON.parse(document) as Frame;
        document = "";
      }
    }
  },
}));

interface PrintedError {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly { readonly type: string; readonly value: string }[];
}

function failureOfOutput(code: number | null, stderr: string): Error {
  const start = stderr.indexOf("{");
  if (start === -1) return new Error(`buf curl ended with ${code}: ${stderr}`);
  const error = JSON.parse(stderr.slice(start)) as PrintedError;
  const details = (error.details ?? []).map(({ type, value }) => detailOf(type, Buffer.from(value, "base64")));
  return new StreamFailure(error.code, error.message, details);
}
