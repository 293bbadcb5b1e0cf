/** One wave of a graphics stage: exports and interpolation (words by llvm-mc-19 for gfx1030). */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import {
  Access,
  runStageGroup,
  runStageWave,
  type StageLaunch,
  WindowSpace,
} from "../../../src/rdna/interpreter/mod.ts";

const CODE = 0x2_0000_1000n;
const END = 0xbf810000;
const f32 = (value: number) => new Uint32Array(Float32Array.of(value).buffer)[0];

function run(words: readonly number[], launch: Partial<StageLaunch> = {}) {
  const code = Uint32Array.from([...words, END]);
  const space = new WindowSpace().add(CODE, new Uint8Array(code.buffer), Access.Read | Access.Execute);
  return runStageWave({
    codeAddress: CODE,
    target: "gfx1030",
    waveSize: 32,
    exec: 0xffff_ffffn,
    scalars: [],
    vectors: [],
    floatMode: 0xf0,
    ieee: false,
    dx10Clamp: true,
    ...launch,
  }, { space, code: () => ({ base: Number(CODE), words: code }) });
}

/** exp mrt0 v0, v1, off, v3 done vm; exp pos0 v3, v2, v1, v0; exp mrt1 v0, v0, v1, v1 compr. */
const EXP_MRT0 = [0xf800180b, 0x03800100], EXP_POS0 = [0xf80000cf, 0x00010203], EXP_COMPR = [0xf800041f, 0x80800100];

Deno.test("exports are noted in order, with target, components, flags, EXEC and the values of all lanes", () => {
  const vectors = [0, 1, 2, 3].map((v) => Array.from({ length: 32 }, (_, lane) => 100 * v + lane));
  const { exports } = run([...EXP_POS0, ...EXP_COMPR, ...EXP_MRT0], { vectors, exec: 0x8000_0005n });
  assertEquals(
    exports.map(({ target, mask, compressed, done, validMask, exec, pc }) => ({
      target,
      mask,
      compressed,
      done,
      validMask,
      exec,
      pc,
    })),
    [
      { target: 12, mask: 15, compressed: false, done: false, validMask: false, exec: 0x8000_0005n, pc: 0 },
      { target: 1, mask: 15, compressed: true, done: false, validMask: false, exec: 0x8000_0005n, pc: 8 },
      { target: 0, mask: 11, compressed: false, done: true, validMask: true, exec: 0x8000_0005n, pc: 16 },
    ],
  );
  assertEquals([0, 1, 2, 3].map((k) => exports[0].values[k][31]), [331, 231, 131, 31]);
  assertEquals([exports[2].values[0][2], exports[2].values[1][2], exports[2].values[3][2]], [2, 102, 302]);
});

/** s_mov_b32 m0, s0; v_interp_p1_f32 v2, v0, attr1.y; v_interp_p2_f32 v2, v1, attr1.y; v_interp_mov_f32 v3, p0, attr0.w. */
const INTERPOLATE = [0xbefc0300, 0xc8080500, 0xc8090501, 0xc80e0302];

Deno.test("interpolation adds P10 * I and P20 * J to P0; a moved parameter is as it is", () => {
  const { exports } = run([...INTERPOLATE, 0xf8000003, 0x80800302], {
    primitiveMask: 7,
    scalars: [7],
    vectors: [new Array(32).fill(f32(0.25)), new Array(32).fill(f32(0.5))],
    parameter: (lane, attribute, component, which) => f32(1000 * attribute + 100 * component + 10 * which + lane),
  });
  // P10 = 1100 + lane, P20 = 1110 + lane, P0 = 1120 + lane.
  const expected = (lane: number) => 1120 + lane + 0.25 * (1100 + lane) + 0.5 * (1110 + lane);
  assertEquals(
    [...exports[0].values[0]].map((bits) => bits >>> 0),
    Array.from({ length: 32 }, (_, k) => f32(expected(k))),
  );
  assertEquals(exports[0].values[1][5] >>> 0, f32(325));
});

Deno.test("M0 that is not the primitive mask, and interpolation in a wave without a stage, are refused", () => {
  assertThrows(
    () => run(INTERPOLATE, { primitiveMask: 7, scalars: [8] }),
    RefusedError,
    "M0 is not the primitive mask",
  );
  assertThrows(() => run([0xd7420000, 0x00020000]), RefusedError, "16-bit parameters");
});

/** s_mov_b32 m0, s1; s_sendmsg sendmsg(MSG_GS_ALLOC_REQ). */
Deno.test("a request for space is noted with M0", () => {
  const { messages } = run([0xbefc0301, 0xbf900009], { scalars: [0, 0x3021] });
  assertEquals(messages, [{ id: 9, m0: 0x3021, pc: 4 }]);
});

/** v_mov_b32 v1, s0; ds_write_b32 v0, v1; s_waitcnt lgkmcnt(0); s_barrier; ds_read_b32 v2, v3; s_waitcnt lgkmcnt(0); exp pos0 v2, v1, v0, v3 done. */
const EXCHANGE = [0x7e020200, 0xd8340000, 0x00000100, 0xbf8cc07f, 0xbf8a0000, 0xd8d80000, 0x02000003, 0xbf8cc07f];

Deno.test("the waves of a group share LDS and wait for each other; each has exports of its own", () => {
  const code = Uint32Array.from([...EXCHANGE, 0xf80008cf, 0x03000102, END]);
  const space = new WindowSpace().add(CODE, new Uint8Array(code.buffer), Access.Read | Access.Execute);
  const lanes = (at: number) => Array.from({ length: 32 }, (_, lane) => at + 4 * lane);
  const { exports, fault, messages } = runStageGroup({
    ...{
      codeAddress: CODE,
      target: "gfx1030",
      waveSize: 32,
      ldsBytes: 512,
      floatMode: 0xf0,
      ieee: false,
      dx10Clamp: true,
    },
    waves: [0, 1, 2].map((wave) => ({
      exec: wave === 1 ? 0xffn : 0xffff_ffffn,
      scalars: [100 + wave],
      // Each wave reads what the one before it has written.
      vectors: [lanes(128 * wave), [], [], lanes(128 * ((wave + 2) % 3))],
    })),
  }, { space, code: () => ({ base: Number(CODE), words: code }) });
  assertEquals([fault, messages], [null, []]);
  assertEquals(exports.map((list) => [list.length, list[0].exec, list[0].values[0][7], list[0].values[1][7]]), [
    [1, 0xffff_ffffn, 102, 100],
    [1, 0xffn, 100, 101],
    [1, 0xffff_ffffn, 101, 102],
  ]);
});
