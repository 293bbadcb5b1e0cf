import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, RefusedError } from "../../../src/errors.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { emitCompute } from "../../../src/recompiler/spirv/emit.ts";
import { Random } from "../../support/random.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { INPUT, Lanes, OUTPUT } from "./programs.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { compare, emitValid, request, Rig, type RunOptions } from "./support.ts";

interface Shape {
  waveSize: 32 | 64;
  workgroupSize: [number, number, number];
}

const SHAPES: Shape[] = [
  { waveSize: 32, workgroupSize: [32, 1, 1] },
  { waveSize: 64, workgroupSize: [64, 1, 1] },
  { waveSize: 32, workgroupSize: [8, 8, 2] },
  { waveSize: 64, workgroupSize: [256, 1, 1] },
  // Last waves that are not whole.
  { waveSize: 32, workgroupSize: [5, 1, 1] },
  { waveSize: 64, workgroupSize: [65, 1, 1] },
  { waveSize: 64, workgroupSize: [10, 10, 1] },
];

function threads({ workgroupSize: [x, y, z] }: Shape): number {
  return x * y * z;
}

/** All exchanges of a value and a condition, as values to store. */
function exchanges(p: Lanes, value: number): number[] {
  const { ir } = p;
  const zero = ir.constU(0);
  const bit = (n: number) => ir.emit(Op.INe, ir.emit(Op.And, value, ir.constU(1 << n)), zero);
  const rare = ir.emit(Op.IEq, ir.emit(Op.And, value, ir.constU(0x1f)), ir.constU(9));
  const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
  return [
    ir.emit(Op.Any, bit(1)),
    ir.emit(Op.Any, rare),
    ir.emit(Op.Any, ir.constB(false)),
    ir.emit(Op.AnyGroup, bit(1)),
    ir.emit(Op.AnyGroup, rare),
    ir.emit(Op.AnyGroup, ir.emit(Op.IEq, ir.emit(Op.And, value, ir.constU(0x3ff)), ir.constU(5))),
    ir.emit(Op.BallotLo, bit(2)),
    ir.emit(Op.BallotHi, bit(2)),
    ir.emit(Op.BallotHi, bit(3)),
    ir.emit(Op.BallotLo, p.yes),
    ir.emit(Op.ReadLane, value, ir.constU(3)),
    ir.emit(Op.ReadLane, value, ir.constU(35)),
    ir.emit(Op.ReadFirstLane, value, p.yes),
    ir.emit(Op.ReadFirstLane, value, rare),
    ir.emit(Op.ReadFirstLane, value, bit(4)),
    ir.emit(Op.Shuffle, value, ir.emit(Op.Xor, lane, ir.constU(1))),
    ir.emit(Op.Shuffle, value, ir.emit(Op.Shr, value, ir.constU(7))),
  ];
}

function run(rig: Rig, shape: Shape, p: Lanes, dwords: number, more: Partial<RunOptions> = {}): void {
  const random = new Random(21);
  const count = threads(shape) * 3;
  const words = Uint32Array.from({ length: count }, () => random.u32());
  const { artifact } = compare(rig, p.ir, {
    ...shape,
    groups: [3, 1, 1],
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(count * dwords) }],
    ...more,
  });
  assertEquals(artifact.laneMode, "spanned");
}

deviceTest(
  "votes, ballots, lane reads and shuffles agree with the evaluator for waves of 32 and 64, whole or not, one or several",
  (device) => {
    const rig = new Rig(device);
    for (const shape of SHAPES) {
      const p = new Lanes(threads(shape));
      const value = p.input(1, 0);
      // Twice, so that every set of slots is used again.
      const results = [...exchanges(p, value), ...exchanges(p, p.ir.emit(Op.Not, value))];
      p.output(results);
      p.end();
      run(rig, shape, p, results.length);
    }
    rig.destroy();
  },
);

deviceTest("exchanges in loops that the workgroup leaves together use their slots again and again", (device) => {
  const rig = new Rig(device);
  for (const shape of SHAPES) {
    const p = new Lanes(threads(shape));
    const { ir } = p;
    const value = p.input(1, 0);
    const zero = ir.constU(0), one = ir.constU(1), rounds = ir.constU(7), factor = ir.constU(0x01000193);
    ir.emit(Op.Loop);
    const count = ir.append(Op.LoopPhi, Type.U32, zero), mixed = ir.append(Op.LoopPhi, Type.U32, value);
    const odd = ir.emit(Op.INe, ir.emit(Op.And, mixed, one), zero);
    const ballot = ir.emit(Op.BallotLo, odd);
    const far = ir.emit(Op.Shuffle, mixed, ir.emit(Op.Shr, mixed, ir.constU(20)));
    const first = ir.emit(Op.ReadFirstLane, mixed, odd);
    const fresh = ir.emit(
      Op.Xor,
      ir.emit(Op.IMul, ir.emit(Op.IAdd, mixed, far), factor),
      ir.emit(Op.Xor, ballot, first),
    );
    const next = ir.emit(Op.IAdd, count, one);
    ir.emit(Op.If, ir.emit(Op.ULe, rounds, next), IfKind.Scalar);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    ir.emit(Op.LoopCont);
    ir.b[count] = ir.append(Op.ContPhi, Type.U32, ir.pooled([next]), 1);
    ir.b[mixed] = ir.append(Op.ContPhi, Type.U32, ir.pooled([fresh]), 1);
    ir.emit(Op.EndLoop);
    const result = ir.append(Op.BreakPhi, Type.U32, ir.pooled([fresh]), 1);
    const after = ir.emit(Op.Shuffle, result, p.index);
    p.output([result, after]);
    p.end();
    run(rig, shape, p, 2);
  }
  rig.destroy();
});

deviceTest("a wave that loops while any of its lanes wants to runs as one", (device) => {
  const rig = new Rig(device);
  const shape: Shape = { waveSize: 64, workgroupSize: [64, 1, 1] };
  const p = new Lanes(64);
  const { ir } = p;
  const value = ir.emit(Op.And, p.input(1, 0), ir.constU(15));
  const zero = ir.constU(0), one = ir.constU(1);
  ir.emit(Op.Loop);
  const left = ir.append(Op.LoopPhi, Type.U32, value), trips = ir.append(Op.LoopPhi, Type.U32, zero);
  const busy = ir.emit(Op.INe, left, zero);
  ir.emit(Op.If, ir.emit(Op.LNot, ir.emit(Op.Any, busy)), IfKind.Wave);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  const less = ir.append(Op.Select, Type.U32, busy, ir.emit(Op.ISub, left, one), left);
  const more = ir.emit(Op.IAdd, trips, one);
  ir.emit(Op.LoopCont);
  ir.b[left] = ir.append(Op.ContPhi, Type.U32, ir.pooled([less]), 1);
  ir.b[trips] = ir.append(Op.ContPhi, Type.U32, ir.pooled([more]), 1);
  ir.emit(Op.EndLoop);
  p.output([ir.append(Op.BreakPhi, Type.U32, ir.pooled([trips]), 1)]);
  p.end();
  run(rig, shape, p, 1);
  rig.destroy();
});

deviceTest(
  "floats are exchanged as floats, NaN and denormals to the bit, also where their bits are used as well",
  (device) => {
    const rig = new Rig(device);
    for (const shape of SHAPES) {
      const p = new Lanes(threads(shape));
      const { ir } = p;
      const lane = p.input(1, 0);
      const float = ir.emit(Op.BitcastF, p.input(1, 0));
      const bits = ir.emit(Op.BitcastU, ir.emit(Op.FNeg, float));
      const negated = ir.emit(Op.BitcastF, ir.emit(Op.Shuffle, bits, lane));
      const kept = ir.emit(Op.BitcastU, float);
      const first = ir.emit(Op.BitcastF, ir.emit(Op.ReadLane, kept, ir.constU(3)));
      const chosen = ir.append(Op.Select, Type.F32, ir.emit(Op.ULt, lane, ir.constU(99)), negated, first);
      p.output([ir.emit(Op.BitcastU, chosen), ir.emit(Op.BitcastU, ir.emit(Op.FAbs, negated)), kept]);
      p.end();
      run(rig, shape, p, 3);
    }
    rig.destroy();
  },
);

deviceTest(
  "exchanges in arms that the workgroup takes together, with barriers of the program between them",
  (device) => {
    const rig = new Rig(device);
    for (const shape of SHAPES) {
      const p = new Lanes(threads(shape));
      const { ir } = p;
      const value = p.input(1, 0);
      const group = ir.append(Op.Input, Type.U32, InputKind.WorkgroupId, 0);
      const before = ir.emit(Op.ReadLane, value, ir.constU(1));
      ir.emit(Op.If, ir.emit(Op.ULt, group, ir.constU(2)), IfKind.Scalar);
      const a = ir.emit(Op.Shuffle, value, before);
      ir.emit(Op.Barrier);
      const b = ir.emit(Op.BallotLo, ir.emit(Op.ULt, value, ir.constU(0x80000000)));
      const yes = ir.emit(Op.IAdd, a, b);
      ir.emit(Op.Else);
      const no = ir.emit(Op.ReadFirstLane, ir.emit(Op.Not, value), ir.emit(Op.ULt, value, ir.constU(0x40000000)));
      ir.emit(Op.EndIf);
      const merged = ir.append(Op.Phi, Type.U32, yes, no);
      const last = ir.emit(Op.Shuffle, merged, value);
      p.output([before, merged, last, ir.emit(Op.BallotHi, ir.emit(Op.ULt, value, merged))]);
      p.end();
      run(rig, shape, p, 4);
    }
    rig.destroy();
  },
);

deviceTest(
  "a loop whose length is loaded exchanges in step: the workgroup agrees on the loaded condition",
  (device) => {
    const rig = new Rig(device);
    const shape: Shape = { waveSize: 32, workgroupSize: [64, 1, 1] };
    const p = new Lanes(64);
    const { ir } = p;
    const zero = ir.constU(0), one = ir.constU(1);
    const length = ir.emit(Op.And, p.load(p.u64(INPUT), 4, Type.U32), ir.constU(7));
    ir.emit(Op.Loop);
    const count = ir.append(Op.LoopPhi, Type.U32, zero), mixed = ir.append(Op.LoopPhi, Type.U32, p.index);
    ir.emit(Op.If, ir.emit(Op.ULe, length, count), IfKind.Scalar);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    const fresh = ir.emit(Op.IAdd, mixed, ir.emit(Op.Shuffle, mixed, ir.emit(Op.IAdd, mixed, one)));
    const next = ir.emit(Op.IAdd, count, one);
    ir.emit(Op.LoopCont);
    ir.b[count] = ir.append(Op.ContPhi, Type.U32, ir.pooled([next]), 1);
    ir.b[mixed] = ir.append(Op.ContPhi, Type.U32, ir.pooled([fresh]), 1);
    ir.emit(Op.EndLoop);
    p.output([ir.append(Op.BreakPhi, Type.U32, ir.pooled([mixed]), 1)]);
    p.end();
    run(rig, shape, p, 1);
    const words = (writes: boolean) => barriers(emitValid(writes ? p.ir : withoutStore(), request(shape)).spirv);
    assertEquals(
      words(true) > words(false),
      true,
      "agreeing takes a barrier, and only a program that writes memory needs it",
    );
    rig.destroy();

    function withoutStore() {
      const copy = p.ir;
      const at = copy.op.lastIndexOf(Op.Store);
      copy.op[at] = Op.Nop;
      return copy;
    }
  },
);

function barriers(spirv: Uint32Array): number {
  let count = 0;
  for (let at = 5; at < spirv.length; at += spirv[at] >>> 16) if ((spirv[at] & 0xffff) === 224) count++;
  return count;
}

Deno.test("a vote whose two halves are both read is one exchange, and exchanges in a row take one barrier each", () => {
  const p = new Lanes(64);
  const { ir } = p;
  const odd = ir.emit(Op.INe, ir.emit(Op.And, p.index, ir.constU(1)), ir.constU(0));
  const low = ir.emit(Op.BallotLo, odd), high = ir.emit(Op.BallotHi, odd);
  p.output([low, high]);
  const first = barriers(emitValid(p.end(), request({ waveSize: 64, workgroupSize: [64, 1, 1] })).spirv);
  assertEquals(first, 2, "one to clear the words at first, one for the vote");

  const q = new Lanes(64);
  let value = q.index;
  for (let k = 0; k < 6; k++) value = q.ir.emit(Op.IAdd, value, q.ir.emit(Op.Shuffle, value, q.index));
  q.output([value]);
  assertEquals(barriers(emitValid(q.end(), request({ waveSize: 64, workgroupSize: [64, 1, 1] })).spirv), 6);
});

Deno.test("a set of slots is written again only behind a barrier that follows its last read", () => {
  const p = new Lanes(64);
  const { ir } = p;
  let value = p.index;
  for (let k = 0; k < 7; k++) {
    value = ir.emit(Op.IAdd, value, ir.emit(Op.Shuffle, value, p.index));
    if (k === 3) value = ir.emit(Op.IAdd, value, ir.emit(Op.ReadFirstLane, value, ir.emit(Op.ULt, value, p.index)));
  }
  ir.emit(Op.If, ir.constB(true), IfKind.Scalar);
  const inner = ir.emit(Op.Shuffle, value, value);
  ir.emit(Op.EndIf);
  value = ir.append(Op.Phi, Type.U32, inner, value);
  p.output([ir.emit(Op.Shuffle, value, p.index)]);
  const artifact = emitValid(p.end(), request({ waveSize: 64, workgroupSize: [64, 1, 1] }));
  // Slots are read in functions: they are looked at where they are called.
  const inlining = ["--inline-entry-points-exhaustive", "--eliminate-dead-functions"];
  const spirv = openSpirvTools().optimize(artifact.spirv, inlining);
  // The array of values has two sets of 64; a chain to the second set adds 64 to its index.
  const constants = new Map<number, number>(), sets = new Map<number, number>(), reading = new Set<number>();
  let array = 0, written = 0, read = 0;
  for (let at = 5; at < spirv.length; at += spirv[at] >>> 16) {
    const [, a, b, c, d] = spirv.subarray(at, at + 5);
    switch (spirv[at] & 0xffff) {
      case 43:
        constants.set(b, c);
        break;
      case 28: // the longest array type
        if (constants.get(c) === 128) array = a;
        break;
      case 32:
        if (c === array) array = a; // its pointer type
        break;
      case 59:
        if (a === array) array = b; // the variable
        break;
      case 128:
        if (constants.get(d) === 64) sets.set(b, 1);
        break;
      case 65:
        if (c === array) sets.set(b, sets.get(d) ?? 0);
        break;
      case 61:
        if (sets.has(c)) {
          reading.add(sets.get(c)!);
          read++;
        }
        break;
      case 62:
        if (sets.has(a)) {
          assertEquals(reading.has(sets.get(a)!), false, `set ${sets.get(a)} is written while it may be read`);
          written++;
        }
        break;
      case 224:
        reading.clear();
    }
  }
  assertEquals([written, read], [10, 10]);
});

Deno.test("programs that do not observe the wave are laneless, others spanned, and the artifact says why", () => {
  const p = new Lanes(32);
  p.output([p.index]);
  const plain = emitValid(p.end(), request());
  assertEquals([plain.laneMode, plain.laneModeReason], ["laneless", "the program does not observe the wave"]);
  const q = new Lanes(32);
  q.pc();
  q.output([q.ir.emit(Op.ReadLane, q.index, q.ir.constU(0))]);
  const spanned = emitValid(q.end(), request());
  assertEquals(spanned.laneMode, "spanned");
  assertStringIncludes(spanned.laneModeReason, "ReadLane at pc 0x4");
  assertEquals(spanned.sharedBytes, 2 * 32 * 4);
  const error = assertThrows(() => emitCompute(q.ir, request(), { laneMode: "laneless" }), RefusedError, "ReadLane");
  assertEquals([error.code, error.place.pc], ["recompiler.lane-exchange", 4]);
  assertEquals(error.place.guestAddress, 0x10_0004n);
});

/** An exchange below one condition. */
function below(kind: "lane" | "wave" | "workgroup", size: number, op: number): Lanes {
  const p = new Lanes(size);
  const { ir } = p;
  const condition = kind === "lane"
    ? ir.emit(Op.ULt, p.index, ir.constU(5))
    : kind === "wave"
    ? ir.emit(Op.IEq, ir.append(Op.Input, Type.U32, InputKind.WaveId), ir.constU(0))
    : ir.emit(Op.IEq, ir.append(Op.Input, Type.U32, InputKind.WorkgroupId, 0), ir.constU(0));
  ir.emit(Op.If, condition, kind === "lane" ? IfKind.Lane : IfKind.Scalar);
  p.pc();
  if (op === Op.Barrier) ir.emit(op);
  else ir.emit(op, ir.emit(Op.ULt, p.index, ir.constU(3)));
  ir.emit(Op.EndIf);
  ir.emit(Op.End);
  return p;
}

Deno.test("an exchange is refused, by name and pc, where not the whole workgroup comes by", () => {
  const emit = (p: Lanes, size: number) => emitValid(p.ir, request({ workgroupSize: [size, 1, 1] }));
  const error = assertThrows(() => emit(below("lane", 32, Op.Any), 32), RefusedError, "Any");
  assertEquals([error.code, error.place.pc], ["recompiler.lane-exchange", 4]);
  assertThrows(() => emit(below("wave", 64, Op.BallotLo), 64), RefusedError, "the workgroup does not share");
  emit(below("wave", 32, Op.BallotLo), 32); // one wave: wave-uniform is workgroup-uniform
  emit(below("workgroup", 64, Op.BallotLo), 64);
});

Deno.test("an exchange behind a lane's own break in the same loop is refused", () => {
  const p = new Lanes(32);
  const { ir } = p;
  ir.emit(Op.Loop);
  ir.emit(Op.If, ir.emit(Op.ULt, p.index, ir.constU(4)), IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  ir.emit(Op.Any, ir.emit(Op.ULt, p.index, ir.constU(9)));
  ir.emit(Op.LoopCont);
  ir.emit(Op.EndLoop);
  ir.emit(Op.End);
  assertThrows(() => emitValid(ir, request()), RefusedError, "the workgroup does not share");
});

Deno.test("a barrier where not the whole workgroup comes by is a mistake of the passes, which have refused the guest's; it is not emitted", () => {
  const emit = (p: Lanes, size: number) => emitValid(p.ir, request({ workgroupSize: [size, 1, 1] }));
  for (const kind of ["lane", "wave"] as const) {
    const error = assertThrows(() => emit(below(kind, 64, Op.Barrier), 64), Error, "the recompiled module is wrong");
    assert(!(error instanceof AnyAgcError));
  }
  emit(below("wave", 32, Op.Barrier), 32); // one wave: wave-uniform is workgroup-uniform
  emit(below("workgroup", 64, Op.Barrier), 64);
});

Deno.test("LDS and exchange slots together must fit into the device's workgroup memory", () => {
  const p = new Lanes(32);
  p.ir.emit(Op.LdsStore, p.ir.constU(0), p.yes, p.index, 4);
  p.output([p.ir.emit(Op.ReadLane, p.index, p.ir.constU(0))]);
  p.end();
  const emit = (sharedMemoryBytes: number) =>
    emitValid(p.ir, request({ ldsBytes: 1024, device: { ...GENERIC_DEVICE, sharedMemoryBytes } }));
  assertEquals(emit(1280).sharedBytes, 1280);
  assertThrows(() => emit(1276), RefusedError, "1280 bytes");
});
