import { Ir } from "../ir/ir.ts";
import { MemoryWidth, Op, OPS } from "../ir/ops.ts";
import { IS_VALUE } from "./simplify/folder.ts";

/**
 * Removes insertions into halves of registers that nobody looks at. A 16-bit instruction keeps the other half of its destination; where all readers
 * take the written half only, as they mostly do, the result needs no insertion.
 *
 * Which halves of a value are looked at is found out from its readers: scans, last operation first, until loops bring nothing new.
 *
 * @returns the program without these insertions, and whether it changed; `deadCode` removes what is left over
 */
export function dropUnseenHalves(ir: Ir): { ir: Ir; changed: boolean } {
  if (!ir.op.subarray(0, ir.length).includes(Op.BitInsert)) return { ir, changed: false };
  const seen = seenHalves(ir);
  const instead = new Int32Array(ir.length);
  let changed = false;
  for (let i = 1; i < ir.length; i++) instead[i] = i;
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.BitInsert || ir.d[i] !== 16 || (ir.c[i] !== 0 && ir.c[i] !== 16)) continue;
    if (ir.c[i] === 0 && seen[i] === LOW) instead[i] = instead[ir.b[i]];
    else if (seen[i] === (ir.c[i] === 0 ? HIGH : LOW)) instead[i] = instead[ir.a[i]];
    if (instead[i] !== i) changed = true;
  }
  return changed ? { ir: withOperands(ir, instead), changed } : { ir, changed };
}

const LOW = 1, HIGH = 2, BOTH = 3;

/** The halves of each value that somebody looks at. */
function seenHalves(ir: Ir): Uint8Array {
  const seen = new Uint8Array(ir.length);
  let loops = true, grown = true;
  const look = (value: number, halves: number) => {
    if ((seen[value] | halves) === seen[value]) return;
    seen[value] |= halves;
    grown = true;
  };
  while (grown && loops) {
    grown = false;
    loops = false;
    for (let i = ir.length - 1; i > 0; i--) {
      if (ir.op[i] === Op.LoopPhi) loops = true;
      lookFrom(ir, i, seen[i], look);
    }
  }
  return seen;
}

/** What operation `i`, of which `result` is looked at, looks at. */
function lookFrom(ir: Ir, i: number, result: number, look: (value: number, halves: number) => void): void {
  const op = ir.op[i];
  const [a, b, c, d] = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
  switch (op) {
    case Op.Const:
    case Op.Nop:
      return;
    case Op.HAdd:
    case Op.HMul:
      if (result === 0) return;
      look(a, c === 1 ? LOW : result);
      look(b, c === 1 ? LOW : result);
      return;
    case Op.HFma:
      if (result === 0) return;
      for (const value of [a, b, c]) look(value, d === 1 ? LOW : result);
      return;
    case Op.CvtH2F:
      if (result !== 0) look(a, LOW);
      return;
    case Op.BitInsert:
      if (d === 16 && (c === 0 || c === 16)) {
        const written = c === 0 ? LOW : HIGH;
        look(a, result & ~written);
        if ((result & written) !== 0) look(b, LOW);
      } else if (result !== 0) {
        look(a, BOTH);
        look(b, BOTH);
      }
      return;
    case Op.Select:
      if (result === 0) return;
      look(a, BOTH);
      look(b, result);
      look(c, result);
      return;
    case Op.Phi:
    case Op.LoopPhi:
    case Op.Or:
    case Op.Xor:
      look(a, result);
      look(b, result);
      return;
    case Op.Not:
    case Op.BitcastU:
    case Op.BitcastF:
      look(a, result);
      return;
    case Op.ContPhi:
    case Op.BreakPhi:
      for (let k = 0; k < b; k++) look(ir.pool[a + k], result);
      return;
    case Op.And: {
      if (result === 0) return;
      const mask = ir.op[b] === Op.Const ? ir.a[b] : -1;
      look(a, result & (((mask & 0xffff) !== 0 ? LOW : 0) | ((mask >>> 16) !== 0 ? HIGH : 0)));
      look(b, result);
      return;
    }
    case Op.Shl:
    case Op.Shr:
      if (result === 0) return;
      if (ir.op[b] === Op.Const && ir.a[b] >= 16) look(a, op === Op.Shl ? LOW : HIGH);
      else look(a, BOTH);
      look(b, BOTH);
      return;
    case Op.UBfe:
    case Op.SBfe: {
      if (result === 0) return;
      const known = ir.op[b] === Op.Const && ir.op[c] === Op.Const;
      look(a, !known ? BOTH : ir.a[b] + ir.a[c] <= 16 ? LOW : ir.a[b] >= 16 ? HIGH : BOTH);
      look(b, BOTH);
      look(c, BOTH);
      return;
    }
    case Op.Store:
    case Op.LdsStore:
      look(a, BOTH);
      look(b, BOTH);
      look(c, (d & MemoryWidth.BytesMask) <= 2 ? LOW : BOTH);
      return;
  }
  const row = OPS[op];
  if (!row.effect && !row.exchange && !row.structure && op !== Op.Load && op !== Op.LdsLoad && result === 0) return;
  if (IS_VALUE[op * 4] === 1) look(a, BOTH);
  if (IS_VALUE[op * 4 + 1] === 1) look(b, BOTH);
  if (IS_VALUE[op * 4 + 2] === 1) look(c, BOTH);
  if (IS_VALUE[op * 4 + 3] === 1) look(d, BOTH);
}

/** The same program with other values for operands. */
export function withOperands(ir: Ir, instead: Int32Array): Ir {
  const out = new Ir(ir.length);
  out.length = ir.length;
  for (let i = 0; i < ir.length; i++) {
    const op = ir.op[i];
    const operand = (id: number, k: number) => IS_VALUE[op * 4 + k] === 1 && id !== 0 ? instead[id] : id;
    out.op[i] = op;
    out.type[i] = ir.type[i];
    out.pc[i] = ir.pc[i];
    out.a[i] = operand(ir.a[i], 0);
    out.b[i] = operand(ir.b[i], 1);
    out.c[i] = operand(ir.c[i], 2);
    out.d[i] = operand(ir.d[i], 3);
    if (op === Op.ContPhi || op === Op.BreakPhi) {
      out.a[i] = out.pooled(Array.from({ length: ir.b[i] }, (_, k) => instead[ir.pool[ir.a[i] + k]]));
    }
  }
  return out;
}
