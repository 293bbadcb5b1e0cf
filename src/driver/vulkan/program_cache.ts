import { AnyAgcError, type ErrorPlace, GuestFaultError, hex, RefusedError, withPlace } from "../../errors.ts";
import { GuestMemoryError } from "../../guest/memory/fault.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Permission } from "../../guest/memory/window.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import { type ComputePipeline, createComputePipeline, destroyPipeline } from "../../gpu/pipelines.ts";
import type { Target } from "../../rdna/target.ts";
import { Op } from "../../recompiler/ir/ops.ts";
import { imageClass, NeedsImageDescriptors } from "../../recompiler/lift/image_descriptor.ts";
import { resolveImageDescriptors } from "../../recompiler/passes/resources.ts";
import { recompile as recompileProgram } from "../../recompiler/recompile.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { MAX_CODE_BYTES, recompileRequest, requestKey } from "../compute_dispatch.ts";
import type { ComputeDispatch, ProgramReport } from "../executor.ts";
import type { RequestDump } from "../request_dump.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import type { PipelineStore } from "../warm_start/pipeline_store.ts";
import { type PreparedProgram, preparedProgram } from "./resolver.ts";

/** A recompiled program with its pipeline. */
export interface LoadedProgram {
  /** Guest address of the first instruction. */
  readonly address: bigint;
  readonly source: ProgramSource;
  /** Classes of the images that it is for, as text; empty for a program without images. */
  readonly images: string;
  readonly artifact: Artifact;
  /** What the host must compute before each dispatch, if anything. */
  readonly resolved: PreparedProgram | undefined;
  readonly pipeline: ComputePipeline;
  /** The pipeline is the store's: it stays when this one goes. */
  readonly stored: boolean;
  readonly report: ProgramReport;
}

/** What all programs of a cache have in common. */
export interface ProgramOptions {
  target: Target;
  /** The recompiler's view of the device. */
  device: RecompilerDevice;
  /** See `RecompileRequest.unalignedLoads`. */
  unalignedLoads: boolean;
  /** Pipelines of earlier runs; gets those of this one. */
  store?: PipelineStore;
  /** Artifacts of earlier runs; gets those of this one, which are written by its owner's flush. */
  shaders?: ShaderCache;
  /** Gets every request. */
  dump?: RequestDump;
}

/** Code with the state that it is dispatched with. */
interface ProgramSource {
  /** `code` is a copy of guest memory. */
  readonly request: RecompileRequest;
  /** The words that decided what it became. */
  readonly code: Uint32Array;
  /** How the descriptors of its images are found, if it has any. */
  readonly needs: NeedsImageDescriptors | undefined;
  /** What it became, by the classes of its images. */
  readonly programs: Map<string, LoadedProgram>;
}

/** The programs of one guest on one device: recompiled on first use, and again when the guest has changed their code. */
export class ProgramCache {
  readonly #device: GpuDevice;
  readonly #layout: bigint;
  readonly #options: ProgramOptions;
  readonly #sources = new Map<string, ProgramSource[]>();

  /** @param layout VkPipelineLayout of all programs; stays the caller's */
  constructor(device: GpuDevice, layout: bigint, options: ProgramOptions) {
    this.#device = device;
    this.#layout = layout;
    this.#options = options;
  }

  /**
   * The program of a dispatch, for the code and the image descriptors that are in memory now. Work in flight may still change them: see
   * {@linkcode isCurrent}.
   *
   * @param windows entries of the window table that it must be able to use
   * @param resolve the host computes descriptors and constants; without it the program does
   * @throws RefusedError for what is not supported; GuestFaultError when the code is not in executable memory
   */
  load(dispatch: ComputeDispatch, memory: GuestMemory, windows: number, resolve: boolean): LoadedProgram {
    const { program, waveSize, partialThreads } = dispatch;
    const words = codeAt(memory, program.address, dispatch.place);
    const room = windowRoom(windows);
    const key = `${requestKey(program, this.#options.target, waveSize, partialThreads)},${room}${
      resolve ? "" : ",plain"
    }`;
    let sources = this.#sources.get(key);
    const known = sources?.find(({ code }) => startsWith(words, code));
    if (known !== undefined && known.needs === undefined) return known.programs.get("")!;
    try {
      if (known !== undefined) {
        const images = resolveImages(known, dispatch.userData, memory);
        const loaded = known.programs.get(images.key);
        if (loaded !== undefined) return loaded;
        return this.#add(
          known,
          images,
          this.#make({ ...known.request, imageDescriptors: images.descriptors }),
          dispatch,
        );
      }
      const [source, images, artifact] = this.#recompile(dispatch, words.slice(), memory, room, resolve);
      const loaded = this.#add(source, images, artifact, dispatch);
      if (sources === undefined) this.#sources.set(key, sources = []);
      sources.push(source);
      return loaded;
    } catch (error) {
      throw inProgram(error, dispatch);
    }
  }

  /** Whether memory still holds what the program was made from: its code, and descriptors of the same kinds for that user data. */
  isCurrent({ address, source, images }: LoadedProgram, userData: Uint32Array, memory: GuestMemory): boolean {
    const window = memory.find(address);
    if (window === undefined) return false;
    if (!startsWith(window.words.subarray(Number(address - window.base) / 4), source.code)) return false;
    if (source.needs === undefined) return true;
    try {
      return resolveImages(source, userData, memory).key === images;
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      return false;
    }
  }

  /** Reports of all programs, in order of their first use. */
  reports(): ProgramReport[] {
    return this.#programs().map(({ report }) => report);
  }

  /** Modules of all programs, by their reports. */
  modules(): Map<ProgramReport, Uint32Array> {
    return new Map(this.#programs().map(({ report, artifact }) => [report, artifact.spirv]));
  }

  /** Destroys the pipelines. The device must not be using them. */
  destroy(): void {
    for (const { pipeline, stored } of this.#programs()) if (!stored) destroyPipeline(this.#device, pipeline);
    this.#sources.clear();
  }

  #programs(): LoadedProgram[] {
    return [...this.#sources.values()].flat().flatMap(({ programs }) => [...programs.values()]);
  }

  #recompile(
    { program, waveSize, partialThreads, userData }: Pick<
      ComputeDispatch,
      "program" | "waveSize" | "partialThreads" | "userData"
    >,
    code: Uint32Array,
    memory: GuestMemory,
    windows: number,
    resolve: boolean,
  ): [ProgramSource, ResolvedImages, TimedArtifact] {
    const { target, device, unalignedLoads } = this.#options;
    const request = {
      ...recompileRequest(program, code, target, waveSize, partialThreads, device),
      windows,
      unalignedLoads,
      resolve,
    };
    const source = (artifact: TimedArtifact, needs?: NeedsImageDescriptors): ProgramSource => ({
      request,
      code: code.slice(0, artifact.codeWords),
      needs,
      programs: new Map(),
    });
    try {
      let artifact = this.#make(request);
      // What the host reads before the dispatch must not change in it: of such a program nobody knows.
      if (artifact.writesElsewhere && readsMemory(artifact)) {
        request.resolve = false;
        artifact = this.#make(request);
      }
      return [source(artifact), NO_IMAGES, artifact];
    } catch (error) {
      if (!(error instanceof NeedsImageDescriptors)) throw error;
      if (resolve) {
        return this.#recompile({ program, waveSize, partialThreads, userData }, code, memory, windows, false);
      }
      const images = resolveImages({ needs: error, request }, userData, memory);
      const artifact = this.#make({ ...request, imageDescriptors: images.descriptors });
      return [source(artifact, error), images, artifact];
    }
  }

  /** Recompiles, unless an earlier run has left it. */
  #make(request: RecompileRequest): TimedArtifact {
    const { store, shaders, dump } = this.#options;
    const file = dump?.write(request);
    const ready = store?.find(request);
    if (ready !== undefined) return { ...ready.artifact, recompileMs: 0, ready: ready.pipeline };
    const start = performance.now(), kept = shaders?.find(request);
    if (kept !== undefined) return { ...kept, recompileMs: performance.now() - start };
    try {
      const { recompileMs, ...artifact } = recompile(request);
      shaders?.add(request, artifact);
      return { ...artifact, recompileMs };
    } catch (error) {
      if (file !== undefined && error instanceof NeedsImageDescriptors) dump!.withdraw(file);
      throw error;
    }
  }

  #add(
    source: ProgramSource,
    images: ResolvedImages,
    artifact: TimedArtifact,
    dispatch: ComputeDispatch,
  ): LoadedProgram {
    this.#checkLimits(artifact, dispatch);
    const { spirv, subgroupSize, laneMode, laneModeReason, workgroupSize, instructionCount, recompileMs } = artifact;
    const { address } = dispatch.program;
    const { store } = this.#options;
    const start = performance.now();
    const pipeline = artifact.ready ?? createComputePipeline(this.#device, {
      spirv,
      layout: this.#layout,
      requiredSubgroupSize: subgroupSize,
      fullSubgroups: subgroupSize !== undefined,
      cache: store?.cache?.handle,
    });
    const createMs = artifact.ready === undefined ? performance.now() - start : 0;
    if (artifact.ready === undefined && store !== undefined) {
      const imageDescriptors = source.needs && images.descriptors;
      store.created({ ...source.request, imageDescriptors }, artifact, pipeline, createMs);
    }
    const loaded: LoadedProgram = {
      address,
      source,
      images: images.key,
      artifact,
      resolved: artifact.resources === undefined ? undefined : preparedProgram(artifact.resources),
      pipeline,
      stored: artifact.ready !== undefined,
      report: {
        address,
        instructions: instructionCount,
        words: spirv.length,
        waveSize: dispatch.waveSize,
        laneMode,
        laneModeReason,
        workgroupSize,
        recompileMs,
        createMs,
        dispatches: 0,
      },
    };
    source.programs.set(images.key, loaded);
    return loaded;
  }

  #checkLimits({ workgroupSize, sharedBytes }: Artifact, { program, place }: ComputeDispatch): void {
    const { limits, name } = this.#device.capabilities;
    const refuse = (code: string, what: string, most: string): never => {
      throw new RefusedError(`driver.${code}`, `the program needs ${what}; ${name} takes at most ${most}`, {
        ...place,
        guestAddress: program.address,
      });
    };
    const [x, y, z] = workgroupSize;
    if (
      workgroupSize.some((size, axis) => size > limits.workgroupSize[axis]) || x * y * z > limits.workgroupInvocations
    ) {
      refuse(
        "workgroup-size",
        `workgroups of ${x} x ${y} x ${z} invocations`,
        `${limits.workgroupSize.join(" x ")}, ${limits.workgroupInvocations} in all`,
      );
    }
    if (sharedBytes > limits.computeSharedMemory) {
      refuse("shared-memory", `${sharedBytes} bytes of workgroup memory`, `${limits.computeSharedMemory}`);
    }
  }
}

/** Whether the host must read guest memory before a dispatch. */
function readsMemory({ resources }: Artifact): boolean {
  return resources !== undefined && resources.tape.op.includes(Op.Load);
}

/** Rounds a number of windows up to a power of two, so that programs are not recompiled for each window that appears. */
function windowRoom(windows: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, windows)));
}

type TimedArtifact = Artifact & { recompileMs: number; ready?: ComputePipeline };

/** Recompiles, and tells how long it took. */
function recompile(request: RecompileRequest): TimedArtifact {
  const start = performance.now();
  const artifact = recompileProgram(request);
  return { ...artifact, recompileMs: performance.now() - start };
}

/** Image descriptors by pc, and the classes that tell programs apart. */
interface ResolvedImages {
  descriptors: ReadonlyMap<number, Uint32Array>;
  key: string;
}

const NO_IMAGES: ResolvedImages = { descriptors: new Map(), key: "" };

/** Finds the image descriptors of a program, as user data and memory are now. */
function resolveImages(
  { needs, request }: Pick<ProgramSource, "needs" | "request">,
  userData: Uint32Array,
  memory: GuestMemory,
): ResolvedImages {
  if (needs === undefined) return NO_IMAGES;
  const descriptors = resolveImageDescriptors(needs, request, userData, (address) => memory.readU32(address));
  const key = Array.from(descriptors, ([pc, words]) => `${hex(pc)}: ${imageClass(words).join(" ")}`).join("; ");
  return { descriptors, key };
}

/** An error of the recompiler with the dispatch's place; it knows the program counter at most. */
function inProgram(error: unknown, { program, place }: ComputeDispatch): unknown {
  if (!(error instanceof AnyAgcError) || error.place.queue !== undefined) return error;
  const guestAddress = BigInt.asUintN(64, program.address + BigInt(error.place.pc ?? 0));
  return withPlace(error, { ...place, guestAddress });
}

/** The words from an address to the end of its window, at most MAX_CODE_BYTES. */
function codeAt(memory: GuestMemory, address: bigint, place: ErrorPlace): Uint32Array<ArrayBuffer> {
  try {
    const window = memory.require(address, 4, Permission.Execute);
    const offset = Number(address - window.base);
    const bytes = Math.min(window.byteLength - offset, MAX_CODE_BYTES);
    return window.words.subarray(offset / 4, (offset + bytes) / 4);
  } catch (error) {
    if (!(error instanceof GuestMemoryError)) throw error;
    throw new GuestFaultError("driver.no-code", `there is no program at ${hex(address)}: ${error.message}`, {
      ...place,
      guestAddress: address,
    });
  }
}

function startsWith(words: Uint32Array, code: Uint32Array): boolean {
  if (words.length < code.length) return false;
  for (let i = 0; i < code.length; i++) if (words[i] !== code[i]) return false;
  return true;
}
