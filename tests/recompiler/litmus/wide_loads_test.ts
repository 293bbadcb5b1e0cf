/** Accesses of several dwords that see and show what other workgroups do: the same values at every multiple of 4, however many go as one. */
import { assertEquals } from "@std/assert";
import { runProgram } from "../../../src/driver/run_program.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { runGuestWell } from "../../support/run.ts";
import { EvaluatedExecutor } from "../../support/spirv_eval/executor.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { assemble } from "../waves/assembled.ts";

const LANES = 32, LANE_WORDS = 8;
const CASES = [2, 3, 4].flatMap((dwords) => [0, 4, 8, 12].map((offset) => ({ dwords, offset })));
const SOURCE = Uint32Array.from({ length: LANES * LANE_WORDS }, (_, k) => 0x3f80_0000 + k * 0x10101);

function guestOf({ dwords, offset }: typeof CASES[number]) {
  const registers = `v[6:${5 + dwords}]`;
  const guest = new GuestProgram("wide", { target: "gfx1030" });
  const code = guest.code(Uint32Array.from(assemble("gfx1030", 32, [
    "v_lshlrev_b32_e32 v4, 5, v0",
    `global_load_dwordx${dwords} ${registers}, v4, s[0:1] offset:${offset} glc`,
    "s_waitcnt vmcnt(0)",
    `global_store_dwordx${dwords} v4, ${registers}, s[2:3] offset:${offset}`,
    "s_endpgm",
  ])));
  const source = guest.buffer(SOURCE), target = guest.buffer(new Uint32Array(SOURCE.length));
  guest.submit(
    0,
    computeState({
      code,
      userData: [...words64(source.address), ...words64(target.address)],
      threads: [LANES, 1, 1],
      ldsBytes: 0,
    }),
    dispatchDirect([1, 1, 1], { waveSize: 32 }),
  );
  const expected = SOURCE.map((word, k) => {
    const at = k % LANE_WORDS * 4 - offset;
    return at >= 0 && at < dwords * 4 ? word : 0;
  });
  return { program: guest.program, target, expected };
}

for (const bufferInt64Atomics of [true, false]) {
  Deno.test(`wide coherent loads and stores on devices ${bufferInt64Atomics ? "with" : "without"} 64-bit atomics`, () => {
    for (const each of CASES) {
      const { program, target, expected } = guestOf(each), memory = new GuestMemory(new ArrayAllocator());
      const executor = new EvaluatedExecutor({
        target: "gfx1030",
        subgroupSize: 8,
        seed: 1,
        weak: true,
        device: { bufferInt64Atomics },
      });
      const { error } = runProgram(program, executor, memory);
      if (error !== undefined) throw error;
      const got = new Uint32Array(memory.read(target.address, target.bytes).slice().buffer);
      assertEquals(got, expected, JSON.stringify(each));
    }
  });
}

deviceTest("wide coherent loads and stores on the device", (device) => {
  for (const each of CASES) {
    const { program, target, expected } = guestOf(each);
    using run = runGuestWell(device, program);
    assertEquals(run.words(target), expected, JSON.stringify(each));
  }
});
