import type { Ir } from "../ir/ir.ts";
import { InputKind, MemoryWidth, Op, Type } from "../ir/ops.ts";
import { axisOf } from "../passes/pack/shape.ts";

/** What is known of integer values without running the program. */
export interface Facts {
  /** Largest value that a U32 can have. */
  readonly upper: Float64Array;
  /** Low bits that are known to be zero, of U32 and U64 values. */
  readonly zeros: Uint8Array;
}

const FULL = 0xffffffff;
/** Rounds after which nothing is believed of loop phis. */
const MOST_ROUNDS = 8;

/**
 * Upper bounds and known-zero low bits, in forward scans: one, or some more where there are loops. Bounds of loop phis are unknown. Makes checks of LDS ranges and of alignment unnecessary where
 * addresses are made of lane numbers, masks and shifts, as they mostly are.
 *
 * @param wholeWaves the emitter's `wholeWaves`
 */
export function gatherFacts(
  ir: Ir,
  waveSize: number,
  workgroupSize: readonly [number, number, number],
  wholeWaves = false,
): Facts {
  const n = ir.length;
  const upper = new Float64Array(n).fill(FULL);
  const zeros = new Uint8Array(n);
  const [x, y, z] = workgroupSize;
  // Lanes of a last wave that has fewer threads may be invocations as well.
  const threads = wholeWaves ? Math.ceil(x * y * z / waveSize) * waveSize : x * y * z;
  // Constants may stand behind their use.
  for (let i = 1; i < n; i++) {
    if (ir.op[i] !== Op.Const) continue;
    upper[i] = ir.a[i] >>> 0;
    zeros[i] = ir.a[i] === 0 ? 32 : 31 - Math.clz32(ir.a[i] & -ir.a[i]);
  }
  // Loop phis are as their initial values at first; where a round of the loop takes that back, once more.
  let phis = 0;
  for (let i = 1; i < n; i++) {
    if (ir.op[i] !== Op.LoopPhi) continue;
    zeros[i] = 64;
    phis++;
  }
  for (let round = 0;; round++) {
    scan();
    if (phis === 0 || !correctPhis(round >= MOST_ROUNDS)) return { upper, zeros };
  }

  /** Takes back what the values at the loops' ends do not keep; whether there was any. */
  function correctPhis(giveUp: boolean): boolean {
    let changed = false;
    for (let i = 1; i < n; i++) {
      if (ir.op[i] !== Op.LoopPhi) continue;
      const known = giveUp ? 0 : Math.min(zeros[ir.a[i]], zeros[ir.b[i]], zeros[i]);
      if (known === zeros[i]) continue;
      zeros[i] = known;
      changed = true;
    }
    return changed;
  }

  function scan(): void {
    for (let i = 1; i < n; i++) {
      const a = ir.a[i], b = ir.b[i], c = ir.c[i];
      switch (ir.op[i]) {
        case Op.ContPhi:
        case Op.BreakPhi: {
          let least = 64;
          for (let k = 0; k < b; k++) least = Math.min(least, zeros[ir.pool[a + k]]);
          zeros[i] = least;
          break;
        }
        case Op.Vec:
          break;
        case Op.Input:
          upper[i] = inputBound(a, axisOf(b));
          break;
        case Op.IAdd:
          upper[i] = fit(upper[a] + upper[b]);
          zeros[i] = Math.min(zeros[a], zeros[b]);
          break;
        case Op.ISub:
        case Op.IAdd64:
        case Op.ISub64:
          zeros[i] = Math.min(zeros[a], zeros[b]);
          break;
        case Op.IMul:
          upper[i] = fit(upper[a] * upper[b]);
          zeros[i] = Math.min(zeros[a] + zeros[b], 32);
          break;
        case Op.UMulWide:
        case Op.SMulWide:
        case Op.IMul64:
          zeros[i] = Math.min(zeros[a] + zeros[b], 32);
          break;
        case Op.And:
          upper[i] = Math.min(upper[a], upper[b]);
          zeros[i] = Math.max(zeros[a], zeros[b]);
          break;
        case Op.Or:
        case Op.Xor:
          upper[i] = 2 ** (32 - Math.clz32(Math.max(upper[a], upper[b]))) - 1;
          zeros[i] = Math.min(zeros[a], zeros[b]);
          break;
        case Op.Shl:
          if (ir.op[b] === Op.Const) {
            upper[i] = fit(upper[a] * 2 ** ir.a[b]);
            zeros[i] = Math.min(zeros[a] + ir.a[b], 32);
          } else zeros[i] = zeros[a];
          break;
        case Op.Shl64:
          zeros[i] = ir.op[b] === Op.Const ? Math.min(zeros[a] + ir.a[b], 32) : zeros[a];
          break;
        case Op.Shr:
          if (ir.op[b] === Op.Const) {
            upper[i] = Math.floor(upper[a] / 2 ** ir.a[b]);
            zeros[i] = Math.max(zeros[a] - ir.a[b], 0);
          }
          break;
        case Op.UMin:
          upper[i] = Math.min(upper[a], upper[b]);
          zeros[i] = Math.min(zeros[a], zeros[b]);
          break;
        case Op.UMax:
          upper[i] = Math.max(upper[a], upper[b]);
          zeros[i] = Math.min(zeros[a], zeros[b]);
          break;
        case Op.UBfe:
          if (ir.op[c] === Op.Const) upper[i] = 2 ** ir.a[c] - 1;
          break;
        case Op.BitCount:
          upper[i] = 32;
          break;
        case Op.Select:
          upper[i] = Math.max(upper[b], upper[c]);
          zeros[i] = Math.min(zeros[b], zeros[c]);
          break;
        case Op.Phi:
          upper[i] = Math.max(upper[a], upper[b]);
          zeros[i] = Math.min(zeros[a], zeros[b]);
          break;
        case Op.Pack64:
          zeros[i] = Math.min(zeros[a], 32);
          break;
        case Op.Lo64:
          zeros[i] = zeros[a];
          break;
        case Op.Load:
        case Op.LdsLoad:
          if (ir.type[i] === Type.U32 && (c & MemoryWidth.Signed) === 0) {
            upper[i] = 2 ** ((c & MemoryWidth.BytesMask) * 8) - 1;
          }
          break;
      }
    }
  }

  function inputBound(kind: number, axis: number): number {
    switch (kind) {
      case InputKind.LocalIndex:
        return threads - 1;
      case InputKind.LocalId: {
        const below = [1, x, x * y][axis], above = [y * z, z, 1][axis];
        if (!wholeWaves || above > 1 || workgroupSize[axis] === 1) return workgroupSize[axis] - 1;
        return Math.ceil(threads / below) - 1;
      }
      case InputKind.LaneId:
        return Math.min(waveSize, threads) - 1;
      case InputKind.WaveId:
        return Math.ceil(threads / waveSize) - 1;
      default:
        return FULL;
    }
  }

  /** A bound of a result that wraps when it is too large. */
  function fit(bound: number): number {
    return bound <= FULL ? bound : FULL;
  }
}
