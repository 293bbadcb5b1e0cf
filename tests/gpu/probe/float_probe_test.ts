import { assertEquals } from "@std/assert";
import { judge, judgeRounding, probeFloatBehaviour, roundingProbeModule } from "../../../src/gpu/probe/float_probe.ts";
import { floatProbeModule } from "../../../src/gpu/probe/float_probe_module.ts";
import { recompilerDevice } from "../../../src/gpu/recompiler_device.ts";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { assembleProbe } from "../../../tools/spirv_tools/build_probe.ts";
import { deviceTest } from "../../support/vulkan.ts";

deviceTest("the float probe knows lavapipe: Fma is not fused, denormals are kept", (device) => {
  const behaviour = probeFloatBehaviour(device);
  // Measured by hand on Mesa 22.3.6; any other device may be different, and must only give the same answer twice.
  if (device.capabilities.driver.name === "llvmpipe" && device.capabilities.driver.info.startsWith("Mesa 22.3")) {
    const { wide: _, ...narrow } = behaviour;
    assertEquals(narrow, { fusesFma32: false, keepsDenormals32: true, flushesDenormals32: false });
  }
  // Seen on an H200 with driver 580.159.
  if (device.capabilities.driver.name === "NVIDIA") {
    assertEquals([behaviour.fusesFma32, behaviour.roundRteKeepsDenormals32], [true, true]);
  }
  assertEquals(probeFloatBehaviour(device), behaviour);
  const forRecompiler = recompilerDevice(device.capabilities, behaviour);
  assertEquals(forRecompiler.subgroupSize, device.capabilities.subgroup.size);
  assertEquals(forRecompiler.float64, device.capabilities.features.includes("shaderFloat64"));
});

/** Results as 8 words per case, computed here from the operands' bits with exact arithmetic, for devices of four kinds. */
function results(fused: boolean, flush: boolean): Uint32Array {
  const words = new Uint32Array(8 * 8);
  const f = (bits: number) => new Float32Array(new Uint32Array([bits]).buffer)[0];
  const operands = [
    [0x3f80_0800, 0x3f80_0800, 0xbf80_1000],
    [0x3f80_0001, 0x3f7f_ffff, 0xbf80_0000],
    [0x4040_0000, 0x3eaa_aaab, 0xbf80_0000],
    [0x0080_0000, 0x3f00_0000, 0],
    [1, 1, 3],
    [0, 1, 1],
    [0x8000_0005, 0x4000_0000, 1],
    [0x0040_0000, 0x0040_0000, 0],
  ];
  const inFlush = (value: number) => flush && Math.abs(value) < 2 ** -126 ? 0 * value : value;
  const out = (value: number) => new Uint32Array(new Float32Array([inFlush(Math.fround(value))]).buffer)[0];
  operands.forEach((bits, i) => {
    const [a, b, c] = bits.map((word) => inFlush(f(word)));
    const fma = out(fused ? a * b + c : inFlush(Math.fround(a * b)) + c);
    words.set([fma, fma, out(a * b), out(a + b), Number(a < b)], i * 8);
  });
  return words;
}

Deno.test("the judgement tells fused from unfused and kept from flushed", () => {
  for (const fusesFma32 of [true, false]) {
    for (const keepsDenormals32 of [true, false]) {
      const flushesDenormals32 = !keepsDenormals32;
      assertEquals(judge(results(fusesFma32, flushesDenormals32)), {
        fusesFma32,
        keepsDenormals32,
        flushesDenormals32,
      });
    }
  }
  const oneWrong = results(true, false);
  oneWrong[1] ^= 1; // the NoContraction form of the first case
  assertEquals(judge(oneWrong).fusesFma32, false);
  const mixed = results(true, false);
  mixed[7 * 8 + 3] = 0; // flushes in addition only
  assertEquals(judge(mixed), { fusesFma32: true, keepsDenormals32: false, flushesDenormals32: false });
});

Deno.test("the judgement of the rounding mode looks at products and sums only", () => {
  const kept = results(true, false), mixed = results(true, true);
  assertEquals(judgeRounding(kept), true);
  assertEquals(judgeRounding(mixed), false);
  // Fma and comparisons flush, the others do not.
  for (let i = 0; i < 8; i++) for (const k of [2, 3]) mixed[i * 8 + k] = kept[i * 8 + k];
  assertEquals(judgeRounding(mixed), true);
  mixed[3 * 8 + 2] = 0;
  assertEquals(judgeRounding(mixed), false);
});

Deno.test("the probe of the rounding mode is the float probe with the mode declared, and valid", () => {
  const words = roundingProbeModule();
  assertEquals(openSpirvTools().validate(words), []);
  assertEquals(words.length, floatProbeModule.length + 6);
});

Deno.test("the checked-in module is what the assembly text gives", async () => {
  assertEquals(floatProbeModule, await assembleProbe("float_probe"));
});
