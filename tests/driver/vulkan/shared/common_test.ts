/** What queues in isolates of their own have in common beside memory: GDS, and programs that depend on descriptors in memory. */
import { assertEquals, assertThrows } from "@std/assert";
import { GuestSharing, sharedTable } from "../../../../src/driver/vulkan/shared_guest.ts";
import { HostError } from "../../../../src/errors.ts";
import { GuestMemory } from "../../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../../src/guest/memory/mmap_allocator.ts";
import { Permission } from "../../../../src/guest/memory/window.ts";
import { Operand } from "../../../../src/rdna/instruction.ts";
import { Code } from "../../../fuzz/code.ts";
import { int, v } from "../../../fuzz/encode.ts";
import { computeState, GuestProgram, words64 } from "../../../support/guest_program.ts";
import { IMAGE_LOAD } from "../../../support/machine_code.ts";
import { dispatchDirect } from "../../../support/packets.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { inRoom, runShared } from "./run.ts";

const QUEUES = [0x20, 0x28];

/** Every thread appends to one counter of GDS; what it was before goes to s[0:1]. */
function append(): Uint32Array<ArrayBuffer> {
  const code = new Code();
  code.sop1("s_mov_b32", Operand.M0, Operand.Literal, 256 << 16 | 64);
  code.ds("ds_append", { dst: v(1), offset: 0, gds: true });
  code.sopp("s_waitcnt", 0);
  code.vop("v_mov_b32", v(2), int(0));
  code.flat("global_store_dword", { addr: v(2), data: v(1), saddr: 0, offset: 0 });
  code.sopp("s_endpgm");
  return Uint32Array.from(code.words);
}

deviceTest("all queues have one GDS", (device) =>
  inRoom(device, async (room) => {
    const rounds = 20, guest = new GuestProgram("gds"), code = guest.code(append());
    const outs = QUEUES.map((queue) => {
      const out = guest.buffer(new Uint32Array(rounds));
      for (let i = 0; i < rounds; i++) {
        const userData = words64(out.address + BigInt(i * 4));
        guest.submit(queue, computeState({ code, userData, threads: [64, 1, 1] }), dispatchDirect([1, 1, 1]));
      }
      return out;
    });
    const run = await runShared(room, device, guest.program);
    assertEquals(run.errors, new Map());
    const counts = outs.flatMap((out) => [...run.words(out)]).sort((a, b) => a - b);
    // With waves of 32 lanes, the wave that stores last may be either of the two.
    assertEquals(counts.map((count) => Math.floor(count / 64)), Array.from({ length: 2 * rounds }, (_, i) => i));
  }));

const WIDTH = 8, HEIGHT = 8, PITCH_WORDS = 64, FORMAT_32_UINT = 20;

/** The T# of a linear 2D image of 8 x 8 texels of 4 bytes, rows 256 bytes apart (AMD RDNA2 ISA, "Image resource descriptor"). */
function imageDescriptor(at: bigint): Uint32Array<ArrayBuffer> {
  const base = at >> 8n;
  return Uint32Array.of(
    Number(base & 0xffff_ffffn),
    Number(base >> 32n) | FORMAT_32_UINT << 20 | (WIDTH - 1 & 3) << 30,
    WIDTH - 1 >> 2 | HEIGHT - 1 << 14 | 0x8000_0000,
    0xfac | 9 << 28,
    ...[0, 0, 0, 0],
  );
}

deviceTest(
  "programs with images are made once for all images of a kind, whoever asks",
  (device) =>
    inRoom(device, async (room) => {
      const guest = new GuestProgram("images"), code = guest.code(IMAGE_LOAD);
      const outs = QUEUES.map((queue) => {
        const texels = guest.buffer(Uint32Array.from({ length: PITCH_WORDS * HEIGHT }, (_, i) => queue << 24 | i));
        const table = guest.buffer(imageDescriptor(texels.address)),
          out = guest.buffer(new Uint32Array(WIDTH * HEIGHT));
        const userData = [...words64(table.address), ...words64(out.address), WIDTH];
        const state = { code, userData, threads: [WIDTH, HEIGHT, 1] as const, threadIds: 2 as const };
        guest.submit(queue, computeState(state), dispatchDirect([1, 1, 1]), dispatchDirect([1, 1, 1]));
        return { queue, out };
      });
      const run = await runShared(room, device, guest.program);
      assertEquals(run.errors, new Map());
      for (const { queue, out } of outs) {
        const expected = Uint32Array.from({ length: WIDTH * HEIGHT }, (_, i) => {
          return queue << 24 | (i >> 3) * PITCH_WORDS + (i & 7);
        });
        assertEquals(run.words(out), expected);
      }
      assertEquals([room.room.artifacts.stats().created, room.creations().created], [1, 1]);
    }),
);

deviceTest("a window that was mapped after memory was shared is refused; permissions are those of now", (device) => {
  const memory = new GuestMemory(new MmapAllocator());
  memory.map(0x1_0000_0000n, 4096, Permission.All, "first");
  const sharing = new GuestSharing(device, memory);
  memory.protect(0x1_0000_0000n, Permission.Read);
  assertEquals(sharedTable(sharing.guest, memory).map(({ permissions }) => permissions), [Permission.Read]);
  memory.map(0x2_0000_0000n, 4096, Permission.All, "second");
  const error = assertThrows(() => sharedTable(sharing.guest, memory), HostError, "window second at 0x200000000");
  assertEquals([error.code, error.place.guestAddress], ["driver.window-not-shared", 0x2_0000_0000n]);
  sharing.close();
  memory.clear();
});
