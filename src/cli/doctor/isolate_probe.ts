/**
 * Starts a worker and waits for its answer in shared memory.
 *
 * @module
 */
import { threadId } from "../../../ffi/libc.ts";
import { HostError } from "../../errors.ts";
import { SelfTestState, SelfTestWord } from "../../workers/self_test_words.ts";

/** A machine that is busy needs a second or two to start a worker. */
const PATIENCE_MS = 20_000;

/** Threads of this isolate and of the worker. @throws {HostError} `host.isolates` when none answers, or not from a thread of its own */
export async function probeIsolates(): Promise<{ main: number; worker: number }> {
  const words = new Int32Array(new SharedArrayBuffer(4 * SelfTestWord.Count));
  const worker = new Worker(new URL("../../workers/self_test.ts", import.meta.url), { type: "module" });
  try {
    const failed = new Promise<string>((resolve) => {
      worker.onerror = (event) => {
        event.preventDefault();
        resolve(event.message);
      };
    });
    worker.postMessage(words.buffer);
    const { async: later, value } = Atomics.waitAsync(words, SelfTestWord.State, SelfTestState.Waiting, PATIENCE_MS);
    const outcome = await Promise.race([later ? value : Promise.resolve(value), failed]);
    const state = Atomics.load(words, SelfTestWord.State);
    if (state !== SelfTestState.Done) {
      const why = state === SelfTestState.Failed
        ? "it cannot call native libraries"
        : outcome === "timed-out"
        ? "no answer"
        : outcome;
      throw new HostError(
        "host.isolates",
        `a worker does not run: ${why}. Is the number of threads limited (ulimit -u)?`,
      );
    }
  } finally {
    worker.terminate();
  }
  return { main: threadId(), worker: words[SelfTestWord.Thread] };
}
