import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { fusedRequest, fuseShaderHalves, halfOf, withHalf } from "../../src/driver/shader_halves.ts";
import { InvalidInputError, RefusedError } from "../../src/errors.ts";
import type { AgcShaderRecord } from "../../src/guest/loaders/agc_record.ts";
import type { RegisterValue, ShaderSource, ShaderStage } from "../../src/guest/shader_source.ts";
import { groupRequest } from "../../src/recompiler/stages/group_program.ts";
import { decodeRequest, encodeRequest } from "../../src/recompiler/request_file.ts";
import { GENERIC_DEVICE } from "../../src/recompiler/generic_device.ts";

const END = 0xbf81_0000, CODE_END = 0xbf9f_0000;
/** s_mov_b32 s25, 2 and s_setpc_b64 s[24:25]. */
const GO_ON = [0xbe99_0382, 0xbe80_2018];
/** VGT_SHADER_STAGES_EN: NGG with a geometry shader, and a pass-through vertex program; both of wave 32. */
const GEOMETRY = 0x00c1_2030, VERTEX = 0x02c1_2010, HULL = 0x0020_0105;

interface Half {
  stage: ShaderStage;
  code?: readonly number[];
  stages?: number;
  sh?: readonly (readonly [offset: number, value: number])[];
  next?: number;
  target?: ShaderSource["target"];
}

function half({ stage, code = [END], stages = GEOMETRY, sh = [], next, target = "gfx1013" }: Half): ShaderSource {
  const defaults = stage.startsWith("hull") ? [[0x10a, 0x2c_0000], [0x10b, 0x1c]] : [[0x08a, 0x2c_0000], [0x08b, 0x22]];
  const shRegisters: RegisterValue[] = [...defaults, ...sh].map(([offset, value]) => ({ offset, value }));
  const record = {
    stage,
    shRegisters,
    cxRegisters: [],
    specials: { shaderStagesEnable: { offset: 0x2d5, value: stages } },
  } as unknown as AgcShaderRecord;
  return {
    name: `the ${stage}`,
    file: `${stage}.sb`,
    target,
    stage,
    code: Uint32Array.from(code),
    execBytes: 4 * code.length,
    userSgprs: next === undefined ? [] : [{ name: "next_stage_pc", sgpr: next, count: 1 }],
    userSgprCount: 17,
    systemSgprs: [],
    abi: { kind: "agc", record },
  };
}

const front = (more: Partial<Half> = {}) => half({ stage: "geometry-front", code: GO_ON, ...more });
const back = (more: Partial<Half> = {}) => half({ stage: "geometry-back", next: 24, ...more });

Deno.test("halves are put behind each other, the back half at a multiple of 256 bytes, with what both need", () => {
  const fused = fuseShaderHalves(
    front({ sh: [[0x08b, 11 << 1 | 1]] }),
    back({ sh: [[0x08b, 20 << 1 | 39 << 19]], code: [0xbf80_0000, END] }),
  );
  assertEquals([fused.code.length, fused.backOffset], [66, 256]);
  assertEquals([...fused.code.subarray(0, 4)], [...GO_ON, CODE_END, CODE_END]);
  assertEquals([...fused.code.subarray(64)], [0xbf80_0000, END]);
  assert(fused.program.kind === "group");
  const { group } = fused.program;
  assertEquals(
    [group.stage, group.waveSize, group.threads, group.userSgprCount, group.scratch, group.ldsBytes, group.floatMode],
    ["geometry", 32, 256, 20, true, 39 * 512, 0xc0],
  );
  assertEquals(group.group, { next: { sgpr: 24, offset: 256 } });
  assertEquals(halfOf(fused, 4), { shader: fused.front, pc: 4 });
  assertEquals(halfOf(fused, 260), { shader: fused.back, pc: 4 });
});

Deno.test("a front half that ends by itself is all of the program: a vertex program where its vertices are passed through", () => {
  const vertex = fuseShaderHalves(front({ code: [END], stages: VERTEX }), back({ stages: VERTEX }));
  assertEquals([...vertex.code], [END]);
  assertEquals(vertex.backOffset, undefined);
  assert(vertex.program.kind === "vertex" && vertex.program.stage.state.stage === "vertex");
  assertEquals(vertex.program.stage.state.passthrough, true);
  // A domain shader, and a program that exports primitives of its own.
  for (const stages of [VERTEX & ~0x18 | 0x08, VERTEX & ~(1 << 25)]) {
    const fused = fuseShaderHalves(front({ code: [END], stages }), back({ stages }));
    assert(fused.program.kind === "group");
    assertEquals(fused.program.group.group, {});
  }
});

Deno.test("LDS, wave size and user data of a hull program are in registers of its own", () => {
  const registers = [[0x10b, 14 << 1 | 10 << 18]] as const;
  for (const [stages, waveSize] of [[HULL, 32], [HULL & ~(1 << 21), 64]] as const) {
    const fused = fuseShaderHalves(
      half({ stage: "hull-front", code: GO_ON, stages, sh: registers }),
      half({ stage: "hull-back", next: 24, stages, sh: registers }),
    );
    assert(fused.program.kind === "group");
    const { stage, waveSize: lanes, ldsBytes, userSgprCount } = fused.program.group;
    assertEquals([stage, lanes, ldsBytes, userSgprCount], ["hull", waveSize, 5120, 14]);
  }
});

Deno.test("shaders that are no halves of one program are named with the reason", () => {
  const cases: readonly (readonly [ShaderSource, ShaderSource, RegExp])[] = [
    [back(), front(), /their stages are geometry-back and geometry-front/],
    [front(), half({ stage: "hull-back" }), /their stages are geometry-front and hull-back/],
    [front({ stages: VERTEX }), back(), /their VGT_SHADER_STAGES_EN are 0x2c12010,0xc12030/],
    [front({ target: "gfx1030" }), back(), /they are for gfx1030 and gfx1013/],
    [
      front({ code: [END] }),
      back({ code: [0xbf80_0000, END] }),
      /does not go on with the back half, which is not empty/,
    ],
    [front(), back({ next: undefined }), /no user SGPR has the back half's address/],
  ];
  for (const [first, second, message] of cases) {
    const error = assertThrows(() => fuseShaderHalves(first, second), InvalidInputError);
    assertMatch(error.message, message);
    assertStringIncludes(error.message, `${first.name} and ${second.name} are no halves of one program`);
  }
});

Deno.test("halves whose registers of the whole program differ are of two programs", () => {
  const names = {
    geControl: "GE_CNTL",
    gsOutPrimitiveType: "VGT_GS_OUT_PRIM_TYPE",
    geUserVgprEnable: "GE_USER_VGPR_EN",
  };
  const having = (half: ShaderSource, field: string, value: number) => {
    if (half.abi.kind === "agc") {
      half.abi.record.specials = { ...half.abi.record.specials!, [field]: { offset: 0, value } };
    }
    return half;
  };
  for (const [field, name] of Object.entries(names)) {
    assertEquals(fuseShaderHalves(having(front(), field, 2), having(back(), field, 2)).backOffset, 256);
    const two = assertThrows(
      () => fuseShaderHalves(having(front(), field, 2), having(back(), field, 1)),
      InvalidInputError,
    );
    assertMatch(two.message, new RegExp(`are no halves of one program: their ${name} are 0x2 and 0x1`));
    const one = assertThrows(() => fuseShaderHalves(front(), having(back(), field, 1)), InvalidInputError);
    assertMatch(one.message, new RegExp(`their ${name} are not set and 0x1`));
  }
});

Deno.test("halves that want different float modes, or lack registers, are refused", () => {
  const modes = assertThrows(() => fuseShaderHalves(front(), back({ sh: [[0x08a, 0xf_0000]] })), RefusedError);
  assertMatch(modes.message, /different float modes \(SPI_SHADER_PGM_RSRC1_GS\)/);
  const lacking = front();
  if (lacking.abi.kind === "agc") lacking.abi.record.shRegisters = [];
  const missing = assertThrows(() => fuseShaderHalves(lacking, back()), RefusedError);
  assertMatch(missing.message, /SPI_SHADER_PGM_RSRC1_GS is not set.*geometry-front\.sb/);
  const plain = front();
  if (plain.abi.kind === "agc") plain.abi.record.specials = undefined;
  assertMatch(assertThrows(() => fuseShaderHalves(plain, back()), RefusedError).message, /has no specials/);
});

Deno.test("an error in a fused program names the half that it is in, and the place in its code", () => {
  const fused = fuseShaderHalves(front(), back());
  const at = (pc?: number) => withHalf(new RefusedError("test", "why", pc === undefined ? {} : { pc }), fused).message;
  assertMatch(at(4), /^the geometry-front shader the geometry-front at its byte 0x4: why \(file geometry-front\.sb/);
  assertMatch(at(0x108), /^the geometry-back shader the geometry-back at its byte 0x8: why \(file geometry-back\.sb/);
  assertMatch(at(), /^the geometry-front \+ the geometry-back: why/);
});

Deno.test("errors of halves have the offset in the file of the half that is wrong, decoding's too", () => {
  const at = { codeFileOffset: 0x200 }, fused = fuseShaderHalves({ ...front(), ...at }, { ...back(), ...at });
  const refused = withHalf(new RefusedError("test", "why", { pc: 0x108 }), fused).place;
  assertEquals([refused.file, refused.fileOffset], ["geometry-back.sb", 0x208]);
  // 0xec: an encoding that is none, in the front half behind an instruction, and as all of the back half.
  const cut = front({ code: [0xbf80_0000, 0xec00_0000, ...GO_ON] }), ends = front({ code: [END] });
  for (const [one, other, wrong] of [[cut, back(), 4], [ends, back({ code: [0xec00_0000] }), 0]] as const) {
    const { message, place } = assertThrows(
      () => fuseShaderHalves({ ...one, ...at }, { ...other, ...at }),
      InvalidInputError,
    );
    const half = wrong === 4 ? "front" : "back";
    assertEquals([place.file, place.fileOffset, place.pc], [`geometry-${half}.sb`, 0x200 + wrong, wrong]);
    assertMatch(message, new RegExp(`^the geometry-${half} shader the geometry-${half}: not an RDNA2 instruction`));
  }
});

Deno.test("a merged program is only where its halves can find each other: from a multiple of 256 on, at 0x2xxxxxxxx", () => {
  const fused = fuseShaderHalves(front(), back());
  for (const address of [0x2_0000_0000n, 0x2_ffff_fd00n]) {
    assertEquals(fusedRequest(fused, address, GENERIC_DEVICE).codeAddress, address);
  }
  // The last one: its end has another high half.
  for (const address of [0x2_0000_0010n, 0n, -256n, 0x3_0000_0000n, 0x2_ffff_ff00n]) {
    const { code, place } = assertThrows(() => fusedRequest(fused, address, GENERIC_DEVICE), InvalidInputError);
    assertEquals([code, place.guestAddress], ["driver.code-address", address]);
  }
});

Deno.test("the request of a merged group is the same when it was written to a file and read again", () => {
  const fused = fuseShaderHalves(front(), back());
  assert(fused.program.kind === "group");
  const request = groupRequest(fused.program.group, fused.code, 0x2_0010_0000n, "gfx1013", GENERIC_DEVICE);
  const read = decodeRequest(new TextEncoder().encode(encodeRequest(request)), "group.request.json");
  assertEquals(read.stage, "compute");
  assertEquals(read.request, request);
});
