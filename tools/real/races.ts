/**
 * Words whose value is nobody's: several lanes store to them with one instruction, and which store comes last is up to the device. Invented inputs (strides,
 * block sizes) make modules do that which never do it with their own.
 *
 * @module
 */
import { GuestSpace } from "../../src/driver/software/guest_space.ts";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { runProgram } from "../../src/driver/run_program.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import type { Program } from "../../src/guest/program.ts";
import { Access, FaultReason } from "../../src/rdna/interpreter/mod.ts";

/** Runs a program in the interpreter and returns the addresses of the words that one instruction stored to more than once. */
export function racyWords(program: Program): ReadonlySet<number> {
  const memory = new GuestMemory(new ArrayAllocator());
  const racy = new Set<number>();
  const stored = new Set<number>();
  const executor = new SoftwareExecutor({
    target: program.target,
    space: (each) => new StoreSpace(each, stored, racy),
    observer: () => stored.clear(),
  });
  try {
    const { error } = runProgram(program, executor, memory);
    if (error !== undefined) throw error;
    return racy;
  } finally {
    memory.clear();
    executor.close();
  }
}

/** Guest memory that notes which words are stored to. */
class StoreSpace extends GuestSpace {
  readonly #stored: Set<number>;
  readonly #racy: Set<number>;

  /**
   * @param stored words that the current instruction has stored to
   * @param racy those that it has stored to again
   */
  constructor(memory: GuestMemory, stored: Set<number>, racy: Set<number>) {
    super(memory);
    this.#stored = stored;
    this.#racy = racy;
  }

  override locate(address: number, bytes: number, access: number): number {
    const reason = super.locate(address, bytes, access);
    if (reason === FaultReason.None && access === Access.Write) {
      for (let word = address - address % 4; word < address + bytes; word += 4) {
        // Narrow stores to different bytes of a word do not meet.
        const key = bytes < 4 ? address : word;
        if (this.#stored.has(key)) this.#racy.add(word);
        this.#stored.add(key);
      }
    }
    return reason;
  }
}
