import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { VulkanDevice } from "../../src/driver/vulkan/vulkan_device.ts";
import { GuestFaultError, RefusedError } from "../../src/errors.ts";
import { anyagc } from "../cli/support.ts";
import { computeState, descriptor, GuestProgram, words64 } from "../support/guest_program.ts";
import { COPY, COPY16, SQUARE } from "../support/machine_code.ts";
import { dispatchDirect } from "../support/packets.ts";
import { runGuest, runGuestWell } from "../support/run.ts";
import { deviceTest } from "../support/vulkan.ts";

/** Squares 0..63. */
function squares() {
  const guest = new GuestProgram("squares"), code = guest.code(SQUARE);
  const from = guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => i)), to = guest.buffer(new Uint32Array(64));
  guest.submit(
    0,
    computeState({ code, userData: [...descriptor(from), ...descriptor(to)] }),
    dispatchDirect([1, 1, 1]),
  );
  return { program: guest.program, to };
}

deviceTest(
  "a device runs several programs one after the other, and their memory is there until they are closed",
  (gpu) => {
    const device = new VulkanDevice(gpu, "automatic");
    const { program, to } = squares();
    const runs = [device.run(program), device.run(program), device.run(program)];
    for (const run of runs) {
      assertEquals(run.result.outcome, "passed");
      assertEquals(run.memory.readU32(to.address + 4n * 63n), 63 * 63 + 63);
      assertEquals(run.frame(), undefined);
      run.close();
      assertThrows(() => run.memory.readU32(to.address), GuestFaultError);
      run.close(); // once more changes nothing
    }
  },
);

deviceTest(
  "loads from addresses that are no multiple of 4 work: the run starts again with programs that can do it",
  (gpu) => {
    const device = new VulkanDevice(gpu, "automatic");
    const guest = new GuestProgram("unaligned"), code = guest.code(COPY16);
    const bytes = Uint8Array.from({ length: 4096 }, (_, i) => i * 37), from = guest.buffer(bytes);
    const to = guest.buffer(new Uint32Array(1024));
    const at = from.address + 3n;
    guest.submit(
      0,
      computeState({ code, userData: [...words64(at), ...words64(to.address)], threads: [64, 1, 1] }),
      dispatchDirect([1, 1, 1]),
    );
    const run = device.run(guest.program);
    assertEquals(run.result.error, undefined);
    assertEquals(run.memory.read(to.address, 1024), bytes.slice(3, 1027));
    run.close();

    using refused = runGuest(gpu, guest.program);
    const { error } = refused.result;
    assertInstanceOf(error, RefusedError);
    assertEquals([error.code, error.place.pc], ["driver.unaligned-load", 4]);
  },
);

deviceTest("an access that lies in two windows which adjoin each other is refused, and not called a fault", (gpu) => {
  const guest = new GuestProgram("adjoining"), code = guest.code(COPY16);
  const from = guest.buffer(new Uint32Array(1024)), to = guest.buffer(new Uint32Array(1024));
  const { program } = guest;
  const window = program.memory.find(({ base }) => base === from.address)!;
  program.memory.push({ ...window, name: "behind", base: window.base + BigInt(window.bytes), bytes: 4096 });
  guest.submit(
    0,
    computeState({ code, userData: [...words64(from.address + 4088n), ...words64(to.address)], threads: [1, 1, 1] }),
    dispatchDirect([1, 1, 1]),
  );
  using run = runGuest(gpu, program);
  assertInstanceOf(run.result.error, RefusedError);
  assertEquals(run.result.error.code, "driver.window-crossing");
});

deviceTest("a device without import of host memory gives the same results with mirrored memory", (gpu) => {
  const { program, to } = squares();
  using run = runGuestWell(gpu, program, "automatic");
  assertEquals(run.backing, "mirrored");
  assertEquals(run.words(to), Uint32Array.from({ length: 64 }, (_, i) => i * i + i));
}, { withoutExtensions: ["VK_EXT_external_memory_host"] });

deviceTest("anyagc run exits with 1 for a program that touches unmapped memory, and says where", async () => {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-driver-" });
  try {
    const code = 0x2_0000_0000n, data = 0x3_0000_0000n, hole = 0x5_0000_0000n;
    const submission = [
      ...computeState({ code, userData: [...words64(data), ...words64(hole), 0], threads: [1, 1, 1] }),
      ...dispatchDirect([1, 1, 1]),
    ];
    const text = (address: bigint) => `0x${address.toString(16)}`;
    await Deno.writeTextFile(
      `${folder}/fault.json`,
      JSON.stringify({
        schema: "anyagc.program/1",
        memory: [
          { base: text(code), bytes: 4096, permissions: "rx", contents: [{ offset: 0, words: [...COPY] }] },
          { base: text(data), bytes: 4096, permissions: "rw" },
        ],
        submissions: [{ queue: 0, words: submission }],
      }),
    );
    const { code: exitCode, errors } = await anyagc("run", `${folder}/fault.json`);
    assertEquals(exitCode, 1);
    assertStringIncludes(errors, "accessed 4 bytes at 0x500000000: unmapped");
    assertStringIncludes(errors, "pc 0x14");

    const json = await anyagc("run", `${folder}/fault.json`, "--json");
    assertEquals(json.code, 1);
    const { error } = JSON.parse(json.text);
    assertEquals([error.code, error.place.guestAddress, error.place.pc], ["driver.memory-fault", "0x500000000", 20]);
    assert(error.message.includes("fault.json"), error.message);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
