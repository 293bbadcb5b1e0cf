import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../src/errors.ts";
import {
  allRegisters,
  Bank,
  BANKS,
  Reg,
  registerAt,
  registerName,
  registerNamed,
  RegisterState,
} from "../../src/pm4/registers.ts";
import { words } from "./support.ts";

// Offsets as AMD's gfx10 register headers have them: (byte address - start of the bank) / 4.
const KNOWN: readonly [name: string, bank: Bank, byteAddress: number][] = [
  ["SPI_SHADER_PGM_LO_PS", Bank.Sh, 0xb020],
  ["SPI_SHADER_USER_DATA_PS_0", Bank.Sh, 0xb030],
  ["SPI_SHADER_PGM_RSRC1_GS", Bank.Sh, 0xb228],
  ["SPI_SHADER_USER_DATA_GS_31", Bank.Sh, 0xb2ac],
  ["SPI_SHADER_PGM_LO_ES", Bank.Sh, 0xb320],
  ["COMPUTE_DISPATCH_INITIATOR", Bank.Sh, 0xb800],
  ["COMPUTE_START_X", Bank.Sh, 0xb810],
  ["COMPUTE_NUM_THREAD_X", Bank.Sh, 0xb81c],
  ["COMPUTE_PGM_LO", Bank.Sh, 0xb830],
  ["COMPUTE_PGM_RSRC1", Bank.Sh, 0xb848],
  ["COMPUTE_PGM_RSRC2", Bank.Sh, 0xb84c],
  ["COMPUTE_RESOURCE_LIMITS", Bank.Sh, 0xb854],
  ["COMPUTE_TMPRING_SIZE", Bank.Sh, 0xb860],
  ["COMPUTE_PGM_RSRC3", Bank.Sh, 0xb8a0],
  ["COMPUTE_USER_DATA_0", Bank.Sh, 0xb900],
  ["COMPUTE_USER_DATA_15", Bank.Sh, 0xb93c],
  ["DB_RENDER_CONTROL", Bank.Context, 0x28000],
  ["DB_Z_INFO", Bank.Context, 0x28040],
  ["CB_TARGET_MASK", Bank.Context, 0x28238],
  ["PA_SC_VPORT_SCISSOR_1_BR", Bank.Context, 0x2825c],
  ["PA_CL_VPORT_ZOFFSET_0", Bank.Context, 0x28450],
  ["SPI_PS_INPUT_CNTL_31", Bank.Context, 0x286c0],
  ["CB_BLEND0_CONTROL", Bank.Context, 0x28780],
  ["CB_COLOR_CONTROL", Bank.Context, 0x28808],
  ["VGT_SHADER_STAGES_EN", Bank.Context, 0x28b54],
  ["CB_COLOR0_BASE", Bank.Context, 0x28c60],
  ["CB_COLOR1_BASE", Bank.Context, 0x28c9c],
  ["CB_COLOR7_ATTRIB3", Bank.Context, 0x28efc],
  ["VGT_PRIMITIVE_TYPE", Bank.Uconfig, 0x30908],
  ["VGT_INDEX_TYPE", Bank.Uconfig, 0x3090c],
  ["GE_MULTI_PRIM_IB_RESET_EN", Bank.Uconfig, 0x3092c],
  ["GE_CNTL", Bank.Uconfig, 0x3096c],
  ["SQ_THREAD_TRACE_USERDATA_2", Bank.Uconfig, 0x30d08],
];

Deno.test("registers sit where AMD's headers have them", () => {
  for (const [name, bank, address] of KNOWN) {
    const register = registerNamed(name);
    assert(register !== undefined, name);
    assertEquals([register.bank, (BANKS[bank].first + register.offset) * 4], [bank, address], name);
    assertEquals(registerAt(bank, register.offset)?.name, name);
  }
});

Deno.test("no two registers share an offset or a name, and all lie in their banks", () => {
  const places = new Set<string>(), names = new Set<string>();
  for (const { name, bank, offset, fields } of allRegisters()) {
    assert(offset >= 0 && offset < BANKS[bank].words, name);
    places.add(`${bank}:${offset}`);
    names.add(name);
    let covered = 0n;
    for (const field of fields) {
      assert(field.shift + field.width <= 32, `${name}.${field.name}`);
      const mask = (1n << BigInt(field.width)) - 1n << BigInt(field.shift);
      assertEquals(covered & mask, 0n, `${name}.${field.name} overlaps another field`);
      covered |= mask;
    }
  }
  assertEquals(places.size, allRegisters().length);
  assertEquals(names.size, allRegisters().length);
});

Deno.test("constants name the first register of an array", () => {
  assertEquals([Reg.COMPUTE_USER_DATA_0, Reg.COMPUTE_PGM_LO, Reg.CB_COLOR0_INFO], [0x240, 0x20c, 0x31c]);
  assertEquals([Reg.SPI_PS_INPUT_CNTL_0, Reg.PA_CL_VPORT_YSCALE_0, Reg.VGT_PRIMITIVE_TYPE], [0x191, 0x111, 0x242]);
});

Deno.test("registers that the tables lack are named by bank and offset", () => {
  assertEquals(registerName(Bank.Sh, 0x3f0), "SH+0x3f0");
  assertEquals(registerName(Bank.Uconfig, 0x3fff), "UCONFIG+0x3fff");
});

Deno.test("CONTEXT starts at its defaults, SH and UCONFIG at zero", () => {
  const state = new RegisterState();
  assertEquals(state.get("CB_COLOR_CONTROL"), 0xcc0010);
  assertEquals(state.get("PA_CL_VTE_CNTL"), 0x43f);
  assertEquals(state.get("DB_DEPTH_BOUNDS_MAX"), 0x3f800000);
  assertEquals(state.get("PA_SC_CLIPRECT_RULE"), 0xffff);
  assertEquals(state.get("PA_SC_EDGERULE"), 0xaa99aaaa);
  assertEquals(state.get("PA_SC_SCREEN_SCISSOR_BR"), 0x40004000);
  assertEquals(state.get("PA_SC_VPORT_SCISSOR_15_TL"), 0x80000000);
  assertEquals(state.get("PA_SC_MODE_CNTL_0"), 2);
  assertEquals(state.get("DB_ALPHA_TO_MASK"), 0xaa00);
  assertEquals(state.get("PA_SU_VTX_CNTL"), 0x2d);
  assertEquals(state.get("PA_SC_AA_MASK_X0Y1_X1Y1"), 0xffffffff);
  assertEquals(state.get("PA_SC_CONSERVATIVE_RASTERIZATION_CNTL"), 0x6000);
  assertEquals(state.get("CB_BLEND7_CONTROL"), 0x20010001);
  assertEquals(state.get("PA_CL_VPORT_ZSCALE_15"), 0x3f800000);
  assertEquals(state.get("PA_CL_VPORT_ZOFFSET_15"), 0);
  assertEquals(state.sh.every((value) => value === 0), true);
  assertEquals(state.uconfig.every((value) => value === 0), true);
});

Deno.test("registers are read and written by name, and fields by theirs", () => {
  const state = new RegisterState();
  state.set("COMPUTE_PGM_RSRC1", 0x602c0001);
  assertEquals(state.sh[0x212], 0x602c0001);
  assertEquals(state.field("COMPUTE_PGM_RSRC1", "FLOAT_MODE"), 0xc0);
  assertEquals(state.field("COMPUTE_PGM_RSRC1", "DX10_CLAMP"), 1);
  state.set("CB_COLOR3_BASE", 0x80000001);
  assertEquals(state.context[0x318 + 3 * 0xf], 0x80000001);
  state.set("GE_CNTL", 7);
  assertEquals(state.uconfig[0x25b], 7);
  assertThrows(() => state.field("COMPUTE_PGM_RSRC1", "NO_SUCH"), RefusedError, "NO_SUCH");
  assertThrows(() => state.get("NO_SUCH" as "GE_CNTL"), RefusedError, "NO_SUCH");
  assertThrows(() => state.bank(Bank.Config), RefusedError, "CONFIG");
});

Deno.test("a copy is independent, and reset forgets everything", () => {
  const state = new RegisterState();
  state.set("COMPUTE_USER_DATA_3", 5);
  state.set("GE_CNTL", 6);
  state.set("DB_DEPTH_CONTROL", 7);
  const copy = state.clone();
  state.reset();
  assertEquals([state.get("COMPUTE_USER_DATA_3"), state.get("GE_CNTL"), state.get("DB_DEPTH_CONTROL")], [0, 0, 0]);
  assertEquals([copy.get("COMPUTE_USER_DATA_3"), copy.get("GE_CNTL"), copy.get("DB_DEPTH_CONTROL")], [5, 6, 7]);
});

Deno.test("the compute generation rises with compute registers, and not with user data or graphics registers", () => {
  const state = new RegisterState();
  const changes = (offset: number, count: number) => {
    const before = state.computeGeneration;
    state.writeSh(offset, words(Array.from({ length: count }, () => 1)), 0, count);
    return state.computeGeneration !== before;
  };
  assertEquals(changes(0x240, 16), false, "all user data");
  assertEquals(changes(0x24f, 1), false, "last user data");
  assertEquals(changes(0x008, 4), false, "pixel shader");
  assertEquals(changes(0x280, 1), false, "above compute");
  assertEquals(changes(0x20c, 2), true, "program address");
  assertEquals(changes(0x23f, 2), true, "up to the first user data");
  assertEquals(changes(0x24f, 2), true, "beyond the last user data");
  assertEquals(changes(0x1ff, 2), true, "from below");
  const before = state.computeGeneration;
  state.reset();
  assertNotEquals(state.computeGeneration, before);
});
