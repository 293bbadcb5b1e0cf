import { assert, assertEquals } from "@std/assert";
import { RefusedError } from "../../src/errors.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { probeDevice } from "../../src/gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../src/gpu/recompiler_device.ts";
import { GENERIC_DEVICE } from "../../src/recompiler/generic_device.ts";
import type { Artifact, RecompilerDevice } from "../../src/recompiler/request.ts";
import { ExportTarget } from "../../src/recompiler/stages/export_targets.ts";
import type { PixelState } from "../../src/recompiler/stages/state.ts";
import { PIXEL_PROGRAMS } from "../recompiler/stages/pixel_cases.ts";
import { caseOf, programOf, vertexState } from "../recompiler/stages/programs.ts";
import { type StageCase, validated } from "../recompiler/stages/stage_case.ts";
import { VERTEX_PROGRAMS } from "../recompiler/stages/vertex_cases.ts";
import { deviceTest } from "../support/vulkan.ts";
import { createGraphicsPipeline } from "./graphics_pipeline.ts";

/** VK_FORMAT_R32G32B32A32_UINT, _SINT, _SFLOAT. */
const FORMATS = { uint: 107, sint: 108, float: 109 } as const;
/** Exports whose components are floats, whatever the target's numbers are. */
const FLOAT_FORMATS = ["fp16_abgr", "unorm16_abgr", "snorm16_abgr"];

function realDevice(device: GpuDevice): RecompilerDevice {
  const { float, endsLoops } = probeDevice(device);
  return recompilerDevice(device.capabilities, float, endsLoops);
}

/** What becomes of a case on a device: its module, valid; undefined where the device lacks what another one has. */
function recompiled(c: StageCase, device: RecompilerDevice): Artifact | undefined {
  try {
    return validated(c, device);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    // It is the device's, not the program's.
    validated(c, { ...device, graphics: GENERIC_DEVICE.graphics });
    return undefined;
  }
}

/** A vertex program that exports a position and these parameters: v_mov_b32 v10, 1.0; exp of v10 four times, positions from target 12 on, parameters from 32. */
function vertexFor(parameters: readonly number[], device: RecompilerDevice): Uint32Array<ArrayBuffer> {
  const exports = [12 << 4 | 1 << 11, ...parameters.map((parameter) => (32 + parameter) << 4)];
  const code = [0x7e14_02f2, ...exports.flatMap((target) => [0xf800_000f | target, 0x0a0a_0a0a]), 0xbf81_0000];
  const program = programOf(vertexState(), 64);
  return new Uint32Array(validated({ name: "vertex", code: Uint32Array.from(code), program }, device).spirv);
}

/** Formats of the targets that a pixel program exports to. */
function targetsOf({ colors }: PixelState, { exports }: NonNullable<Artifact["graphics"]>): number[] {
  const last = Math.max(-1, ...exports.filter((target) => target < ExportTarget.Depth));
  return Array.from({ length: last + 1 }, (_, target) => {
    const { format, number } = colors[target];
    if (!exports.includes(target)) return 0;
    return FORMATS[FLOAT_FORMATS.includes(format) ? "float" : number];
  });
}

deviceTest("a device's features, extensions and subgroups say what its graphics stages can do", (device) => {
  const { graphics } = realDevice(device), { features, extensions, subgroup } = device.capabilities;
  assertEquals(graphics, {
    quads: subgroup.operations.quad && subgroup.stages.fragment,
    subgroups: subgroup.operations.ballot && subgroup.operations.vote && subgroup.operations.shuffle &&
      subgroup.stages.fragment && subgroup.stages.vertex,
    sampleRate: features.includes("sampleRateShading"),
    barycentrics: extensions.includes("VK_KHR_fragment_shader_barycentric"),
    stencilExport: extensions.includes("VK_EXT_shader_stencil_export"),
    layers: features.includes("shaderOutputLayer") && features.includes("shaderOutputViewportIndex"),
    distances: features.includes("shaderClipDistance") && features.includes("shaderCullDistance"),
  });
  // Mesa 22.3, lavapipe: src/gallium/frontends/lavapipe/lvp_device.c.
  if (device.capabilities.name.startsWith("llvmpipe")) {
    assertEquals(Object.entries(graphics!).filter(([, has]) => !has).map(([name]) => name), [
      "subgroups",
      "barycentrics",
    ]);
  }
});

deviceTest("what a device lacks is not asked of it: without its extensions no stencil is exported", (device) => {
  assertEquals(realDevice(device).graphics?.stencilExport, false);
}, { withoutExtensions: ["VK_EXT_shader_stencil_export"] });

deviceTest("pixel programs are recompiled for the device at hand, and its driver makes pipelines of them", (device) => {
  const target = realDevice(device), refused: string[] = [];
  let made = 0;
  for (const { name, lines, state, more } of PIXEL_PROGRAMS) {
    for (const waveSize of [32, 64] as const) {
      const artifact = recompiled(caseOf(name, lines, state, waveSize, more), target);
      if (artifact === undefined) {
        refused.push(`${name}, ${waveSize}`);
        continue;
      }
      const { parameters, perSample, exports } = artifact.graphics!;
      createGraphicsPipeline(device, {
        vertex: vertexFor(parameters, target),
        pixel: new Uint32Array(artifact.spirv),
        targets: targetsOf(state, artifact.graphics!),
        perSample,
        depth: exports.includes(ExportTarget.Depth),
      });
      made++;
    }
  }
  assert(made > refused.length, `${made} made, refused: ${refused.join("; ")}`);
});

deviceTest(
  "vertex programs are recompiled for the device at hand, and its driver makes pipelines of them",
  (device) => {
    const target = realDevice(device), refused: string[] = [];
    let made = 0;
    for (const { name, lines, state, more } of VERTEX_PROGRAMS) {
      for (const waveSize of [32, 64] as const) {
        const artifact = recompiled(caseOf(name, lines, state, waveSize, more), target);
        if (artifact === undefined) refused.push(`${name}, ${waveSize}`);
        else createGraphicsPipeline(device, { vertex: new Uint32Array(artifact.spirv), targets: [] }), made++;
      }
    }
    assert(made > refused.length, `${made} made, refused: ${refused.join("; ")}`);
  },
);
