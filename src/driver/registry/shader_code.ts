/**
 * Machine code in guest memory: found, decoded to the end of what is reachable, and compared again whenever it is used.
 *
 * @module
 */
import { type AnyAgcError, type ErrorPlace, GuestFaultError, hex, InvalidInputError } from "../../errors.ts";
import { GuestMemoryError } from "../../guest/memory/fault.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Permission } from "../../guest/memory/window.ts";
import type { Target } from "../../rdna/target.ts";
import { buildCfg } from "../../recompiler/cfg/build.ts";
import { MAX_CODE_BYTES } from "../compute_dispatch.ts";

/**
 * The words of a program: a copy, from its first instruction to the end of the last that can be reached.
 *
 * @param limitBytes where it must end, at most; 1 MiB in all
 * @throws GuestFaultError `driver.no-code` when nothing can be executed there; InvalidInputError when control leaves the code, or comes to what is no
 * instruction. What is only not supported is no error: the recompiler says it.
 */
export function readProgram(
  memory: GuestMemory,
  address: bigint,
  target: Target,
  limitBytes: number = MAX_CODE_BYTES,
  place: ErrorPlace = {},
): Uint32Array<ArrayBuffer> {
  const there = wordsAt(memory, address, Math.min(limitBytes, MAX_CODE_BYTES), place);
  const refused: AnyAgcError[] = [];
  try {
    const { instructions, terminatorPc, blockCount } = buildCfg(there, { target, codeAddress: address, refused });
    const malformed = refused.find((error) => error instanceof InvalidInputError);
    if (malformed !== undefined) throw malformed;
    let end = 1;
    for (const { pc, size } of instructions) end = Math.max(end, pc / 4 + size);
    for (let block = 0; block < blockCount; block++) end = Math.max(end, terminatorPc[block] / 4 + 1);
    return there.slice(0, end);
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error;
    throw new InvalidInputError(error.code, `the code at ${hex(address)}: ${error.summary}`, {
      guestAddress: BigInt.asUintN(64, address + BigInt(error.place.pc ?? 0)),
      ...place,
      ...error.place,
    });
  }
}

/** The executable words from an address on, not copied. */
function wordsAt(
  memory: GuestMemory,
  address: bigint,
  limitBytes: number,
  place: ErrorPlace,
): Uint32Array<ArrayBuffer> {
  try {
    const window = memory.require(address, 4, Permission.Execute);
    const offset = Number(address - window.base);
    return window.words.subarray(offset / 4, (offset + Math.min(window.byteLength - offset, limitBytes)) / 4);
  } catch (error) {
    if (!(error instanceof GuestMemoryError)) throw error;
    throw new GuestFaultError("driver.no-code", `there is no program at ${hex(address)}: ${error.message}`, {
      ...place,
      guestAddress: address,
    });
  }
}

/** Code that was read once, and memory where it should still be. Comparing allocates nothing. */
export class PlacedCode {
  /** Guest address of the first word, canonical. */
  readonly address: bigint;
  /** The words as they were read. */
  readonly words: Uint32Array;
  #memory: GuestMemory | undefined;
  #generation = -1;
  #present: Uint32Array | undefined;

  /** @param words a copy */
  constructor(address: bigint, words: Uint32Array) {
    this.address = address;
    this.words = words;
  }

  /** Index of the first word that memory does not hold any more; -1 if it holds all of them. */
  firstChange(memory: GuestMemory): number {
    if (this.#memory !== memory || this.#generation !== memory.generation) this.#find(memory);
    const words = this.words, present = this.#present;
    if (present === undefined) return 0;
    for (let i = 0; i < words.length; i++) if (words[i] !== present[i]) return i;
    return -1;
  }

  #find(memory: GuestMemory): void {
    this.#memory = memory;
    this.#generation = memory.generation;
    const window = memory.find(this.address);
    const at = window === undefined ? 0 : Number(this.address - window.base);
    const there = window !== undefined && (window.permissions & Permission.Execute) !== 0 &&
      at + this.words.byteLength <= window.byteLength;
    this.#present = there ? window.words.subarray(at / 4, at / 4 + this.words.length) : undefined;
  }
}
