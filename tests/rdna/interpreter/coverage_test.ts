/** Every opcode of the table is implemented or refused by name: the list of those that are refused. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { GuestFaultError, RefusedError } from "../../../src/errors.ts";
import { Encoding, Instruction, Operand } from "../../../src/rdna/instruction.ts";
import { HANDLERS } from "../../../src/rdna/interpreter/handlers.ts";
import { type Opcode, OPCODES } from "../../../src/rdna/table.ts";
import { IMAGE_DIMS } from "../../../src/rdna/image.ts";
import { imageAt8, samplerAt16, Type } from "./image.ts";
import { runWords } from "./machine.ts";

const V = Operand.Vgpr0;

/** A plain form of an opcode: vector operands in v8.., v16.., v24.., scalar ones in s0, a valid image at s8 and sampler at s16, a buffer at s20. */
function plainForm(opcode: Opcode): Instruction {
  const { encoding, words } = opcode;
  const i = new Instruction();
  i.op = opcode.id;
  i.encoding = encoding;
  const isVector = encoding >= Encoding.Vop1;
  const register = isVector ? V : 0;
  [i.src0, i.src1, i.src2] = [0, 1, 2].map((n) => {
    if (n >= opcode.src.length) return -1;
    return isVector && (opcode.srcClass[n] >= 2 || opcode.src[n].kind === "mask") ? 0 : register + 8 * (n + 1);
  });
  i.dst = opcode.scalarDst || !isVector ? 4 : V;
  i.sdst = opcode.dst.some((type) => type.kind === "mask") ? 6 : -1;
  [i.addr, i.data, i.data1] = encoding === Encoding.Smem ? [-1, 8, -1] : [V + 8, V + 16, V + 24];
  i.srsrc = encoding === Encoding.Mubuf || encoding === Encoding.Mtbuf ? 20 : encoding === Encoding.Mimg ? 8 : 0;
  i.soffset = encoding === Encoding.Mimg ? 16 : Operand.Zero;
  i.opSelHi = 7;
  if (encoding === Encoding.Mtbuf) i.mode = 22;
  if (encoding === Encoding.Mimg) {
    i.mode = words.has("cmpswap") || opcode.name.includes("cmpswap") ? 3 : 1;
    i.dim = IMAGE_DIMS.findIndex(({ coordinates }) => coordinates === 2);
  }
  if (opcode.name === "s_sendmsg") i.imm = 1;
  if (opcode.name.startsWith("s_getreg") || opcode.name.startsWith("s_setreg")) i.imm = 1 | 31 << 11;
  return i;
}

/** How a plain form of an opcode is refused; "" when it is not. EXEC is empty, so that memory is left alone. */
function refusal(opcode: Opcode): string {
  const wave = runWords([0xbf810000], { waveSize: 64 }).wave;
  wave.sgpr[Operand.Exec] = 0;
  const descriptors = { ...imageAt8({ type: Type.D2 }), ...samplerAt16(), 20: 0, 21: 0, 22: 64, 23: 0x31016fac };
  for (const [register, value] of Object.entries(descriptors)) wave.sgpr[Number(register)] = value;
  try {
    HANDLERS[opcode.id]!(wave, plainForm(opcode));
  } catch (error) {
    if (error instanceof GuestFaultError) return "";
    if (!(error instanceof RefusedError)) throw error;
    assertStringIncludes(error.message, opcode.name);
    return error.message;
  }
  return "";
}

/** Name of an encoding. */
function encodingName(encoding: number): string {
  return Object.entries(Encoding).find(([, value]) => value === encoding)![0];
}

Deno.test("every opcode has a handler", () => {
  assertEquals(OPCODES.filter(({ id }) => HANDLERS[id] === undefined).map(({ name }) => name), []);
});

/** Refused in every form, by the encoding. */
const REFUSED: Record<string, string> = {
  Sop1: "s_rfe_b64",
  Sopp: "s_setkill s_sendmsghalt s_trap s_endpgm_saved s_endpgm_ordered_ps_done",
  Smem: "s_scratch_load_dword s_scratch_load_dwordx2 s_scratch_load_dwordx4 s_scratch_store_dword " +
    "s_scratch_store_dwordx2 s_scratch_store_dwordx4 s_dcache_discard s_dcache_discard_x2",
  Vop3: "v_interp_p1ll_f16 v_interp_p1lv_f16 v_interp_p2_f16",
  Vintrp: "v_interp_p1_f32 v_interp_p2_f32 v_interp_mov_f32",
  Ds: "ds_gws_sema_release_all ds_gws_init ds_gws_sema_v ds_gws_sema_br ds_gws_sema_p ds_gws_barrier ds_ordered_count",
  Mimg: "image_load_pck image_load_pck_sgn image_load_mip_pck image_load_mip_pck_sgn image_store_pck " +
    "image_store_mip_pck image_gather4h image_msaa_load image_bvh_intersect_ray image_bvh64_intersect_ray",
  Exp: "exp",
};

Deno.test("the opcodes that are refused, and how many of each encoding are not", () => {
  const refused: Record<string, string[]> = {};
  const implemented: Record<string, number> = {};
  for (const opcode of OPCODES) {
    const encoding = encodingName(opcode.encoding);
    if (refusal(opcode) === "") implemented[encoding] = (implemented[encoding] ?? 0) + 1;
    else (refused[encoding] ??= []).push(opcode.name);
  }
  assertEquals(Object.fromEntries(Object.entries(refused).map(([name, list]) => [name, list.join(" ")])), REFUSED);
  assertEquals(implemented, {
    Sop2: 51,
    Sopk: 27,
    Sop1: 64,
    Sopc: 18,
    Sopp: 32,
    Smem: 76,
    Vop2: 51,
    Vop1: 81,
    Vopc: 190,
    Vop3: 114,
    Vop3p: 29,
    Ds: 147,
    Flat: 133,
    Mubuf: 75,
    Mtbuf: 16,
    Mimg: 102,
  });
});
