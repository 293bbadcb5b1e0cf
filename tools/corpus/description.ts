/**
 * The JSON description that lies beside machine code: the keys that src/guest/loaders/code_json.ts reads, and what people and tests want to know.
 *
 * @module
 */
import { InvalidInputError } from "../../src/errors.ts";
import { type ComputeBinary, userSgprCount } from "./radv/cache_data.ts";
import { placeBindings, SAMPLER_OFFSET, SECOND_IMAGE_OFFSET } from "./radv/descriptor_layout.ts";
import type { Family } from "./radv/environment.ts";
import type { ComputeInterface } from "./spirv/reflect.ts";

/** Upper half that RADV's code gives to its 32-bit pointers on gfx9 and later. */
export const ADDRESS32_HI = 0xffff8000;

/** What a description is made from. */
export interface Described {
  /** File name of the SPIR-V. */
  readonly source: string;
  readonly family: Family;
  /** Name and version of the driver. */
  readonly driver: string;
  readonly reflected: ComputeInterface;
  readonly binary: ComputeBinary;
}

/** A JSON value. */
export type Json = string | number | readonly Json[] | { readonly [key: string]: Json | undefined };

/**
 * The description as an object, in the order of its keys.
 *
 * @throws {InvalidInputError} `radv.workgroup-size` when RADV and the reflection disagree on it: then one of them reads the module wrongly
 */
export function describe({ source, family, driver, reflected, binary }: Described): Record<string, Json> {
  const { workgroupSize } = reflected;
  if (binary.workgroupSize.some((size, i) => size !== workgroupSize[i])) {
    throw new InvalidInputError(
      "radv.workgroup-size",
      `RADV compiled for a workgroup of ${binary.workgroupSize.join("x")}, the module says ${workgroupSize.join("x")}`,
      { file: source },
    );
  }
  const userSgprs = userSgprCount(binary.rsrc[1]);
  return {
    source: [source],
    family,
    stage: "comp",
    wave_size: binary.waveSize,
    workgroup_size: binary.workgroupLanes,
    code_size: binary.code.length,
    exec_size: binary.execBytes,
    num_sgprs: binary.numSgprs,
    num_vgprs: binary.numVgprs,
    num_shared_vgprs: binary.numSharedVgprs,
    lds_bytes: binary.ldsBytes,
    scratch_bytes_per_wave: binary.scratchBytesPerWave,
    float_mode: binary.floatMode,
    spilled_sgprs: binary.spilledSgprs,
    spilled_vgprs: binary.spilledVgprs,
    user_sgpr_base: 0,
    user_sgprs: binary.userData.map(({ name, set, sgpr, count }) =>
      set === undefined ? { name, sgpr, count } : { name, set, sgpr, count }
    ),
    num_user_sgprs: userSgprs,
    system_sgprs: systemSgprs(binary).map((name, i) => ({ name, sgpr: userSgprs + i })),
    compute_pgm_rsrc1: binary.rsrc[0],
    compute_pgm_rsrc2: binary.rsrc[1],
    compute_pgm_rsrc3: binary.rsrc[2],
    local_size: [...binary.workgroupSize],
    vgprs_in: ["thread_id_x", "thread_id_y", "thread_id_z"],
    uses_thread_id: binary.usesThreadId.map(Number),
    inline_push_constant_mask: `0x${binary.inlinePushMask.toString(16)}`,
    push_constant_size: Math.ceil(reflected.pushConstantBytes / 16) * 16,
    address32_hi: `0x${ADDRESS32_HI.toString(16)}`,
    desc_set_used_mask: binary.setsUsed,
    bindings: describeBindings(reflected.bindings),
    entry_point: reflected.entryPoint,
    spec_constants: reflected.specConstants.map(({ id, type, bits, value }) => ({
      id,
      type,
      bits,
      value: `0x${value.toString(16)}`,
    })),
    driver,
  };
}

/** SGPRs that the hardware fills behind the user SGPRs, in order (AMD register headers: COMPUTE_PGM_RSRC2). The last one is always told. */
function systemSgprs({ usesGroupId, usesLocalIndex }: ComputeBinary): string[] {
  return [
    ...["x", "y", "z"].filter((_, i) => usesGroupId[i]).map((axis) => `workgroup_id_${axis}`),
    ...(usesLocalIndex ? ["tg_size"] : []),
    "scratch_offset",
  ];
}

/** The description as text: one key a line, and one line for each object in a list. */
export function descriptionText(description: Record<string, Json>): string {
  const lines = Object.entries(description).map(([key, value]) => {
    const text = Array.isArray(value) && typeof value[0] === "object"
      ? `[\n${value.map((item) => `  ${JSON.stringify(item)}`).join(",\n")}]`
      : JSON.stringify(value);
    return ` ${JSON.stringify(key)}: ${text}`;
  });
  return `{\n${lines.join(",\n")}\n}\n`;
}

/** The bindings of a shader, with their places in its sets as RADV has them: a part of its description. */
export function describeBindings(bindings: Parameters<typeof placeBindings>[0]) {
  return placeBindings(bindings).map((binding) => ({
    set: binding.set,
    binding: binding.binding,
    type: binding.type,
    count: binding.count,
    offset: binding.offset,
    stride: binding.stride,
    ...(binding.type === "combined_image_sampler" || binding.type === "sampled_image"
      ? { fmask_offset: SECOND_IMAGE_OFFSET }
      : {}),
    ...(binding.type === "combined_image_sampler" ? { sampler_offset: SAMPLER_OFFSET } : {}),
    block_size: binding.blockBytes,
    name: binding.name,
  }));
}
