/** The packed form (src/recompiler/passes/pack): what is computed once and what once per slot, exchanges between slots, and who loads for a branch. */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { AtomicKind, IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { LaneBits } from "../../../src/recompiler/passes/pack/known_bits.ts";
import { pack } from "../../../src/recompiler/passes/pack/pack.ts";
import { packShape, SLOT_SHIFT, slotOf, SUBGROUP_BARRIER } from "../../../src/recompiler/passes/pack/shape.ts";
import { deadCode } from "../../../src/recompiler/passes/dead_code.ts";
import { simplify } from "../../../src/recompiler/passes/simplify.ts";
import { makeRequest } from "../../support/lift.ts";

/** A program under construction that stores what it is asked to. */
class Program {
  readonly ir = new Ir();
  readonly yes = this.ir.constB(true);
  readonly lane = this.input(InputKind.LaneId);

  input(kind: number, b = 0, type: Type = Type.U32): number {
    return this.ir.append(Op.Input, type, kind, b);
  }

  u(bits: number): number {
    return this.ir.constU(bits);
  }

  address(value: number): number {
    return this.ir.emit(Op.Pack64, value, this.u(3));
  }

  store(address: number, value: number, active = this.yes): void {
    this.ir.emit(Op.Store, this.address(address), active, value, 4);
  }

  load(address: number): number {
    return this.ir.append(Op.Load, Type.U32, this.address(address), this.yes, 4);
  }

  pack(width: number, waveSize = 64, barrierBefore: ReadonlySet<number> = new Set()): Ir {
    this.ir.emit(Op.End);
    const out = pack(this.ir, { width, slots: waveSize / width, waveSize, barrierBefore, codeAddress: 0n });
    validateIrVerbosely(out);
    return deadCode(simplify(out));
  }
}

/** How often an operation occurs. */
function count(ir: Ir, op: number): number {
  let n = 0;
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === op) n++;
  return n;
}

Deno.test("what varies from lane to lane is computed once per slot, what does not once", () => {
  for (const width of [8, 16, 32, 64]) {
    const p = new Program(), slots = 64 / width;
    const uniform = p.ir.emit(Op.IMul, p.input(InputKind.UserData, 0), p.input(InputKind.UserData, 1));
    p.store(p.ir.emit(Op.IAdd, p.ir.emit(Op.Shl, p.lane, p.u(2)), uniform), p.ir.emit(Op.Xor, p.lane, uniform));
    const out = p.pack(width);
    assertEquals([count(out, Op.IMul), count(out, Op.Xor), count(out, Op.Store)], [1, slots, slots]);
    const lanes = [];
    for (let i = 1; i < out.length; i++) {
      if (out.op[i] === Op.Input && out.a[i] === InputKind.LaneId) lanes.push(slotOf(out.b[i]));
    }
    assertEquals(lanes, Array.from({ length: slots }, (_, k) => k));
  }
});

Deno.test("a store of the same everywhere happens once, an atomic of the same everywhere once per slot", () => {
  const p = new Program(), value = p.input(InputKind.UserData, 0);
  p.store(value, value);
  p.ir.emit(Op.Atomic, p.address(value), p.yes, value, AtomicKind.Add);
  const out = p.pack(16);
  assertEquals([count(out, Op.Store), count(out, Op.Atomic)], [1, 4]);
});

Deno.test("a ballot is made of the slots' ballots of its half, a vote of one", () => {
  for (const [width, each] of [[8, 4], [16, 2], [32, 1]] as const) {
    const p = new Program(), odd = p.ir.emit(Op.INe, p.ir.emit(Op.And, p.lane, p.u(1)), p.u(0));
    const address = p.input(InputKind.UserData, 0);
    const any = p.ir.append(Op.Select, Type.U32, p.ir.emit(Op.Any, odd), p.u(5), p.u(6));
    p.store(address, p.ir.emit(Op.IAdd, p.ir.emit(Op.BallotHi, odd), any));
    const out = p.pack(width);
    assertEquals([count(out, Op.BallotLo), count(out, Op.BallotHi), count(out, Op.Any)], [each, 0, 1]);
  }
});

Deno.test("a shuffle that stays in its row is one per slot, one that may go anywhere looks at all slots", () => {
  const shuffles = (lane: (p: Program) => number) => {
    const p = new Program();
    const value = p.ir.emit(Op.IMul, p.lane, p.input(InputKind.UserData, 1));
    p.store(p.ir.emit(Op.Shl, p.lane, p.u(2)), p.ir.emit(Op.Shuffle, value, lane(p)));
    return count(p.pack(16), Op.Shuffle);
  };
  assertEquals(shuffles((p) => p.ir.emit(Op.Xor, p.lane, p.u(5))), 4);
  assertEquals(shuffles((p) => p.ir.emit(Op.Xor, p.lane, p.u(17))), 4);
  assertEquals(shuffles((p) => p.ir.emit(Op.And, p.ir.emit(Op.IAdd, p.lane, p.u(3)), p.u(31))), 8);
  assertEquals(shuffles((p) => p.load(p.ir.emit(Op.Shl, p.lane, p.u(2)))), 16);
});

Deno.test("a lane that is known by its number is one broadcast, one that a register names is chosen from the slots", () => {
  for (const constant of [true, false]) {
    const p = new Program(), value = p.ir.emit(Op.IMul, p.lane, p.lane);
    const lane = constant ? p.u(37) : p.input(InputKind.UserData, 2);
    p.store(p.input(InputKind.UserData, 0), p.ir.emit(Op.ReadLane, value, lane));
    const out = p.pack(8);
    assertEquals(count(out, Op.ReadLane), 1);
    assertEquals(count(out, Op.Select), constant ? 0 : 7);
    assertEquals(count(out, Op.IMul), constant ? 1 : 8);
  }
});

Deno.test("a load that decides where the wave goes is one invocation's, where the program writes memory", () => {
  for (const writes of [true, false]) {
    const p = new Program(), address = p.input(InputKind.UserData, 0);
    const loaded = p.load(address), other = p.load(p.ir.emit(Op.IAdd, address, p.u(64)));
    p.ir.emit(Op.If, p.ir.emit(Op.INe, loaded, p.u(0)), IfKind.Scalar);
    if (writes) p.store(address, other);
    else p.ir.emit(Op.LdsStore, address, p.yes, other, 4);
    p.ir.emit(Op.EndIf);
    const out = p.pack(32);
    assertEquals([count(out, Op.Load), count(out, Op.ReadLane)], [2, writes ? 1 : 0]);
  }
});

Deno.test("LDS hazards in a wave become barriers of the subgroup, and the guest's barriers stay one", () => {
  const p = new Program(), at = p.ir.emit(Op.Shl, p.lane, p.u(2));
  p.ir.emit(Op.LdsStore, at, p.yes, p.lane, 4);
  p.ir.emit(Op.Barrier);
  const load = p.ir.append(Op.LdsLoad, Type.U32, p.ir.emit(Op.Xor, at, p.u(4)), p.yes, 4);
  p.store(at, load);
  const out = p.pack(8, 64, new Set([load]));
  const barriers = [];
  for (let i = 1; i < out.length; i++) if (out.op[i] === Op.Barrier) barriers.push(out.a[i]);
  assertEquals(barriers, [0, SUBGROUP_BARRIER]);
  assertEquals([count(out, Op.LdsStore), count(out, Op.LdsLoad)], [8, 8]);
});

Deno.test("a branch that single lanes decide is refused by name", () => {
  const p = new Program();
  p.ir.emit(Op.If, p.ir.emit(Op.ULt, p.lane, p.u(7)), IfKind.Scalar);
  p.store(p.lane, p.lane);
  p.ir.emit(Op.EndIf);
  assertThrows(() => p.pack(8), RefusedError, "a branch that each lane decides for itself");
});

Deno.test("known bits hold for every lane of a slot, whatever is done to its number", () => {
  const ir = new Ir(), width = 8, slots = 8;
  const lane = (k: number) => ir.append(Op.Input, Type.U32, InputKind.LaneId, k << SLOT_SHIFT);
  const u = (bits: number) => ir.constU(bits);
  const make: [string, (id: number) => number, (n: number) => number][] = [
    ["and", (id) => ir.emit(Op.And, id, u(~3)), (n) => n & ~3],
    ["or", (id) => ir.emit(Op.Or, id, u(33)), (n) => n | 33],
    ["xor", (id) => ir.emit(Op.Xor, id, u(0x1f)), (n) => n ^ 0x1f],
    ["add", (id) => ir.emit(Op.IAdd, ir.emit(Op.And, id, u(~7)), u(24)), (n) => (n & ~7) + 24],
    ["add to unknown", (id) => ir.emit(Op.IAdd, id, u(5)), (n) => n + 5],
    ["sub", (id) => ir.emit(Op.ISub, ir.emit(Op.Shl, id, u(3)), u(9)), (n) => (n << 3) - 9],
    ["shl", (id) => ir.emit(Op.Shl, id, u(2)), (n) => n << 2],
    ["shr", (id) => ir.emit(Op.Shr, id, u(4)), (n) => n >>> 4],
    ["bfe", (id) => ir.emit(Op.UBfe, id, u(2), u(3)), (n) => n >>> 2 & 7],
    ["rotation in a row", (id) => {
      const moved = ir.emit(Op.And, ir.emit(Op.IAdd, id, u(11)), u(15));
      return ir.emit(Op.Or, ir.emit(Op.And, id, u(~15)), moved);
    }, (n) => n & ~15 | n + 11 & 15],
  ];
  for (const [name, build, expected] of make) {
    for (let k = 0; k < slots; k++) {
      const id = build(lane(k)),
        bits = new LaneBits(ir, { width, slots }),
        known = bits.of(id),
        reached = bits.slots(id);
      for (let s = 0; s < width; s++) {
        const value = expected(k * width + s);
        assertEquals((value ^ known.bits) & known.mask, 0, `${name} of lane ${k * width + s}`);
        assertEquals(reached.includes(value >>> 3 & 7), true, `${name} of lane ${k * width + s}: slot`);
      }
      if (name === "and") assertEquals(reached, [k]);
      if (name === "rotation in a row") assertEquals(reached, [k & ~1, k | 1]);
    }
  }
});

Deno.test("the widest subgroup that fits into a wave is taken; wider ones, and too many waves, are refused with the reason", () => {
  const shape = (waveSize: 32 | 64, minimum: number, maximum: number, perWorkgroup = 32, threads = 64) => {
    const request = makeRequest({ waveSize, workgroupSize: [threads, 1, 1] });
    return packShape({
      ...request,
      device: { ...request.device, requiredSubgroup: { minimum, maximum, perWorkgroup } },
    });
  };
  assertEquals(shape(64, 8, 32), { width: 32, slots: 2 });
  assertEquals(shape(32, 8, 32), { width: 32, slots: 1 });
  assertEquals(shape(32, 4, 128), { width: 32, slots: 1 });
  assertEquals(shape(64, 8, 8), { width: 8, slots: 8 });
  assertEquals(shape(32, 64, 64), "subgroups of the device have at least 64 lanes, a wave has 32");
  assertEquals(shape(32, 32, 32, 4, 256), "a workgroup has 8 waves, and at most 4 subgroups");
});
