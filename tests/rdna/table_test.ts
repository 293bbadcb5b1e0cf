import { assert, assertEquals, assertThrows } from "@std/assert";
import { Encoding } from "../../src/rdna/instruction.ts";
import { opcodeId, opcodeIndex, OPCODES, Trait } from "../../src/rdna/table.ts";

Deno.test("The id of an opcode is its index, and its name finds it", () => {
  OPCODES.forEach((opcode, index) => {
    assertEquals(opcode.id, index);
    assertEquals(opcodeId(opcode.name), index, opcode.name);
  });
  assertThrows(() => opcodeId("v_add_f33"), Error, 'no opcode is named "v_add_f33"');
});

Deno.test("Numbers, widths and traits of well-known opcodes are those of the ISA document", () => {
  const add = OPCODES[opcodeId("v_add_f32")];
  assertEquals(add.numbers, { [Encoding.Vop2]: 3, [Encoding.Vop3]: 0x103 });
  assert(add.sdwa && add.dpp && add.targets === 3);
  const mul = OPCODES[opcodeId("v_mad_u64_u32")];
  assertEquals(mul.dst.map((type) => type.name), ["u64", "mask"]);
  assertEquals(mul.src.map((type) => type.dwords), [1, 1, 2]);
  const saveexec = OPCODES[opcodeId("s_and_saveexec_b64")];
  assertEquals(
    saveexec.traits & (Trait.ReadsExec | Trait.WritesExec | Trait.WritesScc),
    Trait.ReadsExec | Trait.WritesExec | Trait.WritesScc,
  );
  assertEquals(OPCODES[opcodeId("s_cbranch_vccz")].traits, Trait.Branch | Trait.ReadsVcc);
  assertEquals(OPCODES[opcodeId("s_mul_i32")].traits & Trait.WritesScc, 0);
  assertEquals(OPCODES[opcodeId("v_fmac_f32")].traits & Trait.ReadsDst, Trait.ReadsDst);
  assertEquals(OPCODES[opcodeId("v_add_f16")].traits & Trait.ReadsDst, Trait.ReadsDst, "the other half stays");
  assertEquals(OPCODES[opcodeId("buffer_load_sbyte")].memory?.name, "i8");
  assertEquals(
    OPCODES[opcodeId("v_cmpx_lt_f64")].traits & (Trait.Compare | Trait.WritesExec),
    Trait.Compare | Trait.WritesExec,
  );
  assertEquals(OPCODES[opcodeId("v_mac_f32")].targets, 1);
  assertEquals(OPCODES[opcodeId("v_dot4_i32_i8")].targets, 2);
});

Deno.test("Two opcodes share a number only on different targets", () => {
  const shared = OPCODES.filter((opcode) => opcode.targets !== 3).filter((opcode) => {
    const other = opcodeIndex(opcode.targets === 1 ? "gfx1030" : "gfx1013");
    return Object.entries(opcode.numbers).some(([encoding, number]) =>
      other[Number(encoding)][opcode.segment * 128 + number!] >= 0
    );
  });
  assertEquals(shared.map((opcode) => opcode.name).sort(), [
    "v_fma_legacy_f32",
    "v_fmac_legacy_f32",
    "v_mac_legacy_f32",
    "v_mad_legacy_f32",
  ]);
});
