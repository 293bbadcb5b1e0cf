/**
 * Values that depend on nothing but constants and a few inputs, as functions that can be tried out: what a pattern would have to guess is decided by
 * evaluating the value for every input there is.
 *
 * @module
 */
import type { Ir } from "../ir/ir.ts";
import { Op, OPS, Type } from "../ir/ops.ts";

/** An operation on unsigned 32-bit numbers, truths (0, 1) and unsigned 64-bit bigints. */
// deno-lint-ignore no-explicit-any
type Evaluate = (a: any, b: any, c: any) => number | bigint;

const u = (n: number) => n >>> 0;
const wide = (n: bigint) => BigInt.asUintN(64, n);
const truth = (condition: boolean) => condition ? 1 : 0;
const field = (value: number, offset: number, count: number) =>
  count === 0 ? 0 : count === 32 ? u(value) : u(value >>> offset) & (2 ** count - 1);

const OPERATIONS: Readonly<Record<string, Evaluate>> = {
  IAdd: (a, b) => u(a + b),
  ISub: (a, b) => u(a - b),
  IMul: (a, b) => u(Math.imul(a, b)),
  And: (a, b) => u(a & b),
  Or: (a, b) => u(a | b),
  Xor: (a, b) => u(a ^ b),
  Not: (a) => u(~a),
  Shl: (a, b) => u(a << b),
  Shr: (a, b) => u(a >>> b),
  Sar: (a, b) => u(a >> b),
  UMin: (a, b) => Math.min(a, b),
  UMax: (a, b) => Math.max(a, b),
  UBfe: (a, b, c) => u(field(a, b, c)),
  BitCount: (a) => {
    let count = 0;
    for (let bits = a; bits !== 0; bits = u(bits & bits - 1)) count++;
    return count;
  },
  IEq: (a, b) => truth(a === b),
  INe: (a, b) => truth(a !== b),
  ULt: (a, b) => truth(a < b),
  ULe: (a, b) => truth(a <= b),
  SLt: (a, b) => truth((a | 0) < (b | 0)),
  SLe: (a, b) => truth((a | 0) <= (b | 0)),
  LAnd: (a, b) => a & b,
  LOr: (a, b) => a | b,
  LXor: (a, b) => a ^ b,
  LNot: (a) => 1 - a,
  Select: (a, b, c) => a === 1 ? b : c,
  Pack64: (a, b) => BigInt(b) << 32n | BigInt(a),
  Lo64: (a) => Number(BigInt.asUintN(32, a)),
  Hi64: (a) => Number(a >> 32n),
  IAdd64: (a: bigint, b: bigint) => wide(a + b),
  ISub64: (a: bigint, b: bigint) => wide(a - b),
  Shl64: (a, b) => wide(a << BigInt(b)),
  Shr64: (a, b) => a >> BigInt(b),
  Ieq64: (a, b) => truth(a === b),
};

const EVALUATE: readonly (Evaluate | undefined)[] = OPS.map(({ name }) => OPERATIONS[name]);
const OPERANDS = Uint8Array.from(OPS, ({ operands }) => operands.length);

/** Inputs of a function, by kind and index. */
export type Inputs = (kind: number, index: number) => number;

/** A value as a function of the program's inputs. */
export class PureFunction {
  private constructor(
    private readonly ir: Ir,
    /** The value's operations, operands before their users; the value last. */
    private readonly order: readonly number[],
    /** Place of each operation in the order. */
    private readonly place: ReadonlyMap<number, number>,
  ) {}

  /** The function that a value is; undefined when it is none of what can be tried out. @param most operations at most */
  static of(ir: Ir, value: number, most = 200): PureFunction | undefined {
    const order: number[] = [], place = new Map<number, number>();
    const visit = (id: number): boolean => {
      if (place.has(id)) return true;
      const op = ir.op[id];
      if (op !== Op.Const && op !== Op.Input) {
        if (EVALUATE[op] === undefined || order.length >= most) return false;
        const operands = [ir.a[id], ir.b[id], ir.c[id]].slice(0, OPERANDS[op]);
        if (!operands.every(visit)) return false;
      }
      place.set(id, order.push(id) - 1);
      return true;
    };
    return visit(value) ? new PureFunction(ir, order, place) : undefined;
  }

  /** Inputs that it depends on. */
  inputs(): { readonly id: number; readonly kind: number; readonly index: number }[] {
    const { ir } = this;
    return this.order.filter((id) => ir.op[id] === Op.Input).map((id) => ({ id, kind: ir.a[id], index: ir.b[id] }));
  }

  /** Names of its operations, constants and inputs left out. */
  operations(): string[] {
    const { ir } = this;
    return this.order.filter((id) => ir.op[id] !== Op.Const && ir.op[id] !== Op.Input).map((id) => OPS[ir.op[id]].name);
  }

  /** Its value. 64-bit results are not asked for. */
  evaluate(inputs: Inputs): number {
    const { ir, order, place } = this;
    const values: (number | bigint)[] = new Array(order.length);
    for (let n = 0; n < order.length; n++) {
      const id = order[n], op = ir.op[id];
      if (op === Op.Const) {
        values[n] = ir.type[id] === Type.U64 ? BigInt(ir.b[id] >>> 0) << 32n | BigInt(ir.a[id] >>> 0) : ir.a[id] >>> 0;
      } else if (op === Op.Input) values[n] = inputs(ir.a[id], ir.b[id]);
      else {
        const at = (operand: number, k: number) => k < OPERANDS[op] ? values[place.get(operand)!] : 0;
        values[n] = EVALUATE[op]!(at(ir.a[id], 0), at(ir.b[id], 1), at(ir.c[id], 2));
      }
    }
    return values[order.length - 1] as number;
  }

  /** Bits of an input (its id) that the value can depend on. */
  bitsOf(input: number): number {
    const { ir, order, place } = this;
    const wanted = new Uint32Array(order.length);
    wanted[order.length - 1] = 0xffff_ffff;
    const want = (id: number, bits: number) => {
      wanted[place.get(id)!] |= bits;
    };
    for (let n = order.length - 1; n >= 0; n--) {
      const id = order[n], op = ir.op[id], bits = wanted[n];
      if (op === Op.Const || op === Op.Input || bits === 0) continue;
      const [a, b, c] = [ir.a[id], ir.b[id], ir.c[id]];
      const known = (value: number) => ir.op[value] === Op.Const && ir.type[value] === Type.U32;
      if (op === Op.And && (known(a) || known(b))) {
        want(known(a) ? b : a, bits & ir.a[known(a) ? a : b]);
      } else if (op === Op.And || op === Op.Or || op === Op.Xor) [a, b].forEach((each) => want(each, bits));
      else if (op === Op.Not) want(a, bits);
      else if (op === Op.Shl && known(b)) want(a, bits >>> ir.a[b]);
      else if (op === Op.Shr && known(b)) want(a, bits << ir.a[b]);
      else if (op === Op.UBfe && known(b) && known(c)) {
        want(a, (ir.a[c] === 32 ? bits : bits & 2 ** ir.a[c] - 1) << ir.a[b]);
      } else [a, b, c].slice(0, OPERANDS[op]).forEach((each) => want(each, 0xffff_ffff));
    }
    const at = place.get(input);
    return at === undefined ? 0 : wanted[at];
  }
}
