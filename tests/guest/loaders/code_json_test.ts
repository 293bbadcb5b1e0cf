import { assert, assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError } from "../../../src/errors.ts";
import { MalformedFileError } from "../../../src/guest/loaders/file_format.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import type { ShaderSource } from "../../../src/guest/shader_source.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { withFiles } from "../support/files.ts";
import { mutations } from "../support/mutations.ts";

type Json = Record<string, unknown>;

const ACO: Json = {
  source: ["own.spv"],
  family: "navi10",
  stage: "comp",
  wave_size: 32,
  code_size: 8,
  exec_size: 4,
  lds_bytes: 512,
  scratch_bytes_per_wave: 0,
  user_sgpr_base: 0,
  user_sgprs: [{ name: "ring_offsets", sgpr: 0, count: 2 }, { name: "descriptor_set_ptr", set: 1, sgpr: 2, count: 1 }],
  num_user_sgprs: 3,
  system_sgprs: [{ name: "workgroup_id_x", sgpr: 3 }],
  compute_pgm_rsrc1: 0x602C0001,
  compute_pgm_rsrc2: 0x86,
  local_size: [64, 2, 1],
  inline_push_constant_mask: "0x5",
  push_constant_size: 16,
  address32_hi: "0xffff8000",
  bindings: [{
    set: 1,
    binding: 2,
    type: "combined_image_sampler",
    count: 1,
    offset: 32,
    stride: 96,
    sampler_offset: 80,
    name: "tex",
  }],
};
const LLVM: Json = {
  kernel: "k",
  stage: "comp",
  family: "gfx1030-llvm19",
  wave_size: 64,
  code_size: 8,
  exec_size: 8,
  lds_bytes: 0,
  scratch_bytes_per_lane: 12,
  kernarg_size: 12,
  compute_pgm_rsrc1: 1,
  compute_pgm_rsrc2: 2,
  compute_pgm_rsrc3: 3,
  user_sgprs: [],
  num_user_sgprs: 0,
  system_sgprs: [],
  args: [{ offset: 0, size: 8, kind: "global_buffer", type: "u32*" }, {
    offset: 8,
    size: 4,
    kind: "by_value",
    type: "float",
  }],
  relocs: [],
};
const CODE = Uint8Array.of(0, 0, 0x81, 0xBF, 1, 2, 3, 4);

function load(description: Json, code: Uint8Array | undefined = CODE, name = "x.json"): ShaderSource {
  return withFiles({ ...(code && { "x.rdna.bin": code }), "x.json": JSON.stringify(description) }, (folder) => {
    const loaded = loadFile(`${folder}/${name}`);
    assert(loaded.kind === "shader");
    return loaded.shader;
  });
}

Deno.test("an ACO description gives the launch facts, whichever of the two files is named", () => {
  for (const name of ["x.json", "x.rdna.bin"]) {
    const shader = load(ACO, CODE, name);
    assertEquals([shader.name, shader.stage, shader.target, shader.waveSize, shader.workgroupSize], [
      "x",
      "compute",
      "gfx1013",
      32,
      [64, 2, 1],
    ]);
    assertEquals([[...shader.code], shader.execBytes, shader.ldsBytes, shader.userSgprCount], [
      [0xBF810000, 0x04030201],
      4,
      512,
      3,
    ]);
    assertEquals([shader.rsrc1, shader.rsrc2, shader.rsrc3], [0x602C0001, 0x86, undefined]);
    assertEquals(shader.userSgprs[1], { name: "descriptor_set_ptr", sgpr: 2, count: 1, set: 1 });
    assertEquals(shader.abi, {
      kind: "aco",
      bindings: [{
        set: 1,
        binding: 2,
        type: "combined_image_sampler",
        count: 1,
        offset: 32,
        stride: 96,
        samplerOffset: 80,
        name: "tex",
      }],
      inlinePushMask: 5,
      pushConstantBytes: 16,
      address32Hi: 0xFFFF8000,
      scratchBytesPerWave: 0,
    });
  }
});

Deno.test("an LLVM description gives the launch facts", () => {
  const shader = load(LLVM);
  assertEquals([shader.target, shader.waveSize, shader.workgroupSize, shader.rsrc3], ["gfx1030", 64, undefined, 3]);
  assertEquals(shader.abi, {
    kind: "llvm",
    kernargBytes: 12,
    scratchBytesPerLane: 12,
    arguments: [{ offset: 0, size: 8, kind: "global_buffer", type: "u32*" }, {
      offset: 8,
      size: 4,
      kind: "by_value",
      type: "float",
    }],
  });
});

Deno.test("every mistake in a description is refused with its place", () => {
  const cases: [Json, string, unknown, string][] = [
    [ACO, "family", "polaris10", '$.family: unknown family "polaris10"'],
    [ACO, "stage", "mesh", "$.stage: unknown stage"],
    [ACO, "wave_size", 16, "$.wave_size: 16 lanes"],
    [ACO, "exec_size", 12, "$.exec_size: 12 is outside"],
    [ACO, "exec_size", 6, "$.exec_size: must be a multiple of 4"],
    [ACO, "code_size", 12, "8 bytes of code"],
    [ACO, "num_user_sgprs", 41, "$.num_user_sgprs: 41 is outside"],
    [ACO, "user_sgprs", [{ name: "x", sgpr: 39, count: 2 }], "$.user_sgprs[0].sgpr: 39 is outside"],
    [ACO, "local_size", [64, 1], "$.local_size: three sizes"],
    [ACO, "local_size", [64, 0, 1], "$.local_size[1]: 0 is outside"],
    [ACO, "bindings", undefined, '"bindings" is missing'],
    [ACO, "address32_hi", "ffff8000", "is not hexadecimal with 0x"],
    [LLVM, "relocs", [{}], "$.relocs: code with relocations is not read"],
    [
      LLVM,
      "args",
      [{ offset: 8, size: 8, kind: "global_buffer", type: "x" }],
      "$.args[0]: the argument ends at 16, the kernarg segment at 12",
    ],
    [LLVM, "scratch_bytes_per_lane", -1, "is outside"],
  ];
  for (const [document, key, value, message] of cases) {
    const error = assertThrows(() => load({ ...document, [key]: value }), MalformedFileError, undefined, key);
    assertStringIncludes(error.message, message);
    assert(error.place.fileOffset !== undefined);
  }
  assertThrows(() => load(ACO, CODE.slice(0, 7)), MalformedFileError, "7 bytes of code");
  withFiles({ "x.json": JSON.stringify(ACO) }, (folder) => {
    assertThrows(() => loadFile(`${folder}/x.json`), MalformedFileError, "the code is missing");
  });
});

Deno.test("1,000 damaged descriptions are read or refused, never anything else", () => {
  withFiles({ "x.rdna.bin": CODE }, (folder) => {
    for (const [document, seed] of [[ACO, 5], [LLVM, 6]] as const) {
      for (const damaged of mutations(new TextEncoder().encode(JSON.stringify(document)), 500, seed)) {
        Deno.writeFileSync(`${folder}/x.json`, damaged);
        try {
          loadFile(`${folder}/x.json`);
        } catch (error) {
          assertInstanceOf(error, AnyAgcError);
        }
      }
    }
  });
});

for (const [folder, count, kind] of [["aco", 24, "aco"], ["llvm", 20, "llvm"]] as const) {
  corpusTest(`every description of corpus/${folder} loads with its code`, folder, () => {
    const names = corpusNames(folder, /\.json$/);
    assertEquals(names.length, count);
    for (const name of names) {
      const loaded = loadFile(corpusFile(folder, name));
      assert(loaded.kind === "shader");
      const { shader } = loaded;
      assertEquals([shader.abi.kind, shader.target], [kind, "gfx1030"]);
      // The bytes of the file, taken the plain way.
      assertEquals(
        new Uint8Array(shader.code.buffer),
        Deno.readFileSync(corpusFile(folder, name.replace(".json", ".rdna.bin"))),
      );
      if (shader.rsrc2 !== undefined) assertEquals(shader.rsrc2 >>> 1 & 31, shader.userSgprCount);
    }
  });
}
