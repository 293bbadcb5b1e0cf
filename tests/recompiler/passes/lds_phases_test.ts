/** Loads from LDS that give every wave of the workgroup the same value, because nobody writes between the barriers around them. */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { SUBGROUP_BARRIER } from "../../../src/recompiler/passes/pack/shape.ts";
import { classifyUniformity, Uniformity } from "../../../src/recompiler/passes/uniformity.ts";

/** Parts of {@linkcode counting} that a case leaves out or puts elsewhere. */
interface Variation {
  /** No barrier between the wave's own store and the loads. */
  readonly storeMeetsLoad?: boolean;
  /** No barrier between the loads and the next round's store. */
  readonly loadMeetsStore?: boolean;
  /** The barrier behind the loads stands in a branch that each wave decides for itself. */
  readonly barrierOfWave?: boolean;
  /** Only the wave waits at the barrier behind the loads. */
  readonly subgroupBarrier?: boolean;
  /** The loads' address differs from wave to wave. */
  readonly ownAddress?: boolean;
  /** Waves leave the loop by their own count. */
  readonly ownExit?: boolean;
}

/**
 * Every wave stores a number to its slot; all waves add up both slots, round after round, until the sum is large enough.
 *
 * @returns uniformity of the sum, and of the decision to come to the place behind the exit
 */
function counting(variation: Variation): { sum: number; flow: number } {
  const ir = new Ir();
  const zero = ir.constU(0), yes = ir.constB(true);
  const wave = ir.append(Op.Input, Type.U32, InputKind.WaveId);
  const lane = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  const limit = ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  const firstWave = ir.emit(Op.IEq, wave, zero);
  ir.emit(Op.Loop);
  const sum = ir.append(Op.LoopPhi, Type.U32, zero, 0);
  const own = ir.append(Op.LoopPhi, Type.U32, wave, 0);
  const slot = ir.emit(Op.Shl, wave, ir.constU(2));
  ir.emit(Op.LdsStore, slot, ir.emit(Op.IEq, ir.emit(Op.And, lane, ir.constU(31)), zero), lane, 4);
  if (!variation.storeMeetsLoad) ir.emit(Op.Barrier);
  const first = ir.append(Op.LdsLoad, Type.U32, variation.ownAddress ? slot : zero, yes, 4);
  const second = ir.append(Op.LdsLoad, Type.U32, ir.constU(4), yes, 4);
  const more = ir.emit(Op.IAdd, sum, ir.emit(Op.IAdd, first, ir.emit(Op.ReadFirstLane, second, yes)));
  if (variation.barrierOfWave) {
    ir.emit(Op.If, firstWave, IfKind.Scalar);
    ir.emit(Op.Barrier);
    ir.emit(Op.EndIf);
  } else if (!variation.loadMeetsStore) ir.emit(Op.Barrier, variation.subgroupBarrier ? SUBGROUP_BARRIER : 0);
  ir.emit(Op.If, ir.emit(Op.ULe, limit, variation.ownExit ? own : more), IfKind.Scalar);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const place = ir.length;
  const grown = ir.emit(Op.IAdd, own, ir.constU(1));
  ir.emit(Op.LoopCont);
  ir.b[sum] = more;
  ir.b[own] = grown;
  ir.emit(Op.EndLoop);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  const { value, flow } = classifyUniformity(ir, false);
  return { sum: value[more], flow: flow[place] };
}

Deno.test("what is loaded between two barriers without a store is the same in all waves, and so are decisions made of it", () => {
  assertEquals(counting({}), { sum: Uniformity.Workgroup, flow: Uniformity.Workgroup });
});

Deno.test("a load that may meet a store, before it or after it, is the lane's own", () => {
  assertEquals(counting({ storeMeetsLoad: true }), { sum: Uniformity.Lane, flow: Uniformity.Lane });
  assertEquals(counting({ loadMeetsStore: true }), { sum: Uniformity.Lane, flow: Uniformity.Lane });
});

Deno.test("a barrier that not the whole workgroup comes to, or waits at, separates nothing", () => {
  assertEquals(counting({ barrierOfWave: true }), { sum: Uniformity.Lane, flow: Uniformity.Lane });
  assertEquals(counting({ subgroupBarrier: true }), { sum: Uniformity.Lane, flow: Uniformity.Lane });
});

Deno.test("a load from each wave's own address is uniform in the wave only, until that decides who comes back to it", () => {
  // The exit depends on the sum, so waves leave apart, barriers are no longer shared, and the loads prove nothing.
  assertEquals(counting({ ownAddress: true }), { sum: Uniformity.Lane, flow: Uniformity.Lane });
});

Deno.test("waves that leave the loop by their own count share neither barriers nor loads", () => {
  assertEquals(counting({ ownExit: true }), { sum: Uniformity.Lane, flow: Uniformity.Wave });
});

Deno.test("the arms of a branch that waves take apart meet in time: a store in one disturbs the load in the other", () => {
  const ir = new Ir();
  const zero = ir.constU(0), yes = ir.constB(true);
  const wave = ir.append(Op.Input, Type.U32, InputKind.WaveId);
  ir.emit(Op.If, ir.emit(Op.IEq, wave, zero), IfKind.Scalar);
  ir.emit(Op.LdsStore, zero, yes, wave, 4);
  ir.emit(Op.Else);
  const load = ir.append(Op.LdsLoad, Type.U32, zero, yes, 4);
  ir.emit(Op.EndIf);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  assertEquals(classifyUniformity(ir, false).value[load], Uniformity.Lane);
});
