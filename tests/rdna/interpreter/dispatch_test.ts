/** Dispatches: initial registers of waves, groups, partial threads, faults, limits. */
import { assertEquals, assertThrows } from "@std/assert";
import { GuestFaultError, RefusedError } from "../../../src/errors.ts";
import { type Dispatch, FaultReason, type MachineOptions, runDispatch } from "../../../src/rdna/interpreter/mod.ts";
import { Access, LANES, type Wave, WindowSpace } from "../../../src/rdna/interpreter/mod.ts";
import { asm, asm64, type Program } from "./asm.ts";
import { assemble } from "./machine.ts";

const CODE = 0xffff_8000_0000_1000n;
const DATA = 0x1_0000_0000n;

const DEFAULTS: Omit<Dispatch, "waveSize"> = {
  codeAddress: CODE,
  target: "gfx1013",
  workgroupSize: [32, 1, 1],
  groups: [1, 1, 1],
  userData: [],
  userSgprCount: 0,
  workgroupIds: [false, false, false],
  tgSize: false,
  threadIdCount: 1,
  ldsBytes: 0,
  floatMode: 0xf0,
  ieee: false,
  dx10Clamp: true,
};

/** Runs a program whose memory is `data` at DATA. */
function launch(
  { lines, target, waveSize }: Program,
  dispatch: Partial<Dispatch> = {},
  machine: Partial<MachineOptions> = {},
  data = new Uint32Array(256),
) {
  const words = Uint32Array.from([...assemble(lines, target, waveSize), 0xbf810000]);
  const base = Number(BigInt.asIntN(64, CODE));
  const space = new WindowSpace().add(DATA, new Uint8Array(data.buffer));
  const result = runDispatch({ ...DEFAULTS, target, waveSize, ...dispatch }, {
    space,
    code: (address) => address >= base && address < base + words.length * 4 ? { base, words } : undefined,
    ...machine,
  });
  return { ...result, data };
}

/** Every wave at its first instruction, with what a function reads from it. */
function firstWaves<T>(program: Program, dispatch: Partial<Dispatch>, read: (wave: Wave) => T): T[] {
  const seen = new Set<Wave>(), values: T[] = [];
  launch(program, dispatch, {
    observer: (wave) => {
      if (!seen.has(wave)) values.push(read(wave));
      seen.add(wave);
    },
  });
  return values;
}

const NOP = asm`s_nop 0`, NOP64 = asm64`s_nop 0`;

Deno.test("scalar registers: user data, workgroup ids, the group's size, the scratch offset, in this order", () => {
  const dispatch: Partial<Dispatch> = {
    workgroupSize: [64, 1, 1],
    groups: [2, 1, 3],
    userData: [11, 22, 33, 44],
    userSgprCount: 2,
    workgroupIds: [true, false, true],
    tgSize: true,
    scratchWaveBytes: 1024,
  };
  assertEquals(firstWaves(NOP, dispatch, (wave) => [...wave.sgpr.subarray(0, 6)]).slice(0, 4), [
    [11, 22, 0, 0, 0x8000_0002, 0],
    [11, 22, 0, 0, 0x42, 1024],
    [11, 22, 1, 0, 0x8000_0002, 2048],
    [11, 22, 1, 0, 0x42, 3072],
  ]);
  // The sixth group is x 1, z 2; its waves are 10 and 11.
  assertEquals(firstWaves(NOP, dispatch, (wave) => [...wave.sgpr.subarray(2, 6)])[11], [1, 2, 0x42, 11 * 1024]);
  // What the program was not given is zero.
  assertEquals(firstWaves(NOP, { userData: [1], userSgprCount: 3 }, (wave) => [...wave.sgpr.subarray(0, 4)]), [
    [1, 0, 0, 0],
  ]);
});

Deno.test("thread ids: x fastest, as many components as were asked for; EXEC has the threads of the group", () => {
  const ids = (threadIdCount: number) =>
    firstWaves(NOP64, { workgroupSize: [5, 3, 2], threadIdCount }, (wave) => {
      const lane = 22; // 22 = 2 + 1 * 5 + 1 * 15
      return [0, 1, 2].map((register) => wave.vgpr[register * LANES + lane]);
    });
  assertEquals([ids(1), ids(2), ids(3)], [[[2, 0, 0]], [[2, 1, 0]], [[2, 1, 1]]]);
  const masks = firstWaves(NOP, { workgroupSize: [40, 1, 1] }, (wave) => [wave.sgpr[126], wave.sgpr[127]]);
  assertEquals(masks, [[0xffff_ffff, 0], [0xff, 0]]);
  assertEquals(firstWaves(NOP64, { workgroupSize: [40, 1, 1] }, (wave) => [wave.sgpr[126], wave.sgpr[127]]), [
    [0xffff_ffff, 0xff],
  ]);
});

Deno.test("MODE comes from the program's registers", () => {
  const mode = (dispatch: Partial<Dispatch>) => firstWaves(NOP, dispatch, (wave) => wave.mode.bits)[0];
  assertEquals(mode({ floatMode: 0xc1, ieee: false, dx10Clamp: false }), 0xc1);
  assertEquals(mode({ floatMode: 0, ieee: true, dx10Clamp: true }), 0x300);
  assertEquals(mode({ floatMode: 0, dx10Clamp: false, fp16Overflow: true }), 1 << 23);
});

Deno.test("threads beyond the dispatch's size do not exist, and waves without threads are not launched", () => {
  const dispatch: Partial<Dispatch> = {
    workgroupSize: [16, 4, 1],
    groups: [2, 1, 1],
    threadLimit: [20, 3, 1],
    workgroupIds: [true, false, false],
  };
  assertEquals(firstWaves(NOP, dispatch, (wave) => [wave.sgpr[0], wave.index, wave.sgpr[126]]), [
    [0, 0, 0xffffffff],
    [0, 1, 0x0000ffff],
    [1, 0, 0x000f000f],
    [1, 1, 0x0000000f],
  ]);
  const short = { ...dispatch, threadLimit: [20, 2, 1] as const };
  assertEquals(firstWaves(NOP, short, (wave) => [wave.sgpr[0], wave.index]), [[0, 0], [1, 0]]);
});

Deno.test("workgroups run in order, each with LDS of its own that starts as zeros; GDS stays", () => {
  // Each group adds 1 to a dword of LDS and of GDS, and stores what was there.
  const program = asm`v_mov_b32_e32 v1, 0
  v_mov_b32_e32 v2, 1
  s_mov_b32 m0, 0x1000
  ds_add_rtn_u32 v3, v1, v2
  ds_add_rtn_u32 v4, v1, v2 gds
  s_lshl_b32 s2, s2, 3
  v_mov_b32_e32 v5, s2
  s_waitcnt 0
  global_store_dwordx2 v5, v[3:4], s[0:1]`;
  const { data, waves, executed, instructions } = launch(program, {
    workgroupSize: [1, 1, 1],
    groups: [3, 1, 1],
    userData: [0, 1],
    userSgprCount: 2,
    workgroupIds: [true, false, false],
    ldsBytes: 64,
  });
  assertEquals([...data.subarray(0, 6)], [0, 0, 0, 1, 0, 2]);
  assertEquals([waves, executed, instructions], [3, 30, 10]);
});

Deno.test("the first fault of a dispatch is reported, with the instruction's offset", () => {
  const program = asm`v_lshlrev_b32_e32 v0, 10, v0
  global_load_dword v1, v0, s[0:1] offset:4`;
  const { fault } = launch(program, { userData: [0, 1], userSgprCount: 2 });
  // Lane 1 reads at 0x404: the memory has 0x400 bytes.
  assertEquals(fault, { address: DATA + 0x404n, bytes: 4, reason: FaultReason.Unmapped, pc: 4 });
  assertEquals(launch(NOP).fault, null);
});

Deno.test("endless waves are stopped at a limit, with their place", () => {
  const error = assertThrows(() => launch(asm`s_branch 65535`, {}, { instructionLimit: 10_000 }), GuestFaultError);
  assertEquals((error as GuestFaultError).code, "interpreter.instruction-limit");
});

Deno.test("a refusal names the instruction, its guest address and its words", () => {
  const error = assertThrows(() =>
    launch(asm`s_nop 0
  s_trap 2`), RefusedError) as RefusedError;
  assertEquals(error.place, { guestAddress: CODE + 4n, pc: 4, words: [0xbf920002] });
});

Deno.test("messages of a dispatch are listed", () => {
  const { messages } = launch(asm`s_movk_i32 m0, 0x77
  s_sendmsg sendmsg(MSG_INTERRUPT)`);
  assertEquals(messages, [{ id: 1, m0: 0x77, pc: 4 }]);
});

Deno.test("an access may run from one window into an adjoining one; both must allow it", () => {
  const first = new Uint8Array(16).fill(1), second = new Uint8Array(16).fill(2);
  const space = new WindowSpace().add(0x1000n, first).add(0x1010n, second, Access.Read);
  const locate = (address: number, bytes: number, access: number) => space.locate(address, bytes, access);
  assertEquals(locate(0x100c, 8, Access.Read), FaultReason.None);
  assertEquals(space.view.getBigUint64(space.offset), 0x01010101_02020202n);
  assertEquals(locate(0x100c, 8, Access.Write), FaultReason.Permission);
  assertEquals(locate(0x101c, 8, Access.Read), FaultReason.Unmapped);
  assertEquals(locate(0x1010, 4, Access.Write), FaultReason.Permission);
  // What is written across is written at settle().
  const both = new WindowSpace().add(0x1000n, first).add(0x1010n, second);
  assertEquals(both.locate(0x100e, 4, Access.Write), FaultReason.None);
  both.view.setUint32(both.offset, 0xaabbccdd);
  both.settle();
  assertEquals([first[13], first[14], first[15], second[0], second[1], second[2]], [1, 0xaa, 0xbb, 0xcc, 0xdd, 2]);
});

Deno.test("addresses with the upper bits set are those of sign-extended 48 bits", () => {
  const space = new WindowSpace().add(0xffff_8000_0000_0000n, Uint8Array.of(1, 2, 3, 4));
  assertEquals(space.locate(-0x8000_0000_0000, 4, Access.Read), FaultReason.None);
  assertEquals(space.locate(0x8000_0000_0000, 4, Access.Read), FaultReason.Unmapped);
});
