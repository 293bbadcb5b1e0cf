/** What a mutant is: one entry of one of the recompiler's tables, corrupted in one way. */

/** The tables: handlers of opcodes (src/recompiler/lift/dispatch.ts), and of IR operations (src/recompiler/spirv/emit.ts). */
export type TableName = "lift" | "emit";

/** One corrupted entry. */
export interface Mutant {
  readonly table: TableName;
  /** Mnemonic or name of the operation. */
  readonly entry: string;
  /** Way of corruption. */
  readonly kind: string;
  /** What exactly, for people. */
  readonly note: string;
  /** Why the corruption changes nothing that anybody can see, if a rule says so: such mutants are counted apart. */
  readonly equivalent?: string;
  /** Corrupts the entry; returns what mends it. */
  install(scope: Scope): () => void;
}

/** Where the corruption acts: the code of the instructions under test and not the frame around them, which would fail at once. */
export interface Scope {
  /** @param pc byte offset */
  covers(pc: number): boolean;
  /** Called when the corruption changes something. */
  acted(): void;
  /** Told of an error of the corrupted handler; true: the handler proper is to go on. Errors are thrown where this is missing. */
  failed?(error: unknown): boolean;
}

/** Name of a mutant in reports. */
export function mutantName({ table, entry, kind }: Mutant): string {
  return `${table}/${entry}/${kind}`;
}
