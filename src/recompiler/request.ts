import type { Target } from "../rdna/target.ts";
import type { Resources } from "./resources/plan.ts";
import type { GroupLayout, MergedGroup } from "./stages/group.ts";
import type { GraphicsState } from "./stages/state.ts";

/** What the recompiler must know of the device; plain data, part of the cache key. */
export interface RecompilerDevice {
  /** Lanes per host subgroup. */
  subgroupSize: number;
  /** maxComputeSharedMemorySize in bytes. */
  sharedMemoryBytes: number;
  /** shaderDenormFlushToZeroFloat32: execution mode DenormFlushToZero 32 may be declared. */
  denormFlush32: boolean;
  /** shaderDenormPreserveFloat32. */
  denormPreserve32: boolean;
  /** shaderSignedZeroInfNanPreserveFloat32. */
  signedZeroInfNanPreserve32: boolean;
  /** shaderSignedZeroInfNanPreserveFloat16 and 64 (absent: not known). */
  signedZeroInfNanPreserve16?: boolean;
  signedZeroInfNanPreserve64?: boolean;
  /** shaderRoundingModeRTEFloat32. */
  roundRte32: boolean;
  /** Without execution modes the device keeps f32 denormals (probed). */
  keepsDenormals32: boolean;
  /** Without execution modes, RoundingModeRTE included, the device flushes f32 denormals, operands and results (probed; NVIDIA does). */
  flushesDenormals32: boolean;
  /** Where RoundingModeRTE 32 is declared, additions, subtractions and multiplications keep f32 denormals (probed; absent: not known). */
  roundRteKeepsDenormals32?: boolean;
  /** GLSL Fma is one fused operation (probed). */
  fusesFma32: boolean;
  /** The same of f64 (probed; absent: not known, so it is emulated). */
  fusesFma64?: boolean;
  /** The same of f16, with denormals (probed). */
  fusesFma16?: boolean;
  /** Without execution modes f16 additions and multiplications round to nearest even and keep denormals (probed; absent: not known). */
  exactHalf?: boolean;
  /** PackHalf2x16 rounds to nearest even, and it and UnpackHalf2x16 keep denormals (probed; absent: not known). */
  exactHalfPack?: boolean;
  /** Optional types. */
  int8: boolean;
  int16: boolean;
  float16: boolean;
  float64: boolean;
  /** Storage access of narrow types by device address. */
  storage8: boolean;
  storage16: boolean;
  /** Int64 atomics on buffers. */
  bufferInt64Atomics: boolean;
  /** Int64 atomics on workgroup memory. */
  sharedInt64Atomics: boolean;
  /**
   * Subgroups of compute pipelines whose size can be required, all of them full, and whose lanes can vote and read each other; absent where there are none.
   * Lanes at least and at most, subgroups of a workgroup at most.
   */
  requiredSubgroup?: { minimum: number; maximum: number; perWorkgroup: number };
  /** Lane mode for programs that observe the wave, where the user has chosen one. */
  laneMode?: "native" | "spanned" | "packed";
  /** What the device has for graphics stages; absent: nothing that is optional. */
  graphics?: {
    /** Quad operations of subgroups in fragment shaders. */
    quads: boolean;
    /** Votes, ballots and shuffles of subgroups in fragment and vertex shaders. */
    subgroups: boolean;
    /** sampleRateShading. */
    sampleRate: boolean;
    /** VK_KHR_fragment_shader_barycentric. */
    barycentrics: boolean;
    /** VK_EXT_shader_stencil_export. */
    stencilExport: boolean;
    /** shaderOutputLayer and shaderOutputViewportIndex. */
    layers: boolean;
    /** shaderClipDistance and shaderCullDistance. */
    distances: boolean;
  };
  /** The device ends loops after some ten thousand rounds without saying so (probed; absent: it does not). */
  endsLoops?: boolean;
}

/** A program to recompile: a compute program, or one of a graphics stage. Everything here decides the output, and so is part of the key. */
export interface RecompileRequest {
  /** Machine code from the entry point on; may contain constants behind the code. */
  code: Uint32Array;
  /** Guest address of `code[0]` (for s_getpc_b64 and error reports). */
  codeAddress: bigint;
  /** Which GPU the code is for. */
  target: Target;
  /** Lanes per guest wave. */
  waveSize: 32 | 64;
  /** Threads per workgroup in x, y, z. */
  workgroupSize: readonly [number, number, number];
  /** Number of user SGPRs loaded into s0... */
  userSgprCount: number;
  /** Which workgroup ids are loaded after the user SGPRs (RSRC2 TGID_X/Y/Z_EN). */
  workgroupIds: readonly [boolean, boolean, boolean];
  /** RSRC2 TG_SIZE_EN. */
  tgSize: boolean;
  /** RSRC2 SCRATCH_EN. */
  scratch: boolean;
  /** Thread ids in VGPRs: 1 (x), 2 (x, y) or 3. */
  threadIdCount: number;
  /** LDS bytes of a workgroup. */
  ldsBytes: number;
  /** RSRC1 FLOAT_MODE (8 bits). */
  floatMode: number;
  /** RSRC1 IEEE_MODE. */
  ieee: boolean;
  /** RSRC1 DX10_CLAMP. */
  dx10Clamp: boolean;
  /** The dispatch gives its size in threads: lanes beyond the limit do not exist. */
  partialThreads: boolean;
  /**
   * State of a pixel or vertex program; absent: a compute program. Such a program has no workgroup: `workgroupSize` is one wave, and the fields of
   * dispatches are off (`stageRequest` of stages/registers.ts makes one).
   */
  graphics?: GraphicsState;
  /**
   * The program is the one of a merged group: a workgroup in a row of whole waves, dispatched in x, whose registers and exports are in memory (`groupRequest`
   * of stages/group_program.ts makes one). Never with `graphics`.
   */
  group?: MergedGroup;
  device: RecompilerDevice;
  /**
   * Most windows of the window table that the program may need, 4 when left out. Up to 8 stay in registers, so a smaller number is shorter code; with 1
   * it is shortest. With more than 8 the table is searched at each access. An access to a later window is refused (FaultReason.Elsewhere).
   */
  windows?: number;
  /**
   * Loads of 2 to 16 bytes work at any address, as on the console. Otherwise one at an address that is not a multiple of 4 (of 2 for 2 bytes) is refused
   * (FaultReason.Unaligned): where the alignment is not known when the program is recompiled, every load becomes two.
   */
  unalignedLoads?: boolean;
  /**
   * What the program computes from user data and read-only memory alone (numbers and the V# of buffers) comes from the host, which computes it before each
   * dispatch: see `Artifact.resources`. The host must know that nothing writes that memory from then on until the dispatch is over.
   */
  resolve?: boolean;
  /**
   * Image descriptors (T#, 8 words) that the driver resolved for the program's image instructions, by pc. Only the words' class bits decide the
   * output (lift/image_descriptor.ts).
   */
  imageDescriptors?: ReadonlyMap<number, Uint32Array>;
}

/** Threads of a workgroup. */
export function threadsOf({ workgroupSize: [x, y, z] }: RecompileRequest): number {
  return x * y * z;
}

/** Whether the last wave of a workgroup has fewer threads than lanes. */
export function lacksLanes(request: RecompileRequest): boolean {
  return threadsOf(request) % request.waveSize !== 0;
}

/** What the host must know of the interface of a pixel or vertex program. */
export interface GraphicsArtifact {
  stage: "pixel" | "vertex";
  /** Targets that the program exports to (`ExportTarget` of stages/export_targets.ts), ascending. */
  exports: readonly number[];
  /** Parameters of the vertex program that a pixel program reads, ascending: their numbers are locations. */
  parameters: readonly number[];
  /** The program discards pixels. */
  discards: boolean;
  /** The program must run once a sample. */
  perSample: boolean;
}

/** The result: a module and what the host must know to run it. */
export interface Artifact {
  /** SPIR-V 1.5 for Vulkan 1.2+, entry point "main". */
  spirv: Uint32Array;
  /** How guest lanes map to invocations: see `chooseLaneMode`. */
  laneMode: "laneless" | "native" | "spanned" | "packed" | "quad" | "subgroup";
  /** Lanes of a subgroup that the pipeline must require, all subgroups full; undefined where it does not matter. */
  subgroupSize?: number;
  /** Why that mode. */
  laneModeReason: string;
  /** LocalSize of the module: the workgroup's, or a row of whole waves where lanes look at each other and the last wave has lanes without threads; of a packed one a row of subgroups. */
  workgroupSize: readonly [number, number, number];
  waveSize: 32 | 64;
  /** Bytes of workgroup memory. */
  sharedBytes: number;
  /** Words of `RecompileRequest.code` that decided the output: up to the last reachable instruction. */
  codeWords: number;
  /** Guest instructions that were recompiled. */
  instructionCount: number;
  /** What the host must put into the context block; undefined for a program that resolves everything itself. */
  resources?: Resources;
  /** The program writes guest memory at addresses that only it knows. */
  writesElsewhere: boolean;
  /** The program uses GDS: see `GDS_ADDRESS`. */
  usesGds?: boolean;
  /** Barriers that were added to keep the wave's lockstep on LDS. */
  insertedBarriers: number;
  /** Pixel and vertex programs only. */
  graphics?: GraphicsArtifact;
  /** Merged groups only: what the host must put behind GROUP_ADDRESS, and finds there. */
  group?: GroupLayout;
}
