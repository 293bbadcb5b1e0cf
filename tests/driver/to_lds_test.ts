/** Loads that go to LDS: buffer, formatted and global ones, as the interpreter does them. */
import { assertEquals } from "@std/assert";
import { runProgram } from "../../src/driver/run_program.ts";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { Operand } from "../../src/rdna/instruction.ts";
import { Code } from "../fuzz/code.ts";
import { buffer, flat, int, opcodeOf, v } from "../fuzz/encode.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { dispatchDirect } from "../support/packets.ts";
import { Random } from "../support/random.ts";
import { guestTest, runGuestWell } from "../support/run.ts";

const THREADS = 32, LOADS = 4;
/** LDS bit of MUBUF, and of FLAT. */
const MUBUF_LDS = 1 << 16, FLAT_LDS = 1 << 13;

/** s[0:1] in, s[2:3] out. Each load has 256 bytes of LDS; each lane reads back what its own lane got. */
function program(): Uint32Array<ArrayBuffer> {
  const code = new Code();
  const word = (register: number, value: number) => code.sop1("s_mov_b32", register, Operand.Literal, value);
  code.sop1("s_mov_b64", 8, 0);
  word(10, 100);
  // OOB_SELECT raw, format 8_8_8_8_UNORM, selectors of which X is the format's Y.
  word(11, 3 << 28 | 56 << 12 | 0xfac & ~7 | 5);
  code.vop("v_lshlrev_b32", v(1), int(2), v(0));
  code.vop("v_mov_b32", v(2), int(0));
  const store = (k: number, words: readonly number[], bit: number) => {
    word(Operand.M0, 0x1_0000 | 256 * k);
    code.emit([(words[0] | bit) >>> 0, ...words.slice(1)]);
  };
  const load = (name: string) => buffer(opcodeOf(name), { data: v(0), addr: v(1), srsrc: 8, offen: true, offset: 8 });
  store(0, load("buffer_load_dword"), MUBUF_LDS);
  store(1, load("buffer_load_sbyte"), MUBUF_LDS);
  store(2, load("buffer_load_format_x"), MUBUF_LDS);
  store(3, flat(opcodeOf("global_load_ushort"), { dst: v(0), addr: v(1), saddr: 0, offset: 4 }), FLAT_LDS);
  code.sopp("s_waitcnt", 0);
  code.vop("v_lshlrev_b32", v(3), int(4), v(0));
  for (let k = 0; k < LOADS; k++) {
    code.ds("ds_read_b32", { dst: v(4 + k), addr: v(1), offset: 256 * k + (k < 3 ? 8 : 4) });
  }
  code.sopp("s_waitcnt", 0);
  code.flat("global_store_dwordx4", { addr: v(3), data: v(4), saddr: 2 });
  code.sopp("s_endpgm");
  return Uint32Array.from(code.words);
}

guestTest("loads into LDS put a dword of each lane where M0, the offset and the lane say", (device, backing) => {
  const random = new Random(5);
  const guest = new GuestProgram("to LDS"), code = guest.code(program());
  const input = guest.buffer(Uint32Array.from({ length: 64 }, () => random.u32()));
  const out = guest.buffer(new Uint32Array(THREADS * LOADS));
  const userData = [...words64(input.address), ...words64(out.address)];
  guest.submit(
    0,
    computeState({ code, userData, threads: [THREADS, 1, 1], ldsBytes: 1024 }),
    dispatchDirect([1, 1, 1], { waveSize: 32 }),
  );
  using run = runGuestWell(device, guest.program, backing);
  const memory = new GuestMemory(new ArrayAllocator());
  const { error } = runProgram(guest.program, new SoftwareExecutor({ target: "gfx1013" }), memory);
  assertEquals(error, undefined);
  const expected = new Uint32Array(memory.read(out.address, out.bytes).slice().buffer);
  assertEquals(run.words(out), expected);
  const words = new Uint32Array(memory.read(input.address, input.bytes).slice().buffer);
  // Lane 3 reads dword 5; what is behind 100 bytes is 0.
  assertEquals([expected[12], expected[31 * LOADS]], [words[5], 0]);
});
