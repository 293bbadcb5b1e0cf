import { MAX_CODE_BYTES } from "../driver/compute_dispatch.ts";
import { type ErrorPlace, RefusedError } from "../errors.ts";
import type { GuestMemory } from "../guest/memory/guest_memory.ts";
import type { Program } from "../guest/program.ts";

/**
 * The words from a dispatched program's address to the end of its window, at most {@linkcode MAX_CODE_BYTES}.
 *
 * @param place of the dispatch, for the error
 * @throws RefusedError `cli.code-unmapped`
 */
export function dispatchedCode(
  program: Pick<Program, "memory">,
  memory: GuestMemory,
  address: bigint,
  place: ErrorPlace = {},
): Uint32Array<ArrayBuffer> {
  const window = program.memory.find((w) => address >= w.base && address < w.base + BigInt(w.bytes));
  if (window === undefined) {
    const where = { ...place, guestAddress: address };
    throw new RefusedError("cli.code-unmapped", "the dispatched program is not in memory", where);
  }
  const bytes = Math.min(MAX_CODE_BYTES, Number(window.base + BigInt(window.bytes) - address));
  return new Uint32Array(memory.read(address, bytes, 0).slice().buffer);
}
