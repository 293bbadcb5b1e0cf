import { assert, assertEquals } from "@std/assert";
import { Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { emitCompute } from "../../../src/recompiler/spirv/emit.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { INPUT, Lanes, OUTPUT } from "./programs.ts";
import { compare, emitValid, inlinedWords, request, Rig, sameFloat } from "./support.ts";

/**
 * A straight chain of float operations over eight registers, by turns a product, a sum, a product or a fused multiply-add, and a difference, each on what
 * other turns left.
 */
function chain(length: number, fused: boolean): Lanes {
  const p = new Lanes(32);
  const { ir } = p;
  const vector = p.load(p.address(INPUT, p.index, 4, 0), 16, Type.V4);
  const start = [0, 1, 2, 3].map((k) => ir.emit(Op.BitcastF, ir.emit(Op.Extract, vector, k)));
  const registers = [...start, ...start.map((value) => ir.emit(Op.FAdd, value, start[0]))];
  for (let i = 0; i < length; i++) {
    const target = i % 8, a = registers[(i + 3) % 8], b = registers[(i + 5) % 8], old = registers[target];
    registers[target] = i % 4 === 0
      ? ir.emit(Op.FMul, old, a)
      : i % 4 === 1
      ? ir.emit(Op.FAdd, a, old)
      : i % 4 === 2
      ? (fused ? ir.emit(Op.FFma, old, a, b) : ir.emit(Op.FMul, a, old))
      : ir.emit(Op.FSub, old, b);
  }
  const sums = [0, 1, 2, 3].map((k) => ir.emit(Op.BitcastU, ir.emit(Op.FAdd, registers[k], registers[k + 4])));
  p.store(p.address(OUTPUT, p.index, 4, 0), ir.append(Op.Vec, Type.V4, sums[0], sums[1], sums[2], sums[3]), 16);
  p.end();
  return p;
}

function words(length: number, fused: boolean, floatMode: number): number {
  return inlinedWords(emitValid(chain(length, fused).ir, request({ floatMode })).spirv);
}

Deno.test("a chain of float operations takes at most 6.0 words an operation in the float modes 0, 0xC0 and 0xF0", () => {
  for (const floatMode of [0, 0xc0, 0xf0]) {
    for (const [fused, most] of [[false, 5.5], [true, 6.0]] as const) {
      const slope = (words(8192, fused, floatMode) - words(4096, fused, floatMode)) / 4096;
      assert(slope <= most, `FLOAT_MODE ${floatMode}, ${fused ? "with" : "without"} fused operations: ${slope} words`);
    }
  }
});

Deno.test("an operation costs five words, and a product that feeds a sum one more for its decoration", () => {
  // Of the two products in four operations, one feeds sums.
  assertEquals((words(8192, false, 0xf0) - words(4096, false, 0xf0)) / 4096, 5 + 1 / 4);
  // With Fma (8 words) in place of every second product.
  assertEquals((words(8192, true, 0xf0) - words(4096, true, 0xf0)) / 4096, (5 + 5 + 8 + 5 + 1) / 4);
});

deviceTest("the chain gives the evaluator's bits", (device) => {
  const rig = new Rig(device);
  const input = Uint32Array.from({ length: 128 }, (_, i) => 0x3f000000 + i * 0x12345 + (i % 3 === 0 ? 0x80000000 : 0));
  compare(
    rig,
    chain(64, false).ir,
    { windows: [{ base: INPUT, words: input }, { base: OUTPUT, words: new Uint32Array(128) }] },
    sameFloat,
  );
  rig.destroy();
});

Deno.test("8,192 float operations are emitted in a few milliseconds, and the time grows linearly", () => {
  const time = (length: number) => {
    const { ir } = chain(length, true);
    let best = Infinity;
    for (let k = 0; k < 15; k++) {
      const start = performance.now();
      emitCompute(ir, request());
      best = Math.min(best, performance.now() - start);
    }
    return best;
  };
  time(1024); // warm
  const small = time(8192), large = time(65536);
  // The goal is well under 10 ms; the bounds leave room for a busy machine.
  assert(small < 30, `8,192 operations took ${small} ms`);
  assert(large < 40 * Math.max(small, 2), `65,536 operations took ${large} ms, 8,192 took ${small} ms`);
});

Deno.test("a dword load and a store each take at most 70 words with one window, two windows 30 more", () => {
  const size = (count: number, windows: number) => {
    const p = new Lanes(32);
    let value = p.index;
    for (let k = 0; k < count; k++) {
      const bytes = p.ir.emit(Op.Shl, value, p.ir.constU(2));
      const address = p.ir.emit(Op.IAdd64, p.u64(INPUT), p.ir.emit(Op.Pack64, bytes, p.ir.constU(0)));
      value = p.load(address, 4, Type.U32);
      p.store(address, p.index, 4);
    }
    p.ir.emit(Op.End);
    return inlinedWords(emitValid(p.ir, request({ windows })).spirv);
  };
  const one = (size(64, 1) - size(32, 1)) / 64, two = (size(64, 2) - size(32, 2)) / 64;
  assert(one <= 70, `${one} words with one window`);
  assert(two <= one + 30, `${two} words with two windows`);
});
