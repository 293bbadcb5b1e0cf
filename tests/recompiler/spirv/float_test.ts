import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { Random } from "../../support/random.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { f32 } from "../../support/ir_eval/scalar.ts";
import { INPUT, Lanes, OUTPUT } from "./programs.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { compare, emitValid, request, Rig, sameFloat } from "./support.ts";

/** Bit patterns of floats that go wrong easily. */
const SPECIAL = [
  0x00000000, // 0
  0x80000000, // -0
  0x00000001, // smallest denormal
  0x80000001,
  0x007fffff, // largest denormal
  0x807fffff,
  0x00800000, // smallest normal
  0x3f800000, // 1
  0xbf800000,
  0x3f800001,
  0x3f7fffff,
  0x3f000000, // 0.5
  0x3fc00000, // 1.5
  0x40200000, // 2.5
  0xc0200000,
  0x33800000, // 2^-24
  0x477fe000, // 65504, the largest f16
  0x477fefff,
  0x477ff000, // 65520, rounds to f16 infinity
  0x38800000, // 2^-14, smallest normal f16
  0x387fffff,
  0x33000000, // 2^-25, half of the smallest f16
  0x33000001,
  0x4b000000, // 2^23
  0x4b7fffff,
  0x4f000000, // 2^31
  0x4effffff,
  0xcf000000,
  0xcf000001,
  0x4f800000, // 2^32
  0x4f7fffff,
  0xc0490fdb,
  0x7f7fffff, // largest
  0xff7fffff,
  0x7f800000, // infinity
  0xff800000,
  0x7fc00000, // NaN
  0xffc00123,
];

/** Lanes with all pairs of special values, and random ones behind them. */
function operands(count: number, randomLanes: number): { words: Uint32Array; lanes: number } {
  const rows: number[] = [];
  for (const a of SPECIAL) for (const b of SPECIAL) rows.push(a, b, SPECIAL[(rows.length * 7) % SPECIAL.length]);
  const random = new Random(11);
  for (let k = 0; k < randomLanes; k++) {
    // Exponents near each other, so that sums cancel and products meet sums.
    for (let j = 0; j < 3; j++) {
      rows.push(
        random.chance(0.5) ? random.u32() : ((random.u32() & 0x807fffff) | ((110 + random.below(34)) << 23)) >>> 0,
      );
    }
  }
  const lanes = Math.ceil(rows.length / 3 / 64) * 64;
  const words = new Uint32Array(lanes * count);
  for (let lane = 0; lane < lanes; lane++) {
    for (let k = 0; k < count; k++) words[lane * count + k] = rows[lane * 3 + k] ?? 0;
  }
  return { words, lanes };
}

/**
 * Whether a product of two operands is a denormal before it is rounded, and is not after: where denormals are flushed, IEEE 754 leaves it to the
 * implementation whether it counts ("tininess before or after rounding").
 */
function isBorderline(words: Uint32Array, lane: number, count: number): boolean {
  const limit = 2 ** -126;
  for (let j = 0; j < count; j++) {
    for (let k = j; k < count; k++) {
      const product = Math.abs(f32(words[lane * count + j]) * f32(words[lane * count + k]));
      if (product < limit && Math.fround(product) === limit) return true;
    }
  }
  return false;
}

/** Makes a value a zero of its sign when it is a denormal, in the evaluator's program and where denormals do not count. */
type Flush = (value: number) => number;

/**
 * Runs a program of one to three float operands a lane on the device and on the evaluator. On a device that keeps denormals, they count; on one that
 * flushes them, the program asks for that, and the evaluator's program flushes each operand and result: what `build` passes through `flush`.
 */
function compareFloats(
  rig: Rig,
  count: number,
  build: (p: Lanes, operands: number[], flush: Flush) => number[],
  equal: (got: number, wanted: number, result: number) => boolean = sameFloat,
  randomLanes = 2000,
): void {
  const { words, lanes } = operands(count, randomLanes);
  const keeps = rig.keepsDenormals;
  let size = 0;
  const program = (flushes: boolean) => {
    const p = new Lanes(64);
    const flush: Flush = (value) => flushes ? p.ir.emit(Op.FlushDenorm, value) : value;
    const inputs = Array.from({ length: count }, (_, k) => flush(p.ir.emit(Op.BitcastF, p.input(count, k))));
    const results = build(p, inputs, flush);
    size = results.length;
    p.output(results);
    return p.end();
  };
  const ir = program(false);
  compare(
    rig,
    ir,
    {
      waveSize: 64,
      workgroupSize: [64, 1, 1],
      floatMode: keeps ? 0xf0 : 0xc0,
      groups: [lanes / 64, 1, 1],
      windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(lanes * size) }],
    },
    (got, wanted, word, window) =>
      window === 0
        ? got === wanted
        : equal(got, wanted, word % size) || (!keeps && isBorderline(words, Math.floor(word / size), count)),
    keeps ? ir : program(true),
  );
}

deviceTest(
  "float sums, differences, products, minima and maxima are bit-exact, denormals and -0 included",
  (device) => {
    const rig = new Rig(device);
    compareFloats(rig, 2, ({ ir }, [a, b], flush) => {
      const emit = (op: number, x: number, y: number) => flush(ir.emit(op, x, y));
      const product = emit(Op.FMul, a, b);
      const constants = [0, 0x3f800000, 0x80000000, 0x7fc00000].map((bits) => ir.constF(bits));
      return [
        emit(Op.FAdd, a, b),
        emit(Op.FSub, a, b),
        product,
        emit(Op.FAdd, product, b), // must not be fused
        emit(Op.FSub, a, product),
        emit(Op.FSub, emit(Op.FAdd, a, b), a), // must not be simplified
        emit(Op.FAdd, emit(Op.FAdd, a, constants[1]), ir.constF(0xbf800000)),
        emit(Op.FMin, a, b),
        emit(Op.FMax, a, b),
        ...constants.map((constant) => emit(Op.FMin, a, constant)),
        ...constants.map((constant) => emit(Op.FMax, constant, a)),
      ];
    });
    rig.destroy();
  },
);

deviceTest("rounding to integers and flushing are bit-exact", (device) => {
  const rig = new Rig(device);
  compareFloats(
    rig,
    1,
    ({ ir }, [a]) =>
      (["FFloor", "FCeil", "FTrunc", "FRndne", "FlushDenorm"] as const).map((name) => ir.emit(Op[name], a)),
  );
  rig.destroy();
});

deviceTest(
  "negation and absolute value change the sign and nothing else; whether they flush is left to who reads them",
  (device) => {
    const rig = new Rig(device);
    const flushed = (bits: number) => (bits & 0x7f800000) === 0 ? (bits & 0x80000000) >>> 0 : bits;
    compareFloats(
      rig,
      1,
      ({ ir }, [a]) => [ir.emit(Op.FNeg, a), ir.emit(Op.FAbs, a), ir.emit(Op.FNeg, ir.emit(Op.FAbs, a))],
      (got, wanted) => sameFloat(rig.keepsDenormals ? got : flushed(got), wanted),
    );
    rig.destroy();
  },
);

deviceTest("float comparisons, ordered and unordered, agree with the evaluator", (device) => {
  const rig = new Rig(device);
  const names = [
    "FOrdEq",
    "FOrdNe",
    "FOrdLt",
    "FOrdLe",
    "FUnordEq",
    "FUnordNe",
    "FUnordLt",
    "FUnordLe",
  ] as const;
  compareFloats(rig, 2, ({ ir }, [a, b]) => [...names.map((name) => ir.emit(Op[name], a, b)), ir.emit(Op.FIsNan, a)]);
  rig.destroy();
});

deviceTest(
  "conversions from floats are exact at the limits: clamped integers with NaN as 0, halves in both roundings",
  (device) => {
    const rig = new Rig(device);
    const isNan = (half: number) => (half & 0x7fff) > 0x7c00;
    compareFloats(
      rig,
      1,
      ({ ir }, [a]) => (["CvtF2U", "CvtF2S", "CvtF2H", "CvtF2HRtz"] as const).map((name) => ir.emit(Op[name], a)),
      (got, wanted, result) => got === wanted || (result >= 2 && isNan(got) && isNan(wanted)),
      20_000,
    );
    rig.destroy();
  },
);

deviceTest("all 65,536 halves become the right floats, and integers round to nearest even", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(64);
  const { ir } = p;
  p.output([ir.emit(Op.CvtH2F, p.index)]);
  compare(rig, p.end(), {
    waveSize: 64,
    workgroupSize: [64, 1, 1],
    groups: [1024, 1, 1],
    windows: [{ base: OUTPUT, words: new Uint32Array(65536) }],
  }, sameFloat);

  const q = new Lanes(64);
  const value = q.input(1, 0);
  q.output([q.ir.emit(Op.CvtU2F, value), q.ir.emit(Op.CvtS2F, value)]);
  const random = new Random(5);
  const edges = [
    0,
    1,
    0x00ffffff,
    0x01000000,
    0x01000001,
    0x01000003,
    0x7fffffff,
    0x80000000,
    0x80000080,
    0xffffff7f,
    0xffffff80,
    0xffffffff,
  ];
  const words = Uint32Array.from({ length: 1024 }, (_, i) => edges[i] ?? random.u32() >>> random.below(9));
  compare(rig, q.end(), {
    waveSize: 64,
    workgroupSize: [64, 1, 1],
    groups: [16, 1, 1],
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(2048) }],
  });
  rig.destroy();
});

deviceTest("fused multiply-add rounds once, whatever the device's own Fma does", (device) => {
  const rig = new Rig(device);
  compareFloats(rig, 3, ({ ir }, [a, b, c], flush) => [flush(ir.emit(Op.FFma, a, b, c))], sameFloat, 20_000);
  rig.destroy();
});

deviceTest("transcendental operations stay within the precision that Vulkan asks for", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(64);
  const x = p.ir.emit(Op.BitcastF, p.input(1, 0));
  const names = ["FRcp", "FRsq", "FSqrt", "FExp2", "FLog2", "FSin", "FCos"] as const;
  p.output(names.map((name) => p.ir.emit(Op[name], x)));
  const random = new Random(3);
  const lanes = 2048;
  const words = Uint32Array.from(
    { length: lanes },
    () => ((random.u32() & 0x7fffff) | ((120 + random.below(12)) << 23)),
  );
  const out = rig.run(p.end(), {
    waveSize: 64,
    workgroupSize: [64, 1, 1],
    groups: [lanes / 64, 1, 1],
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(lanes * names.length) }],
  }).windows[1];
  const exact: Record<typeof names[number], (v: number) => number> = {
    FRcp: (v) => 1 / v,
    FRsq: (v) => 1 / Math.sqrt(v),
    FSqrt: Math.sqrt,
    FExp2: (v) => 2 ** v,
    FLog2: Math.log2,
    FSin: (v) => Math.sin((v % 1) * 2 * Math.PI),
    FCos: (v) => Math.cos((v % 1) * 2 * Math.PI),
  };
  // Vulkan, "Precision and operation of SPIR-V instructions"; sine and cosine: 2^-11 for arguments within pi.
  for (let lane = 0; lane < lanes; lane++) {
    const v = f32(words[lane]);
    names.forEach((name, k) => {
      const got = f32(out[lane * names.length + k]), wanted = exact[name](v);
      const relative = name === "FSin" || name === "FCos" || name === "FLog2" ? 1 : Math.abs(wanted);
      const allowed = name === "FSin" || name === "FCos"
        ? 2 ** -11
        : name === "FLog2"
        ? 2 ** -21 + Math.abs(wanted) * 3 * 2 ** -23
        : (name === "FExp2" ? 3 + 2 * Math.abs(v) : 3) * 2 ** -23;
      if (!(Math.abs(got - wanted) <= allowed * relative)) throw new Error(`${name}(${v}): ${got}, wanted ${wanted}`);
    });
  }
  rig.destroy();
});

/** A program with one multiplication. */
function product(): Lanes {
  const p = new Lanes(32);
  const a = p.ir.emit(Op.BitcastF, p.input(1, 0));
  p.output([p.ir.emit(Op.FMul, a, a)]);
  return p;
}

function modes(floatMode: number, device = GENERIC_DEVICE): number[] {
  const { spirv } = emitValid(product().end(), request({ floatMode, device }));
  const found: number[] = [];
  for (let at = 5; at < spirv.length; at += spirv[at] >>> 16) {
    if ((spirv[at] & 0xffff) === 16 && spirv[at + 2] > 4000) found.push(spirv[at + 2]);
  }
  return found.sort();
}

Deno.test("FLOAT_MODE becomes execution modes where the device has them", () => {
  const PRESERVE = 4459, FLUSH = 4460, SIGNED_ZERO = 4461, RTE = 4462;
  assertEquals(modes(0xf0), [PRESERVE, SIGNED_ZERO, RTE]);
  assertEquals(modes(0xc0), [FLUSH, SIGNED_ZERO, RTE]);
  assertEquals(modes(0x00), [FLUSH, SIGNED_ZERO, RTE]);
  const plain = { ...GENERIC_DEVICE, denormFlush32: false, denormPreserve32: false };
  assertEquals(modes(0xf0, plain), [SIGNED_ZERO, RTE]);
  assertEquals(modes(0xc0, plain), [SIGNED_ZERO, RTE]);
});

Deno.test("a rounding that SPIR-V has no mode for is refused with the operation and its pc", () => {
  const error = assertThrows(() => modes(0xf1), RefusedError, "does not round to nearest even");
  assertEquals(error.code, "recompiler.float-rounding");
  assertEquals(typeof error.place.pc, "number");
});

Deno.test("a module that flushes does so in minima and maxima of denormals", () => {
  const p = new Lanes(32);
  const a = p.ir.emit(Op.BitcastF, p.input(1, 0));
  p.output([p.ir.emit(Op.FMin, a, p.ir.constF(0x3f800000))]);
  const ir = p.end();
  const kept = emitValid(ir, request({ floatMode: 0xf0 })), flushing = emitValid(ir, request({ floatMode: 0xc0 }));
  // The plain instruction leaves it to the device; the function clears the exponent's denormals itself.
  assertEquals(kept.spirv.length < flushing.spirv.length, true);
});

Deno.test("values keep their type without needless bitcasts between loads, floats and stores", () => {
  const p = new Lanes(32);
  const { ir } = p;
  const loaded = p.load(p.address(INPUT, p.index, 4, 0), 16, Type.V4);
  const parts = [0, 1, 2, 3].map((k) => ir.emit(Op.BitcastF, ir.emit(Op.Extract, loaded, k)));
  p.output(parts.map((part) => ir.emit(Op.FAdd, part, parts[0])));
  const { spirv } = emitValid(p.end(), request());
  let bitcasts = 0;
  for (let at = 5; at < spirv.length; at += spirv[at] >>> 16) if ((spirv[at] & 0xffff) === 124) bitcasts++;
  assertEquals(bitcasts, 0);
});
