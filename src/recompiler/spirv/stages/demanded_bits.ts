import type { Ir } from "../../ir/ir.ts";
import { Op, Type } from "../../ir/ops.ts";
import { VALUE_OPERANDS } from "../usage.ts";

/** Bits of a U32 value that the program can see: those that its direct users, shifts and fields of constant places, take. */
export function demandedBits(ir: Ir, value: number, depth = 0): number {
  let bits = 0;
  const constant = (id: number) => ir.op[id] === Op.Const && ir.type[id] === Type.U32;
  for (let i = 1; i < ir.length; i++) {
    const operands = VALUE_OPERANDS[ir.op[i]], columns = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
    if (operands & 16) {
      if (ir.pool.slice(ir.a[i], ir.a[i] + ir.b[i]).includes(value)) return -1;
      continue;
    }
    const at = columns.findIndex((each, k) => (operands >> k & 1) !== 0 && each === value);
    if (at < 0) continue;
    const other = columns[1 - at];
    if (ir.op[i] === Op.And && constant(other)) bits |= ir.a[other];
    else if (ir.op[i] === Op.UBfe && at === 0 && constant(columns[1]) && constant(columns[2])) {
      const offset = ir.a[columns[1]], count = ir.a[columns[2]];
      bits |= count === 32 ? -1 : 2 ** count - 1 << offset;
    } else if (ir.op[i] === Op.Shr && at === 0 && constant(columns[1]) && depth < 2) {
      bits |= demandedBits(ir, i, depth + 1) << ir.a[columns[1]];
    } else return -1;
  }
  return bits;
}
