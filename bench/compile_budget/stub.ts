/**
 * A stand-in for a driver's compiler, where the driver compiles outside of vkCreateComputePipelines: it takes memory and computes, so that compiles
 * beside each other contend for what the machine really has. Nothing about the contention is assumed, and nothing sleeps: a compile is a fixed amount of
 * work, and what it takes longer beside others is cores, caches, memory bandwidth and page faults in one address space.
 *
 * What of a real compiler it keeps: memory in proportion to the module that grows while it works and is given back at the end, and work that follows
 * references, most of them near (what a pass works on just now), some anywhere in that memory. What not: locks inside of a driver, memory that its
 * allocator keeps, and growth faster than in proportion to the module.
 */
import { mapAnonymous, PAGE_BYTES, Protection, unmap, viewMemory } from "../../ffi/libc.ts";

/** What a byte of SPIR-V costs. */
export interface StubCosts {
  /** Bytes of memory. */
  readonly memory: number;
  /** Reads and writes of a word: seven of eight in the newest 256 KiB of the memory, one anywhere. */
  readonly visits: number;
}

/** Words that are near. */
const NEAR = 256 * 1024 / 4;
/** Bytes of SPIR-V between two steps of growth. */
const STEP = 4096;

/**
 * Compiles nothing, and takes what compiling takes.
 *
 * @param bytes of SPIR-V
 * @returns depends on all of the work
 */
export function stubCompile(bytes: number, costs: StubCosts): number {
  const mapping = mapAnonymous(Math.max(PAGE_BYTES, bytes * costs.memory), Protection.Read | Protection.Write);
  const words = new Uint32Array(viewMemory(mapping.address, mapping.byteLength));
  let state = 1 + bytes;
  for (let done = 0; done < bytes; done += STEP) {
    const now = Math.min(STEP, bytes - done);
    const taken = Math.max(1, Math.min(words.length, Math.floor((done + now) * costs.memory / 4)));
    for (let at = Math.floor(done * costs.memory / 4); at < taken; at += PAGE_BYTES / 4) words[at] = at;
    state = visit(words, taken, Math.floor(now * costs.visits), state);
  }
  unmap(mapping);
  return state >>> 0;
}

/** Each place follows from what was found at the last one. */
function visit(words: Uint32Array, taken: number, visits: number, state: number): number {
  const near = Math.min(NEAR, taken), first = taken - near;
  for (let i = 0; i < visits; i++) {
    state ^= state << 13; // xorshift32 (Marsaglia, 2003)
    state ^= state >>> 17;
    state ^= state << 5;
    const share = (state >>> 0) / 2 ** 32;
    const at = (i & 7) === 0 ? Math.floor(share * taken) : first + Math.floor(share * near), found = words[at];
    words[at] = found ^ i;
    state = state + (found & 1) | 1;
  }
  return state;
}
