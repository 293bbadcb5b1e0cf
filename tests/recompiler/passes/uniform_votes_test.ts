/** Votes of the wave that need no exchange, because every lane knows the answer. */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { simplify, simplifyUniformReads } from "../../../src/recompiler/passes/simplify.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";

const OUT = 0x1_0000_0000n;
const LANES = 32;

interface Parts {
  ir: Ir;
  /** A condition of the wave: a user SGPR is odd. */
  scalar: number;
  /** Lanes from 5 on. */
  mask: number;
  /** Lanes with threads. */
  thread: number;
}

/**
 * Each lane stores whether the vote was won, from inside a branch on `mask` when that is wanted.
 *
 * @returns votes that are left when waves have threads, and when that is not known
 */
function votes(condition: (parts: Parts) => number, branch = false, threads = LANES): [number, number] {
  const ir = new Ir();
  const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
  const user = ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  const parts = {
    ir,
    scalar: ir.emit(Op.INe, ir.emit(Op.And, user, ir.constU(1)), ir.constU(0)),
    mask: ir.emit(Op.ULt, ir.constU(4), lane),
    thread: ir.append(Op.Input, Type.Bool, InputKind.ThreadActive),
  };
  if (branch) ir.emit(Op.If, ir.emit(Op.Any, parts.mask), IfKind.Wave);
  const won = ir.emit(Op.Any, condition(parts));
  const address = ir.emit(Op.Pack64, ir.emit(Op.Shl, lane, ir.constU(2)), ir.constU(1));
  ir.emit(Op.Store, address, parts.thread, ir.append(Op.Select, Type.U32, won, ir.constU(7), ir.constU(9)), 4);
  if (branch) ir.emit(Op.EndIf);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  const before = deadCode(simplify(ir));
  const left = [true, false].map((wavesHaveThreads) => {
    const after = deadCode(simplifyUniformReads(before, wavesHaveThreads));
    validateIrVerbosely(after);
    for (const user of [1, 2]) assertEquals(stored(after, user, threads), stored(before, user, threads));
    return [...after.op.subarray(0, after.length)].filter((op) => op === Op.Any).length - (branch ? 1 : 0);
  });
  return left as [number, number];
}

function stored(ir: Ir, user: number, threads: number): number[] {
  const memory = new EvalMemory();
  const words = memory.mapWords(OUT, new Uint32Array(LANES));
  const options = { waveSize: 32 as const, workgroupSize: [threads, 1, 1] as const, userData: [user], memory };
  assertEquals(evaluateWorkgroup(ir, options).faults, []);
  return [...words];
}

Deno.test("a scalar condition needs no vote", () => {
  assertEquals(votes(({ scalar }) => scalar), [0, 0]);
});

Deno.test("a scalar condition under a mask that has a lane needs no vote", () => {
  assertEquals(votes(({ ir, scalar, mask }) => ir.emit(Op.LAnd, scalar, mask), true), [0, 0]);
  assertEquals(votes(({ ir, mask, scalar }) => ir.emit(Op.LAnd, mask, ir.emit(Op.LNot, scalar)), true), [0, 0]);
});

Deno.test("lanes with threads are such a mask where every wave has threads", () => {
  assertEquals(votes(({ ir, scalar, thread }) => ir.emit(Op.LAnd, scalar, thread), false, 3), [0, 1]);
  assertEquals(votes(({ thread }) => thread, false, 3), [0, 1]);
});

Deno.test("under a mask that may be empty, or under two, the vote stays", () => {
  assertEquals(votes(({ ir, scalar, mask }) => ir.emit(Op.LAnd, scalar, mask)), [1, 1]);
  const two = ({ ir, scalar, mask, thread }: Parts) => ir.emit(Op.LAnd, ir.emit(Op.LAnd, mask, thread), scalar);
  assertEquals(votes(two, true, 3), [1, 1]);
});

Deno.test("what lanes decide is voted on", () => {
  assertEquals(votes(({ ir, scalar, mask }) => ir.emit(Op.LXor, scalar, mask), true), [1, 1]);
  assertEquals(votes(({ ir, scalar, mask }) => ir.emit(Op.LOr, scalar, mask), true), [1, 1]);
});
