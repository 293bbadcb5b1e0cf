/**
 * Where the words of recompiled modules are, by cause.
 *
 * @module
 */
import { decode } from "../../src/rdna/decode.ts";
import { OPCODES } from "../../src/rdna/table.ts";
import { Op, OPS } from "../../src/recompiler/ir/ops.ts";
import type { RecompileRequest } from "../../src/recompiler/request.ts";
import type { WordAccount } from "../../src/recompiler/spirv/emit.ts";

/** Words by cause. */
export type WordCauses = Readonly<Record<string, number>>;

const GUARDS = new Set([
  "FMin",
  "FMax",
  "CvtF2H",
  "CvtH2F",
  "CvtF2U",
  "CvtF2S",
  "FlushDenorm",
  "FFma",
  "HFma",
  "HMul",
  "HAdd",
]);

/** Sums the words of a module by what they are for. */
export function causesOf(
  { ir, operations, prologue, functions, globals }: WordAccount,
  request: RecompileRequest,
): WordCauses {
  const sums: Record<string, number> = {
    "types, constants, decorations": globals,
    "entry: inputs, what the host resolved, windows": prologue,
    "functions": functions,
  };
  for (let i = 1; i < ir.length; i++) {
    if (operations[i] === 0) continue;
    const cause = causeOf(ir.op[i], instructionName(request, ir.pc[i]));
    sums[cause] = (sums[cause] ?? 0) + operations[i];
  }
  return sums;
}

function instructionName(request: RecompileRequest, pc: number): string {
  return pc / 4 < request.code.length ? OPCODES[decode(request.code, pc, request.target).op].name : "";
}

function causeOf(op: number, instruction: string): string {
  const { name, exchange, structure } = OPS[op];
  if (exchange || op === Op.Barrier) return "exchanges between lanes, barriers";
  if (structure || name.endsWith("Phi")) return "control flow and phis";
  if (op === Op.Load || op === Op.Store || op === Op.Atomic) return "memory: accesses";
  if (name.startsWith("Lds")) return "LDS: accesses";
  if (/^(buffer|tbuffer|global|flat|scratch|s_load|s_buffer|image)_/.test(instruction)) {
    return op === Op.Select ? "memory: predication" : "memory: addresses, parts of vectors";
  }
  if (instruction.startsWith("ds_")) return op === Op.Select ? "LDS: predication" : "LDS: addresses, parts of vectors";
  if (instruction.startsWith("v_cndmask")) return "arithmetic";
  if (op === Op.Select) return "predication by EXEC";
  if (/^(LAnd|LOr|LXor|LNot)$/.test(name)) return "masks";
  if (name.startsWith("Bitcast")) return "bitcasts";
  return GUARDS.has(name) ? "arithmetic with guards or conversions" : "arithmetic";
}
