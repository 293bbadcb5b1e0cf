import { assertEquals, assertThrows } from "@std/assert";
import { openShaders } from "../../../mod.ts";
import { attachRoom } from "../../../src/driver/pools/room.ts";
import { recordAbi, stageAbi } from "../../../src/driver/registry/abi.ts";
import { RegisteredShader } from "../../../src/driver/registry/programs.ts";
import { ShaderRegistry } from "../../../src/driver/registry/shader_registry.ts";
import { InvalidInputError } from "../../../src/errors.ts";
import { buildRecord } from "../../guest/support/records.ts";
import { inFolder } from "../shader_cache/support.ts";
import { EXPORT_END, idleRoom, literalProgram, registryOf, ShaderGuest } from "./support.ts";

Deno.test("submissions that were made before a shader was taken out see it, later ones find unregistered code, in every isolate", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shader = registry.registerShader(guest.compute(literalProgram(7))), { address } = shader.code;
  const own = recordAbi(shader.record)!, before = registry.snapshot();
  registry.unregisterShader(shader);
  const after = registry.snapshot();
  // One that comes later reads it all from the log.
  const other = ShaderRegistry.attach(attachRoom(room.handle), registry.handle, { memory: guest.memory });
  for (const each of [registry, other]) {
    assertEquals([each.find(address, before)?.index, each.find(address, after)], [shader.index, undefined]);
    assertEquals(each.program(address, own, before) instanceof RegisteredShader, true);
    const raw = each.program(address, own, after);
    assertEquals([raw instanceof RegisteredShader, raw.code.words], [false, shader.code.words]);
  }
  // What was queued for it is made by who sees it.
  assertEquals(room.board.stats().queued, 1);
  assertEquals(registry.use(address, own, before).request.code[1], 7);
  assertEquals([room.board.stats().queued, room.artifacts.stats().created, registry.lines], [0, 1, []]);
});

Deno.test("a pixel shader that was taken out is refused to later submissions, and works again when it is registered again", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const record = guest.pixel(EXPORT_END, []), shader = registry.registerShader(record), { address } = shader.code;
  const state = stageAbi(record, []), before = registry.snapshot();
  registry.unregisterShader(shader);
  const error = assertThrows(() => registry.use(address, state, registry.snapshot()), InvalidInputError);
  assertEquals([error.code, error.place.guestAddress], ["registry.not-registered", address]);
  assertEquals(registry.use(address, state, before).request.codeAddress, address);
  const again = registry.registerShader(record);
  assertEquals([again === shader, registry.find(address, registry.snapshot())], [false, again]);
  assertEquals(registry.find(address, before), shader, "and who saw the old one still does");
  registry.use(address, state, registry.snapshot());
  assertEquals(room.artifacts.stats().created, 1, "the same request is recompiled once");
});

Deno.test("taking a shader out takes out what its record was registered as before, and no other record with the same code", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const record = guest.compute(literalProgram(1)), first = registry.registerShader(record), { address } = first.code;
  // A second header for the same code, as a guest has it that creates a shader twice.
  const twin = { ...record, address: record.address + 0x1000n };
  const second = registry.registerShader(twin), both = registry.snapshot();
  assertEquals(registry.find(address, both), second);
  const edited = registry.edit(second, () => ({ code: Uint32Array.from(literalProgram(2)) }));
  assertEquals(registry.find(address, registry.snapshot()), edited);
  registry.unregisterShader(edited);
  assertEquals([second.until, edited.until].map((at) => at < registry.snapshot()), [true, true]);
  assertEquals(registry.find(address, registry.snapshot()), first);
  assertEquals(registry.find(address, both), second);
});

Deno.test("what was taken out cannot be resolved, edited, or taken out again: those errors are the call's own", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  const shader = registry.registerShader(guest.compute(literalProgram(1))), own = recordAbi(shader.record)!;
  const other = ShaderRegistry.attach(attachRoom(room.handle), registry.handle, { memory: guest.memory });
  other.unregisterShader(other.find(shader.code.address, other.snapshot())!);
  const calls = [
    () => registry.resolveShaderAbi(shader, own),
    () => registry.edit(shader, () => ({})),
    () => registry.unregisterShader(shader),
  ];
  for (const call of calls) {
    const error = assertThrows(call, InvalidInputError);
    assertEquals([error.code, error.place.guestAddress], ["registry.unregistered", shader.code.address]);
  }
  assertEquals(registry.snapshot(), 3, "registered, queued, taken out");
});

Deno.test("the library takes a shader out: what was submitted before sees it", () =>
  inFolder(async (folder) => {
    const { bytes } = buildRecord({
      type: 1,
      code: EXPORT_END,
      sh: [[0x008, 0], [0x009, 0], [0x00a, 0xc0 << 12], [0x00b, 4]],
      cx: [[0x1b3, 2], [0x1b4, 2], [0x1b6, 0x8000], [0x1c5, 9], [0x08f, 0xf], [0x203, 0x10]],
    }, { form: "file-offset" });
    Deno.writeFileSync(`${folder}/pixel.sb`, bytes);
    const shaders = openShaders({ threads: 1, cache: false });
    try {
      const pixel = shaders.load(`${folder}/pixel.sb`), submitted = shaders.snapshot();
      shaders.unregister(pixel);
      assertEquals(shaders.use(pixel, {}, submitted).spirv[0], 0x07230203);
      assertEquals(assertThrows(() => shaders.use(pixel, {}), InvalidInputError).code, "registry.not-registered");
      assertEquals(assertThrows(() => shaders.unregister(pixel), InvalidInputError).code, "registry.unregistered");
    } finally {
      await shaders.close();
    }
  }));
