/**
 * Opcodes that the evaluator reads: those that the emitter writes (its table is data), the subgroup operations (Khronos SPIR-V specification 1.5,
 * section 3.32.24), and what compilers write into the modules of simple graphics stages.
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

const COMPILERS: readonly (readonly [number, string, string])[] = [
  [3, "OpSource", "l*"],
  [4, "OpSourceExtension", "l*"],
  [5, "OpName", "il*"],
  [6, "OpMemberName", "ill*"],
  [79, "OpVectorShuffle", "triil*"],
  [82, "OpCompositeInsert", "triil*"],
  [83, "OpCopyObject", "tri"],
  [142, "OpVectorTimesScalar", "trii"],
  [148, "OpDot", "trii"],
  [218, "OpEmitVertex", ""],
  [219, "OpEndPrimitive", ""],
  [400, "OpCopyLogical", "tri"],
];

/** Names by opcode. */
export const CODE_NAMES: ReadonlyMap<number, string> = new Map([
  ...[...SUBGROUP, ...COMPILERS].map(([code, name]) => [code, name] as const),
  ...EMITTED_NAMES,
]);

/** Operand words by opcode, as `OPERANDS` of the emitter. */
export const OPERANDS: ReadonlyMap<number, string> = new Map([
  ...[...SUBGROUP, ...COMPILERS].map(([code, , operands]) => [code, operands] as const),
  ...EMITTED_OPERANDS,
]);
