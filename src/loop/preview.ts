// What a person sees before a call: found out within a time, and within a size.
import { setTimeout as sleep } from "node:timers/promises";
import type { Preview, PreviewContext, ToolDefinition } from "../tool/tool.js";

/** The longest that a preview may take. */
const previewMs = 10_000;

/** Undefined: there is nothing to see. Rejects when the call could not succeed. */
export async function previewOf(
  tool: ToolDefinition,
  input: unknown,
  { signal: given, workspace }: PreviewContext,
): Promise<Preview | undefined> {
  if (!tool.preview) return undefined;
  const over = new AbortController();
  const signal = AbortSignal.any([given, over.signal]);
  const late = sleep(previewMs, undefined, { signal }).then(() => {
    throw new Error("what it would do could not be found out in time");
  });
  try {
    return shaped(await Promise.race([tool.preview(input, { signal, workspace }), late]));
  } finally {
    over.abort();
    late.catch(() => {});
  }
}

/** More than anybody reads. */
const previewUnits = 512 * 1024;

/** Tools are other people's code: what is no preview is none. */
function shaped(preview: Preview | undefined): Preview | undefined {
  if (typeof preview?.data !== "string") return undefined;
  const mediaType = /^[\x21-\x7e]{1,200}$/.test(preview.mediaType) ? preview.mediaType : "text/plain";
  return { mediaType, data: preview.data };
}

/** As much of it as is shown. */
export const bounded = ({ mediaType, data }: Preview): Preview => ({
  mediaType,
  data: data.length > previewUnits ? `${data.slice(0, previewUnits)}\n[The rest is not shown]\n` : data,
});
