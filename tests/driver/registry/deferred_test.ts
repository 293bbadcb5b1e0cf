/** Variants that are not queued: they are made where they are used. */
import { assertEquals, assertThrows } from "@std/assert";
import { recordAbi } from "../../../src/driver/registry/abi.ts";
import { NeedsImageDescriptors } from "../../../src/recompiler/lift/image_descriptor.ts";
import { IMAGE_LOAD } from "../../support/machine_code.ts";
import { idleRoom, literalProgram, nothingLeft, registryOf, ShaderGuest, work } from "./support.ts";

Deno.test("a shader that needs descriptors of images is deferred without a word, and made with them where it is used", () => {
  const guest = new ShaderGuest(), room = idleRoom(), lines: string[] = [], registry = registryOf(room, guest);
  const record = guest.compute([...IMAGE_LOAD], { threads: 64, userSgprs: 5 }), own = recordAbi(record)!;
  const shader = registry.registerShader(record), snapshot = registry.snapshot();
  assertEquals(work(room, (line) => lines.push(line)), 1);
  assertEquals(registry.resolveShaderAbi(shader, own), "deferred");
  assertEquals([lines, room.board.stats().queued], [[], 0]);
  const { needs } = assertThrows(
    () => registry.use(shader.code.address, own, snapshot),
    NeedsImageDescriptors,
  ) as NeedsImageDescriptors;
  // A linear 2D image of one component of 32 bits.
  const image = Uint32Array.of(0x100, 20 << 20 | 3 << 30, 1 | 7 << 14 | 1 << 31, 0xfac | 9 << 28, 0, 0, 0, 0);
  const imageDescriptors = new Map(needs.map(({ pc }) => [pc, image]));
  const program = registry.program(shader.code.address, own, snapshot);
  const made = registry.prepare(program, `${own.key} image`, { ...registry.request(program, own), imageDescriptors });
  assertEquals(registry.prepare(program, `${own.key} image`, made.request), made);
  assertEquals([made.artifact.spirv[0], registry.lines], [0x07230203, []]);
  nothingLeft(room);
});

Deno.test("a board that is full defers: the guest's call returns, the line says so, and the use makes the variant", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  room.board.stop("cancel"); // accepts nothing
  const shader = registry.registerShader(guest.compute(literalProgram(1))), own = recordAbi(shader.record)!;
  assertEquals(registry.resolveShaderAbi(shader, own), "deferred");
  assertEquals(registry.lines.length, 2);
  assertEquals(registry.use(shader.code.address, own, registry.snapshot()).request.code[1], 1);
  nothingLeft(room);
});

Deno.test("where the log is full nothing is queued that nobody would wait for: the variant is deferred, and made where it is used", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest, { capacity: 3 });
  const first = registry.registerShader(guest.compute(literalProgram(1)));
  const second = registry.registerShader(guest.compute(literalProgram(2))), own = recordAbi(second.record)!;
  assertEquals([registry.snapshot(), room.board.stats().queued, room.artifacts.stats().pending], [3, 1, 1]);
  const line = `${second.label} is prepared where it is used: the shader registry has all of its 3 entries in use`;
  assertEquals(registry.lines, [line]);
  assertEquals(registry.resolveShaderAbi(second, own), "deferred");
  assertEquals([room.board.stats().queued, room.artifacts.stats().pending], [1, 1]);
  // What "deferred" says: it is made by who uses it, and by nobody before.
  registry.read(second, () => {});
  assertEquals(room.artifacts.stats().ready, 0);
  registry.use(second.code.address, own, registry.snapshot());
  assertEquals([room.artifacts.stats().ready, registry.resolveShaderAbi(second, own)], [1, "registered"]);
  // What was noted before is waited for as ever.
  registry.read(first, () => assertEquals(room.artifacts.stats().ready, 2));
  assertEquals(room.board.stats().queued, 0);
});

Deno.test("a variant that cannot be queued is noted once, however often it is asked for", () => {
  const guest = new ShaderGuest(), room = idleRoom(), registry = registryOf(room, guest);
  room.board.stop("cancel");
  const shader = registry.registerShader(guest.compute(literalProgram(1))), own = recordAbi(shader.record)!;
  const entries = registry.snapshot();
  for (let i = 0; i < 3; i++) assertEquals(registry.resolveShaderAbi(shader, own), "deferred");
  assertEquals([entries, registry.snapshot(), room.artifacts.stats().pending], [2, 2, 0]);
});
