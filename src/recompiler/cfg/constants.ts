import { type Instruction, Operand } from "../../rdna/instruction.ts";
import { opcodeId, OPCODES, Trait } from "../../rdna/table.ts";

/** Key under which SCC is kept among the known registers. */
const SCC = Operand.Scc;
/**
 * Added to a register's number: the key of an even value to which a carry that is not known may have been added. ACO's long jumps keep SCC in the lowest bit of
 * the address that way, until s_bitset0_b32 clears it (Mesa, aco_assembler.cpp, emit_long_jump).
 */
const WITH_CARRY = 0x1000;

/**
 * Scalar registers whose values are known, for the computation of jump targets: register number (or 253 for SCC) -> 32-bit unsigned value. Only
 * what compilers compute code addresses with is followed; every other write makes the register unknown.
 */
export type KnownRegisters = Map<number, number>;

const op = {
  getpc: opcodeId("s_getpc_b64"),
  swappc: opcodeId("s_swappc_b64"),
  call: opcodeId("s_call_b64"),
  mov32: opcodeId("s_mov_b32"),
  mov64: opcodeId("s_mov_b64"),
  movk: opcodeId("s_movk_i32"),
  add: opcodeId("s_add_u32"),
  addi: opcodeId("s_add_i32"),
  addc: opcodeId("s_addc_u32"),
  sub: opcodeId("s_sub_u32"),
  subb: opcodeId("s_subb_u32"),
  and: opcodeId("s_and_b32"),
  or: opcodeId("s_or_b32"),
  bitset0: opcodeId("s_bitset0_b32"),
};

/** Applies the instruction to `known`. `nextAddress`: guest address of the instruction behind it. */
export function follow(instruction: Instruction, nextAddress: bigint, known: KnownRegisters): void {
  const { dst } = instruction;
  switch (instruction.op) {
    case op.getpc:
    case op.swappc:
    case op.call:
      set(known, dst, Number(BigInt.asUintN(32, nextAddress)));
      set(known, dst + 1, Number(BigInt.asUintN(32, nextAddress >> 32n)));
      return;
    case op.mov32:
      set(known, dst, read(instruction, instruction.src0, known));
      return;
    case op.mov64:
      moveWide(instruction, known);
      return;
    case op.movk:
      set(known, dst, instruction.imm >>> 0);
      return;
    case op.add:
    case op.addi:
    case op.addc:
    case op.sub:
    case op.subb:
    case op.and:
    case op.or:
      compute(instruction, known);
      return;
    case op.bitset0:
      clearBit(instruction, known);
      return;
  }
  forget(instruction, known);
}

/** Value of the 64-bit register pair that starts at `register`, if it is known. */
export function knownPair(known: KnownRegisters, register: number): bigint | undefined {
  const low = known.get(register);
  const high = known.get(register + 1);
  return low === undefined || high === undefined ? undefined : BigInt(high) << 32n | BigInt(low);
}

/** Keeps in `known` only what `other` agrees with; tells whether that changed anything. */
export function meet(known: KnownRegisters, other: KnownRegisters): boolean {
  const size = known.size;
  for (const [register, value] of known) if (other.get(register) !== value) known.delete(register);
  return known.size !== size;
}

function set(known: KnownRegisters, register: number, value: number | undefined): void {
  if (register < 0 || register === Operand.Null) return;
  known.delete(register + WITH_CARRY);
  if (value === undefined) known.delete(register);
  else known.set(register, value >>> 0);
}

/** Value of a 32-bit scalar source, if it is known. */
function read(instruction: Instruction, source: number, known: KnownRegisters): number | undefined {
  if (source === Operand.Literal) return instruction.literal >>> 0;
  if (source >= Operand.Zero && source <= 192) return source - 128;
  if (source >= 193 && source <= 208) return (192 - source) >>> 0;
  return source < Operand.Null ? known.get(source) : undefined;
}

function moveWide(instruction: Instruction, known: KnownRegisters): void {
  const { dst, src0 } = instruction;
  let low: number | undefined;
  let high: number | undefined;
  if (src0 < Operand.Null) {
    low = known.get(src0);
    high = known.get(src0 + 1);
  } else if (src0 >= Operand.Zero && src0 <= 208) {
    low = read(instruction, src0, known);
    high = src0 > 192 ? 0xffffffff : 0;
  }
  set(known, dst, low);
  set(known, dst + 1, high);
}

function clearBit(instruction: Instruction, known: KnownRegisters): void {
  const { dst } = instruction;
  const bit = read(instruction, instruction.src0, known);
  const old = known.get(dst), even = known.get(dst + WITH_CARRY);
  if (bit === 0 && even !== undefined) set(known, dst, even);
  else set(known, dst, bit === undefined || old === undefined ? undefined : old & ~(1 << (bit & 31)));
}

function compute(instruction: Instruction, known: KnownRegisters): void {
  const a = read(instruction, instruction.src0, known);
  const b = read(instruction, instruction.src1, known);
  const carry = known.get(SCC);
  let result: number | undefined;
  let scc: number | undefined;
  if (a !== undefined && b !== undefined) {
    switch (instruction.op) {
      case op.add:
        result = a + b;
        scc = result > 0xffffffff ? 1 : 0;
        break;
      case op.addi:
        result = a + b;
        break;
      case op.addc:
        if (carry === undefined) {
          if ((a + b) % 2 !== 0) break;
          // The carry goes no further than the lowest bit.
          set(known, SCC, a + b > 0xffffffff ? 1 : 0);
          set(known, instruction.dst, undefined);
          known.set(instruction.dst + WITH_CARRY, (a + b) >>> 0);
          return;
        }
        result = a + b + carry;
        scc = result > 0xffffffff ? 1 : 0;
        break;
      case op.sub:
        result = a - b;
        scc = result < 0 ? 1 : 0;
        break;
      case op.subb:
        if (carry === undefined) break;
        result = a - b - carry;
        scc = result < 0 ? 1 : 0;
        break;
      case op.and:
        result = a & b;
        scc = result !== 0 ? 1 : 0;
        break;
      case op.or:
        result = a | b;
        scc = result !== 0 ? 1 : 0;
        break;
    }
  }
  set(known, SCC, scc);
  set(known, instruction.dst, result);
}

/** Forgets whatever the instruction may write. */
function forget(instruction: Instruction, known: KnownRegisters): void {
  const { traits, dst } = OPCODES[instruction.op];
  if ((traits & Trait.Indirect) !== 0) {
    known.clear();
    return;
  }
  if ((traits & Trait.WritesScc) !== 0) known.delete(SCC);
  if ((traits & Trait.WritesVcc) !== 0) forgetRange(known, Operand.Vcc, 2);
  // A lane mask (0 words in the table) takes two registers in wave64.
  const words = dst.length === 0 ? 2 : Math.max(2, dst[0].dwords);
  if (instruction.dst >= 0 && instruction.dst < 128) forgetRange(known, instruction.dst, words);
  if (instruction.sdst >= 0 && instruction.sdst < 128) forgetRange(known, instruction.sdst, 2);
}

function forgetRange(known: KnownRegisters, first: number, count: number): void {
  for (let i = 0; i < count; i++) {
    known.delete(first + i);
    known.delete(first + i + WITH_CARRY);
  }
}
