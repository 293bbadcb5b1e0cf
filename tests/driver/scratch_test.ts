/** Scratch memory: every wave of a dispatch gets an area of its own, by the offset that the dispatcher loads and COMPUTE_TMPRING_SIZE. */
import { assertEquals } from "@std/assert";
import { runProgram } from "../../src/driver/run_program.ts";
import { SoftwareExecutor } from "../../src/driver/software/software_executor.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { Code } from "../fuzz/code.ts";
import { int, v } from "../fuzz/encode.ts";
import { computeState, GuestProgram, words64 } from "../support/guest_program.ts";
import { dispatchDirect, setComputeRegisters } from "../support/packets.ts";
import { guestTest, runGuestWell } from "../support/run.ts";

const THREADS = [40, 2, 1] as const, GROUPS = [2, 2, 2] as const;
/** RSRC2: SCRATCH_EN, four user SGPRs, all three workgroup ids; thread ids in v0 and v1. */
const RSRC2 = 1 | 4 << 1 | 7 << 7 | 1 << 11;

/**
 * Every thread writes its workgroup's number and its own to dwords 1 and 2 of its scratch memory, and adds what it finds there into `out`. s[0:1] out, s[2:3]
 * scratch memory, s4..s6 workgroup, s7 scratch offset.
 */
function program(): Uint32Array<ArrayBuffer> {
  const code = new Code();
  code.sop2("s_add_u32", 2, 2, 7);
  code.sop2("s_addc_u32", 3, 3, int(0));
  code.sopk("s_setreg_b32", 2, 20 | 31 << 11);
  code.sopk("s_setreg_b32", 3, 21 | 31 << 11);
  // v2: the group's number; v3: the thread's in it.
  code.sop2("s_lshl_b32", 8, 6, int(1));
  code.sop2("s_add_u32", 8, 8, 5);
  code.sop2("s_lshl_b32", 8, 8, int(1));
  code.sop2("s_add_u32", 8, 8, 4);
  code.vop("v_mov_b32", v(2), 8);
  code.vop3("v_mul_lo_u32", { dst: v(3), src: [v(1), int(THREADS[0])] });
  code.vop("v_add_nc_u32", v(3), v(0), v(3));
  code.vop("v_mov_b32", v(4), int(8));
  code.flat("scratch_store_dword", { addr: v(4), data: v(2), offset: -4 });
  code.flat("scratch_store_dword", { addr: v(4), data: v(3) });
  code.sopp("s_waitcnt", 0);
  code.flat("scratch_load_dwordx2", { dst: v(6), addr: v(4), offset: -4 });
  code.sopp("s_waitcnt", 0);
  code.vop3("v_lshl_or_b32", { dst: v(6), src: [v(6), int(16), v(7)] });
  code.vop("v_mov_b32", v(5), 255, -1, THREADS[0] * THREADS[1]);
  code.vop3("v_mul_lo_u32", { dst: v(5), src: [v(5), 8] });
  code.vop("v_add_nc_u32", v(5), v(3), v(5));
  code.vop("v_lshlrev_b32", v(5), int(2), v(5));
  code.flat("global_store_dword", { addr: v(5), data: v(6), saddr: 0 });
  code.sopp("s_endpgm");
  return Uint32Array.from(code.words);
}

for (const waveSize of [32, 64] as const) {
  guestTest(
    `waves of ${waveSize} have scratch memory of their own, and leave in it what the interpreter leaves`,
    (device, backing) => {
      const count = THREADS[0] * THREADS[1], groups = 8;
      const waves = groups * Math.ceil(count / waveSize);
      const guest = new GuestProgram("scratch");
      const code = guest.code(program()), out = guest.buffer(new Uint32Array(count * groups));
      const scratch = guest.buffer(new Uint32Array(waves * 256));
      guest.submit(
        0,
        computeState({
          code,
          userData: [...words64(out.address), ...words64(scratch.address)],
          threads: THREADS,
          groupIds: [true, true, true],
          threadIds: 2,
        }),
        setComputeRegisters(0x213, RSRC2),
        setComputeRegisters(0x218, waves | 1 << 12),
        dispatchDirect(GROUPS, { waveSize }),
      );
      using run = runGuestWell(device, guest.program, backing);
      assertEquals(
        run.words(out),
        Uint32Array.from({ length: count * groups }, (_, k) => Math.floor(k / count) << 16 | k % count),
      );
      const memory = new GuestMemory(new ArrayAllocator());
      const { error } = runProgram(guest.program, new SoftwareExecutor({ target: "gfx1013" }), memory);
      assertEquals(error, undefined);
      assertEquals(run.words(scratch), new Uint32Array(memory.read(scratch.address, scratch.bytes).slice().buffer));
    },
  );
}
