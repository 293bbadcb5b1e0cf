/**
 * What a module and its recompiled machine code cost on a Vulkan device: words, creating the pipeline, running it.
 *
 * @module
 */
import type { SpirvTools } from "../../ffi/spirv_tools.ts";
import { VulkanDevice } from "../../src/driver/vulkan/vulkan_device.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { launch, type LaunchRequest } from "../../src/guest/harness.ts";
import type { Program } from "../../src/guest/program.ts";
import type { ShaderSource } from "../../src/guest/shader_source.ts";
import { type OracleTimes, runSpirv } from "../../tests/support/spirv_oracle.ts";
import type { WaveSize } from "../corpus/compile.ts";
import { readModule, type SpirvModule } from "../corpus/spirv/module.ts";
import { reflectCompute } from "../corpus/spirv/reflect.ts";
import { compareModule, type CompareRow } from "./compare_module.ts";
import { type CorpusFolders, machineCode } from "./corpus.ts";
import { bufferWords, type Profile, PROFILES, pushWords } from "./inputs.ts";
import { floatPushWords } from "./push_types.ts";

/** A figure of the module itself, and of its recompiled machine code. */
export interface Pair {
  readonly original: number;
  readonly recompiled: number;
}

/** One module that was measured. */
export interface CreationRow {
  readonly module: string;
  readonly wave: WaveSize;
  readonly laneMode: string;
  /** Guest instructions. */
  readonly instructions: number;
  /** Words without debug information. */
  readonly words: Pair;
  /** Milliseconds of the first creation of the pipeline in this process. */
  readonly createMs: Pair;
  /** Microseconds of a dispatch by the device's clock, least of the rounds: the clock's rate may change, and other work only adds. */
  readonly runUs: Pair;
  /** Milliseconds of recompiling. */
  readonly recompileMs: number;
  /** Results are the same: how many words were written, and the largest difference in ULP. */
  readonly wordsWritten: number;
  readonly ulp: number;
}

/** A module that was not measured. */
export interface Unmeasured {
  readonly module: string;
  readonly wave: WaveSize;
  readonly reason: string;
}

/** How to measure. */
export interface CreationOptions {
  readonly folders: CorpusFolders;
  readonly gpu: GpuDevice;
  readonly tools: SpirvTools;
  /** Runs of both sides, in turns, and dispatches of each. */
  readonly rounds: number;
  readonly dispatches: number;
}

/** Measures a module. The device's own clock, and memory that is the device's: nothing but the two programs differs. */
export function measureModule(module: string, wave: WaveSize, options: CreationOptions): CreationRow | Unmeasured {
  const { folders, gpu, tools, rounds, dispatches } = options;
  const unmeasured = (reason: string): Unmeasured => ({ module, wave, reason });
  const shader = machineCode(folders.originalCode, module, wave);
  if (shader === undefined) return unmeasured("no machine code");
  const spirv = readModule(`${folders.original}/${module}`);
  if (reflectCompute(spirv).bindings.some(({ type, count }) => type !== "storage_buffer" || count !== 1)) {
    return unmeasured("not only storage buffers");
  }
  const first = { profile: PROFILES[0], dispatches: 1 };
  const cold = { guest: runGuest(gpu, shader, spirv, first), original: runOriginal(gpu, spirv, first) };
  const compared = compareModule(module, { folders, wave, gpu });
  if (compared?.outcome !== "same") return unmeasured(reasonOf(compared));
  const profile = PROFILES[compared.profile];
  const times: { original: number[]; recompiled: number[] } = { original: [], recompiled: [] };
  for (let round = 0; round < rounds; round++) {
    times.original.push(runOriginal(gpu, spirv, { profile, dispatches }).deviceMs);
    times.recompiled.push(runGuest(gpu, shader, spirv, { profile, dispatches }).deviceMs);
  }
  const [report] = cold.guest.programs;
  return {
    module,
    wave,
    laneMode: report.laneMode,
    instructions: report.instructions,
    words: { original: tools.optimize(spirv.words, ["--strip-debug"]).length, recompiled: report.words },
    createMs: { original: cold.original.createMs, recompiled: report.createMs },
    runUs: {
      original: 1000 * Math.min(...times.original) / dispatches,
      recompiled: 1000 * Math.min(...times.recompiled) / dispatches,
    },
    recompileMs: report.recompileMs,
    wordsWritten: compared.wordsWritten,
    ulp: compared.ulp,
  };
}

function reasonOf(compared: CompareRow | undefined): string {
  if (compared === undefined) return "no treated machine code";
  return compared.outcome === "same" ? "" : `${compared.outcome}: ${compared.reason?.split("\n")[0]}`;
}

/** One run. */
interface Run {
  readonly profile: Profile;
  readonly dispatches: number;
}

function requestOf(shader: ShaderSource, module: SpirvModule, { profile }: Run): LaunchRequest {
  const { bindings, pushConstantBytes } = reflectCompute(module), floats = floatPushWords(module);
  const bytes = shader.abi.kind === "aco" ? shader.abi.pushConstantBytes : pushConstantBytes;
  return {
    shader,
    grid: profile.groups,
    resources: Object.fromEntries(bindings.map(({ set, binding }) => [
      `${set}.${binding}`,
      { kind: "buffer", data: bufferWords(profile.data, 1 + 100 * set + binding) },
    ])),
    pushConstants: pushWords(bytes / 4, (word) => floats.has(word), profile.push),
  };
}

function runOriginal(gpu: GpuDevice, module: SpirvModule, run: Run): OracleTimes {
  const { entryPoint, bindings, specConstants, pushConstantBytes } = reflectCompute(module);
  const floats = floatPushWords(module);
  const times: OracleTimes = { dispatches: run.dispatches, createMs: 0, deviceMs: 0 };
  runSpirv(gpu, {
    spirv: module.words,
    entryPoint,
    groups: run.profile.groups,
    resources: Object.fromEntries(bindings.map(({ set, binding }) => [
      `${set}.${binding}`,
      { kind: "buffer", data: bufferWords(run.profile.data, 1 + 100 * set + binding) },
    ])),
    pushConstants: pushWords(pushConstantBytes / 4, (word) => floats.has(word), run.profile.push),
    specialization: new Map(specConstants.map(({ id, value }) => [id, Number(value)])),
  }, times);
  return times;
}

function runGuest(gpu: GpuDevice, shader: ShaderSource, module: SpirvModule, run: Run) {
  const { program } = launch(requestOf(shader, module, run));
  const done = new VulkanDevice(gpu, "mirrored").run(repeated(program, run.dispatches));
  try {
    const { error, programs, timings } = done.result;
    if (error !== undefined && programs.length === 0) throw error;
    return { programs, deviceMs: timings.deviceMs ?? 0 };
  } finally {
    done.close();
  }
}

/** Microseconds of a dispatch that does nothing: what all the others take at least. */
export function emptyRunUs(gpu: GpuDevice, tools: SpirvTools, dispatches: number): number {
  const spirv = tools.assemble(
    `OpCapability Shader
     OpMemoryModel Logical GLSL450
     OpEntryPoint GLCompute %main "main"
     OpExecutionMode %main LocalSize 1 1 1
     %void = OpTypeVoid
     %function = OpTypeFunction %void
     %main = OpFunction %void None %function
     %block = OpLabel
     OpReturn
     OpFunctionEnd`,
  );
  const all = Array.from({ length: 5 }, () => {
    const times: OracleTimes = { dispatches, createMs: 0, deviceMs: 0 };
    runSpirv(gpu, { spirv, groups: [1, 1, 1], resources: {} }, times);
    return times.deviceMs;
  });
  return 1000 * median(all) / dispatches;
}

const DISPATCH_DIRECT = 0xc003_1500;

/** The program with its dispatch several times in a row. */
function repeated(program: Program, dispatches: number): Program {
  const [submission] = program.submissions;
  const words = [...submission.words];
  const at = words.indexOf(DISPATCH_DIRECT);
  if (at < 0) throw new Error("the launch has no DISPATCH_DIRECT");
  const packet = words.slice(at, at + 5);
  const again = Array.from({ length: dispatches }, () => packet).flat();
  return {
    ...program,
    submissions: [{
      ...submission,
      words: Uint32Array.from([...words.slice(0, at), ...again, ...words.slice(at + 5)]),
    }],
  };
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}
