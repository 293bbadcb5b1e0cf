/**
 * Variants of shaders: planned, queued, taken over from earlier runs, waited for, made. One for each isolate.
 *
 * @module
 */
import { hex, InvalidInputError, RefusedError } from "../../errors.ts";
import type { Target } from "../../rdna/target.ts";
import { NeedsImageDescriptors } from "../../recompiler/lift/image_descriptor.ts";
import type { RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { stageRequest } from "../../recompiler/stages/registers.ts";
import { SyncError } from "../../sync/sync_error.ts";
import { recompileRequest } from "../compute_dispatch.ts";
import { failureOf, type LogLine, markFailure } from "../pools/failures.ts";
import {
  announceArtifact,
  artifact,
  finishArtifact,
  type KeyedRequest,
  keyOfRequest,
  noteFailure,
  type PreparationServices,
  type PreparedArtifact,
  publishArtifact,
  raiseArtifact,
} from "../pools/preparation.ts";
import type { Room } from "../pools/room.ts";
import type { RequestDump } from "../request_dump.ts";
import type { Abi, ComputeAbi } from "./abi.ts";
import { type Program, RegisteredShader, type Variant } from "./programs.ts";

/** What every request of one run has in common. */
export interface RegistryHost {
  /** Instruction set of the guest's code. */
  readonly target: Target;
  /** The recompiler's view of the device. */
  readonly device: RecompilerDevice;
  /** Fields that the driver gives all its requests; what it will ask with is what must be prepared. */
  readonly options?: Partial<Pick<RecompileRequest, "windows" | "unalignedLoads" | "resolve">>;
}

/**
 * What resolving an ABI found or did.
 * `registered`: there before. `pending`: being made, or queued, before. `failed`: failed before. `cached`: an earlier run had left it. `queued`: it is made in
 * the background now. `prepared`: made by this call (synchronous). `deferred`: is made where it is used, because it could not be queued, or needs what is known there only (descriptors of images).
 */
export type Resolution = "registered" | "pending" | "failed" | "cached" | "queued" | "prepared" | "deferred";

/** See the module. */
export class VariantMaker {
  readonly #room: Room;
  readonly #host: RegistryHost;
  readonly #services: PreparationServices & { readonly log: LogLine };
  readonly #synchronous: boolean;
  readonly #queued: () => void;
  readonly #dump: RequestDump | undefined;

  /**
   * @param services artifacts of earlier runs, if any
   * @param synchronous resolving recompiles on the calling thread
   * @param queued told when something was queued
   * @param dump gets every request, before anybody recompiles it
   */
  constructor(
    room: Room,
    host: RegistryHost,
    services: PreparationServices & { readonly log: LogLine },
    synchronous: boolean,
    queued: () => void = () => {},
    dump?: RequestDump,
  ) {
    this.#room = room;
    this.#host = host;
    this.#services = services;
    this.#synchronous = synchronous;
    this.#queued = queued;
    this.#dump = dump;
  }

  /**
   * What the recompiler is asked for a variant.
   *
   * @throws RefusedError, InvalidInputError for a state that is none
   */
  request(program: Program, { state }: Abi): RecompileRequest {
    const { target, device, options } = this.#host, { words, address } = program.code;
    if (program instanceof RegisteredShader) checkStage(program, state.stage);
    if (state.stage === "compute") checkGroup(program, state);
    const code = words.slice();
    const request = state.stage === "compute"
      ? recompileRequest(
        { ...state.program, address },
        code,
        target,
        state.waveSize,
        state.partialThreads,
        device,
      )
      : stageRequest(state.program, code, address, target, device);
    return { ...request, ...options };
  }

  /**
   * See `ShaderRegistry.resolveShaderAbi`.
   *
   * @param asked told of the key of what is about to be queued; what it throws keeps it from that
   */
  resolve(shader: RegisteredShader, state: Abi, asked: (key: Uint32Array) => void): Resolution {
    const planned = shader.planned.get(state.key), known = planned && this.#known(planned);
    if (known !== undefined && (known === "registered" || !this.#synchronous)) return known;
    const request = this.request(shader, state), keyed = keyOfRequest(request);
    this.#dump?.write(request);
    shader.planned.set(state.key, keyed.key);
    if (this.#synchronous) return this.#resolveNow(shader, request, keyed);
    const found = this.#known(keyed.key) ?? this.#fromCache(shader, request, keyed.key);
    if (found !== undefined) return found;
    try {
      // Noted first: what is queued and not noted, nobody would wait for; what is noted and not queued costs a look.
      asked(keyed.key);
      const queued = announceArtifact(this.#room, request, undefined, shader.label, keyed);
      if (queued) this.#queued();
      return queued ? "queued" : "pending";
    } catch (error) {
      if (!(error instanceof SyncError)) throw error;
      this.#services.log(`${shader.label} is prepared where it is used: ${error.message}`);
      return "deferred";
    }
  }

  #resolveNow(shader: RegisteredShader, request: RecompileRequest, keyed: KeyedRequest): Resolution {
    const state = this.#known(keyed.key) ?? this.#fromCache(shader, request, keyed.key);
    if (state === "registered" || state === "cached") return state;
    try {
      this.#room.artifacts.unpin(artifact(this.#room, request, this.#services, keyed).pin);
      return "prepared";
    } catch (error) {
      if (isDeferred(error)) return "deferred";
      throw error;
    }
  }

  #known(key: Uint32Array): Resolution | undefined {
    const state = this.#room.artifacts.peek(key);
    if (state === "ready") return "registered";
    if (state !== undefined) return "pending";
    const failure = failureOf(this.#room, key);
    return failure && (failure.kind === "deferred" ? "deferred" : "failed");
  }

  /** Takes over what an earlier run left. What goes wrong is marked and logged: the guest has nothing to do with it. */
  #fromCache(shader: RegisteredShader, request: RecompileRequest, key: Uint32Array): Resolution | undefined {
    try {
      const kept = this.#services.find?.(request);
      if (kept === undefined) return undefined;
      return publishArtifact(this.#room, key, kept) ? "cached" : "registered";
    } catch (error) {
      noteFailure(this.#room, key, shader.label, error, this.#services);
      return "failed";
    }
  }

  /** See `ShaderRegistry.prepare`: waits for the variant, or makes it. */
  prepare(program: Program, variantKey: string, request: RecompileRequest): Variant {
    const variant = this.make(program, request);
    program.variants.set(variantKey, variant);
    return variant;
  }

  /** See `ShaderRegistry.make`. */
  make(program: Program, request: RecompileRequest): Variant {
    const keyed = keyOfRequest(request);
    this.#dump?.write(request);
    const failing = (error: unknown) => this.#markFailed(program, keyed.key, error);
    for (;;) {
      let ready: PreparedArtifact;
      try {
        ready = artifact(this.#room, request, { ...this.#services, failing }, keyed);
      } catch (error) {
        // What another isolate threw came as data; with the program itself it can be gone on with.
        if (isDeferred(error) && !(error instanceof NeedsImageDescriptors)) continue;
        throw error;
      }
      this.#room.artifacts.unpin(ready.pin);
      return { request, key: keyed.key, artifact: ready.artifact };
    }
  }

  /** The user of the shader gets the error; the mark keeps loaders from queueing it. */
  #markFailed(program: Program, key: Uint32Array, error: unknown): void {
    if (!(program instanceof RegisteredShader)) return;
    const kind = isDeferred(error) ? "deferred" : "failed";
    markFailure(this.#room, key, { shader: program.label, kind, error });
  }

  /** What is queued for a variant becomes more urgent. */
  raise(program: Program, state: Abi): void {
    const planned = program.planned.get(state.key) ?? keyOfRequest(this.request(program, state)).key;
    program.planned.set(state.key, planned);
    raiseArtifact(this.#room, planned);
  }

  /** Ends jobs: runs here what is queued, and waits for what runs. */
  finish(keys: readonly Uint32Array[]): void {
    for (const key of keys) finishArtifact(this.#room, key, this.#services);
  }
}

function isDeferred(error: unknown): boolean {
  return error instanceof Error && error.name === "NeedsImageDescriptors";
}

const MAX_GROUP = 1024;

/** What no dispatch can have would be recompiled to something that no device takes. */
function checkGroup(
  program: Program,
  { program: { numThreadsX: x, numThreadsY: y, numThreadsZ: z }, waveSize }: ComputeAbi,
) {
  const name = program instanceof RegisteredShader ? program.label : `program at ${hex(program.code.address)}`;
  const whole = [x, y, z].every((threads) => Number.isInteger(threads) && threads > 0);
  const wrong = !whole || x * y * z > MAX_GROUP
    ? `in workgroups of ${x} x ${y} x ${z} threads; 1 to ${MAX_GROUP} are possible`
    : waveSize !== 32 && waveSize !== 64
    ? `in waves of ${waveSize} lanes; there are waves of 32 and of 64`
    : undefined;
  if (wrong === undefined) return;
  throw new InvalidInputError("registry.state", `the ${name} cannot be used ${wrong}`, {
    guestAddress: program.code.address,
  });
}

/** A front half may be all of its program; a back half never is, also where it is empty. */
function checkStage(shader: RegisteredShader, stage: "compute" | "pixel" | "vertex"): void {
  const { record } = shader;
  const fits = stage === "vertex"
    ? record.stage === "geometry" || record.stage === "geometry-front"
    : record.stage === stage;
  if (fits) return;
  const why = record.stage.endsWith("-back")
    ? "by itself: it is the back half of a merged program, which its front half goes on with"
    : `as a ${stage} shader`;
  throw new RefusedError("registry.stage", `the ${shader.label} cannot be used ${why}`, {
    guestAddress: shader.code.address,
  });
}
