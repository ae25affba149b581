// What the server and an interpreter's process say to each other: one JSON value a line. Imports nothing: both sides read it.

export type Language = "python" | "javascript";

/** What a process is started with, as its only argument. */
export interface ChildSettings {
  /** Where the packages are: URLs of modules. */
  readonly modules: { readonly pyodide: string; readonly quickjs: string; readonly quickjsVariant: string };
  /** Of the code that is run, for each language. */
  readonly memoryBytes: number;
  readonly scratch: ScratchLimits;
  /** Of a value or an error that is told. */
  readonly textUnits: number;
}

export interface ScratchLimits {
  /** All files together. */
  readonly bytes: number;
  readonly files: number;
  /** A larger one is named, and not handed over. */
  readonly fileBytes: number;
  /** Of a path. A file whose path is longer is nobody's but the code's. */
  readonly pathUnits: number;
}

export type ToChild =
  | { readonly type: "load"; readonly language: Language }
  | { readonly type: "run"; readonly language: Language; readonly code: string }
  /** What runs is to stop. */
  | { readonly type: "interrupt" };

export type FromChild =
  /** The language is there. Said once. */
  | { readonly type: "loaded"; readonly language: Language }
  /** `data`: base64. */
  | { readonly type: "output"; readonly stream: "stdout" | "stderr"; readonly data: string }
  /** New or changed by the code that ran. `data`: base64; none where it is too large. */
  | { readonly type: "file"; readonly path: string; readonly bytes: number; readonly data?: string }
  | ({ readonly type: "done" } & CodeEnd)
  /** The language cannot be used any longer, and the process ends. */
  | { readonly type: "broken"; readonly language: Language; readonly message: string };

export interface CodeEnd {
  /** The last expression, as text. Undefined where there is none. */
  readonly value?: string | undefined;
  readonly error?: CodeError | undefined;
}

export interface CodeError {
  /** One line, such as `ZeroDivisionError: division by zero`. */
  readonly line: string;
  /** With where it happened. */
  readonly trace: string;
}

/** Between the two threads of the process: a file by its path from the scratch folder. */
export interface FileChanges {
  readonly changed: readonly (readonly [path: string, data: Uint8Array])[];
  readonly removed: readonly string[];
}

export type ToLanguage = { readonly type: "run"; readonly code: string; readonly files: FileChanges };

export type FromLanguage =
  | { readonly type: "loaded" }
  | { readonly type: "done"; readonly end: CodeEnd; readonly files: FileChanges; readonly isBroken: boolean };

/** What a language's thread is started with. */
export interface LanguageSettings extends ChildSettings {
  /** One byte; 2: what runs is to stop. */
  readonly interrupt: SharedArrayBuffer;
  /** What is printed goes through it. */
  readonly output: SharedArrayBuffer;
}
