import type { Ir } from "../ir/ir.ts";
import { Op, Type } from "../ir/ops.ts";
import { accessInfo, MAX_ACCESS_PC } from "../fault_record.ts";
import type { RecompileRequest } from "../request.ts";
import { bufferOf } from "../resources/plan.ts";
import { Code } from "./codes.ts";
import type { Emitter } from "./emitter.ts";
import { gatherFacts } from "./facts.ts";
import { T } from "./module.ts";
import { memoryBytes } from "./usage.ts";

/**
 * Id of the word that describes the access of operation `i` in a fault (fault_record.ts): a constant, or in a loop that was made of unrolled code one that
 * follows the rounds.
 */
export function accessWord(e: Emitter, i: number, bytes: number, access: number, alignment: number): number {
  const pc = e.ir.pc[i];
  if (pc > MAX_ACCESS_PC) throw e.refuse(i, "program-size", "memory access behind 16 MiB of code");
  const word = e.module.u32(accessInfo(bytes, access, alignment, pc));
  const added = e.ir.pcAdded.get(i);
  return added === undefined ? word : e.body.op2(Code.IAdd, T.U32, word, e.use(added));
}

/** Says of each operation of a program whether it is an access that may write the fault record: rather once too often. */
export function failingAccesses(ir: Ir, request: RecompileRequest): (i: number) => boolean {
  const { zeros } = gatherFacts(ir, request.waveSize, request.workgroupSize);
  return (i) => {
    const op = ir.op[i];
    if (op === Op.LdsAtomic) return true;
    if (op !== Op.Load && op !== Op.Store && op !== Op.Atomic) return false;
    const place = ir.a[i], bytes = memoryBytes(ir, i);
    if (bufferOf(op === Op.Load ? ir.c[i] : ir.d[i]) < 0 || ir.type[place] !== Type.U32) return true;
    return zeros[place] < Math.log2(op === Op.Atomic ? bytes : Math.min(bytes, 4));
  };
}
