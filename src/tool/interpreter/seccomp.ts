// What the kernel refuses inside of the sandbox: new processes, and memory that no limit counts. As a program that the kernel runs
// at every system call (classic BPF). Threads are allowed: Node needs them.

interface Calls {
  /** AUDIT_ARCH_… */
  readonly arch: number;
  readonly clone: number;
  /** Refused whatever its arguments are. */
  readonly refused: readonly number[];
}

const clone3 = 435;
/** fork, vfork, memfd_create, memfd_secret, ptrace, process_vm_writev, add_key, keyctl, io_uring_setup. */
const x64: Calls = { arch: 0xc000003e, clone: 56, refused: [57, 58, 319, 447, 101, 311, 248, 250, 425] };
/** memfd_create, memfd_secret, ptrace, process_vm_writev, add_key, keyctl, io_uring_setup. */
const arm64: Calls = { arch: 0xc00000b7, clone: 220, refused: [279, 447, 117, 271, 217, 219, 425] };

const known: Readonly<Record<string, Calls>> = { x64, arm64 };

const cloneThread = 0x10000;
/** Calls of another kind on the same processor have larger numbers. */
const largestNumber = 0x3fffffff;

/** Offsets in what the program looks at. */
const number = 0;
const arch = 4;
const firstArgument = 16;

const load = 0x20;
const isEqual = 0x15;
const isAbove = 0x25;
const hasBits = 0x45;
const answer = 0x06;

const allow = 0x7fff0000;
const refuse = 0x00050001; // EPERM
const unknown = 0x00050026; // ENOSYS: libraries then use the older call.

/** Undefined where the processor's numbers are not known. */
export function noProcesses(processor: string = process.arch): Buffer | undefined {
  const calls = known[processor];
  if (calls === undefined) return undefined;
  const program: (readonly [code: number, ifTrue: number, ifFalse: number, value: number])[] = [
    [load, 0, 0, arch],
    [isEqual, 1, 0, calls.arch],
    [answer, 0, 0, refuse],
    [load, 0, 0, number],
    [isAbove, 0, 1, largestNumber],
    [answer, 0, 0, refuse],
    [isEqual, 0, 1, clone3],
    [answer, 0, 0, unknown],
    ...calls.refused.flatMap((call) => [[isEqual, 0, 1, call] as const, [answer, 0, 0, refuse] as const]),
    [isEqual, 1, 0, calls.clone],
    [answer, 0, 0, allow],
    [load, 0, 0, firstArgument],
    [hasBits, 1, 0, cloneThread],
    [answer, 0, 0, refuse],
    [answer, 0, 0, allow],
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifFalse, value], index) => {
    const at = index * 8;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(ifTrue, at + 2);
    bytes.writeUInt8(ifFalse, at + 3);
    bytes.writeUInt32LE(value, at + 4);
  });
  return bytes;
}
