import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { SoftwareExecutor } from "../../../src/driver/software/software_executor.ts";
import { GuestFaultError, RefusedError } from "../../../src/errors.ts";
import { readFrame } from "../../../src/guest/frame.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import { ArrayAllocator } from "../../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../../src/guest/memory/guest_memory.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import type { ComputeProgram } from "../../../src/pm4/compute_program.ts";
import { computeProgram } from "../../../src/pm4/compute_program.ts";
import { RegisterState } from "../../../src/pm4/registers.ts";
import { Access, FaultReason } from "../../../src/rdna/interpreter/mod.ts";
import { Access as RecompilerAccess, FaultReason as RecompilerFaultReason } from "../../../src/recompiler/abi.ts";
import { corpusFile, corpusTest } from "../../support/corpus.ts";
import { juliaReference } from "../../shaders/julia_reference.ts";
import { runSoftware } from "./run_launch.ts";

Deno.test("the sample program's picture is the reference's, byte for byte", () => {
  const path = new URL("../../../shaders/julia/program.json", import.meta.url).pathname;
  const loaded = loadFile(path);
  assert(loaded.kind === "program");
  const { result, memory } = runSoftware(loaded.program);
  assertEquals([result.outcome, result.error?.message, result.differences], ["passed", undefined, []]);
  const picture = readFrame(memory, loaded.program.frame!);
  assertEquals(new Uint8Array(picture.rgba), juliaReference());
});

corpusTest("the console's first compute dispatch writes what the console wrote", "golden", () => {
  const loaded = loadFile(corpusFile("golden", "c0__c0-dispatch-1.json"));
  assert(loaded.kind === "program");
  const { result, memory } = runSoftware(loaded.program);
  assertEquals([result.outcome, result.error?.message, result.differences], ["passed", undefined, []]);
  assertEquals(result.dispatches, 1);
  // EXPECTED.md: word 0 is 0xa5a5a5a5, the rest of the buffer is untouched, the marker is written.
  assertEquals(memory.readU32(0x2_0002_a000n), 0xa5a5a5a5);
  assertEquals([...memory.read(0x2_0002_a004n, 0xffc)].every((byte) => byte === 0), true);
  assertEquals(memory.readU32(0x2_0002_bffcn), 0x42390001);
});

Deno.test("faults have the numbers of the recompiler's interface", () => {
  // What the recompiled module refuses although the guest may do it, the interpreter does: those reasons are the module's alone.
  const { Unmapped, Permission, Overflow, Unaligned } = RecompilerFaultReason;
  assertEquals({ ...FaultReason }, { None: 0, Unmapped, Permission, Overflow, Unaligned });
  assertEquals({ ...Access }, { ...RecompilerAccess });
});

const CODE = 0x2_0010_0000n, DATA = 0x2_0020_0000n;

/** Guest memory with a program, and one page of data. */
function guest(code: readonly number[]): GuestMemory {
  const memory = new GuestMemory(new ArrayAllocator());
  memory.map(CODE, 4096, Permission.All, "code");
  memory.map(DATA, 4096, Permission.ReadWrite, "data");
  memory.write(CODE, new Uint8Array(Uint32Array.from(code).buffer));
  return memory;
}

/** A program of one wave with two user SGPRs. */
function program(change: Partial<ComputeProgram> = {}): ComputeProgram {
  const blank = computeProgram(new RegisterState());
  return {
    ...blank,
    address: CODE,
    numThreadsX: 32,
    numThreadsY: 1,
    numThreadsZ: 1,
    userSgprCount: 2,
    ...change,
  };
}

const dispatch = (change: Partial<ComputeProgram> = {}) => ({
  program: program(change),
  userData: Uint32Array.of(Number(DATA & 0xffff_ffffn), Number(DATA >> 32n)),
  waveSize: 32 as const,
  partialThreads: false,
  x: 1,
  y: 1,
  z: 1,
  place: { queue: 0 },
});

const S_ENDPGM = 0xbf810000;
/** v0 := v0 * 4, then global_store_dword v0, v0, s[0:1]. */
const STORE = [0x34000082, 0xdc708000, 0x00000000];

Deno.test("a dispatch takes effect at once, and is in the report", () => {
  const memory = guest([...STORE, S_ENDPGM]);
  const executor = new SoftwareExecutor({ target: "gfx1013" });
  executor.attach(memory);
  executor.dispatch(dispatch());
  assertEquals(executor.busy, true);
  executor.drain();
  assertEquals(executor.busy, false);
  assertEquals([...memory.readWords(DATA, 33)], [...Array.from({ length: 32 }, (_, lane) => lane * 4), 0]);
  executor.dispatch(dispatch());
  const [report] = executor.programs();
  assertEquals([report.address, report.instructions, report.dispatches, report.waveSize], [CODE, 3, 2, 32]);
  assertEquals(executor.programs().length, 1);
});

Deno.test("a fault is raised at the next drain, once, with address and pc; the dispatch goes on after it", () => {
  // The first store goes 4 KiB below the data; the second one is good.
  const memory = guest([0x34000082, 0xdc708800, 0x00000000, 0xdc708000, 0x00000000, S_ENDPGM]);
  const executor = new SoftwareExecutor({ target: "gfx1013" });
  executor.attach(memory);
  executor.dispatch(dispatch());
  const error = assertThrows(() => executor.drain(), GuestFaultError);
  assertInstanceOf(error, GuestFaultError);
  assertEquals([error.code, error.place.pc, error.place.guestAddress], ["driver.memory-fault", 4, DATA - 2048n]);
  assertStringIncludes(error.message, "4 bytes at 0x2001ff800: unmapped");
  executor.drain();
  assertEquals(memory.readU32(DATA + 124n), 124);
});

Deno.test("windows that change are seen, permissions are kept", () => {
  const memory = guest([...STORE, S_ENDPGM]);
  const executor = new SoftwareExecutor({ target: "gfx1013" });
  executor.attach(memory);
  memory.protect(DATA, Permission.Read);
  executor.dispatch(dispatch());
  const error = assertThrows(() => executor.drain(), GuestFaultError);
  assertStringIncludes((error as GuestFaultError).message, "permission");
  memory.protect(CODE, Permission.ReadWrite);
  assertThrows(() => executor.dispatch(dispatch()), GuestFaultError, "needs --x");
});

Deno.test("an access may run from one window into an adjoining one", () => {
  const memory = guest([
    0x7e040280, // v_mov_b32_e32 v2, 0
    ...[0xdc348ffc, 0x00000002], // global_load_dwordx2 v[0:1], v2, s[0:1] offset:-4
    0xbf8c3f70, // s_waitcnt vmcnt(0)
    0x4a000081, // v_add_nc_u32_e32 v0, 1, v0
    0x4a020281, // v_add_nc_u32_e32 v1, 1, v1
    ...[0xdc748ffc, 0x00000002], // global_store_dwordx2 v2, v[0:1], s[0:1] offset:-4
    S_ENDPGM,
  ]);
  memory.map(DATA - 4096n, 4096, Permission.ReadWrite, "before");
  memory.write(DATA - 4n, new Uint8Array(Uint32Array.of(10, 20).buffer));
  const executor = new SoftwareExecutor({ target: "gfx1013" });
  executor.attach(memory);
  executor.dispatch(dispatch());
  executor.drain();
  assertEquals([...new Uint32Array(memory.read(DATA - 4n, 8).buffer)], [11, 21]);
});

Deno.test("threads beyond the size of a dispatch in threads do not exist", () => {
  const memory = guest([...STORE, S_ENDPGM]);
  const executor = new SoftwareExecutor({ target: "gfx1013" });
  executor.attach(memory);
  executor.dispatch({ ...dispatch({ numThreadsX: 64 }), partialThreads: true, x: 40 });
  executor.drain();
  // Two waves of one group: lanes 0..31, and 0..7 of the second.
  assertEquals([...memory.readWords(DATA, 42)].slice(36), [144, 148, 152, 156, 0, 0]);
});

Deno.test("what the interpreter does not implement is refused by name with pc and words", () => {
  const memory = guest([0xbf800000, 0xbf920003, S_ENDPGM]);
  const executor = new SoftwareExecutor({ target: "gfx1013" });
  executor.attach(memory);
  const error = assertThrows(() => executor.dispatch(dispatch()), RefusedError) as RefusedError;
  assertEquals([error.code, error.place.pc, error.place.guestAddress, error.place.words], [
    "interpreter.unsupported-instruction",
    4,
    CODE + 4n,
    [0xbf920003],
  ]);
  assertStringIncludes(error.message, "s_trap");
});

Deno.test("a program without an end is a fault when a limit is set", () => {
  const memory = guest([0xbf82ffff]); // s_branch to itself
  const executor = new SoftwareExecutor({ target: "gfx1013", instructionLimit: 100_000 });
  executor.attach(memory);
  assertThrows(() => executor.dispatch(dispatch()), GuestFaultError, "without coming to an end");
});
