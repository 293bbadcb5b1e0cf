/** Waves of a workgroup that go their own ways are kept together where they exchange, and compute what they would have computed. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { DeviceOrder, FenceKind, IfKind, InputKind, MemoryWidth, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { checkGuestBarriers } from "../../../src/recompiler/passes/guest_barriers.ts";
import { ldsHazards } from "../../../src/recompiler/passes/lds_hazards.ts";
import { chooseRegions } from "../../../src/recompiler/passes/regions.ts";
import { keepTogether } from "../../../src/recompiler/passes/together.ts";
import { planExchanges } from "../../../src/recompiler/spirv/exchange_plan.ts";
import { buildProgram } from "../../fuzz/programs/build.ts";
import { PROGRAM_LDS, randomProgram } from "../../fuzz/programs/generate.ts";
import { countStatements } from "../../fuzz/programs/tree.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { cleaned, liftCode, makeRequest } from "../../support/lift.ts";
import { Random } from "../../support/random.ts";

/** Programs of several waves that the test wants to have seen changed. */
const CHANGED = 12;

Deno.test("random programs of several waves give the same when their waves are kept together, and every exchange has the whole workgroup", () => {
  let changed = 0, seed = 5000;
  for (; changed < CHANGED; seed++) {
    const tree = randomProgram(new Random(seed));
    const { waveSize, groups, limit, threads } = tree.settings;
    // Lanes and statements cost the evaluator much, and show no more.
    if (threads <= waveSize || waveSize === 64 || limit !== undefined || countStatements(tree.body) > 20) continue;
    tree.settings.threads = 2 * waveSize;
    const { program, code, output } = buildProgram(tree);
    const request = makeRequest({
      code,
      target: tree.settings.target,
      waveSize,
      workgroupSize: [2 * waveSize, 1, 1],
      userSgprCount: 6,
      workgroupIds: [true, false, false],
      ldsBytes: Math.ceil(PROGRAM_LDS / 512) * 512,
      floatMode: tree.settings.floatMode,
      ieee: tree.settings.ieee,
      dx10Clamp: tree.settings.dx10Clamp,
    });
    const lifted = cleaned(liftCode(request));
    const regions = cleaned(chooseRegions(lifted, ldsHazards(lifted, 2 * waveSize), true).ir);
    const together = keepTogether(regions, false);
    if (together === regions) continue;
    changed++;
    validateIrVerbosely(together);
    const swept = cleaned(together);
    assertEquals(planExchanges(swept, false).badExchange, -1, `seed ${seed}`);
    const data = program.memory[1];
    const [expected, actual] = [lifted, swept].map((ir) => {
      const memory = new EvalMemory();
      const bytes = new Uint8Array(data.bytes);
      bytes.set(data.contents[0].data);
      memory.map(data.base, bytes);
      const halves = (address: bigint) => [Number(address & 0xffffffffn), Number(address >> 32n)];
      const scalars = data.base + BigInt(2 * waveSize * groups * 8 * 4);
      const { faults } = evaluateWorkgroup(ir, {
        waveSize,
        workgroupSize: [2 * waveSize, 1, 1],
        workgroupId: [groups - 1, 0, 0],
        userData: [...halves(data.base), ...halves(output.address), ...halves(scalars)],
        memory,
        ldsBytes: request.ldsBytes,
        maxSteps: 2_000_000,
      });
      assertEquals(faults, []);
      return bytes;
    });
    assertEquals(actual, expected, `seed ${seed}`);
    assert(expected.some((byte, k) => byte !== 0 && k >= Number(output.address - data.base)), "nothing was stored");
  }
  assert(seed < 5000 + 60 * CHANGED, `${seed - 5000} seeds`);
});

/** `if (wave number is 0) { inside }`, with a value of the first lane stored behind it. */
function onFirstWave(inside: (ir: Ir) => void, behind: (ir: Ir) => void = () => {}): Ir {
  const ir = new Ir();
  const wave = ir.append(Op.Input, Type.U32, InputKind.WaveId);
  const index = ir.append(Op.Input, Type.U32, InputKind.LocalIndex), otherwise = ir.constU(77);
  ir.emit(Op.If, ir.emit(Op.IEq, wave, ir.constU(0)), IfKind.Scalar);
  const read = ir.emit(Op.ReadLane, index, ir.constU(3));
  inside(ir);
  ir.emit(Op.EndIf);
  const value = ir.append(Op.Phi, Type.U32, read, otherwise);
  behind(ir);
  const address = ir.emit(Op.Pack64, ir.emit(Op.Shl, index, ir.constU(2)), ir.constU(1));
  ir.emit(Op.Store, address, ir.constB(true), value, MemoryWidth.BytesMask & 4);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  return ir;
}

Deno.test("an exchange of one wave is gone through by all, and only that wave takes its result", () => {
  const ir = onFirstWave(() => {});
  assert(planExchanges(ir, false).badExchange > 0);
  const together = keepTogether(ir, false);
  validateIrVerbosely(together);
  assertEquals(planExchanges(together, false).badExchange, -1);
  const memory = new EvalMemory();
  const words = memory.mapWords(1n << 32n, new Uint32Array(64));
  evaluateWorkgroup(together, { waveSize: 32, workgroupSize: [64, 1, 1], memory });
  assertEquals([...words], Array.from({ length: 64 }, (_, k) => k < 32 ? 3 : 77));
});

Deno.test("a program stays as it is with one wave, with a guest's barrier inside and one behind, and where single lanes decide", () => {
  const plain = onFirstWave(() => {});
  assertStrictEquals(keepTogether(plain, true), plain);
  const barrier = onFirstWave((ir) => ir.emit(Op.Barrier, 0), (ir) => ir.emit(Op.Barrier, 0));
  assertStrictEquals(keepTogether(barrier, false), barrier);
  const lanes = onFirstWave((ir) => {
    const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
    ir.emit(Op.If, ir.emit(Op.ULt, lane, ir.constU(9)), IfKind.Lane);
    ir.emit(Op.ReadLane, lane, ir.constU(0));
    ir.emit(Op.EndIf);
  });
  assertStrictEquals(keepTogether(lanes, false), lanes);
});

Deno.test("a guest's barrier that one wave comes to is gone through by all, where the others come to none any more", () => {
  for (const packed of [false, true]) {
    const ir = onFirstWave((ir) => ir.emit(Op.Barrier, 0));
    assertThrows(() => checkGuestBarriers(ir, false, 0n), RefusedError);
    const together = keepTogether(ir, false, packed);
    validateIrVerbosely(together);
    checkGuestBarriers(together, false, 0n);
    assertEquals(planExchanges(together, false, packed).badExchange, -1);
    const memory = new EvalMemory();
    const words = memory.mapWords(1n << 32n, new Uint32Array(64));
    evaluateWorkgroup(together, { waveSize: 32, workgroupSize: [64, 1, 1], memory });
    assertEquals([...words], Array.from({ length: 64 }, (_, k) => k < 32 ? 3 : 77));
  }
});

Deno.test("a fence for other workgroups keeps no waves apart", () => {
  const ir = new Ir(), wave = ir.append(Op.Input, Type.U32, InputKind.WaveId);
  const [low, high] = [0, 1].map((k) => ir.append(Op.Input, Type.U32, InputKind.UserData, k));
  const address = ir.emit(Op.Pack64, low, high), yes = ir.constB(true);
  ir.emit(Op.If, ir.emit(Op.IEq, wave, ir.constU(0)), IfKind.Scalar);
  const first = ir.emit(Op.ReadLane, ir.append(Op.Input, Type.U32, InputKind.LaneId), ir.constU(1));
  ir.emit(Op.Fence, FenceKind.Results, DeviceOrder.Acquire);
  ir.emit(Op.Store, address, yes, first, 4);
  ir.emit(Op.EndIf);
  ir.emit(Op.End);
  const together = keepTogether(ir, false);
  assert(together !== ir);
  validateIrVerbosely(together);
  const at = together.op.indexOf(Op.Fence);
  assertEquals([together.a[at], together.b[at]], [FenceKind.Results, DeviceOrder.Acquire]);
  assertEquals(planExchanges(together, false).badExchange, -1);
});
