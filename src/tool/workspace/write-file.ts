// Putting a file in place at once: whoever looks sees the old one or the new one, never a half, also after a crash.
import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import { access, type FileHandle, link, open, rename, unlink } from "node:fs/promises";
import type { Arrival } from "./descend.js";
import { codeOf, isMissing, systemError } from "./failures.js";
import type { Held } from "./held.js";
import { refuseIrregular } from "./read-file.js";

export interface Replacement {
  readonly data: string | Uint8Array;
  /** Whether there must be nothing before, or something. Undefined: either will do. */
  readonly expect?: "new" | "existing";
  /** A new file can be run by whoever may read it. */
  readonly isExecutable?: boolean;
  /** For words. */
  readonly path: string;
}

/** Whether the file is new. Keeps owner and permissions of what it replaces, but neither special bits nor extended attributes. */
export async function putInPlace(
  { parent, name, found }: Arrival,
  { data, expect, path, isExecutable = false }: Replacement,
): Promise<boolean> {
  if (name === undefined) throw systemError("EISDIR");
  if (found !== undefined) refuseIrregular(found.stats, path);
  if (found !== undefined && expect === "new") throw systemError("EEXIST");
  if (found === undefined && expect === "existing") throw systemError("ENOENT");
  if (found !== undefined) await refuseReadOnly(found);
  const temporary = `${parent.path}/.heddle-${randomBytes(9).toString("hex")}.tmp`;
  const target = `${parent.path}/${name}`;
  await parent.verify();
  await writeTemporary(temporary, data, { replaced: found?.stats, newMode: isExecutable ? 0o777 : 0o666 });
  try {
    await parent.verify();
    if (expect === "new") await renameIfFree(temporary, target);
    else await rename(temporary, target);
  } catch (reason) {
    await unlink(temporary).catch(() => {});
    throw reason;
  }
  await syncDirectory(parent);
  return found === undefined;
}

/** Replacing a file takes rights on its directory alone; whoever took the right to write away meant the file. */
export const refuseReadOnly = (file: Held): Promise<void> => access(file.path, constants.W_OK);

/**
 * Throws EEXIST when the target is there, also when it comes at the last moment. Whatever it throws, the file is where it was;
 * what "unlink" or "rename" throws is about the old name, for by then the new one was to be had.
 */
export async function renameIfFree(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (reason) {
    if (!noHardLinks.has(codeOf(reason) ?? "")) throw reason;
    return renameOntoOwn(from, to);
  }
  try {
    await unlink(from);
  } catch (reason) {
    // Somebody else has taken the old name away: the file has the new one alone, as it should.
    if (isMissing(reason)) return;
    await unlink(to);
    throw reason;
  }
}

/** Said where a file system, or the rule against links to others' files, allows no hard link. */
const noHardLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Takes the name with an empty file, and puts the file in its place. */
async function renameOntoOwn(from: string, to: string): Promise<void> {
  const own = await open(to, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW);
  await own.close();
  try {
    await rename(from, to);
  } catch (reason) {
    await unlink(to).catch(() => {});
    throw reason;
  }
}

async function writeTemporary(
  path: string,
  data: string | Uint8Array,
  { replaced, newMode }: { replaced: Stats | undefined; newMode: number },
): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(path, flags, replaced === undefined ? newMode : 0o600);
  try {
    await handle.writeFile(data);
    if (replaced !== undefined) await keepRights(handle, replaced);
    await handle.sync();
    await handle.close();
  } catch (reason) {
    await handle.close().catch(() => {});
    await unlink(path).catch(() => {});
    throw reason;
  }
}

async function keepRights(handle: FileHandle, { uid, gid, mode }: Stats): Promise<void> {
  const own = await handle.stat();
  // Only root may give files away; others become the owner of what they replace.
  if (own.uid !== uid || own.gid !== gid) await handle.chown(uid, gid).catch(() => {});
  await handle.chmod(mode & 0o777);
}

/** So that the new name outlives a crash. Some file systems cannot, and then it is as safe as they make it. */
export async function syncDirectory(directory: Held): Promise<void> {
  try {
    const handle = await directory.openToRead();
    await handle.sync().finally(() => handle.close());
  } catch {}
}
