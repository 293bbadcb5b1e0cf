import { Op } from "../ir/ops.ts";
import type { Tape } from "./tape.ts";

/** What a memory that a tape reads says of an access. */
export const ReadResult = {
  Done: 0,
  /** There is no such memory. */
  Unmapped: 1,
  /** Work in flight may still change it. */
  Busy: 2,
} as const;
/** One of the values of {@linkcode ReadResult}. */
export type ReadResult = typeof ReadResult[keyof typeof ReadResult];

/** Guest memory as tapes read it. */
export interface TapeMemory {
  /**
   * Reads `dwords` dwords at a guest address, a multiple of 4 given as a signed 48-bit number, into `out` from `at` on.
   */
  read(address: number, dwords: number, out: Int32Array, at: number): ReadResult;
}

/** Goes through a tape. One object per program; nothing is allocated per run. */
export class TapeRunner {
  /** Results, four words a node: a U32 or Bool in the first, a U64 in two, vectors in all. */
  readonly results: Int32Array;
  /** What the last run read: address and dwords of each load. */
  readonly cells: Float64Array;
  cellCount = 0;
  /** Nodes that do not depend on the run are computed once. */
  private readonly fixed: Uint8Array;

  constructor(private readonly tape: Tape) {
    this.results = new Int32Array(tape.length * 4);
    this.cells = new Float64Array(2 * tape.op.reduce((count, op) => count + (op === Op.Load ? 1 : 0), 0));
    this.fixed = new Uint8Array(tape.length);
    for (let i = 0; i < tape.length; i++) {
      if (tape.op[i] !== Op.Const) continue;
      this.results[i * 4] = tape.a[i];
      this.results[i * 4 + 1] = tape.b[i];
      this.fixed[i] = 1;
    }
  }

  /** Computes everything for a dispatch. What was read is in `cells` unless the result is something else than Done. */
  run(userData: ArrayLike<number>, memory: TapeMemory): ReadResult {
    const { tape: { length, op, a, b, c, d }, results: r, fixed, cells } = this;
    this.cellCount = 0;
    for (let i = 0; i < length; i++) {
      if (fixed[i] === 1) continue;
      const at = i * 4;
      const x = a[i] * 4, y = b[i] * 4, z = c[i] * 4;
      switch (op[i]) {
        case Op.Input:
          r[at] = userData[a[i]];
          break;
        case Op.Load: {
          if (r[y] === 0) {
            r.fill(0, at, at + 4);
            break;
          }
          const high = r[x + 1];
          if (high < -0x8000 || high > 0x7fff || (r[x] & 3) !== 0) return ReadResult.Unmapped;
          const address = high * 0x1_0000_0000 + (r[x] >>> 0);
          const result = memory.read(address, c[i], r, at);
          if (result !== ReadResult.Done) return result;
          cells[this.cellCount * 2] = address;
          cells[this.cellCount * 2 + 1] = c[i];
          this.cellCount++;
          break;
        }
        case Op.Extract:
          r[at] = r[x + b[i]];
          break;
        case Op.Vec:
          r[at] = r[x];
          r[at + 1] = r[y];
          r[at + 2] = r[z];
          r[at + 3] = r[d[i] * 4];
          break;
        case Op.Pack64:
          r[at] = r[x];
          r[at + 1] = r[y];
          break;
        case Op.Lo64:
          r[at] = r[x];
          break;
        case Op.Hi64:
          r[at] = r[x + 1];
          break;
        case Op.IAdd64: {
          const low = (r[x] >>> 0) + (r[y] >>> 0);
          r[at + 1] = r[x + 1] + r[y + 1] + (low > 0xffff_ffff ? 1 : 0);
          r[at] = low;
          break;
        }
        case Op.ISub64: {
          const low = (r[x] >>> 0) - (r[y] >>> 0);
          r[at + 1] = r[x + 1] - r[y + 1] - (low < 0 ? 1 : 0);
          r[at] = low;
          break;
        }
        case Op.UMulWide:
          r[at + 1] = highProduct(r[x], r[y]);
          r[at] = Math.imul(r[x], r[y]);
          break;
        case Op.Select: {
          const from = r[x] !== 0 ? y : z;
          r[at] = r[from];
          r[at + 1] = r[from + 1];
          r[at + 2] = r[from + 2];
          r[at + 3] = r[from + 3];
          break;
        }
        default:
          r[at] = scalar(op[i], r[x], r[y], r[z]);
      }
    }
    return ReadResult.Done;
  }
}

/** An operation on 32-bit numbers and truth values. */
function scalar(op: number, x: number, y: number, z: number): number {
  switch (op) {
    case Op.IAdd:
      return x + y | 0;
    case Op.ISub:
      return x - y | 0;
    case Op.IMul:
      return Math.imul(x, y);
    case Op.UMulHi:
      return highProduct(x, y);
    case Op.And:
    case Op.LAnd:
      return x & y;
    case Op.Or:
    case Op.LOr:
      return x | y;
    case Op.Xor:
    case Op.LXor:
      return x ^ y;
    case Op.Not:
      return ~x;
    case Op.LNot:
      return x ^ 1;
    case Op.Shl:
      return x << y;
    case Op.Shr:
      return x >>> y;
    case Op.Sar:
      return x >> y;
    case Op.UMin:
      return x >>> 0 < y >>> 0 ? x : y;
    case Op.UMax:
      return x >>> 0 > y >>> 0 ? x : y;
    case Op.SMin:
      return Math.min(x, y);
    case Op.SMax:
      return Math.max(x, y);
    case Op.UBfe:
      return z === 0 ? 0 : x << (32 - z - y) >>> (32 - z);
    case Op.SBfe:
      return z === 0 ? 0 : x << (32 - z - y) >> (32 - z);
    case Op.IEq:
      return x === y ? 1 : 0;
    case Op.INe:
      return x !== y ? 1 : 0;
    case Op.ULt:
      return x >>> 0 < y >>> 0 ? 1 : 0;
    case Op.ULe:
      return x >>> 0 <= y >>> 0 ? 1 : 0;
    case Op.SLt:
      return x < y ? 1 : 0;
    case Op.SLe:
      return x <= y ? 1 : 0;
    default:
      throw new Error(`operation ${op} on a tape`);
  }
}

/** High half of an unsigned product. */
function highProduct(x: number, y: number): number {
  const a = x >>> 0, b = y >>> 0;
  const low = (a & 0xffff) * b, high = (a >>> 16) * b;
  return Math.floor((high + Math.floor(low / 0x1_0000)) / 0x1_0000) | 0;
}
