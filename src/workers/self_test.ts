/**
 * A worker that shows that isolates work here: it loads as a module, calls a native library, and answers through shared memory, without a
 * message, as blocked workers must. `anyagc doctor` starts it.
 *
 * @module
 */
import { threadId } from "../../ffi/libc.ts";
import { SelfTestState, SelfTestWord } from "./self_test_words.ts";

globalThis.addEventListener("message", (event) => {
  const words = new Int32Array((event as MessageEvent<SharedArrayBuffer>).data);
  let state: number = SelfTestState.Failed;
  try {
    Atomics.store(words, SelfTestWord.Thread, threadId());
    state = SelfTestState.Done;
  } finally {
    Atomics.store(words, SelfTestWord.State, state);
    Atomics.notify(words, SelfTestWord.State);
    globalThis.close();
  }
});
