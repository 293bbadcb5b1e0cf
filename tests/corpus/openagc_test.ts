/**
 * Compute shader records of OpenAGC's compiler (corpus/openagc, .sb), with inputs of our own, against the device running the SPIR-V beside them.
 */
import { assertEquals } from "@std/assert";
import type { DescriptorBinding } from "../../src/guest/shader_source.ts";
import { compareWithSpirv, corpusShader, corpusSpirv } from "../support/compare.ts";
import { integerWords } from "../support/inputs.ts";
import { BACKINGS, corpusDeviceTest } from "../support/run.ts";

const buffer = (data: Uint32Array<ArrayBuffer>) => ({ kind: "buffer" as const, data });

/** A descriptor of set 0 at a byte offset (see src/guest/loaders/sb.ts). */
function binding(number: number, type: string, offset: number): DescriptorBinding {
  return { set: 0, binding: number, type, count: 1, offset, stride: 16, name: `b${number}` };
}

corpusDeviceTest("OpenAGC fill_color fills the words that a push-constant pointer names", "openagc", (device) => {
  const shader = corpusShader("openagc", "fill_color.sb"), spirv = corpusSpirv("openagc", "fill_color.spv");
  for (const [i, count] of [0, 1, 63, 64, 65, 200, 256].entries()) {
    const results = compareWithSpirv(device, {
      shader,
      spirv,
      grid: [4, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { words: buffer(integerWords(256, 1)) },
      pushConstants: [{ addressOf: "words" }, count, 0xff20_a0ff],
      backing: BACKINGS[i % 2],
    });
    assertEquals(results.get("words")!.filter((word) => word === 0xff20_a0ff).length, count);
  }
});

corpusDeviceTest("OpenAGC fill_color_native fills the words of a descriptor", "openagc", (device) => {
  const shader = corpusShader("openagc", "fill_color_native.sb");
  const spirv = corpusSpirv("openagc", "fill_color_native.spv");
  for (const [i, count] of [0, 1, 63, 64, 65, 200, 256].entries()) {
    const results = compareWithSpirv(device, {
      shader,
      spirv,
      grid: [4, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { "0.0": buffer(integerWords(256, 2)) },
      bindings: [binding(0, "storage_buffer", 0)],
      pushConstants: [count, 0x8765_4321],
      backing: BACKINGS[i % 2],
    });
    assertEquals(results.get("0.0")!.filter((word) => word === 0x8765_4321).length, count);
  }
});

corpusDeviceTest("OpenAGC copy_consume_native copies words from one descriptor to another", "openagc", (device) => {
  const shader = corpusShader("openagc", "copy_consume_native.sb");
  const spirv = corpusSpirv("openagc", "copy_consume_native.spv");
  const source = integerWords(320, 3);
  for (const [i, count] of [0, 1, 64, 300, 320].entries()) {
    const results = compareWithSpirv(device, {
      shader,
      spirv,
      grid: [5, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { "0.0": buffer(source), "0.1": buffer(new Uint32Array(320).fill(0x0bad_0bad)) },
      bindings: [binding(0, "storage_buffer", 0), binding(1, "storage_buffer", 16)],
      pushConstants: [count],
      backing: BACKINGS[i % 2],
    });
    assertEquals(results.get("0.1")!.subarray(0, count), source.subarray(0, count));
  }
});

corpusDeviceTest("OpenAGC htile_rmw changes the masked bits of words", "openagc", (device) => {
  const shader = corpusShader("openagc", "htile_rmw.sb"), spirv = corpusSpirv("openagc", "htile_rmw.spv");
  const words = integerWords(192, 4);
  for (const [i, mask] of [0, 0xffff_ffff, 0xf, 0xfff0_0000, 0xaaaa_5555].entries()) {
    for (const count of [0, 100, 192]) {
      const results = compareWithSpirv(device, {
        shader,
        spirv,
        grid: [3, 1, 1],
        workgroupSize: [64, 1, 1],
        resources: { words: buffer(words) },
        pushConstants: [{ addressOf: "words" }, count, 0x1234_5678, mask],
        backing: BACKINGS[i % 2],
      });
      assertEquals(
        results.get("words")!,
        words.map((word, at) => at < count ? (word & ~mask | 0x1234_5678 & mask) >>> 0 : word),
      );
    }
  }
});

corpusDeviceTest("OpenAGC render_consume_native packs the texels of an image into words", "openagc", (device) => {
  const shader = corpusShader("openagc", "render_consume_native.sb");
  const spirv = corpusSpirv("openagc", "render_consume_native.spv");
  // Its rows are 64 pixels; RGBA8 texels survive the way through UNORM floats and back unchanged.
  const texels = integerWords(64 * 24, 5);
  const results = compareWithSpirv(device, {
    shader,
    spirv,
    grid: [8, 3, 1],
    workgroupSize: [8, 8, 1],
    resources: {
      "0.0": { kind: "image", width: 64, height: 24, format: 56, texelBytes: 4, data: texels },
      "0.1": buffer(new Uint32Array(64 * 24)),
    },
    bindings: [{ ...binding(0, "sampled_image", 0), stride: 64 }, binding(1, "storage_buffer", 64)],
  });
  assertEquals(results.get("0.1")!, texels);
});
