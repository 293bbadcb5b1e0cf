/** GDS: loads, stores, atomics, append and consume, by M0's base and size; it outlives dispatches. */
import { assertEquals } from "@std/assert";
import { runProgram } from "../../src/driver/run_program.ts";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { Operand } from "../../src/rdna/instruction.ts";
import { Code } from "../fuzz/code.ts";
import { int, v } from "../fuzz/encode.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { dispatchDirect } from "../support/packets.ts";
import { guestTest, runGuestWell } from "../support/run.ts";

const THREADS = 64, OUTPUTS = 12;

/**
 * One group: every thread works on 16 bytes of its own in GDS, behind 64 bytes that all of them count in. s[0:1] out, s2 what to add. What is out of M0's
 * size reads 0.
 */
function program(): Uint32Array<ArrayBuffer> {
  const code = new Code();
  // Base 256; size 64 + 1024 less the last thread's bytes.
  code.sop1("s_mov_b32", Operand.M0, Operand.Literal, 256 << 16 | 64 + (THREADS - 1) * 16);
  code.vop("v_lshlrev_b32", v(1), int(4), v(0));
  code.vop("v_add_nc_u32", v(1), int(64), v(1));
  code.vop("v_mov_b32", v(2), 2);
  const gds = (name: string, fields: Parameters<Code["ds"]>[1]) => {
    code.ds(name, { ...fields, gds: true });
    code.sopp("s_waitcnt", 0);
  };
  gds("ds_add_rtn_u32", { dst: v(10), addr: v(1), data: v(2) });
  gds("ds_write_b64", { addr: v(1), data: v(0), offset: 4 });
  gds("ds_or_b32", { addr: v(1), data: v(2), offset: 8 });
  gds("ds_read_b96", { dst: v(11), addr: v(1) });
  gds("ds_read2_b32", { dst: v(14), addr: v(1), offset: 1 | 0 << 8 });
  gds("ds_write_b8", { addr: v(1), data: v(2), offset: 13 });
  gds("ds_read_u16", { dst: v(16), addr: v(1), offset: 12 });
  // All threads on one place: append gives each the same, and adds their number once.
  gds("ds_append", { dst: v(17), offset: 0 });
  gds("ds_consume", { dst: v(18), offset: 4 });
  code.vop("v_mov_b32", v(3), int(0));
  gds("ds_max_rtn_u32", { dst: v(19), addr: v(1), data: v(0), offset: 12 });
  // Outside of M0's size.
  code.vop("v_mov_b32", v(4), Operand.Literal, -1, 0x8000);
  gds("ds_read_b32", { dst: v(20), addr: v(4) });
  gds("ds_add_u32", { addr: v(3), data: v(2), offset: 8 });
  gds("ds_read_b32", { dst: v(21), addr: v(3) });
  code.vop3("v_mul_lo_u32", { dst: v(5), src: [v(0), int(OUTPUTS * 4)] });
  for (let k = 0; k < OUTPUTS; k++) {
    code.flat("global_store_dword", { addr: v(5), data: v(10 + k), saddr: 0, offset: k * 4 });
  }
  code.sopp("s_endpgm");
  return Uint32Array.from(code.words);
}

guestTest("GDS is what the interpreter has, in two dispatches that see each other's", (device, backing) => {
  const guest = new GuestProgram("gds"), code = guest.code(program());
  const outs = [1, 2].map(() => guest.buffer(new Uint32Array(THREADS * OUTPUTS)));
  outs.forEach((out, k) => {
    const state = computeState({ code, userData: [...words64(out.address), 3 + k], threads: [THREADS, 1, 1] });
    guest.submit(0, state, dispatchDirect([1, 1, 1], { waveSize: 64 }));
  });
  using run = runGuestWell(device, guest.program, backing);
  const memory = new GuestMemory(new ArrayAllocator());
  const { error } = runProgram(guest.program, new SoftwareExecutor({ target: "gfx1013" }), memory);
  assertEquals(error, undefined);
  outs.forEach((out, k) => {
    const expected = new Uint32Array(memory.read(out.address, out.bytes).slice().buffer);
    assertEquals(run.words(out), expected, `dispatch ${k}`);
    // The first dispatch appends 64, the second finds it; the last thread is outside of M0's size.
    assertEquals([expected[7], expected[0], expected[63 * OUTPUTS]], [64 * k, 3 * k, 0]);
  });
});
