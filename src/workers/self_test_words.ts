/** Shared memory between `anyagc doctor` and src/workers/self_test.ts: indices of 32-bit words. */
export const SelfTestWord = {
  /** One of {@linkcode SelfTestState}. */
  State: 0,
  /** The worker's thread. */
  Thread: 1,
  /** How many words there are. */
  Count: 2,
} as const;

/** How far the self-test is. */
export const SelfTestState = { Waiting: 0, Done: 1, Failed: 2 } as const;
