/** Remembers which instructions wrote the vector registers of one lane, and from which registers. */
import { Encoding, Flag, type Instruction, Operand } from "../../rdna/instruction.ts";
import { LANES, type Wave } from "../../rdna/interpreter/mod.ts";
import { type Opcode, OPCODES, Trait } from "../../rdna/table.ts";

/** An instruction that wrote a register. */
export interface Definition {
  readonly instruction: Instruction;
  readonly register: number;
  readonly value: number;
  /** Number in the order of execution. */
  readonly order: number;
  /** Definitions (by `order`) of the vector registers that it read in the same lane. */
  readonly inputs: readonly number[];
}

/** Definitions that are kept; older ones end a chain. */
const KEPT = 8192;
/** Registers in the vector file. */
const REGISTERS = 256;

/** The values of one lane's vector registers and where they came from. */
export class LaneHistory {
  readonly #values = new Int32Array(REGISTERS);
  /** Order of the definition that each register holds; -1 for its value at the start. */
  readonly #holds = new Int32Array(REGISTERS).fill(-1);
  readonly #definitions = new Map<number, Definition>();
  #next = 0;
  #started = false;

  constructor(readonly lane: number) {}

  /** Takes note of an instruction that the lane's wave has just executed. */
  observe(wave: Wave, instruction: Instruction): void {
    const opcode = OPCODES[instruction.op];
    const written = this.#written(wave, instruction, opcode);
    this.#started = true;
    if (written.length === 0) return;
    const inputs = [...new Set(readRegisters(instruction, opcode).map((r) => this.#holds[r]).filter((o) => o >= 0))];
    for (const register of written) {
      const order = this.#next++;
      const value = this.#values[register];
      this.#definitions.set(order, { instruction, register, value, order, inputs });
      this.#definitions.delete(order - KEPT);
      this.#holds[register] = order;
    }
  }

  /** The definitions that the value of a register was computed from, latest first, at most `limit`. */
  chain(register: number, limit: number): Definition[] {
    const seen = new Set<number>(), waiting = [this.#holds[register]];
    const found: Definition[] = [];
    while (waiting.length > 0 && found.length < limit) {
      waiting.sort((a, b) => a - b);
      const order = waiting.pop()!;
      const definition = this.#definitions.get(order);
      if (seen.has(order) || definition === undefined) continue;
      seen.add(order);
      found.push(definition);
      waiting.push(...definition.inputs);
    }
    return found;
  }

  /** Whether a register still holds the value of a definition. */
  holds({ register, order }: Definition): boolean {
    return this.#holds[register] === order;
  }

  /** Registers that changed, and those that were written with the value that they had. */
  #written(wave: Wave, instruction: Instruction, opcode: Opcode): number[] {
    const written: number[] = [];
    const first = instruction.dst - Operand.Vgpr0;
    const count = first >= 0 && wave.isActive(this.lane) ? resultRegisters(instruction, opcode) : 0;
    for (let r = 0; r < REGISTERS; r++) {
      const value = wave.vgpr[r * LANES + this.lane];
      const changed = this.#started && value !== this.#values[r];
      if (changed || (r >= first && r < first + count)) written.push(r);
      this.#values[r] = value;
    }
    return written;
  }
}

/** Vector registers that an instruction with a vector destination writes. */
function resultRegisters({ mode }: Instruction, opcode: Opcode): number {
  const half = opcode.words.has("d16") ? 2 : 1;
  if (opcode.image !== undefined) return Math.ceil(bitCount(mode) / half);
  if (opcode.formatCount > 0) return Math.ceil(opcode.formatCount / half);
  return Math.max(1, opcode.dst[0]?.dwords ?? 1);
}

/** Numbers of the vector registers that an instruction reads in its own lane. */
function readRegisters(instruction: Instruction, opcode: Opcode): number[] {
  const { src0, src1, src2, addr, data, data1, nsa, dst, encoding } = instruction;
  const registers: number[] = [];
  const add = (operand: number, count: number) => {
    if (operand < Operand.Vgpr0) return;
    for (let k = 0; k < count; k++) if (operand + k < Operand.Vgpr0 + REGISTERS) registers.push(operand + k - 256);
  };
  const isMemory = encoding >= Encoding.Ds && encoding <= Encoding.Mimg;
  if (isMemory) {
    const types = opcode.src.filter(({ kind }) => kind !== "addr");
    add(addr, addressRegisters(instruction));
    nsa?.forEach((operand) => add(operand, 1));
    if (opcode.traits & (Trait.Store | Trait.Atomic)) add(data, Math.max(1, types[0]?.dwords ?? 1));
    add(data1, Math.max(1, types[1]?.dwords ?? 1));
  } else {
    [src0, src1, src2].forEach((operand, k) => add(operand, Math.max(1, opcode.src[k]?.dwords ?? 1)));
  }
  if (opcode.traits & Trait.ReadsDst) add(dst, Math.max(1, opcode.dst[0]?.dwords ?? 1));
  return registers;
}

/** Registers of the address from `addr` on; of an image without NSA as many as its kind can have at most (which only adds to a chain). */
function addressRegisters({ encoding, srsrc, flags, nsa }: Instruction): number {
  if (encoding === Encoding.Ds) return 1;
  if (encoding === Encoding.Flat) return srsrc < 0 ? 2 : 1;
  if (encoding === Encoding.Mimg) return nsa === null ? 3 : 1;
  return (flags & Flag.Offen) !== 0 && (flags & Flag.Idxen) !== 0 ? 2 : 1;
}

function bitCount(bits: number): number {
  let count = 0;
  for (let rest = bits & 0xf; rest !== 0; rest &= rest - 1) count++;
  return count;
}
