import { assert, assertEquals } from "@std/assert";
import { dumpIr } from "../../../src/recompiler/ir/dump.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, OPS, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { simplify } from "../../../src/recompiler/passes/simplify.ts";
import { bits32, OPERATIONS } from "../../support/ir_eval/scalar.ts";
import { liftCode, makeRequest } from "../../support/lift.ts";

/** Constants may not come into being between a construct and its phis. */
function withConstants(): Ir {
  const ir = new Ir();
  ir.constU(0);
  ir.constB(true);
  ir.constB(false);
  return ir;
}

/** Builds a program that stores values, simplifies it, and gives the text of what is left of each stored value. */
class Sketch {
  readonly ir = withConstants();
  readonly lane = this.ir.append(Op.Input, Type.U32, InputKind.LaneId);
  readonly x = this.ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  readonly y = this.ir.append(Op.Input, Type.U32, InputKind.UserData, 1);
  readonly p = this.ir.emit(Op.ULt, this.lane, this.x);
  readonly q = this.ir.emit(Op.ULt, this.lane, this.y);
  private slot = 0;

  store(id: number): void {
    const { ir } = this;
    const value = ir.type[id] === Type.Bool
      ? ir.append(Op.Select, Type.U32, id, ir.constU(111), ir.constU(222))
      : ir.type[id] === Type.F32
      ? ir.emit(Op.BitcastU, id)
      : id;
    const address = ir.emit(Op.Pack64, ir.constU(0x1000 + this.slot++ * 4), ir.constU(0));
    ir.emit(Op.Store, address, ir.constB(true), value, 4);
  }

  finish(): Ir {
    this.ir.emit(Op.End);
    validateIrVerbosely(this.ir);
    const result = deadCode(simplify(this.ir));
    validateIrVerbosely(result);
    return result;
  }
}

/** Number of operations of a kind. */
function count(ir: Ir, op: number): number {
  return ir.op.subarray(0, ir.length).filter((o) => o === op).length;
}

/** The expression of the one stored value, written out. */
function stored(ir: Ir): string {
  for (let i = 0; i < ir.length; i++) if (ir.op[i] === Op.Store) return expression(ir, ir.c[i]);
  throw new Error("nothing is stored");
}

function expression(ir: Ir, id: number): string {
  if (ir.op[id] === Op.Const) {
    return ir.type[id] === Type.Bool
      ? String(ir.a[id] === 1)
      : ir.type[id] === Type.F32
      ? `f${(ir.a[id] >>> 0).toString(16)}`
      : String(ir.a[id]);
  }
  if (ir.op[id] === Op.Input) return ir.a[id] === InputKind.LaneId ? "lane" : "xy"[ir.b[id]];
  const { name, operands } = OPS[ir.op[id]];
  if (name === "ULt" && ir.op[ir.a[id]] === Op.Input && ir.op[ir.b[id]] === Op.Input) {
    return expression(ir, ir.b[id]) === "x" ? "p" : "q";
  }
  const parts = [ir.a[id], ir.b[id], ir.c[id]].slice(0, operands.length).map((part, k) =>
    operands[k] === "v" ? expression(ir, part) : `#${part}`
  );
  return `${name}(${parts.join(" ")})`;
}

function simplified(build: (s: Sketch) => number): string {
  const s = new Sketch();
  s.store(build(s));
  return stored(s.finish());
}

const cases: [string, (s: Sketch) => number][] = [
  ["x", (s) => s.ir.emit(Op.IAdd, s.x, s.ir.constU(0))],
  ["IAdd(x 7)", (s) => s.ir.emit(Op.IAdd, s.ir.constU(3), s.ir.emit(Op.IAdd, s.x, s.ir.constU(4)))],
  ["IAdd(x -5)", (s) => s.ir.emit(Op.ISub, s.x, s.ir.constU(5))],
  ["0", (s) => s.ir.emit(Op.Xor, s.x, s.x)],
  ["And(x 8)", (s) => s.ir.emit(Op.And, s.ir.emit(Op.And, s.x, s.ir.constU(12)), s.ir.constU(9))],
  ["Not(x)", (s) => s.ir.emit(Op.Xor, s.x, s.ir.constU(-1))],
  ["And(x 255)", (s) => s.ir.emit(Op.UBfe, s.x, s.ir.constU(0), s.ir.constU(8))],
  ["Shr(x 24)", (s) => s.ir.emit(Op.UBfe, s.x, s.ir.constU(24), s.ir.constU(8))],
  ["Sar(x 24)", (s) => s.ir.emit(Op.SBfe, s.x, s.ir.constU(24), s.ir.constU(8))],
  ["x", (s) => s.ir.emit(Op.BitcastU, s.ir.emit(Op.BitcastF, s.x))],
  ["x", (s) => s.ir.emit(Op.Lo64, s.ir.emit(Op.Pack64, s.x, s.y))],
  ["y", (s) => s.ir.emit(Op.Extract, s.ir.append(Op.Vec, Type.V2, s.x, s.y), 1)],
  ["Select(p 111 222)", (s) => s.ir.emit(Op.LNot, s.ir.emit(Op.LNot, s.p))],
  [
    "Select(p 111 222)",
    (s) => s.ir.emit(Op.INe, s.ir.append(Op.Select, Type.U32, s.p, s.ir.constU(1), s.ir.constU(0)), s.ir.constU(0)),
  ],
  ["Select(p x y)", (s) => s.ir.append(Op.Select, Type.U32, s.ir.emit(Op.LNot, s.p), s.y, s.x)],
  [
    "Select(p x lane)",
    (s) => s.ir.append(Op.Select, Type.U32, s.p, s.x, s.ir.append(Op.Select, Type.U32, s.p, s.y, s.lane)),
  ],
  ["Select(LAnd(p q) 111 222)", (s) => s.ir.append(Op.Select, Type.Bool, s.p, s.q, s.ir.constB(false))],
  // Saved and restored masks: p is EXEC, q a condition.
  ["Select(p 111 222)", (s) => s.ir.emit(Op.LOr, s.ir.emit(Op.LAnd, s.p, s.q), s.p)],
  [
    "Select(p 111 222)",
    (s) => s.ir.emit(Op.LOr, s.ir.emit(Op.LAnd, s.p, s.q), s.ir.emit(Op.LAnd, s.ir.emit(Op.LNot, s.q), s.p)),
  ],
  ["Select(LAnd(p LNot(q)) 111 222)", (s) => s.ir.emit(Op.LXor, s.p, s.ir.emit(Op.LAnd, s.p, s.q))],
  ["Select(LAnd(p LNot(q)) 111 222)", (s) => s.ir.emit(Op.LAnd, s.p, s.ir.emit(Op.LNot, s.ir.emit(Op.LAnd, s.p, s.q)))],
  ["222", (s) => s.ir.emit(Op.LAnd, s.ir.emit(Op.LAnd, s.p, s.q), s.ir.emit(Op.LNot, s.q))],
  [
    "Select(LAnd(p LNot(q)) 111 222)",
    (s) => {
      const left = s.ir.emit(Op.LAnd, s.p, s.ir.emit(Op.LNot, s.q));
      return s.ir.emit(Op.LAnd, left, s.ir.emit(Op.LNot, s.ir.emit(Op.LAnd, s.p, s.q)));
    },
  ],
];

Deno.test("identities of integers, casts, selections and lane masks", () => {
  for (const [expected, build] of cases) assertEquals(simplified(build), expected);
});

Deno.test("constants fold to what the operations compute", () => {
  const values = [0, 1, 5, 31, 0x7fffffff, 0x80000000, 0xffffffff];
  for (const name of "IAdd ISub IMul UMulHi SMulHi And Or Xor UMin UMax SMin SMax IEq INe ULt ULe SLt SLe".split(" ")) {
    for (const a of values) {
      for (const b of values) {
        const expected = OPERATIONS[name]([a, b] as never[]);
        const text = simplified((s) => s.ir.emit((Op as Record<string, number>)[name], s.ir.constU(a), s.ir.constU(b)));
        assertEquals(
          text,
          typeof expected === "boolean" ? (expected ? "111" : "222") : String(Number(expected) | 0),
          `${name} ${a} ${b}`,
        );
      }
    }
  }
});

Deno.test("floats fold only where no mode and no device could give other bits", () => {
  const fold = (a: number, b: number) => simplified((s) => s.ir.emit(Op.FAdd, s.ir.constF(a), s.ir.constF(b)));
  assertEquals(fold(bits32(0.1), bits32(0.2)), String(bits32(Math.fround(Math.fround(0.1) + Math.fround(0.2)))));
  assert(fold(1, bits32(1)).startsWith("BitcastU(FAdd"), "a denormal operand");
  assert(fold(0x00800001, bits32(-(2 ** -126))).startsWith("BitcastU(FAdd"), "a denormal result");
  assert(fold(0x7f800001, bits32(1)).startsWith("BitcastU(FAdd"), "a NaN");
});

Deno.test("FlushDenorm goes where the value cannot be denormal", () => {
  const integer = (s: Sketch) => s.ir.emit(Op.CvtU2F, s.x);
  const flush = (s: Sketch, id: number) => s.ir.emit(Op.FlushDenorm, id);
  assertEquals(simplified((s) => flush(s, integer(s))), "BitcastU(CvtU2F(x))");
  const product = (s: Sketch) => s.ir.emit(Op.FMul, integer(s), s.ir.constF(bits32(0.005)));
  assertEquals(simplified((s) => flush(s, product(s))), "BitcastU(FMul(CvtU2F(x) f3ba3d70a))");
  const any = (s: Sketch) => s.ir.emit(Op.BitcastF, s.x);
  assertEquals(
    simplified((s) => flush(s, s.ir.emit(Op.FMul, any(s), any(s)))),
    "BitcastU(FlushDenorm(FMul(BitcastF(x) BitcastF(x))))",
  );
  assertEquals(simplified((s) => flush(s, flush(s, any(s)))), "BitcastU(FlushDenorm(BitcastF(x)))");
});

Deno.test("a 64-bit addition in two halves with carry becomes one", () => {
  const text = simplified((s) => {
    const { ir } = s;
    const low = ir.emit(Op.IAdd, s.x, s.lane);
    const carry = ir.append(Op.Select, Type.U32, ir.emit(Op.ULt, low, s.x), ir.constU(1), ir.constU(0));
    const high = ir.emit(Op.IAdd, ir.emit(Op.IAdd, s.y, ir.constU(0)), carry);
    return ir.append(Op.Load, Type.U32, ir.emit(Op.Pack64, low, high), ir.constB(true), 4);
  });
  assert(text.startsWith("Load(IAdd64(Pack64(") && !text.includes("Select"), text);
});

Deno.test("equal expressions are made once, but not across sibling arms, stores or loop iterations", () => {
  const s = new Sketch();
  const { ir } = s;
  const address = ir.emit(Op.Pack64, s.x, ir.constU(0));
  const load = () => ir.append(Op.Load, Type.U32, address, ir.constB(true), 4);
  s.store(ir.emit(Op.IMul, s.x, s.y));
  s.store(ir.emit(Op.IMul, s.y, s.x));
  const first = load();
  s.store(ir.emit(Op.IAdd, first, load()));
  s.store(load());
  ir.emit(Op.If, s.p, IfKind.Lane);
  s.store(ir.emit(Op.IAdd, s.x, s.y));
  ir.emit(Op.Else);
  s.store(ir.emit(Op.IAdd, s.x, s.y));
  ir.emit(Op.EndIf);
  const result = s.finish();
  assertEquals(count(result, Op.IMul), 1);
  assertEquals(count(result, Op.Load), 2);
  assertEquals(count(result, Op.IAdd), 3);
});

Deno.test("inside an arm its condition is known; after an arm that leaves, the opposite is", () => {
  const s = new Sketch();
  const { ir } = s;
  ir.emit(Op.Loop);
  const both = ir.emit(Op.LAnd, s.p, s.q);
  ir.emit(Op.If, both, IfKind.Lane);
  s.store(s.q);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  ir.emit(Op.If, s.q, IfKind.Lane);
  s.store(ir.emit(Op.LNot, s.q));
  ir.emit(Op.EndIf);
  s.store(both);
  ir.emit(Op.LoopCont);
  ir.emit(Op.EndLoop);
  const text = dumpIr(s.finish());
  const values = [...text.matchAll(/Store \S+, true, (\S+), #4/g)].map(([, value]) => value);
  assertEquals(values, ["111", "222", "222"]);
});

Deno.test("a wave branch makes only its vote known, and no vote means that no lane has its bit", () => {
  const s = new Sketch();
  const { ir } = s;
  ir.emit(Op.If, ir.emit(Op.Any, s.p), IfKind.Wave);
  s.store(s.p);
  ir.emit(Op.Else);
  s.store(s.p);
  ir.emit(Op.EndIf);
  const values = [...dumpIr(s.finish()).matchAll(/Store \S+, true, (\S+), #4/g)].map(([, value]) => value);
  assert(values[0].startsWith("%") && values[1] === "222", values.join());
});

Deno.test("constant branches go, and branches around nothing become selections", () => {
  const s = new Sketch();
  const { ir } = s;
  ir.emit(Op.If, ir.emit(Op.ULt, ir.constU(1), ir.constU(2)), IfKind.Scalar);
  const inside = ir.emit(Op.IAdd, s.x, ir.constU(1));
  s.store(inside);
  ir.emit(Op.Else);
  s.store(s.lane);
  ir.emit(Op.EndIf);
  s.store(ir.append(Op.Phi, Type.U32, inside, s.y));
  ir.emit(Op.If, s.p, IfKind.Guard);
  ir.emit(Op.EndIf);
  s.store(ir.append(Op.Phi, Type.Bool, ir.constB(true), ir.constB(false)));
  const result = s.finish();
  assertEquals([count(result, Op.If), count(result, Op.Store), count(result, Op.Phi)], [0, 3, 0]);
  assertEquals(count(result, Op.Select), 1);
});

Deno.test("a wave branch around nothing keeps its phis: a selection would pin the vote", () => {
  const s = new Sketch();
  const { ir } = s;
  ir.emit(Op.If, ir.emit(Op.Any, s.p), IfKind.Wave);
  ir.emit(Op.EndIf);
  s.store(ir.append(Op.Phi, Type.U32, s.x, s.y));
  const result = s.finish();
  assertEquals([count(result, Op.If), count(result, Op.Phi)], [1, 1]);
});

Deno.test("phis that only go around a loop unchanged disappear, also through an inner loop", () => {
  const s = new Sketch();
  const { ir } = s;
  const loop = (body: () => void, initial: number, next: (phi: number) => number) => {
    ir.emit(Op.Loop);
    const phi = ir.append(Op.LoopPhi, Type.U32, initial);
    ir.emit(
      Op.If,
      ir.emit(Op.IEq, ir.append(Op.Load, Type.U32, ir.emit(Op.Pack64, s.y, phi), ir.constB(true), 4), phi),
      IfKind.Scalar,
    );
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    body();
    const value = next(phi);
    ir.emit(Op.LoopCont);
    ir.b[phi] = ir.append(Op.ContPhi, Type.U32, ir.pooled([value]), 1);
    ir.emit(Op.EndLoop);
    return ir.append(Op.BreakPhi, Type.U32, ir.pooled([phi]), 1);
  };
  let inner = 0;
  const outer = loop(() => inner = loop(() => {}, s.x, (phi) => phi), s.x, () => inner);
  s.store(outer);
  const result = s.finish();
  for (const op of [Op.LoopPhi, Op.ContPhi, Op.BreakPhi]) assertEquals(count(result, op), 0);
  assertEquals(count(result, Op.Loop), 2);
});

Deno.test("a phi of casts gets the type of what is cast, in loops and joins", () => {
  const s = new Sketch();
  const { ir } = s;
  ir.emit(Op.Loop);
  const phi = ir.append(Op.LoopPhi, Type.U32, ir.constU(0));
  const sum = ir.emit(Op.FAdd, ir.emit(Op.BitcastF, phi), ir.constF(bits32(0.5)));
  ir.emit(Op.If, ir.emit(Op.FOrdLt, ir.constF(bits32(100)), sum), IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const cast = ir.emit(Op.BitcastU, sum);
  ir.emit(Op.LoopCont);
  ir.b[phi] = ir.append(Op.ContPhi, Type.U32, ir.pooled([cast]), 1);
  ir.emit(Op.EndLoop);
  s.store(s.x);
  const result = s.finish();
  assertEquals([count(result, Op.BitcastF), count(result, Op.BitcastU)], [0, 0]);
  const at = result.op.indexOf(Op.LoopPhi);
  assertEquals(result.type[at], Type.F32);
});

Deno.test("8,192 float operations are simplified and swept in well under 10 ms", () => {
  // v1..v31 start as converted integers; then random sums and products of them; all are stored.
  const words: number[] = [];
  for (let d = 1; d < 32; d++) words.push(0x4a000080 + (d << 17) + d, 0x7e000d00 + (d << 17) + d);
  let random = 12345;
  const next = (n: number) => (random = (Math.imul(random, 1103515245) + 12345) >>> 0, (random >>> 16) % n);
  for (let i = 0; i < 8192; i++) {
    const op = [3, 4, 8][next(3)];
    words.push(((op << 25) | ((2 + next(30)) << 17) | ((1 + next(31)) << 9) | (257 + next(31))) >>> 0);
  }
  for (let d = 1; d < 32; d++) words.push(0xdc708000 | (d * 4), d << 8);
  words.push(0xbf810000);
  const ir = liftCode(makeRequest({ code: Uint32Array.from(words, (w) => w >>> 0), userSgprCount: 4 }));
  // The best of the runs counts; on a busy machine there are more of them.
  let best = Infinity;
  const began = performance.now();
  for (let run = 0; run < 10 || (best > 10 && performance.now() - began < 20_000); run++) {
    const start = performance.now();
    deadCode(simplify(ir));
    best = Math.min(best, performance.now() - start);
  }
  assert(best < 10, `${best.toFixed(2)} ms`);
});
