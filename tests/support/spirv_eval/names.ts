/**
 * Opcodes that the evaluator reads: those that the emitter writes (its table is data), and the subgroup operations (Khronos SPIR-V specification 1.5,
 * section 3.32.24).
 *
 * @module
 */
import { CODE_NAMES as EMITTED_NAMES, OPERANDS as EMITTED_OPERANDS } from "../../../src/recompiler/spirv/codes.ts";

const SUBGROUP: readonly (readonly [number, string, string])[] = [
  [333, "OpGroupNonUniformElect", "tri"],
  [334, "OpGroupNonUniformAll", "trii"],
  [335, "OpGroupNonUniformAny", "trii"],
  [337, "OpGroupNonUniformBroadcast", "triii"],
  [338, "OpGroupNonUniformBroadcastFirst", "trii"],
  [339, "OpGroupNonUniformBallot", "trii"],
  [345, "OpGroupNonUniformShuffle", "triii"],
  [360, "OpGroupNonUniformBitwiseOr", "trilii"],
];

/** Names by opcode. */
export const CODE_NAMES: ReadonlyMap<number, string> = new Map([
  ...SUBGROUP.map(([code, name]) => [code, name] as const),
  ...EMITTED_NAMES,
]);

/** Operand words by opcode, as `OPERANDS` of the emitter. */
export const OPERANDS: ReadonlyMap<number, string> = new Map([
  ...SUBGROUP.map(([code, , operands]) => [code, operands] as const),
  ...EMITTED_OPERANDS,
]);
