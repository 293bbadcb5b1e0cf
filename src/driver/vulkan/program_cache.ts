import { AnyAgcError, GuestFaultError, hex, RefusedError, withPlace } from "../../errors.ts";
import { GuestMemoryError } from "../../guest/memory/fault.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { type MemoryWindow, Permission } from "../../guest/memory/window.ts";
import type { DeviceCapabilities } from "../../gpu/capabilities.ts";
import type { ComputeProgram } from "../../pm4/compute_program.ts";
import type { Target } from "../../rdna/target.ts";
import { imageClass, NeedsImageDescriptors } from "../../recompiler/lift/image_descriptor.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { MAX_CODE_BYTES, recompileRequest } from "../compute_dispatch.ts";
import type { ComputeDispatch, ProgramReport } from "../executor.ts";
import type { RegisteredShader } from "../registry/programs.ts";
import type { ShaderRegistry } from "../registry/shader_registry.ts";
import { holds, hostAddress, KeptCode } from "./kept_code.ts";
import { pipelineNow } from "./pipeline_request.ts";
import type { MadeArtifact, MadePipeline, ProgramBuilds } from "./program_builds.ts";
import { type PreparedProgram, preparedProgram } from "./resolver.ts";

/** A recompiled program with its pipeline. */
export interface BuiltProgram {
  /** Guest address of the first instruction. */
  readonly address: bigint;
  readonly source: ProgramSource;
  /** Classes of the images that it is for, as text; empty for a program without images. */
  readonly images: string;
  /** What it was recompiled from. */
  readonly request: RecompileRequest;
  readonly made: MadeArtifact;
  readonly artifact: Artifact;
  /** What the host must compute before each dispatch, if anything. */
  readonly resolved: PreparedProgram | undefined;
  /** To be used while it is pinned only: see {@linkcode ProgramCache.pin}. */
  pipeline: MadePipeline;
  readonly report: ProgramReport;
}

/** What all programs of a cache have in common. */
export interface ProgramOptions {
  target: Target;
  /** The recompiler's view of the device. */
  device: RecompilerDevice;
  /** See `RecompileRequest.unalignedLoads`. */
  unalignedLoads: boolean;
  /** The device's. */
  capabilities: Pick<DeviceCapabilities, "name" | "limits">;
  /** The guest's shaders; code that is not among them is what is in memory. */
  registry?: ShaderRegistry;
}

/** Code with the state that it is dispatched with. */
interface ProgramSource {
  /** `code` is a copy of guest memory. */
  readonly request: RecompileRequest;
  /** The words that decided what it became. */
  readonly code: Uint32Array;
  readonly kept: KeptCode;
  /** How the descriptors of its images are found, if it has any. */
  readonly needs: NeedsImageDescriptors | undefined;
  /** What it became, by the classes of its images. */
  readonly programs: Map<string, BuiltProgram>;
  /** The only program of a source without images. */
  only: BuiltProgram | undefined;
  /** The registration that it was compared with last. */
  seen: RegisteredShader | undefined;
}

/** Programs that differ in their code alone: the state of a dispatch, and where its code lies. */
interface ProgramState {
  readonly rsrc1: number;
  readonly rsrc2: number;
  readonly threadsX: number;
  readonly threadsY: number;
  readonly threadsZ: number;
  readonly waveSize: number;
  readonly partialThreads: boolean;
  /** Entries of the window table. */
  readonly windows: number;
  readonly resolve: boolean;
  readonly sources: ProgramSource[];
  /** Code that was announced. */
  readonly announced: Uint32Array[];
  /** What a submission with this snapshot finds registered at the address. */
  shader: RegisteredShader | undefined;
  snapshot: number;
  /** The window of the code while `memory` has `generation`, the index of the first word in it, and that word's host address. */
  window: MemoryWindow | undefined;
  at: number;
  host: bigint;
  memory: GuestMemory | undefined;
  generation: number;
}

/** The programs of one guest on one device: recompiled on first use, and again when the guest has changed their code. */
export class ProgramCache {
  readonly #builds: ProgramBuilds;
  readonly #options: ProgramOptions;
  /** By the address of the code. */
  readonly #states = new Map<bigint, ProgramState[]>();
  readonly #programs: BuiltProgram[] = [];
  /** Of the builds, when something was announced last. */
  #cleared: number | undefined;

  /** @param builds makes what is not there; stays the caller's */
  constructor(builds: ProgramBuilds, options: ProgramOptions) {
    this.#builds = builds;
    this.#options = options;
  }

  /**
   * The program of a dispatch, for the code and the image descriptors that are in memory now. Work in flight may still change them: see
   * {@linkcode isCurrent}. Of a known program without images it costs a comparison of its code, and allocates nothing.
   *
   * @param windows entries of the window table that it must be able to use
   * @param resolve the host computes descriptors and constants; without it the program does
   * @throws RefusedError for what is not supported; GuestFaultError when the code is not in executable memory
   */
  load(dispatch: ComputeDispatch, memory: GuestMemory, windows: number, resolve: boolean): BuiltProgram {
    const state = this.#state(dispatch, memory, windows, resolve);
    const known = knownSource(state);
    if (known !== undefined && known.seen !== state.shader) {
      this.#registered(state, memory);
      known.seen = state.shader;
    }
    if (known?.only !== undefined) return known.only;
    try {
      if (known === undefined) return this.#begin(state, dispatch, memory);
      const images = resolveImages(known, dispatch.userData, memory, this.#options.capabilities);
      const loaded = known.programs.get(images.key);
      if (loaded !== undefined) return loaded;
      const request = { ...known.request, imageDescriptors: images.descriptors };
      const made = this.#builds.artifact(request, this.#registered(state, memory));
      return this.#add(known, images.key, request, made, dispatch);
    } catch (error) {
      throw inProgram(error, dispatch);
    }
  }

  /**
   * Has what {@linkcode load} will ask for made by others, as far as that is known before the dispatch's turn. Changes nothing that `load`
   * sees, and what is wrong with the dispatch is said by `load`.
   */
  announce(dispatch: ComputeDispatch, memory: GuestMemory, windows: number): void {
    const builds = this.#builds;
    if (builds.announce === undefined) return;
    if (this.#cleared !== builds.cleared) {
      this.#cleared = builds.cleared;
      for (const states of this.#states.values()) for (const { announced } of states) announced.length = 0;
    }
    try {
      const state = this.#state(dispatch, memory, windows, true), known = knownSource(state);
      if (known?.only !== undefined) return;
      if (known === undefined) {
        const { words } = state.window!;
        if (state.announced.some((code) => holds(words, state.at, code))) return;
        const code = copyOfCode(state, this.#registered(state, memory));
        state.announced.push(code.slice(0, builds.announce(this.#request(state, dispatch, code))));
        return;
      }
      const images = resolveImages(known, dispatch.userData, memory, this.#options.capabilities);
      if (!known.programs.has(images.key)) builds.announce({ ...known.request, imageDescriptors: images.descriptors });
    } catch (error) {
      // Memory may be different when its turn comes.
      if (!(error instanceof AnyAgcError)) throw error;
    }
  }

  /** Keeps a program's pipeline alive until `unpin`; makes it again if it is gone. No lock may be held. */
  pin(program: BuiltProgram): number {
    for (;;) {
      const place = this.#builds.pin(program.pipeline);
      if (place !== undefined) return place;
      program.pipeline = this.#builds.pipeline(program.request, program.made);
    }
  }

  /** Ends a pin. */
  unpin(place: number): void {
    this.#builds.unpin(place);
  }

  /** Whether memory still holds what the program was made from: its code, and descriptors of the same kinds for that user data. */
  isCurrent({ address, source, images }: BuiltProgram, userData: Uint32Array, memory: GuestMemory): boolean {
    const window = memory.find(address);
    if (window === undefined) return false;
    const at = Number(address - window.base) / 4;
    if (!source.kept.isAt(window, at, hostAddress(window, at))) return false;
    if (source.needs === undefined) return true;
    try {
      return resolveImages(source, userData, memory, this.#options.capabilities).key === images;
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      return false;
    }
  }

  /** Reports of all programs, in order of their first use. */
  reports(): ProgramReport[] {
    return this.#programs.map(({ report }) => report);
  }

  /** Modules of all programs, by their reports. */
  modules(): Map<ProgramReport, Uint32Array> {
    return new Map(this.#programs.map(({ report, artifact }) => [report, artifact.spirv]));
  }

  /** Gives the pipelines back. The device must not be using them. */
  destroy(): void {
    for (const { pipeline } of this.#programs.splice(0)) this.#builds.release(pipeline);
    this.#states.clear();
  }

  /** The state of a dispatch, with its code found. */
  #state(
    dispatch: ComputeDispatch,
    memory: GuestMemory,
    windows: number,
    resolve: boolean,
  ): ProgramState {
    const { program, waveSize, partialThreads } = dispatch;
    const { address, rsrc1, rsrc2, numThreadsX, numThreadsY, numThreadsZ } = program, room = windowRoom(windows);
    let states = this.#states.get(address);
    if (states === undefined) this.#states.set(address, states = []);
    let state: ProgramState | undefined;
    for (let k = 0; k < states.length; k++) {
      const each = states[k];
      if (
        each.rsrc1 === rsrc1 && each.rsrc2 === rsrc2 && each.threadsX === numThreadsX &&
        each.threadsY === numThreadsY && each.threadsZ === numThreadsZ && each.waveSize === waveSize &&
        each.partialThreads === partialThreads && each.windows === room && each.resolve === resolve
      ) state = each;
    }
    if (state === undefined) {
      state = {
        rsrc1,
        rsrc2,
        threadsX: numThreadsX,
        threadsY: numThreadsY,
        threadsZ: numThreadsZ,
        waveSize,
        partialThreads,
        windows: room,
        resolve,
        sources: [],
        announced: [],
        shader: undefined,
        snapshot: 0,
        window: undefined,
        at: 0,
        host: 0n,
        memory: undefined,
        generation: -1,
      };
      states.push(state);
    }
    if (state.memory !== memory || state.generation !== memory.generation) {
      state.window = codeWindow(memory, address, dispatch);
      state.at = Number(address - state.window.base) / 4;
      state.host = hostAddress(state.window, state.at);
      state.memory = memory;
      state.generation = memory.generation;
    }
    const { registry } = this.#options;
    if (registry !== undefined) {
      const snapshot = dispatch.snapshot ?? registry.snapshot();
      if (state.snapshot !== snapshot) {
        state.shader = registry.find(address, snapshot);
        state.snapshot = snapshot;
      }
    }
    return state;
  }

  /** The registration of a state's code, if memory still holds it; if not, the code is what is in memory, as if nobody had registered it. */
  #registered({ shader }: ProgramState, memory: GuestMemory): RegisteredShader | undefined {
    if (shader === undefined || shader.code.firstChange(memory) === -1) return shader;
    this.#options.registry!.sayChanged(shader);
    return undefined;
  }

  #request(
    { windows, resolve }: ProgramState,
    { program, waveSize, partialThreads }: { program: ComputeProgram; waveSize: 32 | 64; partialThreads: boolean },
    code: Uint32Array,
  ): RecompileRequest {
    const { target, device, unalignedLoads } = this.#options;
    return {
      ...recompileRequest(program, code, target, waveSize, partialThreads, device),
      windows,
      unalignedLoads,
      resolve,
    };
  }

  /** A source that is new here. */
  #begin(state: ProgramState, dispatch: ComputeDispatch, memory: GuestMemory): BuiltProgram {
    const shader = this.#registered(state, memory), code = copyOfCode(state, shader);
    const { userData } = dispatch, { capabilities } = this.#options;
    let request = this.#request(state, dispatch, code), plain = request;
    let needs: NeedsImageDescriptors | undefined;
    for (;;) {
      const made = this.#artifact(request, shader);
      const now = made instanceof NeedsImageDescriptors
        ? pipelineNow(request, made, capabilities, { userData, memory })
        : pipelineNow(request, made.artifact, capabilities);
      if (now.state === "instead") {
        if (now.request.imageDescriptors === undefined) plain = now.request;
        else if (made instanceof NeedsImageDescriptors) needs = made;
        request = now.request;
      } else if (made instanceof NeedsImageDescriptors) {
        throw made; // it is asked for with what it needs, so this does not happen
      } else {
        const { codeWords } = made.artifact, kept = new KeptCode(code.subarray(0, codeWords));
        const source = {
          request: plain,
          code: kept.words,
          kept,
          needs,
          programs: new Map(),
          only: undefined,
          seen: state.shader,
        };
        const images = needs === undefined ? "" : imagesKey(request.imageDescriptors!);
        const loaded = this.#add(source, images, request, made, dispatch);
        state.sources.push(source);
        return loaded;
      }
    }
  }

  #artifact(request: RecompileRequest, shader?: RegisteredShader): MadeArtifact | NeedsImageDescriptors {
    try {
      return this.#builds.artifact(request, shader);
    } catch (error) {
      if (error instanceof NeedsImageDescriptors) return error;
      throw error;
    }
  }

  #add(
    source: ProgramSource,
    images: string,
    request: RecompileRequest,
    made: MadeArtifact,
    dispatch: ComputeDispatch,
  ): BuiltProgram {
    const { artifact, recompileMs } = made, { capabilities } = this.#options;
    const now = pipelineNow(request, artifact, capabilities);
    if (now.state === "refused") throw refusal(now, capabilities.name, dispatch);
    const { address } = dispatch.program;
    const pipeline = this.#builds.pipeline(request, made);
    const { spirv, laneMode, laneModeReason, workgroupSize, instructionCount } = artifact;
    const loaded: BuiltProgram = {
      address,
      source,
      images,
      request,
      made,
      artifact,
      resolved: artifact.resources === undefined ? undefined : preparedProgram(artifact.resources),
      pipeline,
      report: {
        address,
        instructions: instructionCount,
        words: spirv.length,
        waveSize: dispatch.waveSize,
        laneMode,
        laneModeReason,
        workgroupSize,
        recompileMs,
        createMs: pipeline.createMs,
        dispatches: 0,
      },
    };
    source.programs.set(images, loaded);
    if (source.needs === undefined) source.only = loaded;
    this.#programs.push(loaded);
    return loaded;
  }
}

function refusal(
  { code, what, most }: { code: string; what: string; most: string },
  name: string,
  { program, place }: ComputeDispatch,
): RefusedError {
  return new RefusedError(`driver.${code}`, `the program needs ${what}; ${name} takes at most ${most}`, {
    ...place,
    guestAddress: program.address,
  });
}

/** Rounds a number of windows up to a power of two, so that programs are not recompiled for each window that appears. */
export function windowRoom(windows: number): number {
  return windows <= 1 ? 1 : 2 ** (32 - Math.clz32(windows - 1));
}

/** Image descriptors by pc, and the classes that tell programs apart. */
interface ResolvedImages {
  descriptors: ReadonlyMap<number, Uint32Array>;
  key: string;
}

/** Finds the image descriptors of a program that has images, as user data and memory are now. */
function resolveImages(
  { needs, request }: Pick<ProgramSource, "needs" | "request">,
  userData: Uint32Array,
  memory: GuestMemory,
  capabilities: ProgramOptions["capabilities"],
): ResolvedImages {
  const now = pipelineNow(request, needs!, capabilities, { userData, memory });
  if (now.state !== "instead") throw new Error("a program with images is made from their descriptors");
  const descriptors = now.request.imageDescriptors!;
  return { descriptors, key: imagesKey(descriptors) };
}

function imagesKey(descriptors: ReadonlyMap<number, Uint32Array>): string {
  return Array.from(descriptors, ([pc, words]) => `${hex(pc)}: ${imageClass(words).join(" ")}`).join("; ");
}

/** An error of the recompiler with the dispatch's place; it knows the program counter at most. */
function inProgram(error: unknown, { program, place }: ComputeDispatch): unknown {
  if (!(error instanceof AnyAgcError) || error.place.queue !== undefined) return error;
  const guestAddress = BigInt.asUintN(64, program.address + BigInt(error.place.pc ?? 0));
  return withPlace(error, { ...place, guestAddress });
}

/** The window that holds code. */
function codeWindow(memory: GuestMemory, address: bigint, dispatch: ComputeDispatch): MemoryWindow {
  try {
    return memory.require(address, 4, Permission.Execute);
  } catch (error) {
    if (!(error instanceof GuestMemoryError)) throw error;
    throw new GuestFaultError("driver.no-code", `there is no program at ${hex(address)}: ${error.message}`, {
      ...dispatch.place,
      guestAddress: address,
    });
  }
}

/** The words from a state's code to the end of its window, at most MAX_CODE_BYTES. */
function codeOf({ window, at }: ProgramState): Uint32Array<ArrayBuffer> {
  const { words } = window!;
  return words.subarray(at, Math.min(words.length, at + MAX_CODE_BYTES / 4));
}

/** A copy of a registration's code; where there is none of what is in memory, with what may lie behind it. */
function copyOfCode(state: ProgramState, shader: RegisteredShader | undefined): Uint32Array<ArrayBuffer> {
  return new Uint32Array(shader?.code.words ?? codeOf(state));
}

/** The source whose code is in memory. */
function knownSource({ sources, window, at, host }: ProgramState): ProgramSource | undefined {
  for (let k = 0; k < sources.length; k++) if (sources[k].kept.isAt(window!, at, host)) return sources[k];
  return undefined;
}
