// Bounds what a thread may take in buffers: the limits of a thread's heap do not count them. For threads that do one job and end.

/** Smaller ones are not worth counting. */
const countedBytes = 4 * 1024;

const types = [
  "Uint8Array",
  "Uint8ClampedArray",
  "Int8Array",
  "Uint16Array",
  "Int16Array",
  "Uint32Array",
  "Int32Array",
];
const widerTypes = ["Float32Array", "Float64Array", "ArrayBuffer"];

/**
 * From here on, all buffers that this thread makes have `bytes` together, those that are gone already too. One more is a RangeError,
 * and from then on every one is. Resolves when that happens: whoever makes them may not tell.
 */
export function boundBuffers(bytes: number): Promise<void> {
  const { promise, resolve } = withResolvers();
  let left = bytes;
  const count = (made: number): void => {
    if (made < countedBytes) return;
    left -= made;
    if (left >= 0) return;
    resolve();
    throw new RangeError("The buffers of this thread have taken too much memory");
  };
  for (const name of [...types, ...widerTypes]) bound(name as "Uint8Array", count);
  return promise;
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

function bound(name: "Uint8Array", count: (bytes: number) => void): void {
  const type = globalThis[name];
  const unit = (type as { BYTES_PER_ELEMENT?: number }).BYTES_PER_ELEMENT ?? 1;
  globalThis[name] = new Proxy(type, {
    construct(target, given, newTarget) {
      count(lengthOf(given[0]) * unit);
      return Reflect.construct(target, given, newTarget);
    },
  });
}

/** A view of a buffer that is there takes nothing. */
function lengthOf(given: unknown): number {
  if (typeof given === "number") return given;
  return Array.isArray(given) || ArrayBuffer.isView(given) ? ((given as unknown[]).length ?? 0) : 0;
}
