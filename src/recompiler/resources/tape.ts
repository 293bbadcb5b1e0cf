import type { Ir } from "../ir/ir.ts";
import { InputKind, MemoryWidth, Op, OPS, Type } from "../ir/ops.ts";

/**
 * The scalar slice of a program: what it computes from user data, constants and read-only memory alone, as a list of operations that the host goes
 * through before each dispatch. Nodes are numbered in the order of evaluation; operands are nodes, or immediate numbers as `OPS` says.
 */
export interface Tape {
  /** Number of nodes. */
  readonly length: number;
  /** Operation of each node: `Const` (a, b: the bits), `Input` (a: user data register), `Load` (a: address, b: active, c: dwords), or one of {@linkcode TAPE_OPS}. */
  readonly op: Uint8Array;
  readonly a: Int32Array;
  readonly b: Int32Array;
  readonly c: Int32Array;
  readonly d: Int32Array;
}

/** Operations beside constants, user data and loads that a tape may hold. */
const TAPE_OPS: ReadonlySet<number> = new Set([
  ...[Op.IAdd, Op.ISub, Op.IMul, Op.UMulHi, Op.And, Op.Or, Op.Xor, Op.Not, Op.Shl, Op.Shr, Op.Sar],
  ...[Op.UMin, Op.UMax, Op.SMin, Op.SMax, Op.UBfe, Op.SBfe],
  ...[Op.IEq, Op.INe, Op.ULt, Op.ULe, Op.SLt, Op.SLe, Op.LAnd, Op.LOr, Op.LXor, Op.LNot, Op.Select],
  ...[Op.Pack64, Op.Lo64, Op.Hi64, Op.IAdd64, Op.ISub64, Op.UMulWide, Op.Vec, Op.Extract],
]);

const IS_TAPE_OP = Uint8Array.from(OPS, (_, op) => TAPE_OPS.has(op) ? 1 : 0);
/** Bit k: operand k is a value. */
const VALUES = Uint8Array.from(OPS, ({ operands }) => {
  let bits = 0;
  for (let k = 0; k < 4; k++) if (operands[k] === "v") bits |= 1 << k;
  return bits;
});
/** Longest chain of operations that is taken out of a program. */
const MOST_DEPTH = 200;
/** {@linkcode TapeBuilder} depth of what the host cannot compute. */
const UNKNOWN = 255;

/** Builds the tape of a program while it is lifted. */
export class TapeBuilder {
  /** Of each IR value: how long its chain is, or UNKNOWN. */
  private depth = new Uint8Array(1024);
  private scanned = 0;
  /** Node of each IR value that is on the tape, plus 1. */
  private readonly nodes = new Map<number, number>();
  private readonly known = new Map<string, number>();
  private readonly op: number[] = [];
  private readonly columns: [number[], number[], number[], number[]] = [[], [], [], []];
  /** Values that stand for a node: inputs that `resolve` made. */
  private readonly inputs = new Map<number, number>();

  constructor(private readonly ir: Ir) {}

  /** Whether the host can compute a value before the dispatch. */
  isKnown(id: number): boolean {
    this.scan();
    return this.depth[id] !== UNKNOWN;
  }

  /** Says that the Input operation `id` is a value of the tape. */
  declare(id: number, node: number): void {
    this.scan();
    this.inputs.set(id, node);
    this.depth[id] = 0;
  }

  /** Node of a value that {@linkcode isKnown}. */
  node(id: number): number {
    const known = this.inputs.get(id) ?? this.nodes.get(id);
    if (known !== undefined) return known;
    const { ir } = this;
    const op = ir.op[id];
    let node: number;
    if (op === Op.Const) node = this.append(op, ir.a[id], ir.b[id]);
    else if (op === Op.Input) node = this.append(op, ir.b[id]);
    else if (op === Op.Load) {
      node = this.append(op, this.node(ir.a[id]), this.node(ir.b[id]), (ir.c[id] & MemoryWidth.BytesMask) / 4);
    } else {
      const values = VALUES[op];
      const operand = (k: number, column: number) =>
        (values >> k & 1) !== 0 && column !== 0 ? this.node(column) : column;
      const [a, b, c, d] = [operand(0, ir.a[id]), operand(1, ir.b[id]), operand(2, ir.c[id]), operand(3, ir.d[id])];
      node = this.append(op, a, b, c, d);
    }
    this.nodes.set(id, node);
    return node;
  }

  /** The tape so far. */
  finish(): Tape {
    const [a, b, c, d] = this.columns.map((column) => Int32Array.from(column));
    return { length: this.op.length, op: Uint8Array.from(this.op), a, b, c, d };
  }

  private append(op: number, a = 0, b = 0, c = 0, d = 0): number {
    // Programs load the same descriptors again and again.
    const key = `${op},${a},${b},${c},${d}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    [a, b, c, d].forEach((value, k) => this.columns[k].push(value));
    const node = this.op.push(op) - 1;
    this.known.set(key, node);
    return node;
  }

  /** Finds out about the values that have been added to the program. Operands of all but phis come first. */
  private scan(): void {
    const { ir } = this;
    if (this.depth.length < ir.length) {
      const wider = new Uint8Array(Math.max(ir.length, this.depth.length * 2));
      wider.set(this.depth);
      this.depth = wider;
    }
    for (; this.scanned < ir.length; this.scanned++) this.depth[this.scanned] = this.classify(this.scanned);
  }

  private classify(id: number): number {
    const { ir, depth } = this;
    const op = ir.op[id];
    if (op === Op.Const) return ir.type[id] === Type.F64 ? UNKNOWN : 0;
    if (op === Op.Input) return ir.a[id] === InputKind.UserData ? 0 : UNKNOWN;
    if (op === Op.Load) {
      const width = ir.c[id];
      if ((width & ~MemoryWidth.BytesMask) !== 0 || width < 4 || ir.type[ir.a[id]] !== Type.U64) return UNKNOWN;
    } else if (IS_TAPE_OP[op] === 0 || ir.type[id] === Type.F32) return UNKNOWN;
    const values = VALUES[op];
    let most = 0;
    if (values & 1) most = depth[ir.a[id]];
    if ((values & 2) !== 0 && ir.b[id] !== 0) most = Math.max(most, depth[ir.b[id]]);
    if ((values & 4) !== 0 && ir.c[id] !== 0) most = Math.max(most, depth[ir.c[id]]);
    if ((values & 8) !== 0 && ir.d[id] !== 0) most = Math.max(most, depth[ir.d[id]]);
    return most >= MOST_DEPTH ? UNKNOWN : most + 1;
  }
}
