// What tests of the log share: frames, keys, and reading a thread to its end.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EventLog, ThreadKey } from "../../src/log/event-log.js";
import { newId, type ThreadId } from "../../src/thread/ids.js";

/** A frame as the store takes it: flags, length, message. */
export function frameOf(message: string | Buffer): Buffer {
  const body = Buffer.from(message);
  const frame = Buffer.alloc(5 + body.length);
  frame.writeUInt32BE(body.length, 1);
  body.copy(frame, 5);
  return frame;
}

export const framesOf = (...messages: string[]): Buffer[] => messages.map(frameOf);

export const bytes = (text: string): Buffer => Buffer.from(text);

export const text = (stored: Uint8Array | undefined): string | undefined => stored && Buffer.from(stored).toString();

/** A tenant of its own for every key: tests that share a store do not see each other. */
export const newKey = (tenant = `tenant-${randomUUID()}`): ThreadKey => ({ tenant, threadId: newId<ThreadId>() });

export async function newThread(log: EventLog, key = newKey()): Promise<ThreadKey> {
  await log.create(key, bytes("document"));
  return key;
}

/** The messages in a span's bytes. */
export function messagesIn(span: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < span.length; ) {
    const end = at + 5 + span.readUInt32BE(at + 1);
    messages.push(span.toString("utf8", at + 5, end));
    at = end;
  }
  return messages;
}

/** Every message after a position, in spans of at most `maxBytes`. Checks that the spans join without gap or repeat. */
export async function readAll(
  log: EventLog,
  key: ThreadKey,
  { after = 0n, maxBytes = 64 * 1024 } = {},
): Promise<string[]> {
  const messages: string[] = [];
  for (let position = after; ; ) {
    const span = await log.read(key, position, maxBytes);
    if (span === undefined) return messages;
    const inSpan = messagesIn(span.bytes);
    if (span.first !== position + 1n || span.last !== position + BigInt(inSpan.length)) {
      throw new Error(`span ${span.first} to ${span.last} of ${inSpan.length} frames after ${position}`);
    }
    messages.push(...inSpan);
    position = span.last;
  }
}

export interface TemporaryDirectory {
  readonly path: string;
  remove(): void;
}

export function temporaryDirectory(): TemporaryDirectory {
  const path = mkdtempSync(join(tmpdir(), "heddle-log-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
