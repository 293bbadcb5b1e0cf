/** Stores of several dwords to buffers that the host resolves: partly out of range, with offsets that wrap, with lanes that are off. */
import { assertEquals } from "@std/assert";
import type { Device } from "../../../src/driver/device.ts";
import { SoftwareDevice } from "../../../src/driver/software/software_device.ts";
import { VulkanDevice } from "../../../src/driver/vulkan/vulkan_device.ts";
import { Operand } from "../../../src/rdna/instruction.ts";
import { Code } from "../../fuzz/code.ts";
import { buffer, int, opcodeOf, v } from "../../fuzz/encode.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { deviceTest } from "../../support/vulkan.ts";

const THREADS = 32, BYTES = 32 * THREADS + 64;

interface Stores {
  readonly dwords: number;
  /** Bytes that are in range. */
  readonly records: number;
  /** Every other lane is off. */
  readonly masked: boolean;
  /** What each lane's offset has beyond a multiple of 32. */
  readonly offset: number;
  /** Bytes that are added behind the range check. */
  readonly added?: number;
}

/** What a thread stores: each its own four words, at 32 bytes for each thread. */
function run(device: Device, { dwords, records, masked, offset, added = 0 }: Stores): Uint32Array {
  const code = new Code();
  code.vop("v_lshlrev_b32", v(1), int(5), v(0));
  code.vop("v_add_nc_u32", v(1), Operand.Literal, v(1), offset);
  for (let k = 0; k < 4; k++) code.vop("v_add_nc_u32", v(4 + k), Operand.Literal, v(0), 0x1000 * (k + 1));
  code.sop1("s_mov_b32", 8, Operand.Literal, added);
  if (masked) {
    code.vop("v_and_b32", v(2), int(1), v(0));
    code.vop("v_cmpx_eq_u32", -1, int(1), v(2));
  }
  const opcode = opcodeOf(`buffer_store_dword${dwords > 1 ? `x${dwords}` : ""}`);
  code.emit(buffer(opcode, { data: v(4), addr: v(1), srsrc: 0, soffset: added === 0 ? int(0) : 8, offen: true }));
  code.sopp("s_endpgm");
  const guest = new GuestProgram("stores", { target: "gfx1030" });
  const at = guest.code(Uint32Array.from(code.words));
  const output = guest.buffer(new Uint32Array(BYTES / 4));
  // A V# of bytes: no stride, OOB_SELECT raw.
  const [low, high] = words64(output.address);
  guest.submit(
    0,
    computeState({ code: at, userData: [low, high, records, 0x3000_0000], threads: [THREADS, 1, 1] }),
    dispatchDirect([1, 1, 1], { waveSize: 32 }),
  );
  const ran = device.run(guest.program);
  try {
    if (ran.result.error !== undefined) throw ran.result.error;
    return new Uint32Array(ran.memory.read(output.address, output.bytes).slice().buffer);
  } finally {
    ran.close();
  }
}

deviceTest("stores of several dwords are cut where the buffer ends, and their offsets wrap", (gpu) => {
  const device = new VulkanDevice(gpu, "automatic"), oracle = new SoftwareDevice();
  const half = THREADS * 16;
  for (const dwords of [2, 3, 4]) {
    for (const masked of [false, true]) {
      for (const records of [half + 32, half + 36, half + 40, half + 44, half + 48, 8, 0]) {
        const stores = { dwords, records, masked, offset: 0 };
        assertEquals(run(device, stores), run(oracle, stores), JSON.stringify(stores));
      }
      // The first lane's offset is -8: its third dword is the buffer's first.
      const wraps = { dwords, records: half + 40, masked, offset: -8 };
      const words = run(device, wraps);
      assertEquals(words, run(oracle, wraps), JSON.stringify(wraps));
      if (!masked) assertEquals(words[0], dwords > 2 ? 0x3000 : 0, "the wrapped one");
      const added = { dwords, records: half + 36, masked, offset: 0, added: 12 };
      assertEquals(run(device, added), run(oracle, added), JSON.stringify(added));
    }
  }
});
