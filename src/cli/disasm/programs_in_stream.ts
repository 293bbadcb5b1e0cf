/**
 * Which programs a program file's command streams name, and their code as it is in memory before anything ran.
 *
 * @module
 */
import { AnyAgcError } from "../../errors.ts";
import type { Program } from "../../guest/program.ts";
import { initialBytes } from "../../guest/map_program.ts";
import { GuestFaultError, hex } from "../../errors.ts";
import { Bank, type CommandMemory, registerName, scanPackets } from "../../pm4/mod.ts";
import { programWords } from "./listing.ts";

/** Code that a stream names. */
export interface NamedProgram {
  /** For example `COMPUTE` or `SPI_SHADER PS`. */
  stage: string;
  address: bigint;
  code: Uint32Array;
  /** Lanes per wave of the first dispatch of it; undefined where the stream does not say. */
  waveSize?: 32 | 64;
}

/** Guest memory before a program has run: contents of its windows, zero elsewhere. Outside of windows it faults. */
export class InitialMemory implements CommandMemory {
  constructor(private readonly program: Program) {}

  readU32(address: bigint): number {
    return this.readWords(address, 1)[0];
  }

  readU64(address: bigint): bigint {
    const [low, high] = this.readWords(address, 2);
    return BigInt(high) << 32n | BigInt(low);
  }

  readWords(address: bigint, count: number): Uint32Array {
    const window = this.program.memory.find((w) =>
      address >= w.base && address + BigInt(count) * 4n <= w.base + BigInt(w.bytes)
    );
    if (window === undefined) {
      throw new GuestFaultError("guest.unmapped", `${count * 4} bytes are not in the program's memory`, {
        guestAddress: address,
      });
    }
    return new Uint32Array(initialBytes(this.program, address, count * 4).buffer);
  }
}

const SET_SH_REG = 0x76, SET_SH_REG_INDIRECT = 0x63, DISPATCH_DIRECT = 0x15, DISPATCH_INDIRECT = 0x16;
const INITIATOR_WAVE32 = 1 << 15;
/** Code is looked at up to here. */
const MAX_CODE_WORDS = 1 << 18;

/** Finds the programs that the submissions' own packets name (not those of indirect buffers), in order of appearance. */
export function namedPrograms(program: Program, memory: CommandMemory): NamedProgram[] {
  const found = new Map<bigint, NamedProgram>();
  for (const { words } of program.submissions) {
    const registers = new Map<number, number>();
    let compute: bigint | undefined;
    const set = (offset: number, value: number) => {
      registers.set(offset, value);
      const low = registerName(Bank.Sh, offset).match(/^(.*)_?PGM_HI(_.*)?$/) ? offset - 1 : offset;
      const name = registerName(Bank.Sh, low);
      if (!/PGM_LO/.test(name)) return;
      const address = BigInt(registers.get(low) ?? 0) << 8n | BigInt((registers.get(low + 1) ?? 0) & 0xff) << 40n;
      const stage = name.replace(/_?PGM_LO_?/, " ").trim();
      if (stage === "COMPUTE") compute = address;
      else if (offset !== low) add(stage, address);
    };
    const add = (stage: string, address: bigint, waveSize?: 32 | 64) => {
      if (address === 0n || found.has(address)) return;
      const code = codeAt(program, address);
      if (code !== undefined) found.set(address, { stage, address, code, waveSize });
    };
    for (const { offset, size, opcode } of scanPackets(words).packets) {
      if (opcode === SET_SH_REG) {
        for (let i = 2; i < size; i++) set((words[offset + 1] & 0xffff) + i - 2, words[offset + i]);
      } else if (opcode === SET_SH_REG_INDIRECT && size === 5) {
        for (const [register, value] of table(memory, words.subarray(offset + 1, offset + 5))) {
          set(register & 0xffff, value);
        }
      } else if ((opcode === DISPATCH_DIRECT || opcode === DISPATCH_INDIRECT) && compute !== undefined) {
        add("COMPUTE", compute, words[offset + size - 1] & INITIATOR_WAVE32 ? 32 : 64);
      }
    }
  }
  return [...found.values()];
}

function table(memory: CommandMemory, body: Uint32Array): [number, number][] {
  let words: Uint32Array;
  try {
    words = memory.readWords(BigInt(body[1] & 0xffff) << 32n | BigInt(body[0]), (body[3] & 0x3fff) * 2);
  } catch (error) {
    if (error instanceof AnyAgcError) return []; // the stream's listing says that it cannot be read
    throw error;
  }
  return Array.from({ length: words.length / 2 }, (_, i) => [words[2 * i], words[2 * i + 1]]);
}

function codeAt(program: Program, address: bigint): Uint32Array | undefined {
  const window = program.memory.find((w) => address >= w.base && address < w.base + BigInt(w.bytes));
  if (window === undefined) return undefined;
  const words = Math.min(MAX_CODE_WORDS, Math.floor(Number(window.base + BigInt(window.bytes) - address) / 4));
  const code = new Uint32Array(initialBytes(program, address, words * 4).buffer);
  return code.subarray(0, programWords(code, program.target));
}

/** Title of a named program. */
export function titleOf({ stage, address, code }: NamedProgram): string {
  return `${stage} program at ${hex(address)}, ${code.length} words`;
}
