import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { ComputeExecutor } from "../../../src/driver/executor.ts";
import { runProgram } from "../../../src/driver/run_program.ts";
import { VerifyExecutor } from "../../../src/driver/verify/verify_executor.ts";
import { VulkanExecutor } from "../../../src/driver/vulkan/vulkan_executor.ts";
import { ArrayAllocator, type HostAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { MmapAllocator } from "../../../src/guest/memory/mmap_allocator.ts";
import { computeState, descriptor, GuestProgram, words64 } from "../../support/guest_program.ts";
import { ATOMIC_ADD, REVERSE } from "../../support/machine_code.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { CorruptDevice } from "./corrupt_device.ts";

/** target[i] = (x * x + x) ^ 4 * i with x = source[i]. s[0:1] source, s[2:3] target; assembled with llvm-mc-19 for gfx1013. */
const POLYNOMIAL = Uint32Array.of(
  0x34000082, // 0: v_lshlrev_b32_e32 v0, 2, v0
  ...[0xdc308000, 0x01000000], // 4: global_load_dword v1, v0, s[0:1]
  0xbf8c3f70, // 12: s_waitcnt vmcnt(0)
  ...[0xd5690002, 0x00020301], // 16: v_mul_lo_u32 v2, v1, v1
  0x4a060302, // 24: v_add_nc_u32_e32 v3, v2, v1
  0x3a080103, // 28: v_xor_b32_e32 v4, v3, v0
  ...[0xdc708000, 0x00020400], // 32: global_store_dword v0, v4, s[2:3]
  0xbf810000, // 40: s_endpgm
);
/** v_mul_hi_u32 in the place of v_mul_lo_u32. */
const MUL_HI = 0xd56a0002;
const INPUT = Uint32Array.of(0, 0, 0, 5, 0, 7);

/** The polynomial over 64 words, `dispatches` times. */
function polynomial(code = POLYNOMIAL, dispatches = 1) {
  const guest = new GuestProgram("polynomial");
  const entry = guest.code(code);
  const source = guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => INPUT[i] ?? 0));
  const target = guest.buffer(new Uint32Array(64));
  const userData = [...words64(source.address), ...words64(target.address)];
  for (let k = 0; k < dispatches; k++) {
    guest.submit(0, [
      ...computeState({ code: entry, userData, groupIds: [false, false, false] }),
      ...dispatchDirect([1, 1, 1]),
    ]);
  }
  return { program: guest.program, entry, source, target };
}

function verify(
  program: GuestProgram["program"],
  device: ComputeExecutor,
  ulps = 0,
  allocator: HostAllocator = new ArrayAllocator(),
) {
  const memory = new GuestMemory(allocator);
  const executor = new VerifyExecutor(device, { target: program.target, ulps });
  const result = runProgram(program, executor, memory);
  executor.close();
  return { result, report: executor.report, memory };
}

Deno.test("equal runs are equal, and every dispatch is compared", () => {
  const { program } = polynomial(POLYNOMIAL, 3);
  const { result, report } = verify(program, new CorruptDevice({}));
  assertEquals([result.outcome, report.outcome, report.compared, report.difference], ["passed", "equal", 3, undefined]);
});

Deno.test("a wrong opcode is reported with address, values, store, lane, register and the first value that differs", () => {
  const { program, entry, target } = polynomial();
  const { report, memory } = verify(program, new CorruptDevice({ words: [{ address: entry + 16n, word: MUL_HI }] }));
  assertEquals(report.outcome, "differs");
  const { dispatch, address, expected, actual, before, word, store, bytes } = report.difference!;
  // x = 5 in lane 3: 30 ^ 12 instead of 5 ^ 12. x = 7 in lane 5: 56 ^ 20 = 44 instead of 7 ^ 20 = 19.
  assertEquals([dispatch, address, expected, actual, before, bytes], [0, target.address + 12n, 18, 9, 0, 2]);
  assertEquals(word, { address: target.address + 12n, expected: 18, actual: 9 });
  assert(store !== undefined);
  assertEquals([store.pc, store.text], [32, "global_store_dword v0, v4, s[2:3]"]);
  assertEquals(store.words, [0xdc708000, 0x00020400]);
  assertEquals([store.group, store.wave, store.lane, store.lanes], [[0, 0, 0], 0, 3, [3]]);
  assertEquals([store.register, store.value], ["v4", 18]);
  assertEquals(store.chain.map(({ pc, register, value, atStore, actual }) => [pc, register, value, atStore, actual]), [
    [28, "v4", 18, "differs", 9],
    [24, "v3", 30, "differs", 5],
    [16, "v2", 25, "differs", 0],
    [4, "v1", 5, "equal", undefined],
    [0, "v0", 12, "equal", undefined],
  ]);
  assertEquals(store.chain[store.firstDiffering!].text, "v_mul_lo_u32 v2, v1, v1");
  // The guest's memory is what the device made of it, as if nobody had looked.
  assertEquals([...memory.readWords(target.address, 6)], [0, 4, 8, 9, 16, 19]);
  assertEquals([...memory.readWords(entry, POLYNOMIAL.length)], [...POLYNOMIAL]);
});

Deno.test("a write that the interpreter never does has no store, and says so", () => {
  const { program, target } = polynomial();
  const after = (memory: GuestMemory) => memory.writeU32(target.address + 1024n, 0x0100);
  const { report } = verify(program, new CorruptDevice({ after }));
  const { address, expected, actual, store, note } = report.difference!;
  assertEquals([address, expected, actual, store], [target.address + 1025n, 0, 1, undefined]);
  assertEquals(note, "the interpreter stores nothing there in this dispatch");
});

Deno.test("the first dispatch that differs is named, and the later ones run on the device only", () => {
  const { program, source } = polynomial(POLYNOMIAL, 4);
  const after = (memory: GuestMemory, number: number) => void (number === 2 && memory.writeU32(source.address, 1));
  const { report } = verify(program, new CorruptDevice({ after }));
  assertEquals([report.difference!.dispatch, report.compared, report.notCompared], [2, 3, 1]);
  assertEquals(report.difference!.address, source.address);
});

Deno.test("a dispatch that the interpreter refuses is not claimed to be equal", () => {
  const code = POLYNOMIAL.slice();
  code[3] = 0xbf920003; // s_trap 3
  const { program, target } = polynomial(code);
  // The device skips the trap.
  const entry = program.memory[0].base;
  const device = new CorruptDevice({ words: [{ address: entry + 12n, word: 0xbf800000 }] });
  const { report, memory } = verify(program, device);
  assertEquals([report.outcome, report.compared, report.difference], ["incomplete", 0, undefined]);
  assertStringIncludes(report.unverified[0].reason, "s_trap");
  assertEquals(memory.readU32(target.address + 12n), 18);
});

Deno.test("a dispatch that the device refuses is not claimed to be equal either", () => {
  const { program, entry } = polynomial(POLYNOMIAL, 2);
  const device = new CorruptDevice({ words: [{ address: entry + 12n, word: 0xbf920003 }] });
  const { report, result } = verify(program, device);
  assertEquals([result.outcome, report.outcome, report.compared], ["failed", "incomplete", 0]);
  assertStringIncludes(report.unverified[0].reason, "s_trap");
});

Deno.test("a fault on one side only is a difference", () => {
  const { program, entry } = polynomial();
  // The device's store goes 2 KiB below the target, where nothing is.
  const device = new CorruptDevice({ words: [{ address: entry + 32n, word: 0xdc708800 }] });
  const { report, result } = verify(program, device);
  assertEquals([result.outcome, report.outcome, report.difference!.kind], ["failed", "differs", "fault"]);
  assertEquals(report.difference!.fault!.side, "device");
});

Deno.test("the tolerance is for normal f32 words only, and what it lets pass is counted", () => {
  const { program, source } = polynomial();
  const floats = (value: number) => (memory: GuestMemory) => memory.writeU32(source.address, value);
  program.memory[1].contents[0].data.set([0, 0, 0x80, 0x3f], 0); // 1.0
  const near = new CorruptDevice({ after: floats(0x3f800002) });
  assertEquals(verify(program, near).report.outcome, "differs");
  assertEquals(verify(program, near, 1).report.outcome, "differs");
  const { report } = verify(program, near, 2);
  assertEquals([report.outcome, report.tolerated, report.largestUlps], ["equal", 1, 2]);
  // 5 and 6 are no normal floats: an integer that is off by one is never let pass.
  const counter = new CorruptDevice({ after: (memory) => memory.writeU32(source.address + 12n, 6) });
  assertEquals(verify(program, counter, 100).report.outcome, "differs");
});

Deno.test("a byte that several lanes store names all of them", () => {
  const code = POLYNOMIAL.slice();
  code[7] = 0x7e000280; // v_mov_b32_e32 v0, 0 in the place of the xor: every lane stores v4 to the first word
  const { program, target } = polynomial(code);
  const after = (memory: GuestMemory) => memory.writeU32(target.address, 0xff);
  const { report } = verify(program, new CorruptDevice({ after }));
  const { pc, lanes, lane, register, wave } = report.difference!.store!;
  assertEquals([pc, lanes.length, lane, register, wave], [32, 32, 31, "v4", 1]);
});

Deno.test("an atomic that returns a value has no lane, and says nothing of registers", () => {
  const guest = new GuestProgram("atomic");
  const code = guest.code(ATOMIC_ADD);
  const counters = guest.buffer(new Uint32Array(64)), old = guest.buffer(new Uint32Array(64));
  const userData = [...words64(counters.address), ...words64(old.address)];
  guest.submit(0, [...computeState({ code, userData }), ...dispatchDirect([1, 1, 1])]);
  const after = (memory: GuestMemory) => memory.writeU32(counters.address + 8n, 8);
  const { report } = verify(guest.program, new CorruptDevice({ after }));
  const { address, expected, actual, store } = report.difference!;
  assertEquals([address, expected, actual], [counters.address + 8n, 7, 8]);
  assertEquals([store!.pc, store!.lane, store!.register, store!.chain], [8, undefined, undefined, []]);
});

deviceTest("a Vulkan device and the interpreter are equal over LDS, barriers and buffers", (device) => {
  const guest = new GuestProgram("reverse");
  const code = guest.code(REVERSE);
  const source = guest.buffer(Uint32Array.from({ length: 256 }, (_, i) => i * 3)),
    target = guest.buffer(new Uint32Array(256));
  guest.submit(0, [
    ...computeState({
      code,
      userData: [...descriptor(source), ...descriptor(target)],
      threads: [128, 1, 1],
      ldsBytes: 512,
    }),
    ...dispatchDirect([2, 1, 1]),
  ]);
  const executor = new VulkanExecutor(device, { target: "gfx1013" });
  const { report, memory, result } = verify(guest.program, executor, 0, new MmapAllocator());
  assertEquals([result.error, report.outcome, report.compared], [undefined, "equal", 1]);
  executor.close();
  memory.clear();
});

deviceTest("registers of a Vulkan device are looked at by recompiling with another store", (device) => {
  // The device is right; memory is changed behind its back, once. Every register is therefore found to be equal.
  const { program, target } = polynomial();
  const executor = new VulkanExecutor(device, { target: "gfx1013" });
  let first = true;
  const attach = executor.attach.bind(executor), drain = executor.drain.bind(executor);
  let memory: GuestMemory | undefined;
  executor.attach = (to) => attach(memory = to);
  executor.drain = () => {
    drain();
    if (!first || memory!.readU32(target.address + 12n) === 0) return;
    first = false;
    memory!.writeU32(target.address + 12n, 99);
  };
  const { report, result, memory: after } = verify(program, executor, 0, new MmapAllocator());
  const { store, actual } = report.difference!;
  assertEquals([actual, store!.pc, store!.lane, store!.firstDiffering], [99, 32, 3, undefined]);
  assertEquals(store!.chain.map(({ pc, atStore }) => [pc, atStore]), [28, 24, 16, 4, 0].map((pc) => [pc, "equal"]));
  // Programs of the look are not in the run's report.
  assertEquals([result.programs.length, result.programs[0].dispatches], [1, 1]);
  assertEquals(after.readU32(target.address + 12n), 99);
  executor.close();
  after.clear();
});

deviceTest("an instruction that a Vulkan device gets wrong is found", (device) => {
  const { program, entry, target } = polynomial();
  const vulkan = new VulkanExecutor(device, { target: "gfx1013" });
  // What is recompiled has another opcode at pc 16 than what the interpreter executes.
  const wrong = new CorruptDevice({ words: [{ address: entry + 16n, word: MUL_HI }] }, vulkan);
  const { report, memory } = verify(program, wrong, 0, new MmapAllocator());
  const { address, expected, actual, store } = report.difference!;
  assertEquals([address, expected, actual], [target.address + 12n, 18, 9]);
  assertEquals([store!.pc, store!.lane, store!.register], [32, 3, "v4"]);
  assertEquals(store!.chain.map(({ pc, atStore }) => [pc, atStore]), [
    [28, "differs"],
    [24, "differs"],
    [16, "differs"],
    [4, "equal"],
    [0, "equal"],
  ]);
  assertEquals([store!.firstDiffering, store!.chain[2].actual], [2, 0]);
  assertEquals([...memory.readWords(target.address, 6)], [0, 4, 8, 9, 16, 19]);
  vulkan.close();
  memory.clear();
});
