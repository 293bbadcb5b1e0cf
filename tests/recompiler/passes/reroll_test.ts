import { assert, assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, OPS, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { reroll } from "../../../src/recompiler/passes/reroll.ts";
import { canonicalOrder } from "../../../src/recompiler/passes/reroll/canonical.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { Random } from "../../support/random.ts";
import { OUTPUT, OUTPUT_WORDS, randomIr, SCRATCH, Unreachable } from "./random_ir.ts";

const LANES = 8, WORDS = 96;
const BASE = 0x10000n;
const never = () => () => false;

const count = (ir: Ir, op: number) => ir.op.subarray(0, ir.length).filter((each) => each === op).length;

/** What a program leaves in memory, with `limit` in the first user SGPR. */
function results(ir: Ir, limit: number): number[] {
  const memory = new EvalMemory();
  const words = memory.mapWords(BASE, new Uint32Array(LANES * WORDS));
  evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [LANES, 1, 1], userData: [limit], memory });
  return [...words];
}

/** A program that is written down round by round. */
class Unrolled {
  readonly ir = new Ir();
  readonly lane = this.ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  readonly limit = this.ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  readonly first = this.ir.emit(Op.IMul, this.lane, this.u(WORDS * 4));
  readonly true = this.ir.constB(true);

  u(bits: number): number {
    return this.ir.constU(bits);
  }

  /** Stores to word `at` of the lane. */
  store(at: number, value: number, active = this.true): void {
    const { ir } = this;
    const offset = ir.emit(Op.IAdd, this.first, ir.emit(Op.Shl, at, this.u(2)));
    ir.emit(Op.Store, ir.emit(Op.Pack64, ir.emit(Op.IAdd, offset, this.u(Number(BASE))), this.u(0)), active, value, 4);
  }

  end(): Ir {
    this.ir.emit(Op.End);
    return deadCode(this.ir);
  }
}

/** Rounds one behind the other: each has a branch, adds to a sum, and has constants that grow. */
function rows(rounds: number, change: (p: Unrolled, round: number, sum: number) => number = (_p, _r, sum) => sum): Ir {
  const p = new Unrolled(), { ir } = p;
  let sum = p.u(7), mask = p.u(0);
  for (let round = 0; round < rounds; round++) {
    const key = ir.emit(Op.IAdd, p.lane, p.u(3 + 5 * round));
    const odd = ir.emit(Op.INe, ir.emit(Op.And, ir.emit(Op.IMul, key, sum), p.u(2)), p.u(0));
    ir.emit(Op.If, odd, IfKind.Lane);
    const more = ir.emit(Op.IAdd, sum, ir.emit(Op.Xor, key, p.limit));
    const bit = ir.emit(Op.Or, mask, p.u(1 << (2 * round)));
    p.store(p.u(round), more);
    ir.emit(Op.EndIf);
    const joined = ir.append(Op.Phi, Type.U32, more, sum);
    mask = ir.append(Op.Phi, Type.U32, bit, mask);
    sum = change(p, round, ir.emit(Op.IMul, joined, p.u(3)));
  }
  p.store(p.u(80), sum);
  p.store(p.u(81), mask);
  return p.end();
}

Deno.test("rounds one behind the other become a loop: what they carry, constants that grow or are shifted, results", () => {
  const ir = rows(14), rolled = reroll(ir, never);
  validateIrVerbosely(rolled);
  // A round begins where most is left inside of it, so one may stay in front.
  assertEquals(count(rolled, Op.Loop), 1);
  assert(count(rolled, Op.Store) <= count(ir, Op.Store) - 12);
  for (const limit of [0, 1, 77]) assertEquals(results(rolled, limit), results(ir, limit));
});

Deno.test("few rounds, and rounds that differ, stay as they are", () => {
  assertEquals(count(reroll(rows(4), never), Op.Loop), 0);
  // Another operation, another constant, another operand in each second one.
  const kinds = [
    (p: Unrolled, round: number, sum: number) => round % 2 === 0 ? sum : p.ir.emit(Op.Not, sum),
    (p: Unrolled, round: number, sum: number) => p.ir.emit(Op.Xor, sum, p.u(round * round)),
    (p: Unrolled, round: number, sum: number) => p.ir.emit(Op.IAdd, sum, round % 3 === 0 ? p.lane : p.limit),
  ];
  for (const change of kinds) {
    const ir = rows(14, change), rolled = reroll(ir, never);
    validateIrVerbosely(rolled);
    assertEquals(results(rolled, 9), results(ir, 9));
    assert(kinds.indexOf(change) !== 1 || count(rolled, Op.Loop) === 0);
  }
});

Deno.test("values of earlier rounds that are used behind all of them keep them apart", () => {
  const kept: number[] = [];
  const ir = rows(14, (p, round, sum) => {
    kept.push(sum);
    if (round === 13) p.store(p.u(90), kept[5]);
    return sum;
  });
  const rolled = reroll(ir, never);
  validateIrVerbosely(rolled);
  assertEquals(results(rolled, 5), results(ir, 5));
  assert(count(rolled, Op.Store) >= 8);
});

/** Rounds that are nested: `if (round < limit) { ...; if (round + 1 < limit) {...} }`, `exits` of them in what repeats. */
function nested(rounds: number, exits: number, kind: number = IfKind.Scalar): Ir {
  const p = new Unrolled(), { ir } = p;
  const values: { sum: number; other: number }[] = [];
  let sum = p.u(1), other = p.lane;
  for (let round = 0; round < rounds; round++) {
    const bound = kind === IfKind.Lane ? ir.emit(Op.IAdd, p.limit, p.lane) : p.limit;
    const goes = ir.emit(Op.ULt, p.u(round * 2), bound);
    values.push({ sum, other });
    ir.emit(Op.If, goes, kind);
    sum = ir.emit(Op.IAdd, ir.emit(Op.IMul, sum, p.u(5)), p.u(round * 3));
    // Rounds of two exits are not quite the same.
    if (round % exits === 1) sum = ir.emit(Op.Xor, sum, other);
    else other = ir.emit(Op.IAdd, other, sum);
    p.store(p.u(round), sum);
  }
  p.store(p.u(85), ir.emit(Op.IAdd, sum, other));
  for (let round = rounds - 1; round >= 0; round--) {
    ir.emit(Op.EndIf);
    sum = ir.append(Op.Phi, Type.U32, sum, values[round].sum);
    other = ir.append(Op.Phi, Type.U32, other, values[round].other);
  }
  p.store(p.u(86), sum);
  p.store(p.u(87), other);
  return p.end();
}

Deno.test("nested rounds become a loop with exits; what is left of them runs behind it where all were entered", () => {
  for (const exits of [1, 2, 3]) {
    for (const kind of [IfKind.Scalar, IfKind.Lane]) {
      const ir = nested(30, exits, kind), rolled = reroll(ir, never);
      validateIrVerbosely(rolled);
      assertEquals(count(rolled, Op.Loop), 1);
      assert(rolled.length < ir.length / 2, `${exits} exits: ${ir.length} to ${rolled.length}`);
      // Ends before the first round, in each kind of round, in what is left over, and not at all.
      for (const limit of [0, 1, 2, 7, 8, 9, 30, 49, 55, 57, 58, 59, 60, 99]) {
        assertEquals(results(rolled, limit), results(ir, limit), `${exits} exits, limit ${limit}`);
      }
    }
  }
});

/** Nested rounds as they come from masks: each ends the lanes that do not go on, and on the way out those are put together. Addresses are sums with U64 constants. */
function masked(rounds: number, used: boolean): Ir {
  const p = new Unrolled(), { ir } = p;
  const base = ir.emit(Op.Pack64, ir.emit(Op.IAdd, p.first, p.u(Number(BASE))), p.u(0));
  let active = ir.emit(Op.ULt, p.lane, p.u(7));
  const values: { active: number; goes: number; other: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const bound = ir.emit(Op.IAdd, ir.emit(Op.IMul, p.lane, p.u(3)), p.limit);
    const goes = ir.emit(Op.LAnd, active, ir.emit(Op.ULt, p.u(round), bound));
    const other = ir.emit(Op.LAnd, active, ir.emit(Op.ULt, p.lane, p.u(round)));
    values.push({ active, goes, other });
    ir.emit(Op.If, goes, IfKind.Lane);
    const at = ir.emit(Op.IAdd64, base, ir.append(Op.Const, Type.U64, round * 4, 0));
    ir.emit(Op.Store, at, goes, ir.emit(Op.IMul, ir.emit(Op.Xor, p.lane, p.u(round * 5)), p.u(7)), 4);
    active = goes;
  }
  let mask = active;
  for (let round = rounds - 1; round >= 0; round--) {
    const { active, goes, other } = values[round];
    ir.emit(Op.EndIf);
    const joined = ir.append(Op.Phi, Type.Bool, mask, other);
    mask = ir.emit(Op.LOr, joined, ir.emit(Op.LAnd, active, ir.emit(Op.LNot, goes)));
    if (used && round === 0) p.store(p.u(90), ir.append(Op.Select, Type.U32, joined, p.u(1), p.u(2)));
  }
  p.store(p.u(91), ir.append(Op.Select, Type.U32, mask, p.u(1), p.u(2)));
  return p.end();
}

Deno.test("masks that nested rounds put together on their way out are gathered on the way in", () => {
  for (const used of [false, true]) {
    const ir = masked(26, used), rolled = reroll(ir, never);
    validateIrVerbosely(rolled);
    // A phi that somebody else looks at keeps its round apart.
    assert(used || count(rolled, Op.Loop) === 1);
    assert(used || rolled.length < ir.length / 2, `${ir.length} to ${rolled.length}`);
    for (const limit of [0, 1, 2, 4, 10, 22, 23, 24, 25, 26, 27, 60, 0xfffffff0]) {
      assertEquals(results(rolled, limit), results(ir, limit), `limit ${limit}`);
    }
  }
});

Deno.test("rounds that leave a loop around them stay apart", () => {
  const p = new Unrolled(), { ir } = p;
  const edges: number[] = [];
  ir.emit(Op.Loop);
  let sum = ir.append(Op.LoopPhi, Type.U32, p.u(0));
  const phi = sum;
  for (let round = 0; round < 12; round++) {
    sum = ir.emit(Op.IAdd, ir.emit(Op.IMul, sum, p.u(3)), p.u(round + 1));
    for (let k = 0; k < 6; k++) sum = ir.emit(Op.Xor, ir.emit(Op.IMul, sum, p.u(5)), p.lane);
    p.store(p.u(round), sum);
    ir.emit(Op.If, ir.emit(Op.ULt, p.u(round * 4), p.limit), IfKind.Scalar);
    ir.emit(Op.Break);
    edges.push(sum);
    ir.emit(Op.EndIf);
  }
  ir.emit(Op.Break);
  edges.push(sum);
  ir.emit(Op.LoopCont);
  ir.emit(Op.EndLoop);
  ir.b[phi] = 0;
  const out = ir.append(Op.BreakPhi, Type.U32, ir.pooled(edges), edges.length);
  p.store(p.u(86), out);
  const whole = p.end(), rolled = reroll(whole, never);
  assertEquals(count(rolled, Op.Loop), 1);
  for (const limit of [0, 5, 40, 99]) assertEquals(results(rolled, limit), results(whole, limit));
});

Deno.test("accesses that may fail say where they stand in each round, or keep the rounds apart", () => {
  const fails = (ir: Ir) => (i: number) => ir.op[i] === Op.Store;
  const spaced = rows(14);
  // A round has as many bytes as the one before, or not quite.
  for (const uneven of [false, true]) {
    let stores = 0;
    for (let i = 1; i < spaced.length; i++) {
      if (spaced.op[i] !== Op.Store) continue;
      spaced.pc[i] = 0x100 + 0x24 * stores + (uneven && stores === 7 ? 4 : 0);
      stores++;
    }
    const rolled = reroll(spaced, fails);
    assertEquals(count(rolled, Op.Loop), uneven ? 0 : 1);
    if (uneven) continue;
    const [[store, added]] = [...rolled.pcAdded];
    assertEquals([OPS[rolled.op[store]].name, OPS[rolled.op[added]].name], ["Store", "IMul"]);
    const factor = rolled.op[rolled.b[added]] === Op.Const ? rolled.b[added] : rolled.a[added];
    // The access word has the pc in dwords, from bit 10 on.
    assertEquals(rolled.a[factor], (0x24 / 4) << 10);
    assertEquals(results(rolled, 3), results(spaced, 3));
  }
});

Deno.test("accesses that may fail in some rounds only keep the rounds apart: a fault of a later one would not say where it stands", () => {
  const ir = rows(14), places = [...ir.op.keys()].filter((i) => i < ir.length && ir.op[i] === Op.Store);
  places.forEach((store, k) => ir.pc[store] = 0x100 + 0x24 * k);
  const some = (ir: Ir) => (i: number) => ir.op[i] === Op.Store && (ir.pc[i] - 0x100) / 0x24 === 7;
  assertEquals(count(reroll(ir, some), Op.Loop), 0);
});

Deno.test("phis that only the last round's branch has stay behind that branch", () => {
  const p = new Unrolled(), { ir } = p;
  let more = 0;
  for (let round = 0; round < 14; round++) {
    // The first round begins in another way.
    const key = ir.emit(round === 0 ? Op.Or : Op.IAdd, p.lane, p.u(3 + 5 * round));
    let hash = ir.emit(Op.Xor, key, p.limit);
    for (let k = 0; k < 4; k++) hash = ir.emit(Op.Xor, ir.emit(Op.IMul, hash, p.u(5)), p.lane);
    ir.emit(Op.If, ir.emit(Op.ULt, ir.emit(Op.And, hash, p.u(7)), p.u(5)), IfKind.Lane);
    more = ir.emit(Op.IMul, hash, key);
    p.store(p.u(round), more);
    ir.emit(Op.EndIf);
  }
  p.store(p.u(85), ir.append(Op.Phi, Type.U32, more, p.limit));
  const whole = p.end(), rolled = reroll(whole, never);
  validateIrVerbosely(rolled);
  assertEquals(count(rolled, Op.Loop), 1);
  for (const limit of [0, 5, 40, 99]) assertEquals(results(rolled, limit), results(whole, limit));
});

/** The same rounds, with what does not hang on each other in another order each time. */
function shuffled(rounds: number, random: Random): Ir {
  const p = new Unrolled(), { ir } = p;
  let sum = p.u(1);
  for (let round = 0; round < rounds; round++) {
    const before = sum;
    const pieces: (() => number)[] = [
      () => ir.emit(Op.IMul, before, p.u(9)),
      () => ir.emit(Op.Xor, p.u(round * 12), p.lane),
      () => ir.emit(Op.Shr, before, p.u(3)),
      () => ir.emit(Op.And, p.limit, p.u(round)),
    ];
    const order = pieces.map((_, k) => k).sort(() => random.below(3) - 1);
    const values: number[] = [];
    for (const k of order) values[k] = pieces[k]();
    ir.emit(Op.If, ir.emit(Op.ULt, values[3], values[1]), IfKind.Lane);
    p.store(p.u(round), ir.emit(Op.IAdd, values[0], values[2]));
    ir.emit(Op.EndIf);
    sum = ir.emit(Op.IAdd, ir.emit(Op.Or, values[2], values[1]), values[0]);
  }
  p.store(p.u(86), sum);
  return p.end();
}

Deno.test("rounds whose instructions were scheduled otherwise become a loop as well", () => {
  const random = new Random(5);
  for (let round = 0; round < 8; round++) {
    const ir = shuffled(20, random), rolled = reroll(ir, never);
    validateIrVerbosely(rolled);
    assertEquals(count(rolled, Op.Loop), 1);
    for (const limit of [0, 13, 0xffff]) assertEquals(results(rolled, limit), results(ir, limit));
  }
});

Deno.test("random programs give the same results in the canonical order, and after rerolling", () => {
  const run = (ir: Ir) => {
    const memory = new EvalMemory();
    const output = memory.mapWords(BigInt(OUTPUT), new Uint32Array(LANES * OUTPUT_WORDS));
    const scratch = memory.mapWords(BigInt(SCRATCH), Array.from({ length: 64 }, (_, i) => i * 0x01010101 >>> 0));
    evaluateWorkgroup(ir, { waveSize: 32, workgroupSize: [LANES, 1, 1], userData: [5], memory });
    return [...output, ...scratch];
  };
  let programs = 0;
  for (let seed = 1; seed <= 400; seed++) {
    let ir: Ir;
    try {
      ir = deadCode(randomIr(new Random(seed), 20 + (seed % 5) * 30));
    } catch (error) {
      if (error instanceof Unreachable) continue;
      throw error;
    }
    const expected = run(ir);
    for (const changed of [canonicalOrder(ir), reroll(ir, never)]) {
      validateIrVerbosely(changed);
      assertEquals(run(changed), expected, `seed ${seed}`);
    }
    programs++;
  }
  assert(programs > 250, `${programs} programs`);
});
