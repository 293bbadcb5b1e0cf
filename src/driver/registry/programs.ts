/**
 * Programs as one isolate knows them: registered shaders, and code that nobody registered. Each keeps the variants that were used here.
 *
 * @module
 */
import { type ErrorPlace, hex } from "../../errors.ts";
import type { AgcShaderRecord } from "../../guest/loaders/agc_record.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { Target } from "../../rdna/target.ts";
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";
import type { KeyedRequest } from "../pools/preparation.ts";
import { PlacedCode, readProgram } from "./shader_code.ts";

/** A variant that is ready here: nobody has to be asked for it any more. */
export interface Variant {
  /** What it was recompiled from. */
  readonly request: RecompileRequest;
  /** Key of the request in the room's tables. */
  readonly key: Uint32Array;
  /** What it became; a copy of this isolate's. */
  readonly artifact: Artifact;
}

/** A program with its variants. */
export class Program {
  /** Its code, and where it lies. */
  readonly code: PlacedCode;
  /** Ready variants by `Abi.key`. */
  readonly variants: Map<string, Variant> = new Map();
  /** Keys of the requests that were planned here, by `Abi.key`. */
  readonly planned: Map<string, KeyedRequest["key"]> = new Map();

  /** @param words a copy of guest memory */
  constructor(address: bigint, words: Uint32Array) {
    this.code = new PlacedCode(address, words);
  }
}

/** A shader that the guest has registered. */
export class RegisteredShader extends Program {
  /** Index in the registry's log: names this registration for good, in every isolate. */
  readonly index: number;
  /** Its record. */
  readonly record: AgcShaderRecord;
  /** SHA-256 of the code, hexadecimal. */
  readonly hash: string;
  /** Keys of the variants that were asked for, by any isolate. */
  readonly asked: Uint32Array[] = [];
  /** It was said that its code has changed in memory. */
  changeSaid = false;
  /** Index of the log entry that took it out: snapshots behind that do not see it. */
  until = Infinity;

  /** Made by the registry. */
  constructor(index: number, address: bigint, record: AgcShaderRecord, words: Uint32Array, hash: string) {
    super(address, words);
    this.index = index;
    this.record = record;
    this.hash = hash;
  }

  /** For people: stage, place, beginning of the hash. */
  get label(): string {
    return `${this.record.stage} shader ${this.hash.slice(0, 16)} at ${hex(this.code.address)}`;
  }
}

/** Bounds of {@linkcode RawPrograms}. */
const MAX_ENTRIES = 64, MAX_BYTES = 8 << 20;

/**
 * Compute programs that were never registered, by address: decoded to their reachable end, at most 1 MiB each, and compared with memory at every use. The 64
 * (and 8 MiB) that were used last are kept.
 */
export class RawPrograms {
  readonly #memory: GuestMemory;
  readonly #target: Target;
  /** In the order of their use. */
  readonly #programs = new Map<bigint, Program>();
  #last: Program | undefined;
  #bytes = 0;

  /** @param target instruction set of the code */
  constructor(memory: GuestMemory, target: Target) {
    this.#memory = memory;
    this.#target = target;
  }

  /** Programs that are kept, and their bytes of code. */
  get size(): { readonly programs: number; readonly bytes: number } {
    return { programs: this.#programs.size, bytes: this.#bytes };
  }

  /**
   * The program whose first instruction is at an address, as memory is now.
   *
   * @throws as {@linkcode readProgram}
   */
  at(address: bigint, place?: ErrorPlace): Program {
    const last = this.#last;
    if (last !== undefined && last.code.address === address && last.code.firstChange(this.#memory) === -1) return last;
    const known = this.#programs.get(address);
    if (known !== undefined) this.#forget(known);
    const program = known !== undefined && known.code.firstChange(this.#memory) === -1
      ? known
      : new Program(address, readProgram(this.#memory, address, this.#target, undefined, place));
    this.#programs.set(address, program);
    this.#bytes += program.code.words.byteLength;
    for (const oldest of this.#programs.values()) {
      if (this.#programs.size <= MAX_ENTRIES && this.#bytes <= MAX_BYTES) break;
      this.#forget(oldest);
    }
    return this.#last = program;
  }

  #forget(program: Program): void {
    this.#programs.delete(program.code.address);
    this.#bytes -= program.code.words.byteLength;
  }
}
