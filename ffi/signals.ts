/**
 * Signals that end the process, also while TypeScript computes or is inside a native call, when the event loop cannot run. signal_handler.s
 * is the handler. Numbers are from <asm/signal.h> and <asm-generic/signal-defs.h>; struct sigaction is glibc's (<bits/sigaction.h>).
 */
import { mapAnonymous, PAGE_BYTES, protect, Protection, viewMemory } from "./libc.ts";
import { openLibrary } from "./library.ts";

/** Signals by name. */
export const Signal = { SIGHUP: 1, SIGINT: 2, SIGALRM: 14, SIGTERM: 15 } as const;

const SA_RESTART = 0x1000_0000;
const SIG_IGN = 1n;
const SIGACTION_BYTES = 152, FLAGS_AT = 136;

/** The assembled signal_handler.s. */
export const HANDLER_CODE =
  "488d35f90f000031c0f00fb17e047512833e00740dbf02000000b8250000000f05c38b7e0481c780000000b8e70000000f05";

/**
 * What the handler does with a signal: ends the process with exit code 128 + number, as shells call it; or, while {@linkcode deferred} is
 * set, leaves the number in {@linkcode pending}. A second signal, or two seconds, then end the process with the first one's code.
 */
class SignalState {
  readonly #words: Int32Array;

  constructor(memory: ArrayBuffer) {
    this.#words = new Int32Array(memory, 0, 2);
  }

  /** TypeScript will look at {@linkcode pending} soon. */
  get deferred(): boolean {
    return Atomics.load(this.#words, 0) !== 0;
  }

  set deferred(value: boolean) {
    Atomics.store(this.#words, 0, value ? 1 : 0);
  }

  /** Number of the signal that came; 0 for none. */
  get pending(): number {
    return Atomics.load(this.#words, 1);
  }
}

/**
 * Handles `signals`; ones that are ignored (by nohup, or in the background of a script) stay so. For the whole process, once.
 *
 * @throws {HostError} when there is no glibc, or it refuses
 */
export function handleSignals(signals: readonly number[]): SignalState {
  const { sigaction } = openLibrary(
    "libc.so.6",
    { sigaction: { parameters: ["i32", "buffer", "buffer"], result: "i32" } },
    "AnyAGC needs a glibc Linux.",
  ).symbols;
  const { address } = mapAnonymous(2 * PAGE_BYTES); // code, state
  new Uint8Array(viewMemory(address, PAGE_BYTES)).set(Uint8Array.fromHex(HANDLER_CODE));
  protect(address, PAGE_BYTES, Protection.Read | Protection.Execute);
  const action = new Uint8Array(SIGACTION_BYTES), view = new DataView(action.buffer);
  view.setBigUint64(0, address, true);
  view.setInt32(FLAGS_AT, SA_RESTART, true);
  const before = new Uint8Array(SIGACTION_BYTES);
  for (const signal of [...signals, Signal.SIGALRM]) {
    sigaction(signal, action, before);
    if (new DataView(before.buffer).getBigUint64(0, true) === SIG_IGN) {
      sigaction(signal, before, new Uint8Array(SIGACTION_BYTES));
    }
  }
  return new SignalState(viewMemory(address + BigInt(PAGE_BYTES), PAGE_BYTES));
}
