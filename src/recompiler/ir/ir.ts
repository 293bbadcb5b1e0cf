import type { ResourcePlan } from "../resources/plan.ts";
import { Op, OPS, Type } from "./ops.ts";

/**
 * An SSA program: parallel typed arrays, one entry per operation; the index of an operation is the id of its value. Entry 0 is a Nop, so that
 * 0 means "no value".
 *
 * Grammar of the stream (values used must be defined earlier in the stream in an enclosing position, except constants, and operand b of LoopPhi):
 * ```
 * body     := (simple | if | loop)*
 * if       := If body [Else body] EndIf Phi*            (an arm may end with Break or Continue; then there are no Phi)
 * loop     := Loop LoopPhi* body LoopCont ContPhi* EndLoop BreakPhi*
 * ```
 * Break and Continue stand at the end of an arm (or of the loop's body) and mean the innermost loop. A loop has no other exit than Break.
 * `End` is the last operation of the stream and stands nowhere else.
 */
export class Ir {
  /** Number of entries in use. */
  length = 0;
  /** Operation of each entry, see `Op`. */
  op: Uint8Array;
  /** Result type of each entry, see `Type`. */
  type: Uint8Array;
  /** First operand. */
  a: Int32Array;
  /** Second operand. */
  b: Int32Array;
  /** Third operand. */
  c: Int32Array;
  /** Fourth operand. */
  d: Int32Array;
  /** Guest pc (bytes) that each entry comes from. */
  pc: Int32Array;
  /**
   * Accesses that stand for several of the guest's, one for each round of a loop -> the value (U32) that is added to their access word, so that it has the pc of
   * the round's (fault_record.ts). Made by passes/reroll.ts, the last pass: others do not keep it.
   */
  readonly pcAdded = new Map<number, number>();
  /** Variable-length operands (ContPhi, BreakPhi). */
  pool: number[] = [];
  /** What the program wants to have from the host; only a lifted program has it. */
  resources: ResourcePlan | undefined;
  /** pc given to appended entries. */
  currentPc = 0;
  private readonly constants = new Map<number, number>();

  /** @param capacity expected number of entries; the arrays grow by doubling. */
  constructor(capacity = 1024) {
    this.op = new Uint8Array(capacity);
    this.type = new Uint8Array(capacity);
    this.a = new Int32Array(capacity);
    this.b = new Int32Array(capacity);
    this.c = new Int32Array(capacity);
    this.d = new Int32Array(capacity);
    this.pc = new Int32Array(capacity);
    this.append(Op.Nop, Type.Void);
  }

  /** Appends one entry and returns its id. Operands are value ids or immediates as the table says. */
  append(op: number, type: Type, a = 0, b = 0, c = 0, d = 0): number {
    const id = this.length;
    if (id === this.op.length) this.grow();
    this.op[id] = op;
    this.type[id] = type;
    this.a[id] = a;
    this.b[id] = b;
    this.c[id] = c;
    this.d[id] = d;
    this.pc[id] = this.currentPc;
    this.length = id + 1;
    return id;
  }

  /** Appends an operation whose result type the table fixes. */
  emit(op: number, a = 0, b = 0, c = 0, d = 0): number {
    return this.append(op, OPS[op].result as Type, a, b, c, d);
  }

  /** The U32 constant with these 32 bits; equal constants share one entry. */
  constU(bits: number): number {
    return this.constant(Type.U32, bits | 0);
  }

  /** The F32 constant with these 32 bits. */
  constF(bits: number): number {
    return this.constant(Type.F32, bits | 0);
  }

  /** The Bool constant. */
  constB(value: boolean): number {
    return this.constant(Type.Bool, value ? 1 : 0);
  }

  /** The constant that entry `i` of another stream is, of any type. */
  copyConstant(from: Ir, i: number): number {
    switch (from.type[i]) {
      case Type.U32:
      case Type.F32:
      case Type.Bool:
        return this.constant(from.type[i] as Type, from.a[i]);
      default:
        return this.append(Op.Const, from.type[i] as Type, from.a[i], from.b[i]);
    }
  }

  /** Appends `values` to the pool and returns their offset. */
  pooled(values: readonly number[]): number {
    const offset = this.pool.length;
    for (const value of values) this.pool.push(value);
    return offset;
  }

  private constant(type: Type, bits: number): number {
    const key = (bits >>> 0) + type * 0x1_0000_0000;
    let id = this.constants.get(key);
    if (id === undefined) {
      id = this.append(Op.Const, type, bits);
      this.constants.set(key, id);
    }
    return id;
  }

  private grow(): void {
    const size = this.op.length * 2;
    this.op = widen8(this.op, size);
    this.type = widen8(this.type, size);
    this.a = widen32(this.a, size);
    this.b = widen32(this.b, size);
    this.c = widen32(this.c, size);
    this.d = widen32(this.d, size);
    this.pc = widen32(this.pc, size);
  }
}

function widen8(from: Uint8Array, size: number): Uint8Array {
  const to = new Uint8Array(size);
  to.set(from);
  return to;
}

function widen32(from: Int32Array, size: number): Int32Array {
  const to = new Int32Array(size);
  to.set(from);
  return to;
}
