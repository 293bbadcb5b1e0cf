/**
 * Progress of a command, on standard error: on a terminal one line that is rewritten, otherwise plain lines now and then, and nothing with
 * `--quiet`. Only work that takes longer than a second shows any; on a terminal its name is there from the start, since not all work
 * gives turns.
 *
 * @module
 */
import { stopIfAsked } from "./interrupt.ts";

/** Where progress goes. */
export interface ProgressTarget {
  /** Text can be rewritten. */
  readonly terminal: boolean;
  /** Characters in a line of the terminal. */
  readonly columns: number;
  /** Writes text as it is. */
  write(text: string): void;
  /** Milliseconds on a clock that only goes forward. */
  now(): number;
}

/** Milliseconds before anything is shown. */
const PATIENCE = 1000;
/** Milliseconds between two states: on a terminal, and of plain lines. */
const REWRITE = 100, PLAIN = 5000;
/** Goes to the start of the line and clears it (ECMA-48: CR, EL). */
export const CLEAR_LINE = "\r\x1b[K";

/** Progress of one piece of work. */
export class Progress {
  readonly #target: ProgressTarget | undefined;
  readonly #what: string;
  readonly #unit: string;
  readonly #start: number;
  #total: number | undefined;
  #next: number;
  #shown = false;

  /**
   * @param target undefined: nothing is shown
   * @param what what is being done, for example `running julia`
   * @param unit what is counted, in the plural
   * @param total how many there are, if known
   */
  constructor(target: ProgressTarget | undefined, what: string, unit: string, total?: number) {
    this.#target = target;
    this.#what = what;
    this.#unit = unit;
    this.#total = total;
    this.#start = target?.now() ?? 0;
    this.#next = this.#start + PATIENCE;
    if (target?.terminal) {
      target.write(`${what} ...`.slice(0, Math.max(1, target.columns - 1)));
      this.#shown = true;
    }
  }

  /**
   * `done` of them are done. Call it as often as you like: it is cheap, and here a Ctrl-C takes effect.
   *
   * @throws InterruptedError
   */
  update(done: number, total = this.#total): void {
    stopIfAsked();
    this.#total = total;
    const target = this.#target;
    if (target === undefined) return;
    const now = target.now();
    if (now < this.#next) return;
    const line = this.#line(done, now - this.#start);
    if (target.terminal) {
      target.write(CLEAR_LINE + line.slice(0, Math.max(1, target.columns - 1)));
      this.#next = now + REWRITE;
    } else {
      target.write(line + "\n");
      this.#next = now + PLAIN;
    }
    this.#shown = true;
  }

  /** The work is over: the terminal's line goes away. */
  finish(): void {
    if (this.#shown && this.#target?.terminal) this.#target.write(CLEAR_LINE);
    this.#shown = false;
  }

  #line(done: number, elapsed: number): string {
    const total = this.#total;
    const of = total === undefined ? "" : ` of ${total}`;
    const rate = done * 1000 / elapsed;
    const left = total === undefined || done === 0 || done > total ? "" : `, ${duration((total - done) / rate)} left`;
    const speed = done === 0 ? "" : `, ${rate >= 100 ? Math.round(rate) : Number(rate.toPrecision(2))}/s`;
    return `${this.#what}: ${done}${of} ${this.#unit}, ${duration(elapsed / 1000)}${speed}${left}`;
  }
}

/** Seconds as text: `8 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
}

/** Standard error. */
export const STANDARD_ERROR: ProgressTarget = {
  terminal: Deno.stderr.isTerminal(),
  get columns() {
    try {
      return Deno.consoleSize().columns || 80; // 0: it does not know
    } catch {
      return 80; // a terminal of no known size
    }
  },
  write(text) {
    try {
      Deno.stderr.writeSync(new TextEncoder().encode(text));
    } catch {
      // Nobody reads it.
    }
  },
  now: () => performance.now(),
};
