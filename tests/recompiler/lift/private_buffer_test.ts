/**
 * Buffers whose V# says at run time whether ADD_TID_ENABLE and SWIZZLE_ENABLE are set, in programs with scratch memory: all combinations with the formula of
 * AMD RDNA2 ISA, section 8.1.5 "Buffer addressing".
 */
import { assertEquals } from "@std/assert";
import { FaultReason, nowhereReason } from "../../../src/recompiler/abi.ts";
import { EvalMemory } from "../../support/ir_eval.ts";
import { execute } from "../../support/lift_harness.ts";
import { Random } from "../../support/random.ts";
import { asm } from "./assembled.ts";

const BASE = 0x2_0000_0000;
const WORDS = 8192;

/** A V#, as its words say. */
interface View {
  stride: number;
  records: number;
  swizzle: boolean;
  addTid: boolean;
  /** Records of a group: 8, 16, 32, 64. */
  indexStride: number;
  /** OOB_SELECT: 0 structured, 1 index, 2 never, 3 raw. */
  check: number;
}

function wordsOf({ stride, records, swizzle, addTid, indexStride, check }: View): Record<number, number> {
  return {
    4: BASE % 2 ** 32,
    5: (BASE / 2 ** 32 | stride << 16 | (swizzle ? 1 << 31 : 0)) >>> 0,
    6: records,
    7: (0xfac | 22 << 12 | Math.log2(indexStride) - 3 << 21 | (addTid ? 1 << 23 : 0) | check << 28) >>> 0,
  };
}

/** Byte in the buffer that a lane reads, or -1 where it is out of range. */
function placeOf(view: View, lane: number, index: number | undefined, offset: number): number {
  const { stride, records, addTid, indexStride, check } = view;
  const record = (index ?? 0) + (addTid ? lane : 0), indexed = index !== undefined || addTid;
  const swizzled = view.swizzle && indexed;
  const place = swizzled
    ? (Math.floor(record / indexStride) * stride + Math.floor(offset / 4) * 4) * indexStride +
      record % indexStride * 4 + offset % 4
    : record * stride + offset;
  const inside = indexed ? record < records : records !== 0;
  const fits = [inside && offset < stride, inside, records !== 0, (swizzled ? place : offset) < records][check];
  return fits ? place : -1;
}

function views(random: Random): View[] {
  const list: View[] = [];
  for (const swizzle of [false, true]) {
    for (const addTid of [false, true]) {
      for (const check of [0, 1, 2, 3]) {
        for (const indexStride of [8, 16, 32, 64]) {
          const records = check === 3 ? random.pick([4096, 16384, 700]) : random.pick([64, 40, 0, 20]);
          list.push({ stride: random.pick([4, 16, 32]), records, swizzle, addTid, indexStride, check });
        }
      }
    }
  }
  return list;
}

const lanes = Array.from({ length: 32 }, (_, lane) => lane);

Deno.test("ADD_TID_ENABLE and SWIZZLE_ENABLE of a V# that is known at run time only are what the ISA says, with and without an index", () => {
  const memory = new EvalMemory();
  memory.mapWords(BigInt(BASE), Array.from({ length: WORDS }, (_, k) => 0x1000 + k));
  const random = new Random(5);
  const request = { scratch: true };
  let inside = 0, outside = 0;
  for (const view of views(random)) {
    const indices = lanes.map(() => random.below(40)), offsets = lanes.map(() => 4 * random.below(5));
    const s = wordsOf(view);
    for (
      const [line, v, index, offset] of [
        ["buffer_load_dword v3, v[0:1], s[4:7], 0 idxen offen", { 0: indices, 1: offsets }, indices, offsets],
        ["buffer_load_dword v3, v0, s[4:7], 0 idxen", { 0: indices }, indices, undefined],
        ["buffer_load_dword v3, v1, s[4:7], 0 offen", { 1: offsets }, undefined, offsets],
        ["buffer_load_dword v3, off, s[4:7], 0 offset:8", {}, undefined, undefined],
      ] as const
    ) {
      const after = execute(asm(line), { s, v, memory, request });
      assertEquals(after.faults, []);
      for (const lane of lanes) {
        const at = placeOf(view, lane, index?.[lane], offset?.[lane] ?? (line.endsWith("offset:8") ? 8 : 0));
        if (at < 0) outside++;
        else inside++;
        assertEquals(
          after.v(3, lane),
          at < 0 ? 0 : 0x1000 + at / 4,
          `${line} of ${JSON.stringify(view)}, lane ${lane}`,
        );
      }
    }
  }
  assertEquals(inside > 1000 && outside > 1000, true, `${inside} inside, ${outside} outside`);
});

Deno.test("more than a dword of such a V# is linear, or refused by its reason where records are interleaved", () => {
  const memory = new EvalMemory();
  memory.mapWords(BigInt(BASE), Array.from({ length: WORDS }, (_, k) => 0x1000 + k));
  const view = { stride: 16, records: 64, swizzle: false, addTid: true, indexStride: 32, check: 1 };
  const code = asm("buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen");
  const run = (swizzle: boolean) =>
    execute(code, { s: wordsOf({ ...view, swizzle }), v: { 0: 0 }, memory, request: { scratch: true } });
  const linear = run(false);
  assertEquals(linear.faults, []);
  for (const lane of lanes) assertEquals(linear.v(5, lane), 0x1001 + lane * 4);
  const refused = run(true);
  assertEquals(
    new Set(refused.faults.map(({ address }) => nowhereReason(address))),
    new Set([FaultReason.BufferDescriptor]),
  );
});
