/**
 * Where a command's results go: lines of text for people, or one JSON object for machines.
 *
 * @module
 */

/** Receives text. The launcher gives standard output and standard error; tests give arrays. */
export interface Sink {
  /** Result lines. */
  out(line: string): void;
  /** Errors and progress. */
  err(line: string): void;
  /** Whether `err` is a terminal on which a line may be rewritten. */
  readonly terminal: boolean;
}

/** Standard output and standard error. */
export const STANDARD_SINK: Sink = {
  out: (line) => console.log(line),
  err: (line) => console.error(line),
  terminal: Deno.stderr.isTerminal(),
};

/** A progress line appears after this many milliseconds. */
const PROGRESS_AFTER = 1000;
const PROGRESS_EVERY = 250;

/** Output of one command. */
export class Output {
  constructor(readonly sink: Sink, readonly json: boolean) {}

  /** A line for people; nothing with `--json`. */
  line(text = ""): void {
    if (!this.json) this.sink.out(text);
  }

  /** Rows as columns, two spaces apart, the last one ragged; nothing with `--json`. */
  table(rows: readonly (readonly string[])[], indent = ""): void {
    for (const row of alignColumns(rows)) this.line(indent + row);
  }

  /** Runs `work`, and on a terminal shows how long it takes once that is more than a second. */
  async progress<T>(what: string, work: () => Promise<T>): Promise<T> {
    if (!this.sink.terminal) return await work();
    const start = performance.now(), encoder = new TextEncoder();
    let shown = false;
    const timer = setInterval(() => {
      const elapsed = performance.now() - start;
      if (elapsed < PROGRESS_AFTER) return;
      shown = true;
      Deno.stderr.writeSync(encoder.encode(`\r${what} ... ${(elapsed / 1000).toFixed(1)} s`));
    }, PROGRESS_EVERY);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      if (shown) Deno.stderr.writeSync(encoder.encode("\r\x1b[K"));
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
