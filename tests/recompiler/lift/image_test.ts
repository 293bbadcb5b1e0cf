import { assertEquals, assertThrows } from "@std/assert";
import { resolveImageDescriptors, scalarSlices } from "../../../src/recompiler/passes/resources.ts";
import { imageClass, NeedsImageDescriptors } from "../../../src/recompiler/lift/image_descriptor.ts";
import { corpusFile, corpusTest } from "../../support/corpus.ts";
import { bits32, f32, halfValue, toHalf } from "../../support/ir_eval/scalar.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { type After, execute } from "../../support/lift_harness.ts";
import { cleaned, liftCode, makeRequest } from "../../support/lift.ts";
import { Random } from "../../support/random.ts";
import { asm } from "./assembled.ts";

const BASE = 0x2_0000_0000n;
const IDENTITY = 0xfac;

interface Shape {
  format: number;
  width: number;
  height: number;
  /** Texels; 0 leaves word 4 empty. */
  pitch?: number;
  selectors?: number;
  base?: bigint;
}

/** The 8 words of a linear 2D image. */
function descriptor({ format, width, height, pitch = 0, selectors = IDENTITY, base = BASE }: Shape): number[] {
  const w = width - 1, h = height - 1;
  const word1 = Number((base >> 40n) & 0xffn) | (format << 20) | ((w & 3) << 30);
  return [
    Number((base >> 8n) & 0xffffffffn),
    word1 >>> 0,
    (w >> 2) | (h << 14),
    selectors | (9 << 28) >>> 0,
    pitch === 0 ? 0 : pitch - 1,
    0,
    0,
    0,
  ].map((x) => x >>> 0);
}

/** image_load or image_store of texels (x, y) with the descriptor in s[8:15]. */
function access(
  line: string,
  shape: Shape,
  x: number[],
  y: number[],
  memory: EvalMemory,
  v: Record<number, number | number[]> = {},
): After {
  const words = descriptor(shape);
  const s = Object.fromEntries(words.map((word, k) => [8 + k, word]));
  return execute(asm(line), {
    s,
    v: { ...v, 0: x, 1: y },
    exec: x.length === 32 ? 0xffffffff : 2 ** x.length - 1,
    memory,
    request: { imageDescriptors: new Map([[0, Uint32Array.from(words)]]) },
  });
}

const LOAD = "image_load v[4:7], v[0:1], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D unorm";
const STORE = "image_store v[4:7], v[0:1], s[8:15] dmask:0xf dim:SQ_RSRC_IMG_2D unorm";

Deno.test("image_load finds texels by pitch, and reads zeros outside of the image", () => {
  for (const pitch of [0, 128]) {
    const memory = new EvalMemory();
    const rowTexels = pitch || 64;
    memory.mapWords(BASE, Array.from({ length: rowTexels * 4 }, (_, i) => i + 1));
    const shape = { format: 20, width: 50, height: 3, pitch };
    const x = [0, 49, 7, 50, 0, 0xffffffff, 3], y = [0, 0, 2, 0, 3, 1, 0xffffffff];
    const after = access(LOAD, shape, x, y, memory);
    const expected = x.map((_, i) => x[i] < 50 && y[i] < 3 ? y[i] * rowTexels + x[i] + 1 : 0);
    assertEquals(x.map((_, i) => after.v(4, i)), expected);
    assertEquals(after.faults, []);
    assertEquals([after.v(5, 1), after.v(6, 1), after.v(7, 1)], [50, 50, 50], "one component is repeated");
  }
});

Deno.test("image sizes up to 16384 and bases of 48 bits come out of the words", () => {
  const base = 0xffff_8012_3456_7800n;
  const memory = new EvalMemory();
  memory.mapWords(base + BigInt((16383 * 16384 + 16383) * 4), [77]);
  const after = access(LOAD, { format: 20, width: 16384, height: 16384, base }, [16383], [16383], memory);
  assertEquals([after.v(4), after.faults.length], [77, 0]);
});

/** Loads one texel per lane of a 32 x 1 image whose texels are the given words. */
function loadAll(format: number, words: readonly number[], wordsPerTexel: number): number[][] {
  const memory = new EvalMemory();
  memory.mapWords(BASE, [...words, ...new Array(64).fill(0)]);
  const texels = words.length / wordsPerTexel;
  const x = Array.from({ length: texels }, (_, i) => i);
  const after = access(LOAD, { format, width: 256, height: 1 }, x, x.map(() => 0), memory);
  return x.map((i) => [4, 5, 6, 7].map((r) => after.v(r, i)));
}

Deno.test("UNORM and SNORM components are correctly rounded quotients, all 256 values of a byte", () => {
  for (let at = 0; at < 256; at += 32) {
    const words = Array.from({ length: 32 }, (_, i) => (at + i) * 0x01010101 >>> 0);
    loadAll(56, words, 1).forEach((components, i) => {
      for (const bits of components) assertEquals(f32(bits), Math.fround((at + i) / 255), `${at + i} / 255`);
    });
    loadAll(57, words, 1).forEach((components, i) => {
      const value = Math.max((at + i) << 24 >> 24, -127) / 127;
      for (const bits of components) assertEquals(f32(bits), Math.fround(value) + 0, `snorm ${at + i}`);
    });
  }
});

Deno.test("10-bit, 2-bit and 16-bit UNORM are correctly rounded quotients for all values", () => {
  // The same arithmetic as the lifted code, tried outside of it for every value; the lifted code is then checked on samples.
  for (const bits of [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16]) {
    const most = 2 ** bits - 1;
    const main = 2 ** -bits, rest = Math.fround(1 / (2 ** bits * most));
    for (let x = 0; x <= most; x++) {
      const sum = Math.fround(Math.fround(x * main) + Math.fround(x * rest));
      if (sum !== Math.fround(x / most)) throw new Error(`${x} / ${most}`);
    }
  }
  const random = new Random(3);
  const words = Array.from({ length: 32 }, () => random.u32());
  loadAll(50, words, 1).forEach((components, i) => {
    const fields = [words[i] & 1023, (words[i] >>> 10) & 1023, (words[i] >>> 20) & 1023].map((x) => x / 1023);
    assertEquals(components.map(f32), [...fields, (words[i] >>> 30) / 3].map(Math.fround));
  });
  loadAll(23, words, 1).forEach((components, i) => {
    assertEquals(
      components.slice(0, 2).map(f32),
      [words[i] & 0xffff, words[i] >>> 16].map((x) => Math.fround(x / 65535)),
    );
  });
  loadAll(24, words, 1).forEach((components, i) => {
    const snorm = (x: number) => Math.fround(Math.max((x << 16) >> 16, -32767) / 32767) + 0;
    assertEquals(components.slice(0, 2).map((bits) => f32(bits) + 0), [words[i] & 0xffff, words[i] >>> 16].map(snorm));
  });
});

Deno.test("integer, scaled and float formats", () => {
  const words = [0x80ff7f01, 0x12345678];
  assertEquals(loadAll(60, words, 1)[0], [1, 0x7f, 0xff, 0x80]);
  assertEquals(loadAll(61, words, 1)[0], [1, 0x7f, 0xffffffff, 0xffffff80]);
  assertEquals(loadAll(58, words, 1)[0].map(f32), [1, 127, 255, 128]);
  assertEquals(loadAll(59, words, 1)[0].map(f32), [1, 127, -1, -128]);
  assertEquals(loadAll(27, words, 1)[1].slice(0, 2), [0x5678, 0x1234]);
  assertEquals(loadAll(29, [0xc5003c01], 1)[0].slice(0, 2).map(f32), [halfValue(0x3c01), -5]);
  assertEquals(loadAll(64, [bits32(1.5), bits32(-2)], 2)[0].map(f32), [1.5, -2, 1.5, -2]);
  assertEquals(loadAll(71, [0x3c00c500, 0x7c000001], 2)[0].map(f32), [-5, 1, 2 ** -24, Infinity]);
  assertEquals(loadAll(77, [1, 2, 3, 4], 4)[0], [1, 2, 3, 4]);
});

Deno.test("selectors exchange components, and dmask packs the wanted ones", () => {
  const memory = new EvalMemory();
  memory.mapWords(BASE, [0x44332211]);
  // x from w, y is one, z from x, w is zero.
  const selectors = 7 | (1 << 3) | (4 << 6) | (0 << 9);
  const all = access(LOAD, { format: 60, width: 1, height: 1, selectors }, [0], [0], memory);
  assertEquals([4, 5, 6, 7].map((r) => all.v(r)), [0x44, 1, 0x11, 0]);
  const some = access(
    LOAD.replace("v[4:7]", "v[4:5]").replace("0xf", "0xa"),
    { format: 60, width: 1, height: 1 },
    [0],
    [0],
    memory,
    { 6: 9 },
  );
  assertEquals([4, 5, 6].map((r) => some.v(r)), [0x22, 0x44, 9]);
});

Deno.test("image_store packs, clamps and rounds, and drops what is outside", () => {
  const memory = new EvalMemory();
  const view = memory.mapWords(BASE, new Uint32Array(64));
  const components = { 4: [0, 2, 0.5].map(bits32), 5: bits32(NaN), 6: bits32(1), 7: bits32(-1) };
  access(STORE, { format: 56, width: 2, height: 1 }, [0, 1, 2], [0, 0, 0], memory, components);
  assertEquals([view[0], view[1], view[2]], [0x00ff0000, 0x00ff00ff, 0]);
  access(STORE, { format: 57, width: 1, height: 1 }, [0], [0], memory, { ...components, 4: bits32(0.5) });
  assertEquals(view[0], 0x817f0040);
  access(STORE, { format: 71, width: 1, height: 1 }, [0], [0], memory, {
    4: bits32(1),
    5: bits32(-2),
    6: bits32(0.1),
    7: 0,
  });
  assertEquals([view[0], view[1]], [0xc0003c00, toHalf(Math.fround(0.1), false)]);
  access(STORE.replace("v[4:7]", "v4").replace("0xf", "0x1"), { format: 20, width: 1, height: 1 }, [0], [0], memory, {
    4: 0xdeadbeef,
  });
  assertEquals(view[0], 0xdeadbeef);
});

Deno.test("what is not implemented of images is refused by name", () => {
  const memory = new EvalMemory();
  const load = (shape: Partial<Shape>, patch: (words: number[]) => void = () => {}) => {
    const words = descriptor({ format: 56, width: 4, height: 4, ...shape });
    patch(words);
    return () => execute(asm(LOAD), { memory, request: { imageDescriptors: new Map([[0, Uint32Array.from(words)]]) } });
  };
  assertThrows(load({ format: 131 }), Error, "image format 131");
  assertThrows(load({}, (w) => w[3] |= 3 << 20), Error, "tile mode 3");
  assertThrows(load({}, (w) => w[3] = (w[3] & 0x0fffffff) | (14 << 28)), Error, "several samples");
  assertThrows(load({}, (w) => w[6] |= 1 << 21), Error, "compressed");
  assertThrows(load({}, (w) => w[3] |= 1 << 12), Error, "without levels");
});

Deno.test("without descriptors the lift asks for them, and the slice finds them through pointers in user data", () => {
  const code = Uint32Array.from(asm("s_mov_b32 s3, 2", "s_load_dwordx8 s[8:15], s[2:3], 0x40", LOAD, "s_endpgm"));
  const request = makeRequest({ code, userSgprCount: 3, threadIdCount: 2 });
  const words = descriptor({ format: 56, width: 64, height: 64 });
  const table = new Map(words.map((word, k) => [0x2_0000_5040n + BigInt(k * 4), word]));
  let error: NeedsImageDescriptors | undefined;
  try {
    liftCode(request);
  } catch (e) {
    error = e as NeedsImageDescriptors;
  }
  if (!(error instanceof NeedsImageDescriptors)) throw new Error("the lift does not ask");
  const slices = scalarSlices(error);
  assertEquals(slices.map(({ pc }) => pc), [12]);
  const read = (address: bigint) => table.get(address) ?? 0;
  const userData = Uint32Array.of(0, 0, 0x5000);
  assertEquals([...slices[0].evaluate(userData, read)], words);
  const found = resolveImageDescriptors(error, request, userData, read);
  liftCode({ ...request, imageDescriptors: found });
});

Deno.test("a descriptor that depends on more than user data and memory is refused with its pc and the reason", () => {
  const code = Uint32Array.from(asm("s_load_dwordx8 s[8:15], s[2:3], s4", LOAD, "s_endpgm"));
  const request = makeRequest({ code, userSgprCount: 4, workgroupIds: [true, false, false], threadIdCount: 2 });
  try {
    liftCode(request);
  } catch (error) {
    assertThrows(
      () => resolveImageDescriptors(error as NeedsImageDescriptors, request, new Uint32Array(16), () => 0),
      Error,
      "depends on Input",
    );
    return;
  }
  throw new Error("the lift does not ask");
});

Deno.test("the class bits are those that decide the code", () => {
  const a = descriptor({ format: 56, width: 64, height: 64 }),
    b = descriptor({ format: 56, width: 32, height: 8, pitch: 256, base: 0x5_0000_0000n });
  assertEquals(imageClass(a), imageClass(b));
  assertEquals(imageClass(a).join() === imageClass(descriptor({ format: 57, width: 64, height: 64 })).join(), false);
});

corpusTest("OpenAGC's render_consume_native copies an image's texels to a buffer", "openagc", () => {
  const bytes = Deno.readFileSync(corpusFile("openagc/render_consume_native.sb"));
  const code = new Uint32Array(bytes.slice(0x100, bytes.length & ~3).buffer);
  const IMAGE = 0x2_0100_0000n, BUFFER = 0x2_0200_0000n, TABLE = 0x2_0020_0000n;
  const image = descriptor({ format: 56, width: 64, height: 64, base: IMAGE });
  const table = [...image, ...new Array(8).fill(0), 0x02000000, 2, 64 * 64 * 4, 0x31016fac];
  const random = new Random(9);
  const texels = Uint32Array.from({ length: 64 * 64 }, () => random.u32());
  const request = makeRequest({
    code,
    target: "gfx1013",
    floatMode: 0xc0,
    userSgprCount: 3,
    workgroupIds: [true, true, false],
    threadIdCount: 2,
    workgroupSize: [8, 8, 1],
    imageDescriptors: new Map([[0x30, Uint32Array.from(image)]]),
  });
  const lifted = liftCode(request);
  for (const ir of [lifted, cleaned(lifted)]) {
    const memory = new EvalMemory();
    memory.mapWords(TABLE, table);
    memory.mapWords(IMAGE, texels);
    const b = memory.mapWords(BUFFER, new Uint32Array(64 * 64));
    for (const workgroupId of [[0, 0, 0], [3, 5, 0], [7, 7, 0]] as const) {
      const userData = [0, 0, Number(TABLE & 0xffffffffn)];
      const { faults } = evaluateWorkgroup(ir, {
        waveSize: 32,
        workgroupSize: [8, 8, 1],
        userData,
        memory,
        workgroupId,
      });
      assertEquals(faults, []);
      for (let y = 0; y < 8; y++) {
        const at = (workgroupId[1] * 8 + y) * 64 + workgroupId[0] * 8;
        assertEquals([...b.subarray(at, at + 8)], [...texels.subarray(at, at + 8)]);
      }
    }
  }
});
