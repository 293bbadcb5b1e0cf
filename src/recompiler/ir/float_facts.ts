import type { Ir } from "./ir.ts";
import { Op, Type } from "./ops.ts";

/** Bits of what is known of a float value. */
const NEVER_DENORMAL = 1, NEVER_SIGNALLING = 2;
const UNKNOWN_GRID = -149;
/** Rounds of `FloatFacts.ofProgram` at most, and from which on grids that still change are given up. */
const MAX_ROUNDS = 16, SLOW_ROUND = 5;

/** What is taken to be true of a loop phi. */
interface Assumption {
  readonly flags: number;
  readonly grid: number;
}

/** Grids above this say no more. */
const MAX_GRID = 127;

/**
 * What can be proven of F32 values by looking at how they are made: whether a value may be denormal (where MODE flushes and the device does
 * not, those and only those need a FlushDenorm), and whether it may be a signalling NaN (IEEE mode treats those apart).
 *
 * The means is the value's _grid_: the largest known g such that every finite value it can take is a multiple of 2^g. Sums keep the smaller grid,
 * products add grids, rounding to f32 never leaves a grid, and with g >= -126 no value but zero is below the smallest normal number.
 */
export class FloatFacts {
  private flags: Uint8Array;
  private grids: Int16Array;
  private known: number;

  constructor(private readonly ir: Ir, private readonly assumed?: ReadonlyMap<number, Assumption>) {
    this.flags = new Uint8Array(ir.op.length);
    this.grids = new Int16Array(ir.op.length);
    this.known = 0;
    // In a finished program constants may stand behind their use.
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Const && ir.type[i] === Type.F32) this.examine(i);
  }

  /**
   * What is known of a finished program, loop phis included: they are taken to be anything one can wish, then what their inputs are with that, and so
   * on until nothing changes. Each round may find contradictions that the last one caused.
   */
  static ofProgram(ir: Ir): FloatFacts {
    const phis: number[] = [];
    for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.LoopPhi && ir.type[i] === Type.F32) phis.push(i);
    let assumed = new Map<number, Assumption>(phis.map((phi) => [phi, { flags: NEVER_DENORMAL, grid: MAX_GRID }]));
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const facts = new FloatFacts(ir, assumed);
      facts.update(ir.length - 1);
      const found = new Map<number, Assumption>();
      let changed = false;
      for (const phi of phis) {
        const before = assumed.get(phi)!, a = ir.a[phi], b = ir.b[phi];
        const normal = !facts.mayBeDenormal(a) && !facts.mayBeDenormal(b);
        const flags = normal ? before.flags : 0;
        let grid = Math.min(before.grid, facts.grids[a], facts.grids[b]);
        if (flags !== before.flags || grid !== before.grid) {
          changed = true;
          // A grid that becomes finer round by round would go on doing so.
          if (round >= SLOW_ROUND && grid !== before.grid) grid = UNKNOWN_GRID;
        }
        found.set(phi, { flags, grid });
      }
      if (!changed) return facts;
      assumed = found;
    }
    return new FloatFacts(ir);
  }

  /** Whether the F32 value can be denormal. */
  mayBeDenormal(id: number): boolean {
    this.update(id);
    return (this.flags[id] & NEVER_DENORMAL) === 0 && this.grids[id] < -126;
  }

  /** Whether the F32 value can be a signalling NaN. */
  mayBeSignalling(id: number): boolean {
    this.update(id);
    return (this.flags[id] & NEVER_SIGNALLING) === 0;
  }

  /** Says that an F32 value (a loop phi, whose later input is not known yet) is never denormal. */
  declareNeverDenormal(id: number): void {
    this.update(id);
    this.flags[id] |= NEVER_DENORMAL;
  }

  /** Values are looked at in stream order, so operands are known before their users (loop phis: nothing is assumed). */
  private update(upTo: number): void {
    if (upTo < this.known) return;
    if (this.flags.length < this.ir.op.length) {
      this.flags = grow(this.flags, new Uint8Array(this.ir.op.length));
      this.grids = grow(this.grids, new Int16Array(this.ir.op.length));
    }
    for (let id = this.known; id <= upTo; id++) {
      if (this.ir.type[id] === Type.F32) this.examine(id);
      else {
        this.flags[id] = 0;
        this.grids[id] = UNKNOWN_GRID;
      }
    }
    this.known = upTo + 1;
  }

  /**
   * The F32 loop phis of a whole program that are never denormal.
   * @returns one byte per operation
   */
  static normalLoopPhis(ir: Ir): Uint8Array {
    const normal = new Uint8Array(ir.length);
    const facts = FloatFacts.ofProgram(ir);
    for (let i = 0; i < ir.length; i++) {
      if (ir.op[i] === Op.LoopPhi && ir.type[i] === Type.F32 && !facts.mayBeDenormal(i)) normal[i] = 1;
    }
    return normal;
  }

  /** Whether the value is a constant of at least 2^exponent in size. */
  private isConstantFrom(id: number, exponent: number): boolean {
    return this.constantExponent(id) >= exponent;
  }

  /** e of a constant whose size is 2^e or more and below 2^(e + 1); a very small number for others, zeros and denormals. */
  private constantExponent(id: number): number {
    const field = (this.ir.a[id] >>> 23) & 0xff;
    return this.ir.op[id] === Op.Const && field > 0 ? field - 127 : -1000;
  }

  private examine(id: number): void {
    const { ir, grids, flags } = this;
    const a = ir.a[id], b = ir.b[id], c = ir.c[id];
    let flag = NEVER_SIGNALLING;
    let grid = UNKNOWN_GRID;
    switch (ir.op[id]) {
      case Op.Const:
        grid = constantGrid(a);
        flag = (isDenormal(a) ? 0 : NEVER_DENORMAL) | (isSignalling(a) ? 0 : NEVER_SIGNALLING);
        break;
      case Op.FAdd:
      case Op.FSub:
        // A sum with a constant c is half of c or more, or the other operand was so near -c that both are multiples of that half's last place.
        grid = Math.max(
          Math.min(grids[a], grids[b]),
          Math.max(this.constantExponent(a), this.constantExponent(b)) - 24,
        );
        // Twice a normal number is normal.
        if (a === b) flag |= flags[a] & NEVER_DENORMAL;
        break;
      case Op.FMul:
        grid = grids[a] + grids[b];
        // A normal number times 1 or more stays normal.
        if (this.isConstantFrom(a, 0)) flag |= flags[b] & NEVER_DENORMAL;
        else if (this.isConstantFrom(b, 0)) flag |= flags[a] & NEVER_DENORMAL;
        break;
      case Op.FFma:
        // As for sums; a product has 48 places.
        grid = Math.max(Math.min(grids[a] + grids[b], grids[c]), this.constantExponent(c) - 48);
        break;
      case Op.FMin:
      case Op.FMax:
        grid = Math.min(grids[a], grids[b]);
        flag = flags[a] & flags[b];
        break;
      case Op.FNeg:
      case Op.FAbs:
        grid = grids[a];
        flag = flags[a];
        break;
      case Op.Select:
        grid = Math.min(grids[b], grids[c]);
        flag = flags[b] & flags[c];
        break;
      case Op.Phi:
        grid = Math.min(grids[a], grids[b]);
        flag = flags[a] & flags[b];
        break;
      case Op.LoopPhi: {
        const assumption = this.assumed?.get(id);
        flag = assumption?.flags ?? 0;
        grid = assumption?.grid ?? UNKNOWN_GRID;
        break;
      }
      case Op.ContPhi:
      case Op.BreakPhi:
        grid = MAX_GRID;
        flag = NEVER_DENORMAL | NEVER_SIGNALLING;
        for (let k = 0; k < b; k++) {
          const input = ir.pool[a + k];
          grid = Math.min(grid, grids[input]);
          flag &= flags[input];
        }
        break;
      case Op.FlushDenorm:
        grid = grids[a];
        flag = flags[a] | NEVER_DENORMAL;
        break;
      case Op.FFloor:
      case Op.FCeil:
      case Op.FTrunc:
      case Op.FRndne:
      case Op.CvtU2F:
      case Op.CvtS2F:
        grid = 0;
        break;
      case Op.CvtH2F:
        grid = -24;
        break;
      case Op.FSin:
      case Op.FCos:
      case Op.FRcp:
      case Op.FExp2:
        break;
      // Between roots of the smallest and the largest number; logarithms of numbers next to 1 are 2^-24 from 0.
      case Op.FRsq:
      case Op.FSqrt:
      case Op.FLog2:
        flag |= NEVER_DENORMAL;
        break;
      default:
        flag = 0;
    }
    grids[id] = Math.max(UNKNOWN_GRID, Math.min(MAX_GRID, grid));
    flags[id] = flag;
  }
}

/** Whether f32 bits are a denormal number. */
export function isDenormal(bits: number): boolean {
  return (bits & 0x7f800000) === 0 && (bits & 0x7fffff) !== 0;
}

/** Whether f32 bits are a signalling NaN. */
export function isSignalling(bits: number): boolean {
  return (bits & 0x7f800000) === 0x7f800000 && (bits & 0x7fffff) !== 0 && (bits & 0x400000) === 0;
}

function constantGrid(bits: number): number {
  const exponent = (bits >>> 23) & 0xff;
  const mantissa = bits & 0x7fffff;
  if (exponent === 0xff || (bits & 0x7fffffff) === 0) return MAX_GRID;
  const integer = exponent === 0 ? mantissa : mantissa | 0x800000;
  const trailing = 31 - Math.clz32(integer & -integer);
  return Math.max(exponent, 1) - 150 + trailing;
}

function grow<T extends Uint8Array | Int16Array>(from: T, to: T): T {
  to.set(from as never);
  return to;
}
