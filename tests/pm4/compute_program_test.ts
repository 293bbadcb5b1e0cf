import { assert, assertEquals } from "@std/assert";
import { computeProgram, computeUserData } from "../../src/pm4/compute_program.ts";
import { RegisterState } from "../../src/pm4/registers.ts";

Deno.test("a compute program is decoded field by field", () => {
  const state = new RegisterState();
  state.set("COMPUTE_PGM_LO", 0x02000280);
  state.set("COMPUTE_PGM_HI", 0);
  // VGPRS 5, SGPRS 3, FLOAT_MODE 0xc0, DX10_CLAMP, WGP_MODE, MEM_ORDERED.
  state.set("COMPUTE_PGM_RSRC1", 5 | 3 << 6 | 0xc0 << 12 | 1 << 21 | 1 << 29 | 1 << 30);
  // USER_SGPR 9, TGID_X, TGID_Z, TG_SIZE, TIDIG 1, LDS_SIZE 3.
  state.set("COMPUTE_PGM_RSRC2", 9 << 1 | 1 << 7 | 1 << 9 | 1 << 10 | 1 << 11 | 3 << 15);
  state.set("COMPUTE_PGM_RSRC3", 2);
  state.set("COMPUTE_NUM_THREAD_X", 64 | 7 << 16);
  state.set("COMPUTE_NUM_THREAD_Y", 2);
  state.set("COMPUTE_NUM_THREAD_Z", 1);
  state.set("COMPUTE_START_Y", 4);
  state.set("COMPUTE_TMPRING_SIZE", 0x20 | 3 << 12);
  const program = computeProgram(state);
  assertEquals(program, {
    address: 0x2_0002_8000n,
    rsrc1: 0x602c00c5,
    rsrc2: state.get("COMPUTE_PGM_RSRC2"),
    rsrc3: 2,
    vgprs32: 48,
    vgprs64: 24,
    sgprs: 3,
    floatMode: 0xc0,
    dx10Clamp: true,
    ieee: false,
    fp16Overflow: false,
    scratchEn: false,
    scratchWaveBytes: 3072,
    scratchWaves: 32,
    userSgprCount: 9,
    tgidX: true,
    tgidY: false,
    tgidZ: true,
    tgSizeEn: true,
    threadIdCount: 2,
    ldsBytes: 1536,
    numThreadsX: 64,
    numThreadsY: 2,
    numThreadsZ: 1,
    startX: 0,
    startY: 4,
    startZ: 0,
    sharedVgprs: 16,
  });
});

Deno.test("flags that are off in one program are on in another", () => {
  const state = new RegisterState();
  state.set("COMPUTE_PGM_RSRC1", 0xf0 << 12 | 1 << 23 | 1 << 26);
  state.set("COMPUTE_PGM_RSRC2", 1 | 1 << 8 | 3 << 11 | 0x1ff << 15);
  const program = computeProgram(state);
  assertEquals([program.floatMode, program.dx10Clamp, program.ieee, program.fp16Overflow], [0xf0, false, true, true]);
  assertEquals([program.scratchEn, program.tgidX, program.tgidY, program.tgidZ], [true, false, true, false]);
  assertEquals([program.threadIdCount, program.ldsBytes, program.tgSizeEn], [4, 0x1ff * 512, false]);
});

Deno.test("program addresses above 2^47 are sign-extended", () => {
  const state = new RegisterState();
  state.set("COMPUTE_PGM_LO", 0x80000012);
  state.set("COMPUTE_PGM_HI", 0x80);
  assertEquals(computeProgram(state).address, 0xffff_8080_0000_1200n);
  state.set("COMPUTE_PGM_HI", 0xffffff7f);
  assertEquals(computeProgram(state).address, 0x7f80_0000_1200n, "only 8 bits of PGM_HI count");
});

Deno.test("user data is a view of the registers", () => {
  const state = new RegisterState();
  const data = computeUserData(state);
  state.set("COMPUTE_USER_DATA_15", 0xdeadbeef);
  assertEquals([data.length, data[15]], [16, 0xdeadbeef]);
  // Dispatches ask for them each time.
  assert(computeUserData(state) === data, "a second array was made");
  const copy = state.clone();
  copy.set("COMPUTE_USER_DATA_15", 1);
  assertEquals([computeUserData(copy)[15], data[15]], [1, 0xdeadbeef]);
});
