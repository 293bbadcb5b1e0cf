/**
 * Ctrl-C and its like. A signal ends the process at once, with exit code 128 + its number (130 for SIGINT, 143 for SIGTERM): commands leave
 * files whole or not at all (files.ts), so there is nothing to finish. Where there is (a line on the terminal, a device at work), the command
 * runs that part with {@linkcode stoppable}, and looks with {@linkcode stopIfAsked} every now and then.
 *
 * @module
 */
import { HostError } from "../errors.ts";

/** Base of exit codes for signals, as shells call it. */
const SIGNAL_EXIT = 128;
const NAMES = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/** Somebody asked the command to stop. No AnyAgcError, so that nobody goes on with the next input after it. */
export class InterruptedError extends Error {
  override name = "InterruptedError";
  /** Stable identifier for machines. */
  readonly code = "interrupted";
  /** Exit code of the process. */
  readonly exitCode: number;

  constructor(signal: number) {
    super(`stopped (${Object.entries(NAMES).find(([, number]) => number === signal)?.[0] ?? `signal ${signal}`})`);
    this.exitCode = SIGNAL_EXIT + signal;
  }
}

/** Where signals arrive; see ffi/signals.ts. */
interface State {
  deferred: boolean;
  readonly pending: number;
}

let state: State | undefined;
let depth = 0;

/** Starts to handle signals, for a process whose launcher this is. Tests, which call commands, give a state of their own. */
export async function watchInterrupts(own?: State): Promise<void> {
  state = own ?? await nativeState() ?? eventLoopState();
}

/** Signals are left to the process again. */
export function forgetInterrupts(): void {
  state = undefined;
}

/** Runs `work`; a signal meanwhile waits for {@linkcode stopIfAsked}, two seconds at most. */
export async function stoppable<T>(work: () => T | Promise<T>): Promise<T> {
  if (state !== undefined && depth++ === 0) state.deferred = true;
  try {
    return await work();
  } finally {
    if (state !== undefined && --depth === 0) state.deferred = false;
    stopIfAsked();
  }
}

/** @throws InterruptedError after a signal */
export function stopIfAsked(): void {
  if (state !== undefined && state.pending !== 0) throw new InterruptedError(state.pending);
}

async function nativeState(): Promise<State | undefined> {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") return undefined;
  const { handleSignals } = await import("../../ffi/signals.ts");
  try {
    return handleSignals(Object.values(NAMES));
  } catch (error) {
    if (error instanceof HostError) return undefined; // no glibc: commands that need it say so
    throw error;
  }
}

/** Where no native handler can be: signals arrive between events, so a long computation delays them. */
function eventLoopState(): State {
  let deferred = false, pending = 0;
  for (const [name, number] of Object.entries(NAMES)) {
    Deno.addSignalListener(name as Deno.Signal, () => {
      if (!deferred || pending !== 0) Deno.exit(SIGNAL_EXIT + (pending || number));
      pending = number;
    });
  }
  return {
    get deferred() {
      return deferred;
    },
    set deferred(value) {
      deferred = value;
    },
    get pending() {
      return pending;
    },
  };
}
