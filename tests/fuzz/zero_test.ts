/** Arithmetic with zeros that the program writes as constants: drivers know rules for it that IEEE arithmetic does not have. */
import { assert, assertEquals } from "@std/assert";
import { deviceTest } from "../support/vulkan.ts";
import { Random } from "../support/random.ts";
import { runSide } from "./batch.ts";
import { exact, isNan32 } from "./compare.ts";
import { int, opcodeOf, v, vop3 } from "./encode.ts";
import { buildBatch, type Instance } from "./frame.ts";
import { SideMaker } from "./sides.ts";

const INPUTS = [0x7f800000, 0xff800000, 0x7fc00000, 0x80000000, 0x00000000, 0xbf800000, 0x3f800000];
const NAN = 0x7fc00000, MINUS_ZERO = 0x80000000, ONE = 0x3f800000;

/** Instruction, sources (v8 holds the input, v9 1.0), what must come out. */
const CASES: [string, number[], number[]][] = [
  ["v_mul_f32", [v(8), int(0)], [NAN, NAN, NAN, MINUS_ZERO, 0, MINUS_ZERO, 0]],
  ["v_mul_f32", [int(0), v(8)], [NAN, NAN, NAN, MINUS_ZERO, 0, MINUS_ZERO, 0]],
  ["v_add_f32", [v(8), int(0)], [0x7f800000, 0xff800000, NAN, 0, 0, 0xbf800000, ONE]],
  ["v_fma_f32", [v(8), int(0), v(9)], [NAN, NAN, NAN, ONE, ONE, ONE, ONE]],
  ["v_fma_f32", [v(8), v(9), int(0)], [0x7f800000, 0xff800000, NAN, 0, 0, 0xbf800000, ONE]],
];

deviceTest("a constant zero keeps the infinities, NaNs and signed zeros that it meets", (device) => {
  const instances = CASES.map(([name, src]): Instance => ({
    name,
    form: "e64",
    before: () => {},
    words: [vop3(opcodeOf(name), { dst: v(32), src })],
    checks: [{ sources: [{ kind: "vector", register: 32 }], compare: exact }],
    lanes: false,
  }));
  using sides = new SideMaker(device);
  for (const floatMode of [0xf0, 0xc0]) {
    const settings = {
      target: "gfx1013" as const,
      waveSize: 64 as const,
      groups: 1,
      floatMode,
      ieee: false,
      dx10Clamp: false,
      ldsBytes: 0,
    };
    const batch = buildBatch(instances, settings, new Random(1));
    const data = new Uint32Array(batch.program.memory[1].contents[0].data.buffer as ArrayBuffer);
    INPUTS.forEach((input, thread) => data.set([input, ONE], thread * 24));
    const { device: executor, allocator } = sides.take("gfx1013");
    const output = runSide(batch, executor, allocator);
    assert(output instanceof Uint32Array, String(output));
    CASES.forEach(([name, src, expected], k) =>
      INPUTS.forEach((input, thread) => {
        const actual = output[thread * batch.stride + batch.places[k][0].at];
        const shown = isNan32(actual) ? NAN : actual;
        assertEquals(shown, expected[thread], `${name} ${src} of 0x${input.toString(16)}`);
      })
    );
  }
});
