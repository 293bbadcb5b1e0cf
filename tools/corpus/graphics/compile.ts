/**
 * Machine code of vertex and fragment shaders: GLSL, RADV, description, files.
 *
 * @module
 */
import type { NotCompiled } from "../compile.ts";
import { ADDRESS32_HI, descriptionText, type Json } from "../description.ts";
import { describeBindings } from "../description.ts";
import type { Family } from "../radv/environment.ts";
import { readGraphicsBinaries, type StageBinary } from "../radv/graphics_cache.ts";
import type { RadvProcess } from "../radv/process.ts";
import { Declarations } from "../spirv/declarations.ts";
import { readModule } from "../spirv/module.ts";
import { type Binding, pushConstantBytes, reflectBindings } from "../spirv/reflect.ts";
import { ATTACHMENT_FORMATS } from "./formats.ts";
import { compileGlsl } from "./glsl.ts";
import { fragmentRegisters, type StageRegisterLists, vertexRegisters } from "./registers.ts";
import type { ShaderPair } from "./sources.ts";

/** VkFormat of vertex attributes: four floats, or four unsigned integers. */
const FLOAT4 = 109, UINT4 = 107;

/** Name, description and code of a stage. */
export interface CompiledStage {
  /** NAME.vert or NAME.frag. */
  readonly name: string;
  readonly code: Uint8Array;
  /** JSON text. */
  readonly description: string;
}

/** Compiles a pair with a running RADV. @param folder where the SPIR-V goes */
export async function compilePair(
  radv: RadvProcess,
  pair: ShaderPair,
  family: Family,
  folder: string,
): Promise<CompiledStage[] | NotCompiled> {
  const files = { vertex: `${folder}/${pair.name}.vert.spv`, fragment: `${folder}/${pair.name}.frag.spv` };
  compileGlsl(pair.vertex, "vert", files.vertex);
  compileGlsl(pair.fragment, "frag", files.fragment);
  const declarations = [files.vertex, files.fragment].map((file) => new Declarations(readModule(file)));
  const bindings = mergeBindings(declarations.map(reflectBindings));
  const pushBytes = Math.max(...declarations.map(pushConstantBytes));
  const setCount = Math.max(0, ...bindings.map(({ set }) => set + 1));
  const outcome = await radv.compile({
    ...files,
    sets: Array.from({ length: setCount }, (_, set) => bindings.filter((binding) => binding.set === set)),
    pushConstantBytes: pushBytes,
    targetFormats: pair.targets.map((name) => ATTACHMENT_FORMATS[name].vulkan),
    attributeFormats: attributeFormats(pair.vertex),
    samples: pair.samples ?? 1,
    points: pair.points === true,
  });
  if ("failed" in outcome) return outcome;
  const { vertex, fragment } = readGraphicsBinaries(outcome.cacheData);
  const describe = (stage: "vert" | "frag", binary: StageBinary, registers: StageRegisterLists, merged: boolean) => ({
    name: `${pair.name}.${stage}`,
    code: binary.code,
    description: descriptionText(
      descriptionOf(stage, binary, registers, merged, { pair, family, driver: radv.driver, bindings, pushBytes }),
    ),
  });
  return [
    describe("vert", vertex, vertexRegisters(vertex), vertex.ngg),
    describe("frag", fragment, fragmentRegisters(fragment, vertex, pair), false),
  ];
}

/** Formats of the vertex shader's inputs by location: integers where the source says so. */
function attributeFormats(source: string): number[] {
  const formats: number[] = [];
  for (const [, location, type] of source.matchAll(/layout\(location = (\d+)\) in (\w+)/g)) {
    formats[Number(location)] = type.startsWith("u") ? UINT4 : FLOAT4;
  }
  return Array.from(formats, (format) => format ?? FLOAT4);
}

function mergeBindings(lists: readonly (readonly Binding[])[]): Binding[] {
  const byPlace = new Map(lists.flat().map((binding) => [`${binding.set}.${binding.binding}`, binding]));
  return [...byPlace.values()].sort((a, b) => a.set - b.set || a.binding - b.binding);
}

function descriptionOf(
  stage: string,
  binary: StageBinary,
  registers: StageRegisterLists,
  merged: boolean,
  from: { pair: ShaderPair; family: Family; driver: string; bindings: readonly Binding[]; pushBytes: number },
): Record<string, Json> {
  const { pair, family, driver, bindings, pushBytes } = from;
  const base = merged ? 8 : 0, userSgprs = (binary.rsrc[1] >>> 1 & 31) | (binary.rsrc[1] >>> 27 & 1) << 5;
  return {
    source: [`${pair.name}.vert.spv`, `${pair.name}.frag.spv`],
    family,
    stage,
    wave_size: binary.waveSize,
    code_size: binary.code.length,
    exec_size: binary.execBytes,
    num_sgprs: binary.numSgprs,
    num_vgprs: binary.numVgprs,
    lds_bytes: binary.ldsBytes,
    scratch_bytes_per_wave: binary.scratchBytesPerWave,
    float_mode: binary.floatMode,
    user_sgpr_base: base,
    user_sgprs: binary.userData.map(({ name, set, sgpr: relative, count }) => {
      // The ring pointer of merged stages is in s0, s1, below the user data.
      const sgpr = name === "ring_offsets" ? relative : base + relative;
      return set === undefined ? { name, sgpr, count } : { name, set, sgpr, count };
    }),
    num_user_sgprs: userSgprs,
    system_sgprs: [{ name: "system", sgpr: merged ? 0 : userSgprs }],
    sh_registers: registers.sh.map(([offset, value]) => [offset, value >>> 0]),
    context_registers: registers.context.map(([offset, value]) => [offset, value >>> 0]),
    inline_push_constant_mask: `0x${inlineMask(binary).toString(16)}`,
    push_constant_size: Math.ceil(pushBytes / 16) * 16,
    address32_hi: `0x${ADDRESS32_HI.toString(16)}`,
    desc_set_used_mask: binary.setsUsed,
    bindings: describeBindings(bindings),
    driver,
  };
}

/** The dwords that are in SGPRs: see cache_data.ts. */
function inlineMask({ inlinePushMask, userData }: StageBinary): bigint {
  return userData.some(({ name }) => name === "inline_push_constants") ? BigInt.asUintN(32, inlinePushMask) : 0n;
}
