// What an interpreter may use beside the memory and the time that the configuration gives it.

const mib = 1024 ** 2;

export const bounds = {
  /** Beyond the memory of the code itself: Node, the interpreters' own, files and copies of them. */
  slackBytes: 512 * mib,
  /** The scratch folder, which is in memory. */
  scratch: { bytes: 32 * mib, files: 200, fileBytes: 8 * mib, pathUnits: 1_024 },
  /** Files of one call that are kept. */
  filesPerCall: 20,
  /** Of a value or an error that is told. */
  textUnits: 16_384,
  /** One line of what the process says: a whole file. */
  lineBytes: 16 * mib,
  /** Processes at a time: the interpreter's, and the keepers of its sandbox. */
  processes: 4,
  /** Node's threads, and those of the languages. */
  tasks: 64,
  /** How long a language may take to be there, on a machine that is busy. */
  loadMs: 60_000,
  /** Between a word to stop and the end of the process. Where it was called off, below the grace that a call has then. */
  interruptMs: { called_off: 1_000, timed_out: 5_000 },
  /** Between two words to stop. */
  interruptAgainMs: 250,
  /** One whose code nobody waits for is looked at more rarely. */
  idleLookMs: 5_000,
} as const;
