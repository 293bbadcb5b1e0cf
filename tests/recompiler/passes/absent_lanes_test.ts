/** Workgroups of one thread: the other lanes of its wave disappear where nothing switches them on. */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, OPS, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { keepOneThread } from "../../../src/recompiler/passes/absent_lanes.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { simplify } from "../../../src/recompiler/passes/simplify.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { request } from "../spirv/support.ts";

const OUT = 0x1_0000_0000n;

interface Parts {
  ir: Ir;
  thread: number;
  lane: number;
  user: number;
  /** Stores a word; `active` is the thread's mask when left out. */
  store(value: number, active?: number): void;
}

/** Stored words before and after the pass, which must be equal; undefined where the pass leaves the program alone. */
function afterwards(build: (parts: Parts) => void, workgroupSize: [number, number, number] = [1, 1, 1]) {
  const ir = new Ir();
  const thread = ir.append(Op.Input, Type.Bool, InputKind.ThreadActive);
  const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
  const user = ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  let words = 0;
  const store = (value: number, active = thread) => {
    const address = ir.emit(Op.Pack64, ir.constU(4 * words++), ir.constU(1));
    ir.emit(Op.Store, address, active, value, 4);
  };
  build({ ir, thread, lane, user, store });
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  const before = deadCode(simplify(ir));
  const expected = [1, 6].map((value) => stored(before, value, words));
  const changed = keepOneThread(before, { ...request(), waveSize: 64, workgroupSize });
  const after = deadCode(simplify(before));
  validateIrVerbosely(after);
  assertEquals([1, 6].map((value) => stored(after, value, words)), expected);
  const exchanges = [...after.op.subarray(0, after.length)].filter((op) => OPS[op].exchange).length;
  assertEquals(exchanges > 0, !changed);
  return changed ? expected : undefined;
}

function stored(ir: Ir, user: number, words: number): number[] {
  const memory = new EvalMemory();
  const out = memory.mapWords(OUT, new Uint32Array(words));
  const options = { waveSize: 64 as const, workgroupSize: [1, 1, 1] as const, userData: [user], memory };
  assertEquals(evaluateWorkgroup(ir, options).faults, []);
  return [...out];
}

Deno.test("votes, ballots and reads of the first lane are the thread's own values", () => {
  const words = afterwards(({ ir, thread, user, lane, store }) => {
    const odd = ir.emit(Op.LAnd, thread, ir.emit(Op.INe, ir.emit(Op.And, user, ir.constU(1)), ir.constU(0)));
    const number = (bool: number) => ir.append(Op.Select, Type.U32, bool, ir.constU(1), ir.constU(0));
    const mixed = ir.emit(Op.IAdd, user, lane);
    store(number(ir.emit(Op.Any, odd)));
    store(ir.emit(Op.BallotLo, odd));
    store(ir.emit(Op.BallotHi, odd));
    store(ir.emit(Op.ReadFirstLane, mixed, odd));
    store(ir.emit(Op.ReadFirstLane, mixed, ir.constB(true)));
    store(ir.emit(Op.ReadLane, mixed, ir.constU(0)));
  });
  assertEquals(words, [[1, 1, 0, 1, 1, 1], [0, 0, 0, 6, 6, 6]]);
});

Deno.test("a mask that goes around a loop stays the thread's, and barriers go with the other lanes", () => {
  const words = afterwards(({ ir, thread, user, store }) => {
    const zero = ir.constU(0);
    ir.emit(Op.Loop);
    const running = ir.append(Op.LoopPhi, Type.Bool, thread, 0), trip = ir.append(Op.LoopPhi, Type.U32, zero, 0);
    ir.emit(Op.If, ir.emit(Op.LNot, ir.emit(Op.Any, running)), IfKind.Wave);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    ir.emit(Op.Barrier);
    const next = ir.emit(Op.IAdd, trip, ir.constU(1));
    const still = ir.emit(Op.LAnd, running, ir.emit(Op.ULt, next, user));
    ir.emit(Op.LoopCont);
    ir.b[running] = still;
    ir.b[trip] = next;
    ir.emit(Op.EndLoop);
    store(ir.append(Op.BreakPhi, Type.U32, ir.pooled([trip]), 1));
  });
  assertEquals(words, [[1], [6]]);
});

Deno.test("what the other lanes may take part in stays an exchange", () => {
  const vote = ({ ir, thread }: Parts, mask: number) =>
    ir.append(
      Op.Select,
      Type.U32,
      ir.emit(Op.Any, mask),
      ir.constU(3),
      ir.append(Op.Select, Type.U32, thread, ir.constU(4), ir.constU(5)),
    );
  const cases: ((parts: Parts) => void)[] = [
    (p) => p.store(vote(p, p.ir.emit(Op.LNot, p.thread))),
    (p) => p.store(vote(p, p.ir.emit(Op.ULt, p.lane, p.user))),
    (p) => p.store(p.ir.emit(Op.BallotLo, p.ir.constB(true))),
    (p) => p.store(p.ir.emit(Op.ReadLane, p.lane, p.ir.constU(5))),
    (p) => p.store(p.ir.emit(Op.Shuffle, p.lane, p.user)),
    (p) => p.store(p.ir.emit(Op.ReadFirstLane, p.lane, p.ir.emit(Op.ULt, p.user, p.lane))),
    // A store by a lane without a thread.
    (p) => p.store(p.ir.emit(Op.ReadFirstLane, p.user, p.thread), p.ir.emit(Op.IEq, p.lane, p.ir.constU(9))),
  ];
  for (const build of cases) assertEquals(afterwards(build), undefined, build.toString());
});

Deno.test("two threads are not one", () => {
  assertEquals(afterwards((p) => p.store(p.ir.emit(Op.ReadFirstLane, p.user, p.thread)), [2, 1, 1]), undefined);
});
