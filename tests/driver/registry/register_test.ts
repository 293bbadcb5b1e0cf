import { assert, assertEquals, assertNotEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { attachRoom } from "../../../src/driver/pools/room.ts";
import { recordAbi } from "../../../src/driver/registry/abi.ts";
import { hashCode } from "../../../src/driver/registry/registry_data.ts";
import { ShaderRegistry } from "../../../src/driver/registry/shader_registry.ts";
import { type AnyAgcError, GuestFaultError, InvalidInputError } from "../../../src/errors.ts";
import type { AgcShaderRecord } from "../../../src/guest/loaders/agc_record.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";
import {
  EXPORT_END,
  idleRoom,
  INTERPOLATE,
  literalProgram,
  registryOf,
  S_ENDPGM,
  S_TRAP,
  ShaderGuest,
  SHADERS,
} from "./support.ts";

Deno.test("registering checks registers, entry point and code here: the errors are the call's own, and nothing is registered", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const attempt = (record: AgcShaderRecord, text: string, Class: typeof AnyAgcError = InvalidInputError) => {
    const error = assertThrows(() => registry.registerShader(record), Class);
    assertStringIncludes(error.message, text);
    assertEquals([registry.snapshot(), room.board.stats().queued], [0, 0]);
  };
  const good = guest.compute(literalProgram(1));
  const without = (offset: number) => ({
    ...good,
    shRegisters: good.shRegisters.filter((each) => each.offset !== offset),
  });
  const changed = (offset: number, value: number) => ({
    ...good,
    shRegisters: good.shRegisters.map((each) => each.offset === offset ? { ...each, value } : each),
  });
  attempt({ ...good, codeAddress: good.codeAddress + 4n }, "multiple of 256");
  attempt({ ...good, codeAddress: 1n << 52n }, "below 2^48");
  attempt({ ...good, shaderBytes: 6 }, "whole words");
  attempt({ ...good, shaderBytes: (1 << 20) + 4 }, "at most 1 MiB");
  attempt(without(0x20c), "needs SH registers 0x20c and 0x20d");
  attempt(without(0x20d), "needs SH registers 0x20c and 0x20d");
  attempt(without(0x212), "needs SH register 0x212");
  attempt(without(0x213), "needs SH register 0x213");
  attempt(changed(0x20c, 0x77), "the registers name a program at 0x7700");
  attempt(changed(0x213, 1), "no scratch dwords");
  attempt(changed(0x213, 3 << 11), "TIDIG_COMP_CNT");
  attempt(changed(0x213, 17 << 1), "USER_SGPR is 17");
  attempt(changed(0x207, 0), "a workgroup of 0 x 1 x 1");
  attempt(changed(0x207, 1025), "a workgroup of 1025 x 1 x 1");
  // Code: it runs past its end, past the header's size, into the middle of nothing.
  attempt({ ...good, shaderBytes: 8 }, `the code at 0x${good.codeAddress.toString(16)}`);
  attempt(guest.compute([0xbf82_7fff]), "the code at"); // s_branch far beyond
  const high = guest.compute(literalProgram(2));
  guest.memory.protect(SHADERS, Permission.ReadWrite);
  attempt(high, "there is no program", GuestFaultError);
  guest.memory.protect(SHADERS, Permission.All);
  assertEquals(registry.registerShader(good).record, good);
  assertEquals(registry.snapshot() > 0, true);
});

Deno.test("code that is only not supported registers; malformed code does not", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  registry.registerShader(guest.compute([S_TRAP, S_ENDPGM]));
  const error = assertThrows(() => registry.registerShader(guest.compute([0xbf9f_0000])), InvalidInputError); // s_code_end
  assert(error.place.guestAddress !== undefined, error.message);
});

Deno.test("the code of a registration ends with what can be reached; constants behind it belong to memory", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  // s_cbranch_scc1 over an end to a later one (SOPP 5), then constants.
  const code = [0xbf85_0001, S_ENDPGM, 0x7e00_0280, S_ENDPGM, 0x1234_5678, 0x9abc_def0];
  assertEquals([...registry.registerShader(guest.compute(code)).code.words], code.slice(0, 4));
});

Deno.test("equal code is kept once, and two programs with one hash are told apart by their words", () => {
  const weak = () => Uint32Array.of(1, 2, 3, 4, 5, 6, 7, 8);
  for (const hash of [undefined, weak]) {
    const guest = new ShaderGuest(), room = idleRoom();
    const registry = registryOf(room, guest, { hash });
    const shaders = [1, 2, 1].map((n) => registry.registerShader(guest.compute(literalProgram(n))));
    assertEquals(shaders.map(({ code }) => code.words[1]), [1, 2, 1]);
    const places = shaders.map(({ code }) => code.words.byteOffset);
    assertEquals([places[0] === places[2], places[0] === places[1]], [true, false]);
    assertEquals([shaders[0].hash === shaders[2].hash, shaders[0].hash === shaders[1].hash], [true, false]);
  }
});

Deno.test("the same record with the same code is the same registration; other code at the address is a new one", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  const record = guest.compute(literalProgram(1)), first = registry.registerShader(record);
  const epoch = registry.snapshot();
  assertEquals(registry.registerShader({ ...record }).index, first.index);
  assertEquals(registry.snapshot(), epoch);
  guest.memory.writeU32(record.codeAddress + 4n, 2);
  const second = registry.registerShader(record);
  assertNotEquals(second.index, first.index);
  const third = registry.registerShader({ ...record, scratchDwordsPerThread: 1 });
  assertNotEquals(third.index, second.index);
});

Deno.test("a submission sees the registry as it was at its time", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  const record = guest.compute(literalProgram(1)), address = record.codeAddress;
  const before = registry.snapshot();
  const first = registry.registerShader(record), between = registry.snapshot();
  guest.memory.writeU32(address + 4n, 2);
  const second = registry.registerShader(record), after = registry.snapshot();
  assertEquals(
    [before, between, after].map((snapshot) => registry.find(address, snapshot)?.index),
    [undefined, first.index, second.index],
  );
  // What a submission of then uses is the registration of then; its code is not in memory any more, which is noticed.
  const own = recordAbi(record)!;
  assertEquals(registry.use(address, own, after).request.code[1], 2);
  assertEquals(registry.lines.length, 0);
  assertEquals(registry.use(address, own, between).request.code[1], 2, "what is in memory");
  assertEquals(registry.lines.length, 1);
});

Deno.test("compute code that the guest overwrites after registration is noticed, once said, and used as it is now", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  const record = guest.compute(literalProgram(5)), own = recordAbi(record)!, address = record.codeAddress;
  registry.registerShader(record);
  const snapshot = registry.snapshot(), first = registry.use(address, own, snapshot);
  assertEquals(registry.use(address, own, snapshot), first);
  guest.memory.writeU32(address + 4n, 6);
  for (let i = 0; i < 3; i++) assertEquals(registry.use(address, own, snapshot).request.code[1], 6);
  assertEquals(registry.lines.length, 1);
  assertStringIncludes(registry.lines[0], "was changed in memory");
  guest.memory.writeU32(address + 4n, 5);
  assertEquals(registry.use(address, own, snapshot), first, "and what was there is known again");
});

Deno.test("a pixel shader whose code was overwritten is refused with the place of the change", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  const record = guest.pixel(EXPORT_END, []), shader = registry.registerShader(record), own = recordAbi(record)!;
  guest.memory.writeU32(record.codeAddress + 4n, 0x01010101);
  const error = assertThrows(() => registry.use(shader.code.address, own, registry.snapshot()), InvalidInputError);
  assertEquals([error.code, error.place.guestAddress, error.place.pc], [
    "registry.code-changed",
    record.codeAddress + 4n,
    4,
  ]);
});

Deno.test("a pixel shader that nobody registered is refused; compute code is taken as it is", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  const pixel = guest.pixel(EXPORT_END, []), compute = guest.compute(literalProgram(9));
  const error = assertThrows(() => registry.use(pixel.codeAddress, recordAbi(pixel)!, 0), InvalidInputError);
  assertEquals(error.code, "registry.not-registered");
  assertEquals(registry.use(compute.codeAddress, recordAbi(compute)!, 0).request.code[1], 9);
});

Deno.test("raw code is decoded to its reachable end, and compared with memory at each use", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  const record = guest.compute([...literalProgram(1), 7, 7]), own = recordAbi(record)!, address = record.codeAddress;
  const first = registry.use(address, own, 0);
  assertEquals([...first.request.code], literalProgram(1));
  assertEquals(registry.use(address, own, 0), first);
  guest.memory.writeU32(address + 12n, 8); // behind the program
  assertEquals(registry.use(address, own, 0), first);
  guest.memory.writeU32(address + 4n, 2);
  assertEquals([...registry.use(address, own, 0).request.code], literalProgram(2));
});

Deno.test("raw code of more than 1 MiB is refused", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest);
  const record = guest.compute(literalProgram(1)), own = recordAbi(record)!, address = record.codeAddress;
  guest.memory.fillU32(address, (1 << 18) + 4, 0xbf80_0000); // s_nop 0
  guest.memory.writeU32(address + BigInt(1 << 20), S_ENDPGM);
  assertThrows(() => registry.use(address, own, 0), InvalidInputError, "the code at");
  guest.memory.writeU32(address + BigInt((1 << 20) - 4), S_ENDPGM);
  assertEquals(registry.program(address, own, 0).code.words.length, 1 << 18);
});

Deno.test("two registries of one room see each other's registrations", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const other = attachRoom(room.handle);
  const second = ShaderRegistry.attach(other, registry.handle, { memory: guest.memory, synchronous: false });
  const a = registry.registerShader(guest.compute(literalProgram(1)));
  const b = second.registerShader(guest.compute(literalProgram(2)));
  assertEquals(second.find(a.code.address, second.snapshot())?.hash, a.hash);
  assertEquals(registry.find(b.code.address, registry.snapshot())?.record, b.record);
  assertEquals(registry.find(b.code.address, a.index + 1), undefined);
});

Deno.test("a registry that is full says so", () => {
  const guest = new ShaderGuest(), registry = registryOf(idleRoom(), guest, { capacity: 2 });
  registry.registerShader(guest.pixel(INTERPOLATE));
  registry.registerShader(guest.pixel(INTERPOLATE));
  const error = assertThrows(() => registry.registerShader(guest.pixel(INTERPOLATE)), SyncError);
  assertEquals(error.code, "registry.full");
});

Deno.test("what a registry without room refuses leaves nothing in the arena, and memory as it was", () => {
  const guest = new ShaderGuest(), room = idleRoom();
  let meanwhile = () => {};
  const hash = (words: Uint32Array) => (meanwhile(), hashCode(words));
  const registry = registryOf(room, guest, { capacity: 2, hash });
  const handle = registry.handle, options = { memory: guest.memory, synchronous: false };
  const second = ShaderRegistry.attach(attachRoom(room.handle), handle, options);
  const shader = registry.registerShader(guest.pixel(INTERPOLATE));
  const [late, other] = [guest.pixel(INTERPOLATE), guest.pixel(INTERPOLATE)];
  const counts = () => [room.arena.stats().blobs, room.arena.stats().owned];
  let full: number[] = [];
  meanwhile = () => {
    // Another loader takes the last entry after this one has seen that there is room.
    meanwhile = () => {};
    second.registerShader(other);
    full = counts();
  };
  assertEquals(assertThrows(() => registry.registerShader(late), SyncError).code, "registry.full");
  assertEquals(counts(), full);
  const before = guest.memory.read(shader.code.address, 4).join();
  const edit = () => registry.edit(shader, () => ({ code: Uint32Array.of(0xbf80_0000) }));
  assertEquals(assertThrows(edit, SyncError).code, "registry.full");
  assertEquals([counts(), guest.memory.read(shader.code.address, 4).join()], [full, before]);
});
