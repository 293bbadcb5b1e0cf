import { assertEquals } from "@std/assert";
import { Prepared, preparedProgram, Ranges, Resolver } from "../../../src/driver/vulkan/resolver.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import { Access } from "../../../src/recompiler/abi.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { BufferForm, ResourcePlan, type Resources } from "../../../src/recompiler/resources/plan.ts";

const BASE = 0x2_0000_0000n, BYTES = 0x4000, DEVICE = 0x7f00_0000_0000n;
const ZERO = 0x1234_5678_9abc;

/** A resolver over one window, and a program that takes the V# at the address in user data 0 and 1, and the dword behind it. */
class Setup {
  readonly memory = new GuestMemory(new ArrayAllocator());
  readonly resolver = new Resolver();
  readonly inFlight = new Ranges();
  readonly resources: Resources;
  readonly words = new Uint32Array(64);
  readonly #program;

  constructor(access: number = Access.Read, form: BufferForm = BufferForm.Vector, more: Partial<Resources> = {}) {
    this.memory.map(BASE, BYTES, Permission.All);
    const table = [{ base: BASE, end: BASE + BigInt(BYTES), delta: DEVICE - BASE, permissions: Permission.All }];
    this.resolver.setWindows(table, this.memory);
    const ir = new Ir();
    const plan = new ResourcePlan(ir);
    const user = [0, 1].map((k) => ir.append(Op.Input, Type.U32, InputKind.UserData, k));
    const address = ir.emit(Op.Pack64, user[0], user[1]);
    const four = ir.append(Op.Load, Type.V4, address, ir.constB(true), 16);
    const words = [0, 1, 2, 3].map((k) => ir.emit(Op.Extract, four, k));
    const behind = ir.emit(Op.IAdd64, address, ir.append(Op.Const, Type.U64, 16, 0));
    const number = ir.append(Op.Load, Type.U32, behind, ir.constB(true), 4);
    assertEquals(plan.buffer(words, form), 0);
    plan.value(number);
    this.resources = {
      tape: plan.tape(),
      values: Int32Array.from(plan.values),
      wideOffset: 16,
      bytes: 40,
      buffers: [{ ...plan.buffers[0], base: 16, limit: 4, extent: 24, guest: 32, access, alignment: 4 }],
      writesElsewhere: false,
      ...more,
    };
    this.#program = preparedProgram(this.resources);
  }

  /** Puts a V# at offset 64 of the window, and a number behind it. */
  put(address: bigint, records: number, word3 = 3 << 28, stride = 0): this {
    const low = Number(address & 0xffff_ffffn), high = Number((address >> 32n) & 0xffffn) | stride << 16;
    [low, high, records, word3, 77].forEach((word, k) => this.memory.writeU32(BASE + 64n + BigInt(k * 4), word >>> 0));
    return this;
  }

  prepare(at = BASE + 64n): Prepared {
    const userData = [Number(at & 0xffff_ffffn) | 0, Number(at >> 32n)];
    const prepared = this.resolver.prepare(this.#program, userData, [this.inFlight]);
    if (prepared === Prepared.Ready) this.resolver.write(this.#program, this.words, 0, ZERO);
    return prepared;
  }

  u64(at: number): bigint {
    return BigInt(this.words[at / 4]) | BigInt(this.words[at / 4 + 1]) << 32n;
  }
}

Deno.test("a V# in memory becomes device address, limit, room to the window's end and guest address", () => {
  const setup = new Setup().put(BASE + 0x1000n, 400);
  assertEquals(setup.prepare(), Prepared.Ready);
  assertEquals([...setup.words.subarray(0, 2)], [77, 400]);
  assertEquals([16, 24, 32].map((at) => setup.u64(at)), [DEVICE + 0x1000n, BigInt(BYTES - 0x1000), BASE + 0x1000n]);
});

Deno.test("OOB_SELECT and STRIDE decide on the limit, each form in its way", () => {
  const limit = (setup: Setup) => setup.prepare() === Prepared.Ready ? setup.words[1] : -1;
  assertEquals(limit(new Setup().put(BASE, 40, 0, 12)), 12, "structured, no index: offsets below STRIDE");
  assertEquals(limit(new Setup().put(BASE, 0, 0, 12)), 0, "no records");
  assertEquals(limit(new Setup().put(BASE, 1, 2 << 28)), -1, "no limit: the window's end must be watched");
  assertEquals(limit(new Setup().put(BASE, 0, 1 << 28)), 0, "no records, unlimited otherwise");
  assertEquals(
    limit(new Setup(Access.Read, BufferForm.Scalar).put(BASE, 5, 0, 12)),
    60,
    "scalar: records of STRIDE bytes",
  );
  assertEquals(limit(new Setup(Access.Read, BufferForm.Scalar).put(BASE, 5)), 5, "scalar: bytes");
});

Deno.test("where nothing is in range, loads read zeros that are there", () => {
  const setup = new Setup().put(0xdead_0000_0000n, 0);
  assertEquals(setup.prepare(), Prepared.Ready);
  assertEquals([setup.words[1], setup.u64(16)], [0, BigInt(ZERO)]);
});

Deno.test("descriptors that the fast form cannot serve are unfit", () => {
  const unfit = (setup: Setup) => assertEquals(setup.prepare(), Prepared.Unfit);
  unfit(new Setup().put(BASE, 400, (3 << 28) | (1 << 23))); // ADD_TID_ENABLE
  unfit(new Setup().put(BASE + 2n, 400)); // not aligned
  unfit(new Setup().put(BASE + 0x10_0000n, 400)); // not mapped
  unfit(new Setup().put(BASE, BYTES + 4)); // leaves the window
  unfit(new Setup().put(BASE, BYTES - 31)); // loads would read ahead of the window's end
  assertEquals(new Setup().put(BASE, BYTES - 32).prepare(), Prepared.Ready);
  assertEquals(new Setup().put(BASE, 0xffff_ffff).prepare(), Prepared.Unfit);
  unfit(new Setup(Access.Write | Access.Read).put(BASE, 64 + 4)); // writes what it was made from
  unfit(new Setup(Access.Write).put(BASE + 56n, 4)); // no room for one access before it
  assertEquals(new Setup(Access.Write | Access.Read).put(BASE + 84n, 64).prepare(), Prepared.Ready);
  unfit(new Setup(Access.Read, BufferForm.Vector, { writesElsewhere: true }).put(BASE, 400));
  assertEquals(new Setup().prepare(BASE + BigInt(BYTES)), Prepared.Unfit, "the descriptor itself is not mapped");
});

Deno.test("permissions are kept", () => {
  const setup = new Setup(Access.Write).put(BASE + 0x1000n, 400);
  const table = [{ base: BASE, end: BASE + BigInt(BYTES), delta: 0n, permissions: Permission.Read }];
  setup.resolver.setWindows(table, setup.memory);
  assertEquals(setup.prepare(), Prepared.Unfit);
});

Deno.test("what dispatches in flight may write is not read", () => {
  const address = Number(BASE);
  for (const [begin, end, busy] of [[64, 68, true], [83, 84, true], [0, 64, false], [84, 100, false]] as const) {
    const setup = new Setup().put(BASE + 0x1000n, 400);
    setup.inFlight.add(address + begin, address + end);
    assertEquals(setup.prepare() === Prepared.Busy, busy, `${begin} to ${end}`);
  }
  const setup = new Setup().put(BASE + 0x1000n, 400);
  setup.inFlight.everything = true;
  assertEquals(setup.prepare(), Prepared.Busy);
  setup.inFlight.clear();
  assertEquals(setup.prepare(), Prepared.Ready);
});

Deno.test("what a dispatch writes: the buffers it stores to, and nothing that it only loads from", () => {
  const load = new Setup().put(BASE + 0x1000n, 402);
  load.prepare();
  assertEquals(load.resolver.writes.count, 0);
  const store = new Setup(Access.Write, BufferForm.Vector).put(BASE + 0x1000n, 402);
  store.prepare();
  // The second offset of an access is not range-checked: up to the window's end.
  assertEquals(store.resolver.writes.meets(Number(BASE) + BYTES - 1, Number(BASE) + BYTES), true);
  assertEquals(store.resolver.writes.meets(Number(BASE), Number(BASE) + 0x1000), false);
});

Deno.test("ranges that touch become one; many stay apart", () => {
  const ranges = new Ranges();
  ranges.add(10, 20);
  ranges.add(20, 30);
  ranges.add(15, 18);
  assertEquals(ranges.count, 1);
  for (let k = 0; k < 100; k++) ranges.add(1000 + k * 10, 1005 + k * 10);
  assertEquals(ranges.count, 101);
  assertEquals([ranges.meets(29, 30), ranges.meets(30, 1000), ranges.meets(1996, 1999), ranges.meets(1994, 1996)], [
    true,
    false,
    false,
    true,
  ]);
  const all = new Ranges();
  all.addAll(ranges);
  assertEquals(all.count, 101);
});

Deno.test("the second offset of a store may lead as far as what was read for the dispatch", () => {
  const setup = new Setup(Access.Write).put(BASE, 20);
  assertEquals(setup.prepare(), Prepared.Ready);
  assertEquals([setup.words[1], setup.u64(24)], [20, 64n]);
  assertEquals(setup.resolver.writes.meets(Number(BASE) + 63, Number(BASE) + 64), true);
  assertEquals(setup.resolver.writes.meets(Number(BASE) + 64, Number(BASE) + 65), false);
});
