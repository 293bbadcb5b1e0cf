import type { Ir } from "../ir/ir.ts";
import { AtomicKind, InputKind, MemoryWidth, Op, Type } from "../ir/ops.ts";
import { bufferOf, type ResourcePlan } from "../resources/plan.ts";
import type { Tape } from "../resources/tape.ts";
import { VALUE_OPERANDS } from "../spirv/usage.ts";

/** Where an access to guest memory goes, as far as it is known. */
export interface Place {
  /** What the address is made of: user data and loaded pointers, or the descriptor's base. Empty: not known. */
  readonly roots: readonly string[];
  /** The address without constants that are added to it: equal numbers are equal addresses at one time. */
  readonly base: number;
  /** The first byte behind {@linkcode base}. */
  readonly first: number;
  /** Bytes. */
  readonly bytes: number;
  /** Bytes by which `base` grows from lane to lane of the workgroup, whatever else changes it; 0: not known. */
  readonly stride: number;
}

/** Finds out where accesses to guest memory go. */
export class MemoryPlaces {
  readonly #numbers = new Map<string, number>();
  readonly #numberOf = new Map<number, number>();
  readonly #tapeRoots: (node: number, into: Set<string>) => void;

  constructor(private readonly ir: Ir, private readonly plan: ResourcePlan | undefined) {
    this.#tapeRoots = tapeRoots(plan?.tape());
  }

  /** The place of a Load, Store or Atomic; undefined for private memory, in which each lane has its own. */
  placeOf(i: number): Place | undefined {
    const { ir } = this;
    const address = ir.a[i], immediate = ir.op[i] === Op.Load ? ir.c[i] : ir.d[i], buffer = bufferOf(immediate);
    const roots = new Set<string>();
    if (buffer >= 0) {
      this.#tapeRoots(this.plan!.buffers[buffer].words[1], roots);
      if (roots.size === 0) roots.add(CONSTANT);
    } else if (this.#roots(address, roots)) return undefined;
    const { base, constant, stride } = this.#shape(address, ir.b[i]);
    const bytes = ir.op[i] === Op.Atomic
      ? (immediate & AtomicKind.Wide) !== 0 ? 8 : 4
      : immediate & MemoryWidth.BytesMask;
    return { roots: [...roots].sort(), base, first: constant, bytes, stride };
  }

  /** Collects what the upper half of an address is made of. @returns whether it is one of private memory */
  #roots(address: number, into: Set<string>): boolean {
    const { ir } = this;
    const seen = new Set<number>(), work = [address];
    let constant = false;
    while (work.length > 0) {
      const i = work.pop()!;
      if (i === 0 || seen.has(i)) continue;
      seen.add(i);
      const op = ir.op[i];
      switch (op) {
        case Op.Const:
          constant ||= ir.type[i] === Type.U64;
          continue;
        case Op.Input:
          if (ir.a[i] === InputKind.ScratchOffset) return true;
          if (ir.a[i] === InputKind.UserData) into.add(`u${ir.b[i]}`);
          else if (ir.a[i] === InputKind.Resolved) this.#tapeRoots(this.plan!.values[ir.b[i]], into);
          continue;
        case Op.Extract:
          if (ir.op[ir.a[i]] === Op.Load) into.add(`l${this.#number(i)}`);
          else work.push(ir.a[i]);
          continue;
        case Op.Load:
        case Op.LdsLoad:
        case Op.Atomic:
        case Op.LdsAtomic:
          into.add(`l${this.#number(i)}`);
          continue;
        case Op.Pack64:
          // An offset has nothing in its upper half. The lower half tells private memory.
          if (ir.op[ir.b[i]] !== Op.Const) work.push(ir.b[i]);
          if (this.#hasScratchOffset(ir.a[i])) return true;
          continue;
        case Op.Select:
          work.push(ir.b[i], ir.c[i]);
          continue;
        case Op.Shl64:
          if (ir.op[ir.b[i]] === Op.Const && ir.a[ir.b[i]] < 8) continue; // an index
          work.push(ir.a[i]);
          if (ir.op[ir.a[i]] === Op.Pack64) work.push(ir.a[ir.a[i]]);
          continue;
        case Op.Sar:
        case Op.IMul:
        case Op.IMul64:
        case Op.UMulHi:
        case Op.SMulHi:
        case Op.UMulWide:
        case Op.SMulWide:
          continue; // of offsets
        case Op.Shl:
        case Op.Shr:
        case Op.UBfe:
        case Op.SBfe:
        case Op.ReadLane:
        case Op.ReadFirstLane:
        case Op.Shuffle:
          work.push(ir.a[i]);
          continue;
        case Op.ContPhi:
        case Op.BreakPhi:
          for (let k = 0; k < ir.b[i]; k++) work.push(ir.pool[ir.a[i] + k]);
          continue;
      }
      if (ir.type[i] === Type.Bool) continue;
      const operands = VALUE_OPERANDS[op];
      if (operands & 1) work.push(ir.a[i]);
      if (operands & 2) work.push(ir.b[i]);
      if (operands & 4) work.push(ir.c[i]);
      if (operands & 8) work.push(ir.d[i]);
    }
    if (into.size === 0 && constant) into.add(CONSTANT);
    return false;
  }

  readonly #scratch = new Map<number, boolean>();

  /** Whether the wave's place in scratch memory is added to a number. */
  #hasScratchOffset(value: number): boolean {
    const { ir } = this;
    const known = this.#scratch.get(value);
    if (known !== undefined) return known;
    const seen = new Set<number>(), work = [value];
    let found = false;
    while (work.length > 0 && !found) {
      const i = work.pop()!;
      if (i === 0 || seen.has(i)) continue;
      seen.add(i);
      switch (ir.op[i]) {
        case Op.Input:
          found = ir.a[i] === InputKind.ScratchOffset;
          break;
        case Op.IAdd:
        case Op.Phi:
        case Op.LoopPhi:
          work.push(ir.a[i], ir.b[i]);
          break;
        case Op.Select:
          work.push(ir.b[i], ir.c[i]);
          break;
        case Op.And:
        case Op.Lo64:
          work.push(ir.a[i]);
          break;
        case Op.IAdd64:
          work.push(ir.a[i], ir.b[i]);
          break;
        case Op.Pack64:
          work.push(ir.a[i]);
          break;
        case Op.ContPhi:
        case Op.BreakPhi:
          for (let k = 0; k < ir.b[i]; k++) work.push(ir.pool[ir.a[i] + k]);
          break;
      }
    }
    this.#scratch.set(value, found);
    return found;
  }

  /** A number for a value: the same for values that are made in the same way, loads of one address included. */
  #number(i: number): number {
    const known = this.#numberOf.get(i);
    if (known !== undefined) return known;
    // Operands first, without recursion: chains may be long.
    const work = [i];
    while (work.length > 0) {
      const at = work[work.length - 1];
      if (this.#numberOf.has(at)) {
        work.pop();
        continue;
      }
      const missing = this.#madeOf(at).filter((operand) => operand !== 0 && !this.#numberOf.has(operand));
      if (missing.length > 0) {
        work.push(...missing);
        continue;
      }
      const key = this.#key(at);
      let number = this.#numbers.get(key);
      if (number === undefined) this.#numbers.set(key, number = this.#numbers.size + 1);
      this.#numberOf.set(at, number);
      work.pop();
    }
    return this.#numberOf.get(i)!;
  }

  #key(i: number): string {
    const { ir } = this;
    const op = ir.op[i], made = this.#madeOf(i).map((operand) => this.#numberOf.get(operand) ?? 0);
    if (op === Op.Const) return `${op},${ir.type[i]},${ir.a[i]},${ir.b[i]}`;
    if (op === Op.Input) return `${op},${ir.a[i]},${ir.b[i]}`;
    if (op === Op.Load) return `${op},${made},${ir.c[i] & ~(MemoryWidth.Coherent | MemoryWidth.Speculative)}`;
    if (op === Op.Extract) return `${op},${made},${ir.b[i]}`;
    return made.length > 0 ? `${op},${ir.type[i]},${made}` : `#${i}`;
  }

  /** Operands of an operation that is known by them alone; none of others. */
  #madeOf(i: number): number[] {
    const { ir } = this;
    switch (ir.op[i]) {
      case Op.Load:
      case Op.Extract:
        return [ir.a[i]];
      case Op.IAdd:
      case Op.ISub:
      case Op.IMul:
      case Op.And:
      case Op.Or:
      case Op.Shl:
      case Op.Shr:
      case Op.Pack64:
      case Op.IAdd64:
        return [ir.a[i], ir.b[i]];
      case Op.UBfe:
      case Op.SBfe:
      case Op.Select:
        return [ir.a[i], ir.b[i], ir.c[i]];
      case Op.Lo64:
      case Op.Hi64:
        return [ir.a[i]];
      default:
        return [];
    }
  }

  /** Splits an address (or an offset, or a pair of such) into what varies and a constant. */
  #shape(value: number, active: number, depth = 0): { base: number; constant: number; stride: number } {
    const { ir } = this;
    const a = ir.a[value], b = ir.b[value];
    const opaque = () => ({ base: this.#number(value), constant: 0, stride: 0 });
    if (depth > DEPTH) return opaque();
    switch (ir.op[value]) {
      case Op.Input:
        return { base: this.#number(value), constant: 0, stride: ir.a[value] === InputKind.LocalIndex ? 1 : 0 };
      case Op.IAdd:
      case Op.IAdd64: {
        const [x, y] = [a, b].map((each) => this.#shape(each, active, depth + 1));
        if (ir.op[b] === Op.Const) return { ...x, constant: x.constant + signed(ir, b) };
        if (ir.op[a] === Op.Const) return { ...y, constant: y.constant + signed(ir, a) };
        const stride = this.#fixed(b, 0) ? x.stride : this.#fixed(a, 0) ? y.stride : 0;
        return { base: this.#join(ir.op[value], x.base, y.base), constant: x.constant + y.constant, stride };
      }
      case Op.Vec: {
        if (ir.type[value] !== Type.V2) return opaque();
        const x = this.#shape(a, active, depth + 1);
        const stride = this.#fixed(b, 0) ? x.stride : 0;
        return { base: this.#join(Op.Vec, x.base, this.#number(b)), constant: x.constant, stride };
      }
      case Op.Pack64: {
        if (ir.op[b] !== Op.Const || ir.a[b] !== 0) return opaque();
        const x = this.#shape(a, active, depth + 1);
        return { ...x, base: this.#join(Op.Pack64, x.base, 0) };
      }
      case Op.Shl: {
        if (ir.op[b] !== Op.Const || ir.a[b] >= 24) return opaque();
        const x = this.#shape(a, active, depth + 1), factor = 2 ** ir.a[b];
        return {
          base: this.#join(Op.Shl, x.base, -ir.a[b]),
          constant: x.constant * factor,
          stride: x.stride * factor,
        };
      }
      case Op.Select:
        return a === active ? this.#shape(b, active, depth + 1) : opaque();
      default:
        return opaque();
    }
  }

  #join(op: number, x: number, y: number): number {
    const key = `join ${op},${x},${y}`;
    let number = this.#numbers.get(key);
    if (number === undefined) this.#numbers.set(key, number = this.#numbers.size + 1);
    return number;
  }

  /** Whether a value is the same in all lanes of the workgroup and never changes. */
  #fixed(value: number, depth: number): boolean {
    const { ir } = this;
    const op = ir.op[value];
    if (op === Op.Const) return true;
    if (op === Op.Input) return FIXED_INPUTS.includes(ir.a[value]);
    if (op === Op.Load || op === Op.Extract) return depth <= DEPTH && this.#fixed(ir.a[value], depth + 1);
    if (depth > DEPTH || !FIXED_OPERATIONS.has(op)) return false;
    return this.#fixed(ir.a[value], depth + 1) && (ir.b[value] === 0 || this.#fixed(ir.b[value], depth + 1)) &&
      (op !== Op.UBfe && op !== Op.SBfe || this.#fixed(ir.c[value], depth + 1));
  }
}

function signed(ir: Ir, constant: number): number {
  return ir.type[constant] === Type.U64 ? ir.b[constant] * 2 ** 32 + (ir.a[constant] >>> 0) : ir.a[constant];
}

/** Gives what a node of the program's tape is made of. */
function tapeRoots(tape: Tape | undefined): (node: number, into: Set<string>) => void {
  return (first, into) => {
    const { op, a, b, c } = tape!;
    const seen = new Set<number>(), work = [first];
    while (work.length > 0) {
      const i = work.pop()!;
      if (seen.has(i)) continue;
      seen.add(i);
      switch (op[i]) {
        case Op.Input:
          into.add(`u${a[i]}`);
          break;
        case Op.Extract:
          if (op[a[i]] === Op.Load) into.add(`t${i}`);
          else work.push(a[i]);
          break;
        case Op.Load:
          into.add(`t${i}`);
          break;
        case Op.Select:
          work.push(b[i], c[i]);
          break;
        case Op.Pack64:
          work.push(b[i]);
          break;
        case Op.IAdd:
        case Op.ISub:
        case Op.And:
        case Op.Or:
        case Op.Xor:
        case Op.IAdd64:
        case Op.Vec:
          work.push(a[i], b[i]);
          break;
        case Op.Shl:
        case Op.Shr:
        case Op.UBfe:
        case Op.SBfe:
        case Op.Hi64:
        case Op.Lo64:
          work.push(a[i]);
          break;
      }
    }
  };
}

/** Root of places that the code itself names: constant data behind it. */
const CONSTANT = "c";
/** Operations that are looked through at most. */
const DEPTH = 16;
/** Inputs that are the same for all lanes of a workgroup. */
const FIXED_INPUTS: readonly number[] = [InputKind.UserData, InputKind.Resolved, InputKind.WorkgroupId];
const FIXED_OPERATIONS: ReadonlySet<number> = new Set([
  ...[
    Op.IAdd,
    Op.ISub,
    Op.IMul,
    Op.Shl,
    Op.Shr,
    Op.And,
    Op.Or,
    Op.Pack64,
    Op.IAdd64,
    Op.UBfe,
    Op.SBfe,
    Op.Lo64,
    Op.Hi64,
  ],
]);
