import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { AtomicKind, InputKind, MemoryWidth, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { Random } from "../../support/random.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { INPUT, Lanes, OUTPUT } from "./programs.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { compare, emitValid, request, Rig, type RunOptions, sameFloat } from "./support.ts";

const LANES = 64;

function randomWords(count: number, seed = 1): Uint32Array {
  const random = new Random(seed);
  return Uint32Array.from({ length: count }, () => random.u32());
}

const shape: Pick<RunOptions, "waveSize" | "workgroupSize"> = { waveSize: 64, workgroupSize: [LANES, 1, 1] };

/** A U64 address: base plus bytes (a U32 value). */
function at(p: Lanes, base: bigint, bytes: number): number {
  const { ir } = p;
  return ir.emit(Op.IAdd64, p.u64(base), ir.emit(Op.Pack64, bytes, ir.constU(0)));
}

/** A program that loads with every width, each lane at its index times `stride` bytes. */
function loads(stride: number): { p: Lanes; dwords: number } {
  const p = new Lanes(LANES);
  const { ir } = p;
  const address = at(p, INPUT, ir.emit(Op.IMul, p.index, ir.constU(stride)));
  const results = [1, 1 | MemoryWidth.Signed, 2, 2 | MemoryWidth.Signed, 4, 4 | MemoryWidth.Coherent].map((width) =>
    p.load(address, width, Type.U32)
  );
  for (const words of [2, 3, 4]) {
    const value = p.load(address, words * 4, (Type.V2 + words - 2) as Type);
    for (let k = 0; k < words; k++) results.push(ir.emit(Op.Extract, value, k));
  }
  p.output(results);
  p.end();
  return { p, dwords: results.length };
}

function compareLoads(rig: Rig, stride: number, more: Partial<RunOptions> = {}): void {
  const { p, dwords } = loads(stride);
  const words = randomWords(LANES * Math.ceil(stride / 4) + 4);
  const { fault } = compare(rig, p.ir, {
    ...shape,
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(LANES * dwords) }],
    ...more,
  });
  assertEquals(fault, undefined);
}

deviceTest(
  "loads of all widths give the evaluator's values, with and without narrow storage on the device",
  (device) => {
    const rig = new Rig(device);
    compareLoads(rig, 4);
    compareLoads(rig, 12);
    compareLoads(rig, 8, { device: { storage8: false, storage16: false } });
    rig.destroy();
  },
);

deviceTest("loads at any address work when the request asks for them", (device) => {
  const rig = new Rig(device);
  for (const stride of [1, 3, 5, 6]) compareLoads(rig, stride, { unalignedLoads: true });
  compareLoads(rig, 7, { unalignedLoads: true, device: { storage8: false, storage16: false } });
  rig.destroy();
});

deviceTest("stores of all widths write their bytes and no others, with and without narrow storage", (device) => {
  const rig = new Rig(device);
  for (const narrow of [true, false]) {
    const p = new Lanes(LANES);
    const { ir } = p;
    const value = p.input(1, 0);
    const wide = ir.append(Op.Vec, Type.V4, value, ir.emit(Op.Not, value), p.index, ir.constU(0x55aa55aa));
    const slot = (k: number, size: number) =>
      at(p, OUTPUT + BigInt(k * LANES * 16), ir.emit(Op.IMul, p.index, ir.constU(size)));
    p.store(slot(0, 1), value, 1);
    p.store(slot(1, 2), value, 2);
    p.store(slot(2, 3), value, 1);
    p.store(slot(3, 4), value, 4 | MemoryWidth.Coherent);
    p.store(slot(4, 8), ir.append(Op.Vec, Type.V2, value, p.index), 8);
    p.store(slot(5, 12), ir.append(Op.Vec, Type.V3, value, p.index, value), 12);
    p.store(slot(6, 16), wide, 16);
    // Floats, alone and as vectors.
    const x = ir.emit(Op.BitcastF, value);
    const sum = ir.emit(Op.BitcastU, ir.emit(Op.FNeg, x));
    p.store(slot(7, 4), sum, 4);
    p.store(slot(8, 16), ir.append(Op.Vec, Type.V4, sum, ir.constU(7), sum, sum), 16);
    p.end();
    compare(rig, p.ir, {
      ...shape,
      device: narrow ? {} : { storage8: false, storage16: false },
      windows: [{ base: INPUT, words: randomWords(LANES) }, { base: OUTPUT, words: randomWords(9 * LANES * 4, 2) }],
    }, sameFloat);
  }
  rig.destroy();
});

deviceTest("inactive lanes load zeros, store nothing and cannot fail, whatever their address", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(LANES);
  const { ir } = p;
  const even = ir.emit(Op.IEq, ir.emit(Op.And, p.index, ir.constU(1)), ir.constU(0));
  // Some inactive lanes have good addresses, others wild ones.
  const tame = ir.emit(Op.ULt, p.index, ir.constU(40));
  const mapped = ir.emit(Op.LOr, even, tame);
  const wild = ir.append(Op.Select, Type.U64, mapped, p.address(INPUT, p.index, 1, 0), p.u64(0xdead_0000_0000_0001n));
  const loaded = p.load(wild, 4, Type.U32, even);
  const target = ir.append(Op.Select, Type.U64, mapped, p.address(OUTPUT, p.index, 2, 0), p.u64(3n));
  p.store(target, ir.emit(Op.IAdd, loaded, ir.constU(1)), 4, even);
  const old = ir.append(Op.Atomic, Type.U32, target, even, loaded, AtomicKind.Add);
  p.store(p.address(OUTPUT, p.index, 2, 1), ir.emit(Op.Xor, loaded, old), 4);
  const { fault } = compare(rig, p.end(), {
    ...shape,
    windows: [{ base: INPUT, words: randomWords(LANES) }, { base: OUTPUT, words: randomWords(LANES * 2, 3) }],
  });
  assertEquals(fault, undefined);
  rig.destroy();
});

deviceTest("windows are found whatever their number and order in the address space", (device) => {
  const rig = new Rig(device);
  for (const count of [1, 2, 3, 7, 8, 9, 21]) {
    for (const windowsMost of new Set([count, Math.max(count, 2), 16, 40])) {
      if (windowsMost < count) continue;
      // Each lane reads from one window and adds to another.
      const p = new Lanes(LANES);
      const { ir } = p;
      const bases = Array.from(
        { length: count },
        (_, k) =>
          k % 2 === 0 ? 0x1_0000_0000n + BigInt(k) * 0x10_0000_1000n : 0xffff_8000_0000_0000n + BigInt(k) * 0x1000n,
      )
        .sort((a, b) => a < b ? -1 : 1);
      let address = p.u64(bases[0]);
      const choice = p.input === undefined ? 0 : ir.emit(Op.And, p.index, ir.constU(31));
      bases.forEach((base, k) => {
        if (k > 0) {
          address = ir.append(Op.Select, Type.U64, ir.emit(Op.IEq, choice, ir.constU(k)), p.u64(base), address);
        }
      });
      const offset = ir.emit(Op.Pack64, ir.emit(Op.Shl, p.index, ir.constU(2)), ir.constU(0));
      const place = ir.emit(Op.IAdd64, address, offset);
      p.store(place, ir.emit(Op.IAdd, p.load(place, 4, Type.U32), p.index), 4);
      const { fault } = compare(rig, p.end(), {
        ...shape,
        windowsMost,
        windows: bases.map((base, k) => ({ base, words: randomWords(LANES + k, k) })),
      });
      assertEquals(fault, undefined);
    }
  }
  rig.destroy();
});

deviceTest("the first and the last bytes of a window can be reached with every width", (device) => {
  const rig = new Rig(device);
  for (const windowsMost of [1, 2]) {
    for (const bytes of [1, 2, 4, 8, 12, 16]) {
      const p = new Lanes(LANES);
      const { ir } = p;
      const type = bytes <= 4 ? Type.U32 : (Type.V2 + bytes / 4 - 2) as Type;
      const size = 4096;
      const first = p.load(p.u64(INPUT), bytes, type);
      const lastPlace = p.u64(INPUT + BigInt(size - bytes));
      p.store(lastPlace, first, bytes);
      const value = p.load(lastPlace, bytes, type);
      p.store(p.u64(INPUT + 64n), value, bytes);
      ir.emit(Op.End);
      const { fault } = compare(rig, ir, {
        ...shape,
        workgroupSize: [1, 1, 1],
        windowsMost,
        windows: [{ base: INPUT, words: randomWords(size / 4) }],
      });
      assertEquals(fault, undefined);
    }
  }
  rig.destroy();
});

/** All lanes do the same atomic operations on few places; the order does not matter for these kinds. */
function atomicProgram(wide: boolean): { p: Lanes; kinds: number[] } {
  const kinds = [
    AtomicKind.Add,
    AtomicKind.Sub,
    AtomicKind.SMin,
    AtomicKind.UMin,
    AtomicKind.SMax,
    AtomicKind.UMax,
    AtomicKind.And,
    AtomicKind.Or,
    AtomicKind.Xor,
    ...(wide ? [] : [AtomicKind.FMin, AtomicKind.FMax]),
  ];
  const p = new Lanes(LANES);
  const { ir } = p;
  const value = p.input(2, 0), high = p.input(2, 1);
  const data = wide ? ir.append(Op.Vec, Type.V2, value, high) : value;
  const size = wide ? 8 : 4;
  kinds.forEach((kind, k) => {
    const place = p.u64(OUTPUT + BigInt(k * size));
    p.pc();
    ir.append(Op.Atomic, wide ? Type.V2 : Type.U32, place, p.yes, data, kind | (wide ? AtomicKind.Wide : 0));
  });
  p.end();
  return { p, kinds };
}

deviceTest("atomics of all lanes on one place give what the evaluator gives, in 32 and 64 bits", (device) => {
  const rig = new Rig(device);
  for (const wide of [false, true]) {
    if (wide && !rig.recompilerDevice.bufferInt64Atomics) continue;
    const { p, kinds } = atomicProgram(wide);
    // Positive floats: their order is that of the bits, and none is a NaN.
    const words = randomWords(LANES * 4 * 2).map((word) => (word & 0x7fffff) | 0x40000000);
    compare(rig, p.ir, {
      ...shape,
      groups: [2, 1, 1],
      windows: [{ base: INPUT, words }, { base: OUTPUT, words: randomWords(kinds.length * 2, 5) }],
    });
  }
  rig.destroy();
});

deviceTest(
  "atomics whose result depends on the old value do what the IR says, each lane in its own place",
  (device) => {
    const rig = new Rig(device);
    for (const wide of [false, true]) {
      if (wide && !rig.recompilerDevice.bufferInt64Atomics) continue;
      const p = new Lanes(LANES);
      const { ir } = p;
      const size = wide ? 2 : 1;
      const kinds = Object.entries(AtomicKind).filter(([name, kind]) =>
        !/^(Mask|Wide|Flush)/.test(name) && !(wide && kind === AtomicKind.FAdd)
      ).map(([, kind]) => kind === AtomicKind.FAdd && !rig.keepsDenormals ? kind | AtomicKind.Flush : kind);
      const row = size * 2;
      const half = (k: number) => p.input(row, k);
      const single = wide ? ir.append(Op.Vec, Type.V2, half(0), half(1)) : half(0);
      const double = wide
        ? ir.append(Op.Vec, Type.V4, half(0), half(1), half(2), half(3))
        : ir.append(Op.Vec, Type.V2, half(0), half(1));
      const two: number[] = [AtomicKind.CmpSwap, AtomicKind.FCmpSwap, AtomicKind.MaskOr, AtomicKind.Wrap];
      kinds.forEach((kind, k) => {
        const place = p.address(OUTPUT, p.index, kinds.length * size, k * size);
        p.pc();
        const old = ir.append(
          Op.Atomic,
          wide ? Type.V2 : Type.U32,
          place,
          p.yes,
          two.includes(kind) ? double : single,
          kind | (wide ? AtomicKind.Wide : 0),
        );
        p.store(p.address(RESULT, p.index, kinds.length * size, k * size), old, size * 4);
      });
      const edges = [0, 1, 5, 0x80000000, 0x7fffffff, 0xffffffff, 0x3f800000, 0xbf800000, 0x7fc00000, 4];
      const random = new Random(8);
      const pick = () => random.pick(edges);
      const count = LANES * kinds.length * size;
      const RESULTS = { base: RESULT, words: new Uint32Array(count) };
      compare(rig, p.end(), {
        ...shape,
        windows: [
          { base: INPUT, words: Uint32Array.from({ length: LANES * row }, pick) },
          RESULTS,
          { base: OUTPUT, words: Uint32Array.from({ length: count }, pick) },
        ],
      }, (got, wanted) => got === wanted || ((got & 0x7fffffff) > 0x7f800000 && (wanted & 0x7fffffff) > 0x7f800000));
    }
    rig.destroy();
  },
);

const RESULT = 0x3_0000_0000n;

deviceTest("lanes that draw numbers from one counter all get different ones", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(LANES);
  const { ir } = p;
  const inc = ir.append(Op.Atomic, Type.U32, p.u64(INPUT), p.yes, ir.constU(0xffff), AtomicKind.Inc);
  const add = ir.append(Op.Atomic, Type.U32, p.u64(INPUT + 4n), p.yes, ir.constU(1), AtomicKind.Add);
  p.output([inc, add]);
  const lanes = LANES * 8;
  const { windows: [counters, drawn] } = rig.run(p.end(), {
    ...shape,
    groups: [8, 1, 1],
    windows: [{ base: INPUT, words: new Uint32Array(4) }, { base: OUTPUT, words: new Uint32Array(lanes * 2) }],
  });
  assertEquals([...counters.subarray(0, 2)], [lanes, lanes]);
  for (let k = 0; k < 2; k++) {
    assertEquals(new Set(drawn.filter((_, i) => i % 2 === k)).size, lanes);
  }
  rig.destroy();
});

deviceTest(
  "inputs: user data, workgroup and local ids, lane and wave numbers, and the limits of a partial dispatch",
  (device) => {
    const rig = new Rig(device);
    const p = new Lanes(96);
    const { ir } = p;
    const input = (kind: number, index = 0, type: Type = Type.U32) => ir.append(Op.Input, type, kind, index);
    // The index of Lanes only counts workgroups along x.
    const flat = ir.emit(
      Op.IAdd,
      ir.emit(
        Op.IMul,
        ir.emit(
          Op.IAdd,
          ir.emit(Op.IMul, input(InputKind.WorkgroupId, 1), ir.constU(2)),
          input(InputKind.WorkgroupId, 0),
        ),
        ir.constU(96),
      ),
      input(InputKind.LocalIndex),
    );
    const values = [
      ...[0, 1, 5, 6, 7, 15].map((k) => input(InputKind.UserData, k)),
      ...[0, 1, 2].map((k) => input(InputKind.WorkgroupId, k)),
      ...[0, 1, 2].map((k) => input(InputKind.LocalId, k)),
      input(InputKind.LaneId),
      input(InputKind.WaveId),
      ir.append(Op.Select, Type.U32, input(InputKind.ThreadActive, 0, Type.Bool), ir.constU(1), ir.constU(0)),
    ];
    values.forEach((value, k) => p.store(p.address(OUTPUT, flat, values.length, k), value, 4));
    compare(rig, p.end(), {
      waveSize: 32,
      workgroupSize: [8, 6, 2],
      groups: [2, 3, 1],
      threadLimit: [13, 17, 2],
      userData: Array.from({ length: 16 }, (_, k) => 0x1000 + k * 3),
      windows: [{ base: OUTPUT, words: new Uint32Array(96 * 6 * values.length) }],
    });
    rig.destroy();
  },
);

Deno.test("64-bit atomics are refused on a device without them, by name and pc", () => {
  const { p } = atomicProgram(true);
  const error = assertThrows(
    () => emitValid(p.ir, request({ device: { ...GENERIC_DEVICE, bufferInt64Atomics: false } })),
    RefusedError,
    "64-bit atomics",
  );
  assertEquals(error.code, "recompiler.atomic64");
  assertEquals(typeof error.place.pc, "number");
});

Deno.test("modules declare 8- and 16-bit storage only when they use it", () => {
  const capabilities = (width: number, device = GENERIC_DEVICE) => {
    const p = new Lanes(LANES);
    p.output([p.load(p.u64(INPUT), width, Type.U32)]);
    const { spirv } = emitValid(p.end(), request({ device }));
    const found: number[] = [];
    for (let at = 5; (spirv[at] & 0xffff) === 17; at += 2) found.push(spirv[at + 1]);
    return found;
  };
  assertEquals(capabilities(1).includes(4448), true);
  assertEquals(capabilities(2).includes(4433), true);
  assertEquals(capabilities(4).some((capability) => capability === 4448 || capability === 4433), false);
  const plain = { ...GENERIC_DEVICE, storage8: false, storage16: false };
  assertEquals([1, 2].flatMap((width) => capabilities(width, plain)).some((c) => c === 4448 || c === 4433), false);
});

Deno.test("an address that is a multiple of four by construction needs no alignment check", () => {
  const words = (stride: number) => {
    const p = new Lanes(LANES);
    const bytes = p.ir.emit(Op.IMul, p.index, p.ir.constU(stride));
    p.output([p.load(at(p, INPUT, bytes), 4, Type.U32)]);
    return emitValid(p.end(), request({ windows: 1 })).spirv.length;
  };
  // A shift, an or, and the constant to shift by.
  assertEquals(words(6) - words(8), 14);
});
