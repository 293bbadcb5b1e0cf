import { Op, OPS, Type } from "../../../src/recompiler/ir/ops.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { INPUT, Lanes, OUTPUT } from "./programs.ts";
import { compare, Rig } from "./support.ts";

const VALUES = [
  0,
  1,
  2,
  3,
  31,
  32,
  0x7f,
  0x80,
  0xff,
  0x7fff,
  0x8000,
  0xffff,
  0x10000,
  0x00ff00ff,
  0x12345678,
  0x7ffffffe,
  0x7fffffff,
  0x80000000,
  0x80000001,
  0xaaaaaaaa,
  0xdeadbeef,
  0xfffffffe,
  0xffffffff,
];

/** All pairs of values, one pair a lane. */
function pairs(values: readonly number[]): { words: Uint32Array; lanes: number } {
  const flat = values.flatMap((a) => values.flatMap((b) => [a, b]));
  const lanes = Math.ceil(flat.length / 2 / 64) * 64;
  const words = new Uint32Array(lanes * 2);
  words.set(flat);
  return { words, lanes };
}

/** Runs one program that gives all `results` of each lane's two input dwords. */
function comparePairs(rig: Rig, build: (p: Lanes, a: number, b: number) => number[], values = VALUES): void {
  const { words, lanes } = pairs(values);
  const p = new Lanes(64);
  const results = build(p, p.input(2, 0), p.input(2, 1));
  p.output(results);
  const size = results.reduce((sum, id) => sum + (p.ir.type[id] === Type.U64 ? 2 : 1), 0);
  compare(rig, p.end(), {
    waveSize: 64,
    workgroupSize: [64, 1, 1],
    groups: [lanes / 64, 1, 1],
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(lanes * size) }],
  });
}

deviceTest("32-bit integer operations give the evaluator's bits for all pairs of edge values", (device) => {
  const rig = new Rig(device);
  comparePairs(rig, (p, a, b) => {
    const { ir } = p;
    const shift = ir.emit(Op.And, b, ir.constU(31));
    const two = [
      "IAdd",
      "ISub",
      "IMul",
      "UMulHi",
      "SMulHi",
      "And",
      "Or",
      "Xor",
      "UMin",
      "UMax",
      "SMin",
      "SMax",
    ] as const;
    return [
      ...two.map((name) => ir.emit(Op[name], a, b)),
      ...(["Shl", "Shr", "Sar"] as const).map((name) => ir.emit(Op[name], a, shift)),
      ...(["Not", "BitCount", "BitReverse", "FindLsb", "FindUMsb", "FindSMsb"] as const).map((name) =>
        ir.emit(Op[name], a)
      ),
    ];
  });
  rig.destroy();
});

deviceTest("integer comparisons and boolean operations agree with the evaluator", (device) => {
  const rig = new Rig(device);
  comparePairs(rig, (p, a, b) => {
    const { ir } = p;
    const tests = (["IEq", "INe", "ULt", "ULe", "SLt", "SLe"] as const).map((name) => ir.emit(Op[name], a, b));
    const [equal, , less, , signedLess] = tests;
    return [
      ...tests,
      ir.emit(Op.LAnd, less, signedLess),
      ir.emit(Op.LOr, less, signedLess),
      ir.emit(Op.LXor, less, signedLess),
      ir.emit(Op.LNot, equal),
      ir.append(Op.Select, Type.Bool, equal, less, signedLess),
      ir.append(Op.Select, Type.U32, less, a, b),
    ];
  });
  rig.destroy();
});

deviceTest("bit fields are exact for every offset and count, counts 0 and 32 included", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(64);
  const { ir } = p;
  const value = p.input(3, 0), offset = p.input(3, 1), count = p.input(3, 2);
  p.output([ir.emit(Op.UBfe, value, offset, count), ir.emit(Op.SBfe, value, offset, count)]);
  const rows: number[] = [];
  for (const bits of [0xdeadbeef, 0x80000000, 0x7fffffff, 0xffffffff, 0x12345678]) {
    for (let at = 0; at < 32; at++) {
      for (let n = 0; at + n <= 32; n++) rows.push(bits, at, n);
    }
  }
  const lanes = Math.ceil(rows.length / 3 / 64) * 64;
  const words = new Uint32Array(lanes * 3);
  words.set(rows);
  compare(rig, p.end(), {
    waveSize: 64,
    workgroupSize: [64, 1, 1],
    groups: [lanes / 64, 1, 1],
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(lanes * 2) }],
  });
  rig.destroy();
});

deviceTest("64-bit operations give the evaluator's bits for values made of all pairs of edge halves", (device) => {
  const rig = new Rig(device);
  const values = [0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678, 0xdeadbeef, 63, 64];
  comparePairs(rig, (p, a, b) => {
    const { ir } = p;
    const first = ir.emit(Op.Pack64, a, b), second = ir.emit(Op.Pack64, b, a);
    const extended = ir.emit(Op.Pack64, a, ir.constU(0));
    const amount = ir.emit(Op.And, a, ir.constU(63));
    const packed = [
      ...(["IAdd64", "ISub64", "IMul64"] as const).map((name) => ir.emit(Op[name], first, second)),
      ...(["Shl64", "Shr64", "Sar64"] as const).map((name) => ir.emit(Op[name], first, amount)),
      ir.emit(Op.UMulWide, a, b),
      ir.emit(Op.SMulWide, a, b),
      ir.emit(Op.SMulWide, b, b),
      extended,
    ];
    return [
      ...packed,
      ...(["Ieq64", "Ult64", "Slt64"] as const).map((name) => ir.emit(Op[name], first, second)),
      ir.emit(Op.Ieq64, first, ir.emit(Op.Pack64, a, b)),
    ];
  }, values);
  rig.destroy();
});

deviceTest("vectors are made, taken apart and selected, and bits are inserted", (device) => {
  const rig = new Rig(device);
  comparePairs(rig, (p, a, b) => {
    const { ir } = p;
    const v2 = ir.append(Op.Vec, Type.V2, a, b);
    const v3 = ir.append(Op.Vec, Type.V3, b, a, ir.constU(7));
    const v4 = ir.append(Op.Vec, Type.V4, a, b, a, b);
    const other = ir.append(Op.Vec, Type.V4, ir.constU(1), ir.constU(2), b, a);
    const chosen = ir.append(Op.Select, Type.V4, ir.emit(Op.ULt, a, b), v4, other);
    return [
      ir.emit(Op.Extract, v2, 1),
      ir.emit(Op.Extract, v3, 0),
      ir.emit(Op.Extract, v3, 2),
      ...[0, 1, 2, 3].map((k) => ir.emit(Op.Extract, chosen, k)),
    ];
  });
  rig.destroy();
});

Deno.test("every operation of the IR has a handler", async () => {
  // The table is built when the module is loaded, and throws for a missing one.
  await import("../../../src/recompiler/spirv/emit.ts");
  if (OPS.length < 100) throw new Error("the table of operations is not the one that was meant");
});
