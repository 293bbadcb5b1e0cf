import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";

/** What an active lane sees of a value: the new value where an instruction with the same EXEC wrote it. */
export function underExec(l: Lifter, id: number): number {
  const { ir } = l, exec = l.exec();
  while ((ir.op[id] === Op.Select && ir.a[id] === exec) || ir.op[id] === Op.BitcastU || ir.op[id] === Op.BitcastF) {
    id = ir.op[id] === Op.Select ? ir.b[id] : ir.a[id];
  }
  return id;
}
