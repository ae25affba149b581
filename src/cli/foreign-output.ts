// Takes what others write to the process's outputs, line by line, in place of the outputs themselves.
import { StringDecoder } from "node:string_decoder";

type Write = NodeJS.WriteStream["write"];

/** A line that never ends is broken here. */
const longestPending = 64 * 1024;

/** Until the returned function is called. Contract: whoever must reach the outputs has bound `write` before. */
export function captureOutput(listener: (line: string) => void): () => void {
  const stops = [process.stdout, process.stderr].map((stream) => capture(stream, listener));
  stops.push(captureWarnings(listener));
  return () => {
    for (const stop of stops) stop();
  };
}

function capture(stream: NodeJS.WriteStream, listener: (line: string) => void): () => void {
  const decoder = new StringDecoder("utf8");
  let pending = "";
  const take = (text: string) => {
    const lines = (pending + text).split("\n");
    pending = lines.pop()!;
    if (pending.length > longestPending) lines.push(pending.slice(0, longestPending));
    pending = pending.length > longestPending ? pending.slice(longestPending) : pending;
    for (const line of lines) listener(line);
  };
  const own = Object.getOwnPropertyDescriptor(stream, "write");
  const write = (chunk: string | Uint8Array, ...rest: readonly unknown[]): boolean => {
    const [encoding] = rest;
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encodingOf(encoding)) : Buffer.from(chunk);
    take(decoder.write(bytes));
    const done = rest.find((each) => typeof each === "function");
    if (done !== undefined) process.nextTick(done as () => void);
    return true;
  };
  stream.write = write as Write;
  return () => {
    if (own === undefined) Reflect.deleteProperty(stream, "write");
    else Object.defineProperty(stream, "write", own);
    if (pending !== "") take("\n");
  };
}

const encodingOf = (given: unknown): BufferEncoding =>
  typeof given === "string" && Buffer.isEncoding(given) ? given : "utf8";

/** Node's own listener writes past process.stderr. Where there is none, nobody wants warnings (--no-warnings). */
function captureWarnings(listener: (line: string) => void): () => void {
  const before = process.listeners("warning");
  if (before.length === 0) return () => {};
  const warn = ({ name, message }: Error) => {
    for (const line of `(node:${process.pid}) ${name}: ${message}`.split("\n")) listener(line);
  };
  for (const each of before) process.off("warning", each);
  process.on("warning", warn);
  return () => {
    process.off("warning", warn);
    for (const each of before) process.on("warning", each);
  };
}
