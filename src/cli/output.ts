/**
 * Where a command's results go: lines of text for people, or one JSON object for machines.
 *
 * @module
 */
import { HostError } from "../errors.ts";
import { stoppable } from "./interrupt.ts";
import { CLEAR_LINE, Progress, type ProgressTarget, STANDARD_ERROR } from "./progress.ts";

/** Receives text. The launcher gives standard output and standard error; tests give arrays. */
export interface Sink {
  /** Result lines. */
  out(line: string): void;
  /** Errors and progress. */
  err(line: string): void;
  /** Where progress is shown; nowhere when left out. */
  readonly progress?: ProgressTarget;
}

/** Code of the error that standard output takes nothing (a full disk, say). A reader that has gone away is no error. */
export const UNWRITABLE = "host.unwritable-output";

/** Standard output and standard error. */
export const STANDARD_SINK: Sink = {
  out: (line) => {
    try {
      console.log(line);
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      throw new HostError(UNWRITABLE, `cannot write to standard output: ${cause}`);
    }
  },
  err: (line) => {
    try {
      console.error(line);
    } catch {
      // There is nobody left to tell; the exit code still says it.
    }
  },
  progress: STANDARD_ERROR,
};

/** Output of one command. */
export class Output {
  /** @param quiet no progress */
  constructor(readonly sink: Sink, readonly json: boolean, readonly quiet = false) {}

  /** A line for people; nothing with `--json`. */
  line(text = ""): void {
    if (!this.json) this.sink.out(text);
  }

  /** Rows as columns, two spaces apart, the last one ragged; nothing with `--json`. */
  table(rows: readonly (readonly string[])[], indent = ""): void {
    for (const row of alignColumns(rows)) this.line(indent + row);
  }

  /** Runs `work`, which cannot tell how far it is; on a terminal a line says so meanwhile, and goes away afterwards. */
  async during<T>(what: string, work: () => T | Promise<T>): Promise<T> {
    const target = this.quiet ? undefined : this.sink.progress;
    if (!target?.terminal) return await work();
    target.write(`${what} ...`);
    try {
      return await work();
    } finally {
      target.write(CLEAR_LINE);
    }
  }

  /**
   * Runs `work`, which says how far it is, and which a Ctrl-C ends at its next `update`.
   *
   * @param what for example `running julia`
   * @param unit what is counted, in the plural
   * @param total how many there are, if known
   */
  async progress<T>(
    what: string,
    unit: string,
    total: number | undefined,
    work: (progress: Progress) => T | Promise<T>,
  ): Promise<T> {
    const progress = new Progress(this.quiet ? undefined : this.sink.progress, what, unit, total);
    try {
      return await stoppable(() => work(progress));
    } finally {
      progress.finish();
    }
  }
}

/** Pads every column but the last to its widest cell. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.slice(0, -1).forEach((cell, i) => widths[i] = Math.max(widths[i] ?? 0, cell.length));
  }
  return rows.map((row) =>
    row.map((cell, i) => (i < row.length - 1 ? cell.padEnd(widths[i]) : cell)).join("  ").trimEnd()
  );
}

/** JSON text of a command's result: 64-bit integers as 0x-prefixed text, typed arrays as arrays. */
export function toJson(data: unknown): string {
  return JSON.stringify(data, (_key, value) => {
    if (typeof value === "bigint") return "0x" + BigInt.asUintN(64, value).toString(16);
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
      return Array.from(value as unknown as ArrayLike<number>);
    }
    return value;
  }, 2);
}
