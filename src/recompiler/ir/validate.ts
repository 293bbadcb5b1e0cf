import { dumpIr } from "./dump.ts";
import { bufferOf } from "../resources/plan.ts";
import type { Ir } from "./ir.ts";
import { AtomicKind, hasTwoOperands, IfKind, MemoryWidth, Op, OPS, Type, TYPE_NAMES } from "./ops.ts";

/**
 * Checks that a program obeys the rules of ir.ts: grammar, every value defined before and around its use, operand and result types, numbers of phi
 * operands. Meant for tests and debugging.
 *
 * @throws Error that names the first broken rule and the operation
 */
export function validateIr(ir: Ir): void {
  new Validator(ir).run();
}

/** `validateIr`, with the whole text of the program in the error. */
export function validateIrVerbosely(ir: Ir): void {
  try {
    validateIr(ir);
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${dumpIr(ir)}`);
  }
}

/** Types of value operands by operation: one letter each: b Bool, u U32, f F32, l U64, d F64, a an address or the offset in a buffer, n F32 or F64, * any, v V2..V4. */
const OPERAND_TYPES: Readonly<Record<string, string>> = {};
function operands(types: string, names: string): void {
  for (const name of names.split(" ")) (OPERAND_TYPES as Record<string, string>)[name] = types;
}
operands("uu", "IAdd ISub IMul UMulHi SMulHi And Or Xor Shl Shr Sar UMin UMax SMin SMax IEq INe ULt ULe SLt SLe");
operands("u", "Not BitCount BitReverse FindLsb FindUMsb FindSMsb BitcastF CvtU2F CvtS2F CvtH2F");
operands("uuu", "UBfe SBfe");
operands("nn", "FOrdEq FOrdNe FOrdLt FOrdLe FUnordEq FUnordNe FUnordLt FUnordLe");
operands("n", "FIsNan");
operands("ll", "Ieq64 Ult64 Slt64 IAdd64 ISub64 IMul64");
operands("bb", "LAnd LOr LXor");
operands("b", "LNot Any BallotLo BallotHi If");
operands("b**", "Select");
operands(
  "f",
  "BitcastU FNeg FAbs FFloor FCeil FTrunc FRndne FRcp FRsq FSqrt FExp2 FLog2 FSin FCos FlushDenorm CvtF2U CvtF2S CvtF2H CvtF2HRtz",
);
operands("ff", "FAdd FSub FMul FMin FMax");
operands("fff", "FFma");
operands("uu", "Pack64 UMulWide SMulWide ReadLane Shuffle");
operands("ub", "ReadFirstLane LdsLoad");
operands("b", "QuadAny Valid");
operands("u", "QuadShuffle Parameter");
operands("fu", "InterpolateP1");
operands("ffu", "Interpolate");
operands("vb", "Export");
operands("u", "GsAllocate");
operands("ub", "GsPrimitive");
operands("l", "Lo64 Hi64 BitcastF64");
operands("d", "BitcastU64");
operands("lu", "Shl64 Shr64 Sar64");
operands("ff", "FAddOdd");
operands("fff", "FFmaOdd");
operands("fffu", "FFmaScaled");
operands("uu", "HAdd HMul BitInsert");
operands("uuu", "HFma DotParts");
operands("dd", "FAdd64 FMul64 FMin64 FMax64");
operands("ddd", "FFma64");
operands("dddu", "FFmaScaled64");
operands("d", "FNeg64 FAbs64 FFloor64 FCeil64 FTrunc64 FRndne64 FRcp64 FRsq64 FSqrt64 CvtD2F CvtD2U CvtD2S");
operands("f", "CvtF2D");
operands("u", "CvtU2D CvtS2D");
operands("v", "Extract");
operands("ab", "Load");
operands("ab*", "Store Atomic");
operands("ub*", "LdsStore LdsAtomic");

const ACCEPTS: Readonly<Record<string, (type: number) => boolean>> = {
  b: (t) => t === Type.Bool,
  u: (t) => t === Type.U32,
  f: (t) => t === Type.F32,
  l: (t) => t === Type.U64,
  d: (t) => t === Type.F64,
  n: (t) => t === Type.F32 || t === Type.F64,
  v: (t) => t >= Type.V2,
  a: (t) => t === Type.U64 || t === Type.U32 || t === Type.V2,
  "*": (t) => t !== Type.Void,
};

interface Construct {
  readonly start: number;
  /** Scope of the open arm or body. */
  scope: number;
  thenScope: number;
  thenEnds: boolean;
  hasElse: boolean;
  /** Loops: the scopes that were open at each edge, innermost last, and the edge's position. */
  readonly continues: Edge[];
  readonly breaks: Edge[];
}

interface Edge {
  readonly at: number;
  readonly scopes: ReadonlySet<number>;
}

class Validator {
  /** Scope in which each value was defined. */
  private readonly scopeOf: Int32Array;
  /** Open scopes. */
  private readonly open = new Set<number>([0]);
  private nextScope = 1;
  private readonly constructs: Construct[] = [];
  /** What was just closed or opened, for phis: its kind and construct. */
  private phiPlace: { op: number; construct: Construct } | null = null;
  /** Whether the current position follows a Break or Continue. */
  private ended = false;
  private readonly contScopes = new Map<number, number>();

  constructor(private readonly ir: Ir) {
    this.scopeOf = new Int32Array(ir.length);
  }

  run(): void {
    const { ir } = this;
    if (ir.length === 0 || ir.op[0] !== Op.Nop) this.fail(0, "entry 0 must be a Nop");
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] >= OPS.length) this.fail(i, `unknown operation ${ir.op[i]}`);
      if (ir.op[i] === Op.Const) this.constant(i);
      else if (ir.op[i] !== Op.Nop) this.operation(i);
    }
    if (ir.op[ir.length - 1] !== Op.End) this.fail(ir.length - 1, "the last operation must be End");
  }

  private constant(i: number): void {
    const type = this.ir.type[i];
    if (type === Type.Void || type >= Type.V2) this.fail(i, "constant of this type");
    if (type === Type.Bool && this.ir.a[i] >>> 1 !== 0) this.fail(i, "Bool constant that is neither 0 nor 1");
    this.scopeOf[i] = 0;
  }

  private operation(i: number): void {
    const { ir } = this;
    const op = ir.op[i];
    const row = OPS[op];
    if (this.ended && op !== Op.Else && op !== Op.EndIf && op !== Op.LoopCont) {
      this.fail(i, "follows a Break or Continue in its arm");
    }
    if (row.result !== "-" && ir.type[i] !== row.result && !this.isWideAtomic(i)) this.fail(i, "wrong result type");
    if (row.result === "-" && ir.type[i] === Type.Void) this.fail(i, "no result type");
    this.scopeOf[i] = this.constructs.at(-1)?.scope ?? 0;
    if (op === Op.Phi || op === Op.LoopPhi || op === Op.ContPhi || op === Op.BreakPhi) return this.phi(i);
    this.phiPlace = null;
    this.operandTypes(i);
    if (row.structure) this.structure(i);
    else if (op === Op.End) this.fail(i, "End is structure");
    if (this.insideContinue() && op !== Op.EndLoop && op !== Op.LoopCont) {
      this.fail(i, "stands between LoopCont and EndLoop");
    }
  }

  private insideContinue(): boolean {
    const top = this.constructs.at(-1);
    return top !== undefined && this.contScopes.has(top.start);
  }

  private isWideAtomic(i: number): boolean {
    const { ir } = this;
    return (ir.op[i] === Op.Atomic || ir.op[i] === Op.LdsAtomic) && (ir.d[i] & AtomicKind.Wide) !== 0 &&
      ir.type[i] === Type.V2;
  }

  private structure(i: number): void {
    const { ir } = this;
    switch (ir.op[i]) {
      case Op.If:
        if (ir.b[i] > IfKind.Guard || ir.b[i] < 0) this.fail(i, "unknown IfKind");
        this.push(i);
        break;
      case Op.Else: {
        const top = this.top(i, Op.If);
        if (top.hasElse) this.fail(i, "second Else");
        top.hasElse = true;
        top.thenScope = top.scope;
        top.thenEnds = this.ended;
        this.open.delete(top.scope);
        top.scope = this.openScope();
        this.ended = false;
        break;
      }
      case Op.EndIf: {
        const top = this.top(i, Op.If);
        this.constructs.pop();
        this.open.delete(top.scope);
        const elseEnds = top.hasElse && this.ended;
        if (!top.hasElse) {
          top.thenScope = top.scope;
          top.thenEnds = this.ended;
        }
        this.ended = top.thenEnds && elseEnds;
        if (!top.thenEnds && !elseEnds) this.phiPlace = { op: Op.Phi, construct: top };
        break;
      }
      case Op.Loop:
        this.push(i);
        this.phiPlace = { op: Op.LoopPhi, construct: this.constructs.at(-1)! };
        break;
      case Op.Break:
      case Op.Continue: {
        const loop = this.constructs.findLast((c) => ir.op[c.start] === Op.Loop);
        if (loop === undefined) return this.fail(i, "outside a loop");
        (ir.op[i] === Op.Break ? loop.breaks : loop.continues).push({ at: i, scopes: new Set(this.open) });
        this.ended = true;
        break;
      }
      case Op.LoopCont: {
        const top = this.top(i, Op.Loop);
        if (this.contScopes.has(top.start)) this.fail(i, "second LoopCont");
        if (!this.ended) top.continues.push({ at: i, scopes: new Set(this.open) });
        this.ended = false;
        this.contScopes.set(top.start, top.scope);
        this.phiPlace = { op: Op.ContPhi, construct: top };
        break;
      }
      case Op.EndLoop: {
        const top = this.top(i, Op.Loop);
        if (!this.contScopes.delete(top.start)) this.fail(i, "no LoopCont");
        this.loopPhiInputs(top, i);
        this.constructs.pop();
        this.open.delete(top.scope);
        this.phiPlace = { op: Op.BreakPhi, construct: top };
        this.ended = false;
        break;
      }
      case Op.End:
        if (i !== this.lastOperation()) this.fail(i, "not the last operation");
        if (this.constructs.length !== 0) {
          this.fail(i, `inside the construct that starts at ${this.constructs.at(-1)!.start}`);
        }
        break;
    }
  }

  private lastOperation(): number {
    let last = this.ir.length - 1;
    while (last > 0 && this.ir.op[last] === Op.Const) last--;
    return last;
  }

  private push(start: number): void {
    const scope = this.openScope();
    this.constructs.push({ start, scope, thenScope: -1, thenEnds: false, hasElse: false, continues: [], breaks: [] });
  }

  private openScope(): number {
    const scope = this.nextScope++;
    this.open.add(scope);
    return scope;
  }

  private top(i: number, op: number): Construct {
    const top = this.constructs.at(-1);
    if (top === undefined || this.ir.op[top.start] !== op) return this.fail(i, "control structure does not nest");
    return top;
  }

  private phi(i: number): void {
    const { ir } = this;
    const place = this.phiPlace;
    if (place === null || place.op !== ir.op[i]) return this.fail(i, "phi in a wrong place");
    const { construct } = place;
    switch (ir.op[i]) {
      case Op.Phi: {
        const arm = (scope: number): Edge => ({ at: i, scopes: new Set([...this.open, scope]) });
        this.phiOperand(i, ir.a[i], arm(construct.thenScope));
        this.phiOperand(i, ir.b[i], arm(construct.hasElse ? construct.scope : 0));
        break;
      }
      case Op.LoopPhi: {
        const outside = new Set(this.open);
        outside.delete(construct.scope);
        this.phiOperand(i, ir.a[i], { at: construct.start, scopes: outside });
        break;
      }
      case Op.ContPhi:
        this.edges(i, construct.continues);
        break;
      case Op.BreakPhi:
        this.edges(i, construct.breaks);
        break;
    }
  }

  private edges(i: number, edges: readonly Edge[]): void {
    const { ir } = this;
    const values = ir.pool.slice(ir.a[i], ir.a[i] + ir.b[i]);
    if (values.length !== edges.length) this.fail(i, `${values.length} operands for ${edges.length} edges`);
    edges.forEach((edge, k) => this.phiOperand(i, values[k], edge));
  }

  private loopPhiInputs(loop: Construct, end: number): void {
    const { ir } = this;
    const here: Edge = { at: end, scopes: new Set(this.open) };
    for (let i = loop.start + 1; i < end; i++) {
      if (ir.op[i] === Op.Const) continue;
      if (ir.op[i] !== Op.LoopPhi) break;
      this.phiOperand(i, ir.b[i], here);
    }
  }

  private phiOperand(i: number, id: number, edge: Edge): void {
    this.checkId(i, id);
    if (this.ir.type[id] !== this.ir.type[i]) this.fail(i, `operand %${id} has another type than the phi`);
    if (this.ir.op[id] === Op.Const) return;
    if (id >= edge.at || !edge.scopes.has(this.scopeOf[id])) {
      this.fail(i, `operand %${id} is not available at its edge`);
    }
  }

  private operandTypes(i: number): void {
    const { ir } = this;
    const op = ir.op[i];
    const name = OPS[op].name;
    const columns = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
    const types = op === Op.Vec ? "uuuu".slice(0, ir.type[i] - Type.V2 + 2) : OPERAND_TYPES[name] ?? "";
    const kinds = OPS[op].operands;
    for (let k = 0; k < kinds.length; k++) {
      if (kinds[k] !== "v" || k >= types.length) continue;
      this.value(i, columns[k]);
      if (!ACCEPTS[types[k]](ir.type[columns[k]])) {
        this.fail(i, `operand ${k} (%${columns[k]}) is ${TYPE_NAMES[ir.type[columns[k]]]}`);
      }
    }
    this.special(i, columns);
  }

  private special(i: number, [a, b, c, d]: number[]): void {
    const { ir } = this;
    switch (ir.op[i]) {
      case Op.Load:
        this.place(i, c);
        break;
      case Op.Store:
      case Op.Atomic:
        this.place(i, d);
    }
    switch (ir.op[i]) {
      case Op.Select:
        if (ir.type[b] !== ir.type[i] || ir.type[c] !== ir.type[i]) {
          this.fail(i, "the choices' types differ from the result's");
        }
        break;
      case Op.Extract:
        if (b < 0 || b > ir.type[a] - Type.V2 + 1) this.fail(i, `component ${b} of a ${TYPE_NAMES[ir.type[a]]}`);
        break;
      case Op.Load:
      case Op.LdsLoad:
        this.width(i, c, ir.type[i]);
        break;
      case Op.Store:
      case Op.LdsStore:
        this.width(i, d, ir.type[c]);
        break;
      case Op.Atomic:
      case Op.LdsAtomic: {
        const dwords = ((d & AtomicKind.Wide) !== 0 ? 2 : 1) * (hasTwoOperands(d) ? 2 : 1);
        if (ir.type[c] !== [0, Type.U32, Type.V2, 0, Type.V4][dwords]) this.fail(i, "data of the wrong type");
        break;
      }
    }
    if (OPS[ir.op[i]].name.startsWith("FOrd") || OPS[ir.op[i]].name.startsWith("FUnord")) {
      if (ir.type[a] !== ir.type[b]) this.fail(i, "operands of different types");
    }
  }

  /** Offsets go with buffers, addresses do not. */
  private place(i: number, immediate: number): void {
    const isAddress = this.ir.type[this.ir.a[i]] === Type.U64;
    if (isAddress !== (bufferOf(immediate) < 0)) this.fail(i, "an address in a buffer, or an offset without one");
  }

  private width(i: number, width: number, type: number): void {
    const bytes = width & MemoryWidth.BytesMask;
    const expected =
      ({ 1: Type.U32, 2: Type.U32, 4: Type.U32, 8: Type.V2, 12: Type.V3, 16: Type.V4 } as Record<number, number>)[
        bytes
      ];
    if (expected === undefined || expected !== type) this.fail(i, `${bytes} bytes do not fit a ${TYPE_NAMES[type]}`);
  }

  private value(i: number, id: number): void {
    this.checkId(i, id);
    if (this.ir.op[id] === Op.Const) return;
    if (id >= i) this.fail(i, `operand %${id} is defined later`);
    if (!this.open.has(this.scopeOf[id])) this.fail(i, `operand %${id} is not available here`);
  }

  private checkId(i: number, id: number): void {
    if (id <= 0 || id >= this.ir.length) this.fail(i, `operand ${id} is no value`);
    if (this.ir.type[id] === Type.Void) this.fail(i, `operand %${id} has no result`);
  }

  private fail(i: number, why: string): never {
    const { ir } = this;
    throw new Error(`IR operation ${i} (${OPS[ir.op[i]]?.name}, pc 0x${ir.pc[i].toString(16)}): ${why}`);
  }
}
