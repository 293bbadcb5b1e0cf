import { assertEquals } from "@std/assert";
import { judgeWide, probeCases, probeWideBehaviour, UNKNOWN } from "../../../src/gpu/probe/wide_probe.ts";
import { wideProbeModule } from "../../../src/gpu/probe/wide_probe_module.ts";
import { assembleProbe } from "../../../tools/spirv_tools/build_probe.ts";
import { add, bitsOf, exact, fma, type Format, HALF, multiply, numberOf, round } from "../../support/exact_float.ts";
import { DOUBLE, SINGLE } from "../../support/exact_float.ts";
import { deviceTest } from "../../support/vulkan.ts";

deviceTest("the probe of f16 and f64 finds what is known of the device", (device) => {
  const behaviour = probeWideBehaviour(device);
  assertEquals(probeWideBehaviour(device), behaviour);
  if (device.capabilities.driver.name === "llvmpipe") {
    assertEquals(behaviour, { exactHalf: true, exactHalfPack: true, fusesFma16: false, fusesFma64: false });
  }
});

/** What a device computes that rounds exactly, by arithmetic on integers; each fault changes one kind of result. */
function results(fault?: "sum" | "product" | "fma16" | "fma64" | "pack" | "unpack"): Uint32Array {
  const cases = probeCases();
  const view = new DataView(cases.buffer);
  const count = cases.length / 12;
  const words = new Uint32Array(count * 8);
  const halves = (at: number, compute: (a: bigint, b: bigint, c: bigint) => bigint) => {
    const half = (k: number) => {
      const [a, b, c] = [0, 1, 2].map((n) => BigInt(cases[at + n] >>> k * 16 & 0xffff));
      return Number(compute(a, b, c));
    };
    return (half(0) | half(1) << 16) >>> 0;
  };
  const sum = (a: bigint, b: bigint) => round(add(exact(a, HALF), exact(b, HALF)), HALF);
  const product = (a: bigint, b: bigint) => round(multiply(exact(a, HALF), exact(b, HALF)), HALF);
  const twice = (a: bigint, b: bigint, c: bigint, f: Format) =>
    round(add(exact(round(multiply(exact(a, f), exact(b, f)), f), f), exact(c, f)), f);
  /** Without denormals. */
  const flushed = (bits: bigint) => (bits & 0x7c00n) === 0n ? bits & 0x8000n : bits;
  for (let i = 0; i < count; i++) {
    const at = i * 12;
    const [a, b, c] = [0, 1, 2].map((n) => view.getBigUint64(at * 4 + 16 + n * 8, true));
    const wide = fault === "fma64" ? twice(a, b, c, DOUBLE) : fma(a, b, c, DOUBLE);
    const packed = [10, 11].map((n) => bitsOf(numberOf(BigInt(cases[at + n]), SINGLE), HALF));
    if (fault === "pack") packed.forEach((bits, k) => packed[k] = flushed(bits));
    const unpack = (bits: number) => {
      const half = fault === "unpack" ? flushed(BigInt(bits)) : BigInt(bits);
      return Number(round(exact(half, HALF), SINGLE));
    };
    words.set([
      halves(at, (x, y) => fault === "sum" ? flushed(sum(x, y)) : sum(x, y)),
      halves(at, (x, y) => fault === "product" ? product(flushed(x), y) : product(x, y)),
      halves(at, (x, y, z) => fault === "fma16" ? twice(x, y, z, HALF) : fma(x, y, z, HALF)),
      Number(wide & 0xffffffffn),
      Number(wide >> 32n),
      Number(packed[0] | packed[1] << 16n),
      unpack(cases[at] & 0xffff),
      unpack(cases[at] >>> 16),
    ], i * 8);
  }
  return words;
}

Deno.test("each kind of inexactness is found, and no other is taken for it", () => {
  const all = { exactHalf: true, exactHalfPack: true, fusesFma16: true, fusesFma64: true };
  assertEquals(judgeWide(results()), all);
  assertEquals(judgeWide(results("sum")), { ...all, exactHalf: false });
  assertEquals(judgeWide(results("product")), { ...all, exactHalf: false });
  assertEquals(judgeWide(results("fma16")), { ...all, fusesFma16: false });
  assertEquals(judgeWide(results("fma64")), { ...all, fusesFma64: false });
  assertEquals(judgeWide(results("pack")), { ...all, exactHalfPack: false });
  assertEquals(judgeWide(results("unpack")), { ...all, exactHalfPack: false });
  assertEquals(judgeWide(new Uint32Array(16 * 8)), UNKNOWN);
});

Deno.test("the module of the probe is what its source assembles to", async () => {
  assertEquals(wideProbeModule, await assembleProbe("wide_probe"));
});
