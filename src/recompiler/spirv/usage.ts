import type { Ir } from "../ir/ir.ts";
import { AtomicKind, MemoryWidth, Op, OPS, Type } from "../ir/ops.ts";

/** Bits of {@linkcode Usage.flags}. */
export const Use = {
  /** The value feeds an addition or subtraction of floats, perhaps through moves, so a product here could be contracted with it. */
  FeedsSum: 1,
  /** Emit the U32 value (or vector) as F32: everybody who reads it wants a float. */
  AsFloat: 2,
} as const;

/** What one scan, last operation first, finds out about the values of a program. */
export interface Usage {
  /** How often each value is an operand. */
  readonly uses: Uint32Array;
  /** {@linkcode Use} bits of each value. */
  readonly flags: Uint8Array;
  /** Whether each operation occurs, by operation number. */
  readonly present: Uint8Array;
  /** First place of each operation in the stream. */
  readonly first: Int32Array;
}

/** Bit k: operand k is a value. Bit 4: operands are in the pool. */
export const VALUE_OPERANDS = Uint8Array.from(OPS, ({ operands }) => {
  let bits = operands === "pn" ? 16 : 0;
  for (let k = 0; k < 4; k++) if (operands[k] === "v") bits |= 1 << k;
  return bits;
});

/** Whether an operation passes a float on unchanged but for its sign, so that a product before it can meet a sum behind it. */
const MOVES = Uint8Array.from(
  OPS,
  ({ name }) =>
    ["Phi", "LoopPhi", "ContPhi", "BreakPhi", "Select", "FNeg", "FAbs", "BitcastU", "BitcastF"].includes(name) ? 1 : 0,
);

/** Scans `ir` once. */
export function scanUsage(ir: Ir): Usage {
  const n = ir.length;
  const uses = new Uint32Array(n);
  /** Uses that want a float. */
  const casts = new Uint32Array(n);
  /** Uses that take a float or an integer alike: stores of whole dwords. */
  const stores = new Uint32Array(n);
  const flags = new Uint8Array(n);
  const present = new Uint8Array(OPS.length);
  const first = new Int32Array(OPS.length).fill(-1);
  const { op, a, b, c, d, pool, type } = ir;
  // The back edges' values are defined behind their use, so they must be counted before the scan comes to them.
  for (let i = 1; i < n; i++) {
    if (op[i] === Op.LoopPhi) {
      uses[b[i]]++;
      flags[b[i]] |= Use.FeedsSum;
    }
  }
  for (let i = n - 1; i > 0; i--) {
    const code = op[i];
    present[code] = 1;
    first[code] = i;
    const operands = VALUE_OPERANDS[code];
    if (operands === 0) continue;
    const feeds = code === Op.FAdd || code === Op.FSub || code === Op.ContPhi || code === Op.LoopPhi ||
      (MOVES[code] !== 0 && (flags[i] & Use.FeedsSum) !== 0);
    const mark = feeds ? Use.FeedsSum : 0;
    if (operands & 16) {
      for (let k = a[i]; k < a[i] + b[i]; k++) {
        uses[pool[k]]++;
        flags[pool[k]] |= mark;
      }
      continue;
    }
    if (operands & 1) {
      uses[a[i]]++;
      flags[a[i]] |= mark;
    }
    if ((operands & 2) && code !== Op.LoopPhi) {
      uses[b[i]]++;
      flags[b[i]] |= mark;
    }
    if (operands & 4) {
      uses[c[i]]++;
      flags[c[i]] |= mark;
    }
    if (operands & 8) {
      uses[d[i]]++;
      flags[d[i]] |= mark;
    }
    // All uses of the result are behind it, so what they want of it is known.
    switch (code) {
      case Op.BitcastF:
        casts[a[i]]++;
        break;
      case Op.Extract:
        if (uses[i] > 0 && casts[i] === uses[i]) {
          flags[i] |= Use.AsFloat;
          casts[a[i]]++;
        }
        break;
      case Op.Shuffle:
      case Op.ReadLane:
        if (uses[i] > 0 && casts[i] === uses[i] && op[a[i]] === Op.BitcastU) {
          flags[i] |= Use.AsFloat;
          casts[a[i]]++;
        }
        break;
      case Op.Load:
      case Op.LdsLoad:
        if (casts[i] > 0 && casts[i] + stores[i] === uses[i] && (c[i] & MemoryWidth.BytesMask) >= 4) {
          flags[i] |= Use.AsFloat;
        }
        break;
      case Op.BitcastU:
        if (casts[i] + stores[i] === uses[i]) flags[i] |= Use.AsFloat;
        break;
      case Op.Vec:
        if (uses[i] > 0 && stores[i] === uses[i] && vectorOfFloats(i)) {
          flags[i] |= Use.AsFloat;
          for (let k = type[i] - Type.V2 + 1; k >= 0; k--) stores[part(i, k)]++;
        }
        break;
      case Op.Store:
      case Op.LdsStore:
        if ((d[i] & MemoryWidth.BytesMask) >= 4) stores[c[i]]++;
        break;
    }
  }
  return { uses, flags, present, first };

  function part(vector: number, k: number): number {
    return k === 0 ? a[vector] : k === 1 ? b[vector] : k === 2 ? c[vector] : d[vector];
  }

  /** Whether each part of a Vec is a bitcast float or a constant, and at least one a bitcast. */
  function vectorOfFloats(vector: number): boolean {
    let floats = 0;
    for (let k = type[vector] - Type.V2 + 1; k >= 0; k--) {
      if (op[part(vector, k)] === Op.BitcastU) floats++;
      else if (op[part(vector, k)] !== Op.Const) return false;
    }
    return floats > 0;
  }
}

/** Bytes that a Load, Store or Atomic accesses. */
export function memoryBytes(ir: Ir, i: number): number {
  if (ir.op[i] === Op.Atomic) return (ir.d[i] & AtomicKind.Wide) !== 0 ? 8 : 4;
  return (ir.op[i] === Op.Load ? ir.c[i] : ir.d[i]) & MemoryWidth.BytesMask;
}
