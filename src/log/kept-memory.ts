// Memory for what stays behind its append: followers keep views of segments for seconds or hours. In Node's own pool they would lie
// among keys, documents and frames, and each would keep alive whatever lies beside it, three times as much as itself, until it is old and
// only a major collection takes it.

/** As Node's pool: small, because one view keeps all of it. */
const slabBytes = 8 * 1024;

let slab = Buffer.alloc(0);
let used = 0;

/** Contract: the caller fills all of it. */
export function keptMemory(bytes: number): Buffer {
  if (bytes > slabBytes / 2) return Buffer.allocUnsafeSlow(bytes);
  if (used + bytes > slab.length) {
    slab = Buffer.allocUnsafeSlow(slabBytes);
    used = 0;
  }
  const start = used;
  used += bytes;
  return slab.subarray(start, used);
}
