import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, ExitCode } from "../../../src/errors.ts";
import { splitSemantic, userSgprOf } from "../../../src/guest/loaders/agc_record.ts";
import { MalformedFileError } from "../../../src/guest/loaders/file_format.ts";
import { loadSb } from "../../../src/guest/loaders/sb.ts";
import type { ShaderSource } from "../../../src/guest/shader_source.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { mutations } from "../support/mutations.ts";
import { buildRecord, type RecordParts } from "../support/records.ts";

const COMPUTE: RecordParts = {
  type: 0,
  sh: [[0x20C, 0], [0x20D, 0], [0x212, 0x602C0000], [0x213, 0x8A | 3 << 15], [0x228, 5], [0x242, 0x44530003]],
  code: [0x12345678, 0xBF810000, 0xBF9F0000, 0xBF9F0000],
};
const PIXEL: RecordParts = {
  type: 1,
  sh: [[0x008, 0], [0x009, 0], [0x00A, 1], [0x00B, 6], [0x00E, 0x56424450], [0x007, 0x4E585450]],
  cx: [[0x1B6, 0x8001]],
  inputs: [0x0000_0020, 0xF7F5_A10F],
  outputs: [0x00CC_0001],
  specials: true,
  userData: true,
};

function load(parts: RecordParts): ShaderSource {
  return loadSb("test.sb", buildRecord(parts, { form: "file-offset" }).bytes);
}

function refused(bytes: Uint8Array, offset: number, text: string): void {
  const error = assertThrows(() => loadSb("test.sb", bytes), MalformedFileError);
  assertEquals(
    [error.place.fileOffset, error.place.file, error.exitCode],
    [offset, "test.sb", ExitCode.Usage],
    error.message,
  );
  assertStringIncludes(error.message, text);
}

/** A record's bytes with one field changed. */
function changed(parts: RecordParts, change: (view: DataView) => void): Uint8Array {
  const { bytes } = buildRecord(parts, { form: "file-offset" });
  change(new DataView(bytes.buffer));
  return bytes;
}

Deno.test("a compute record gives code, registers, user SGPRs and placeholders", () => {
  const shader = load(COMPUTE), { abi } = shader;
  assert(abi.kind === "agc");
  assertEquals([shader.name, shader.stage, shader.target, shader.waveSize], ["test", "compute", "gfx1013", undefined]);
  assertEquals([...shader.code], COMPUTE.code!);
  assertEquals([shader.execBytes, shader.codeFileOffset], [8, 0x100]);
  assertEquals([shader.rsrc1, shader.rsrc2, shader.rsrc3, shader.ldsBytes, shader.userSgprCount], [
    0x602C0000,
    0x8A | 3 << 15,
    5,
    1536,
    5,
  ]);
  assertEquals(shader.userSgprs, [{ name: "descriptor_set_ptr", sgpr: 2, count: 1, set: 3 }]);
  assertEquals(shader.systemSgprs, [{ name: "workgroup_id_x", sgpr: 5 }]);
  assertEquals(abi.record.placeholders, [{ kind: "descriptor-set", register: 0x242, set: 3, address: 0x88n }]);
  assertEquals(abi.record.shRegisters[2], { offset: 0x212, value: 0x602C0000, address: 0x70n });
});

Deno.test("a pixel record gives wave size, semantics, specials and user data", () => {
  const shader = load(PIXEL);
  assert(shader.abi.kind === "agc");
  const { record } = shader.abi;
  assertEquals([shader.stage, shader.waveSize, shader.userSgprCount], ["pixel", 32, 3]);
  // 0x007 is no user-data register, so its value is no placeholder even though it looks like one.
  assertEquals(shader.userSgprs, [{ name: "vertex_buffer_table", sgpr: 2, count: 1 }]);
  assertEquals(record.inputs.map((each) => each.semantic), [0x20, 0x0F]);
  assertEquals(record.outputs[0], {
    ...splitSemantic(1),
    word: 0x00CC0001,
    sizeInElements: 0xC,
    flat: true,
    linear: true,
  });
  assertEquals([
    record.specials!.geControl.value,
    record.specials!.shaderStagesEnable.value,
    record.specials!.gsOutPrimitiveType.offset,
  ], [0x10080, 0x402010, 0x29B]);
  assertEquals(record.userData, {
    directResourceOffsets: [4, 0xFFFF, 6],
    sharpResourceOffsets: [[], [0x8002, 0x0003], [], []],
    extendedUserDataDwords: 7,
    shaderResourceTableDwords: 9,
  });
});

Deno.test("a semantic word splits at the published bits", () => {
  assertEquals(splitSemantic(0xF7F5_A10F), {
    word: 0xF7F5_A10F,
    semantic: 0x0F,
    hardwareMapping: 0xA1,
    sizeInElements: 5,
    isF16: 3,
    flat: true,
    linear: true,
    custom: true,
    staticVertexBuffer: true,
    staticAttribute: true,
    defaultValue: 3,
    defaultValueHigh: 3,
  });
  assertEquals(splitSemantic(0x0040_0000).flat, true);
  assertEquals(splitSemantic(0x1000_0000).defaultValue, 1);
  assertEquals(splitSemantic(0x4000_0000).defaultValueHigh, 1);
});

Deno.test("user-data registers map to SGPRs per stage", () => {
  assertEquals(userSgprOf("compute", 0x240), 0);
  assertEquals(userSgprOf("compute", 0x24F), 15);
  assertEquals(userSgprOf("compute", 0x250), undefined);
  assertEquals(userSgprOf("pixel", 0x00C), 0);
  assertEquals(userSgprOf("pixel", 0x00B), undefined);
  assertEquals(userSgprOf("geometry-back", 0x08C), 8);
  assertEquals(userSgprOf("geometry-back", 0x083), 1);
  assertEquals(userSgprOf("hull", 0x10D), 9);
  assertEquals(userSgprOf("hull-back", 0x102), 0);
});

Deno.test("every kind of damage to a record is refused at its place", () => {
  refused(new Uint8Array(0), 0, "the record's header");
  refused(changed(COMPUTE, (v) => v.setUint32(0, 0x34333230, true)), 0, "starts with 0x34333231");
  refused(changed(COMPUTE, (v) => v.setUint32(4, 0x17, true)), 4, "version 23");
  refused(changed(COMPUTE, (v) => v.setUint8(0x5A, 9)), 0x5A, "shader type 9");
  refused(changed(COMPUTE, (v) => v.setBigUint64(0x10, 0n, true)), 0x10, "no code");
  refused(changed(COMPUTE, (v) => v.setBigUint64(0x10, 0x102n, true)), 0x10, "whole 32-bit words");
  refused(changed(COMPUTE, (v) => v.setBigUint64(0x10, 0x10000n, true)), 0x10, "outside the file");
  refused(changed(COMPUTE, (v) => v.setBigUint64(0x10, 0x20n, true)), 0x10, "outside the file");
  refused(changed(COMPUTE, (v) => v.setBigUint64(0x20, 0n, true)), 0x20, "6 SH registers, but no table");
  refused(changed(COMPUTE, (v) => v.setBigUint64(0x20, 1n << 63n, true)), 0x110, "SH registers");
  refused(changed(COMPUTE, (v) => v.setUint8(0x5B, 1)), 0x18, "1 context registers, but no table");
  refused(changed(PIXEL, (v) => v.setUint32(0x50, 257, true)), 0x50, "257 input semantics");
  refused(changed(PIXEL, (v) => v.setUint16(0x56, 0xFFFF, true)), 0xA0, "output semantics");
  refused(changed({ ...COMPUTE, shaderBytes: 20 }, () => {}), 0x100, "the code");
  refused(changed({ ...COMPUTE, shaderBytes: 6 }, () => {}), 0x10, "whole 32-bit words");
});

Deno.test("a record with a code size has exactly that code", () => {
  assertEquals([...load({ ...COMPUTE, shaderBytes: 8 }).code], COMPUTE.code!.slice(0, 2));
});

for (const [name, parts] of [["compute", COMPUTE], ["pixel", PIXEL]] as const) {
  Deno.test(`a ${name} record cut at any byte is refused, or its code is shorter by whole words`, () => {
    const { bytes, codeOffset } = buildRecord(parts, { form: "file-offset" });
    for (let length = 0; length < bytes.length; length++) {
      let shader: ShaderSource;
      try {
        shader = loadSb("test.sb", bytes.slice(0, length));
      } catch (error) {
        assertInstanceOf(error, MalformedFileError);
        continue;
      }
      assert(length > codeOffset && (length - codeOffset) % 4 === 0, `cut at ${length}`);
      assertEquals(shader.code.length, (length - codeOffset) / 4);
    }
  });
  Deno.test(`1,000 damaged ${name} records are read or refused with their place`, () => {
    const { bytes } = buildRecord(parts, { form: "file-offset" });
    let refusals = 0;
    for (const damaged of mutations(bytes, 1000, 42)) {
      try {
        const shader = loadSb("test.sb", damaged);
        assert(shader.code.length > 0 && shader.execBytes <= 4 * shader.code.length);
      } catch (error) {
        assertInstanceOf(error, AnyAgcError);
        assert(error.place.fileOffset !== undefined && error.place.fileOffset <= damaged.length);
        refusals++;
      }
    }
    assert(refusals > 100 && refusals < 1000, `${refusals} refusals`);
  });
}

corpusTest("every .sb of the corpus loads, and cutting it anywhere before its code is refused", "openagc", () => {
  const names = corpusNames("openagc", /\.sb$/);
  assertEquals(names.length, 53);
  for (const name of names) {
    const bytes = Deno.readFileSync(corpusFile("openagc", name));
    const shader = loadSb(name, bytes);
    assert(shader.abi.kind === "agc");
    // OpenAGC's compiler ends each program with s_endpgm, and mostly pads it with five s_code_end.
    assertEquals(shader.code.length * 4, bytes.length - shader.codeFileOffset!);
    for (let length = 0; length < shader.codeFileOffset!; length++) {
      assertThrows(() => loadSb(name, bytes.slice(0, length)), MalformedFileError);
    }
  }
});

corpusTest("known .sb files have the registers and placeholders that a plain dump shows", "openagc", () => {
  // File, stage, code offset, wave size, user SGPRs, placeholders (kind:SGPR): read from hex dumps.
  const known: [string, string, number, number | undefined, number, string][] = [
    ["fill_color", "compute", 0x88, undefined, 6, ""],
    ["fill_color_native", "compute", 0x100, undefined, 5, "descriptor_set_ptr:2"],
    ["render_consume_native", "compute", 0x100, undefined, 3, "descriptor_set_ptr:2"],
    ["htile_rmw", "compute", 0x88, undefined, 7, ""],
    ["bc1_sample_frag", "pixel", 0xD0, 32, 3, "descriptor_set_ptr:2"],
    ["runtime_triangle_vert_back", "geometry-back", 0x200, 32, 3, "vertex_buffer_table:8"],
    ["triangle_ngg_back", "geometry-back", 0x170, 32, 17, "next_stage_pc:24 vertex_buffer_table:10"],
    [
      "triangle_tess_hs_back",
      "hull-back",
      0x10C,
      32,
      14,
      "ring_low:0 ring_high:1 tessellation_constants:19 next_stage_pc:21",
    ],
  ];
  for (const [name, stage, code, wave, sgprs, placeholders] of known) {
    const path = corpusFile("openagc", `${name}.sb`);
    if (name === "render_consume_native") {
      assertEquals(loadSb(path, Deno.readFileSync(path)).systemSgprs, [{ name: "workgroup_id_x", sgpr: 3 }, {
        name: "workgroup_id_y",
        sgpr: 4,
      }]);
    }
    const shader = loadSb(path, Deno.readFileSync(path));
    assertEquals(
      [
        name,
        shader.stage,
        shader.codeFileOffset,
        shader.waveSize,
        shader.userSgprCount,
        shader.userSgprs.map((each) => `${each.name}:${each.sgpr}`).join(" "),
      ],
      [name, stage, code, wave, sgprs, placeholders],
    );
  }
});

corpusTest("1,000 damaged corpus records are read or refused, never anything else", "openagc", () => {
  const names = corpusNames("openagc", /\.sb$/);
  names.forEach((name, index) => {
    const bytes = Deno.readFileSync(corpusFile("openagc", name));
    for (const damaged of mutations(bytes, 20, index)) {
      try {
        loadSb(name, damaged);
      } catch (error) {
        assertInstanceOf(error, AnyAgcError);
      }
    }
  });
});
