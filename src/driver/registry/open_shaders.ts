/**
 * The shader registry as a library: guest memory of its own, a pool that recompiles in the background, and calls that a loader makes.
 *
 * @module
 */
import { AnyAgcError, InvalidInputError, withPlace } from "../../errors.ts";
import { GENERIC_DEVICE } from "../../recompiler/generic_device.ts";
import type { AgcShaderRecord } from "../../guest/loaders/agc_record.ts";
import { ArrayAllocator } from "../../guest/memory/allocator.ts";
import { roundUpToPage } from "../../guest/memory/address.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { createRoom, Pool, type Room } from "../pools/room.ts";
import { WorkerPool } from "../pools/worker_pool.ts";
import { openRequestDump } from "../request_dump.ts";
import { openShaderCache } from "../shader_cache/open_cache.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import { SyncError } from "../../sync/sync_error.ts";
import { type Abi, computeAbi, recordProgram, stageAbi } from "./abi.ts";
import type { LinkedShaders } from "./link_shaders.ts";
import type { RegisteredShader } from "./programs.ts";
import { loadShaderFile, placedBytes, PlacedFile, placeShader } from "./shader_file.ts";
import { ShaderRegistry } from "./shader_registry.ts";
import { closePreparation } from "./shutdown.ts";
import type { Resolution } from "./variant_maker.ts";

/** How shaders are opened. */
export interface OpenShadersOptions {
  /** Isolates that recompile in the background; half the hardware threads, at least one, when left out. */
  readonly threads?: number;
  /** Use what earlier runs left in the shader cache (ANYPS5_SHADER_CACHE_DIR), and leave what this one makes; yes when left out. */
  readonly cache?: boolean;
  /** Gets a line about each shader that could not be prepared in the background; console.error when left out. */
  readonly log?: (line: string) => void;
  /** Recompile on the calling thread; the switch APS5_SYNC_SHADER_PREPARE when left out. */
  readonly synchronous?: boolean;
}

/** A shader that was registered. */
export interface Shader {
  /** Its record in guest memory. */
  readonly record: AgcShaderRecord;
  /** SHA-256 of its code, hexadecimal. */
  readonly hash: string;
}

/** The state that a variant of a shader is for. */
export interface ShaderState {
  /** For a pixel or vertex shader: what it is linked with. */
  readonly linked?: LinkedShaders;
  /** For a compute shader: lanes of a wave; 64 when left out. */
  readonly waveSize?: 32 | 64;
  /** For a compute shader: threads of a workgroup in x, y and z; the record's when left out. */
  readonly groupSize?: readonly [x: number, y: number, z: number];
}

/** What a shader became. */
export interface ShaderModule {
  /** SPIR-V words. */
  readonly spirv: Uint32Array;
  /** Instructions of the guest that were recompiled. */
  readonly instructions: number;
}

/** See {@linkcode openShaders}. */
export class Shaders {
  readonly #room: Room;
  readonly #pools: readonly WorkerPool[];
  readonly #cache: ShaderCache | undefined;
  readonly #registry: ShaderRegistry;
  readonly #memory = new GuestMemory(new ArrayAllocator());
  /** Where the shaders come from. */
  readonly #files = new WeakMap<Shader, PlacedFile>();
  #next = 0x2_0000_0000n;
  #closed = false;

  /** Used by {@linkcode openShaders}. */
  constructor(options: OpenShadersOptions = {}) {
    const workers = options.threads ?? Math.max(1, navigator.hardwareConcurrency >> 1);
    this.#room = createRoom({ workers: [workers, 1, 1] });
    this.#cache = options.cache === false ? undefined : openShaderCache();
    const { log } = options;
    const common = { onLog: log, cache: this.#cache?.handle };
    const pools = [
      new WorkerPool(this.#room, {
        name: "preparation",
        module: new URL("../../workers/preparation.ts", import.meta.url),
        pool: Pool.Preparation,
        workers,
        ...common,
      }),
    ];
    if (this.#cache !== undefined) {
      this.#cache.attachWriter(this.#room);
      const module = new URL("../../workers/shader_writer.ts", import.meta.url);
      pools.push(
        new WorkerPool(this.#room, { name: "shader writer", module, pool: Pool.Writer, workers: 1, ...common }),
      );
    }
    this.#pools = pools;
    this.#registry = ShaderRegistry.create(this.#room, {
      host: { target: "gfx1013", device: GENERIC_DEVICE },
      memory: this.#memory,
      cache: this.#cache,
      dump: openRequestDump(),
      log,
      synchronous: options.synchronous,
    });
  }

  /**
   * Reads a `.sb` file into guest memory and registers its shader.
   *
   * @throws UsageError, InvalidInputError for what is no shader record; what {@linkcode Shaders.resolveShaderAbi} throws, where it is synchronous
   */
  load(path: string): Shader {
    const source = loadShaderFile(path), bytes = roundUpToPage(placedBytes(source));
    const file = new PlacedFile(this.#next, source);
    this.#memory.map(this.#next, bytes, 7, path);
    try {
      const shader = this.#registry.registerShader(placeShader(this.#memory, this.#next, source));
      this.#next += BigInt(bytes);
      this.#files.set(shader, file);
      return shader;
    } catch (error) {
      this.#memory.unmap(this.#next);
      throw error instanceof AnyAgcError ? withPlace(error, file.placeOf(error.place)) : error;
    }
  }

  /**
   * Has a variant prepared in the background, and returns at once.
   *
   * @throws RefusedError, InvalidInputError for a state that does not fit the shader
   */
  resolveShaderAbi(shader: Shader, state: ShaderState): Resolution {
    return this.#placed(shader, (own) => this.#registry.resolveShaderAbi(own, abiOf(shader, state)));
  }

  /**
   * Takes a shader out, whose record the guest has freed. Submissions that have been made still see it ({@linkcode Shaders.snapshot}); later ones find code
   * that nobody registered: a compute program is what is in memory, a pixel or vertex shader is refused. Its memory stays until the end.
   *
   * @throws InvalidInputError `registry.unregistered` for one that was taken out before
   *
   * @example A submission that was made before
   * ```ts no-assert
   * import { openShaders } from "@anyagc/anyagc";
   *
   * const shaders = openShaders(), fill = shaders.load("fill_color.sb"), submitted = shaders.snapshot();
   * shaders.unregister(fill);
   * console.log(shaders.use(fill, { groupSize: [64, 1, 1] }, submitted).instructions);
   * await shaders.close();
   * ```
   */
  unregister(shader: Shader): void {
    this.#placed(shader, (own) => this.#registry.unregisterShader(own));
  }

  /** The shaders as they are registered now, as a submission sees them that is made now. */
  snapshot(): number {
    return this.#registry.snapshot();
  }

  /**
   * The variant that a draw or dispatch needs, now.
   *
   * @param snapshot of the time of its submission; now when left out
   * @throws what the recompiler throws; InvalidInputError `registry.not-registered` for a pixel or vertex shader that the submission does not see
   */
  use(shader: Shader, state: ShaderState, snapshot: number = this.#registry.snapshot()): ShaderModule {
    if (this.#closed) throw new SyncError("registry.closed", "the shaders are closed: there is no memory any more");
    return this.#placed(shader, ({ code }) => {
      const { artifact } = this.#registry.use(code.address, abiOf(shader, state), snapshot);
      return { spirv: artifact.spirv, instructions: artifact.instructionCount };
    });
  }

  /** Finishes what is queued, and ends the pool. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cache?.flush(); // tells the writer what was used
    await closePreparation(this.#room, this.#pools, this.#registry);
    this.#cache?.flush(); // what the writer took no more
    this.#memory.clear();
  }

  /** Does something with a shader of this registry; errors say which it is, and where in its file they are. */
  #placed<T>(shader: Shader, what: (own: RegisteredShader) => T): T {
    const own = shader as RegisteredShader;
    this.#registry.assertOwn(own);
    try {
      return what(own);
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      const prefix = error.summary.includes(own.label) ? "" : `the ${own.label}: `;
      throw withPlace(error, this.#files.get(shader)!.placeOf(error.place), prefix);
    }
  }
}

/**
 * Opens a registry of shaders: they are checked when they are loaded, and recompiled in the background.
 *
 * @returns to be closed
 *
 * @example Two shaders that are used together
 * ```ts no-assert
 * import { linkShaders, openShaders, resolveShaderAbi } from "@anyagc/anyagc";
 *
 * const shaders = openShaders();
 * const vertex = shaders.load("triangle_vert.sb"), pixel = shaders.load("triangle_frag.sb");
 * const linked = linkShaders({ geometry: vertex.record, pixel: pixel.record, primitiveType: 4 });
 * console.log(resolveShaderAbi(shaders, pixel, { linked }));
 * console.log(shaders.use(pixel, { linked }).spirv.length);
 * await shaders.close();
 * ```
 */
export function openShaders(options: OpenShadersOptions = {}): Shaders {
  return new Shaders(options);
}

/**
 * Has the variant of a shader for a state prepared in the background. Returns at once, also for one that is there, in the making, or failed: what the
 * recompiler throws comes where the variant is used. With APS5_SYNC_SHADER_PREPARE it recompiles here, and throws it here.
 *
 * @returns what was found or done
 * @throws RefusedError, InvalidInputError for a state that does not fit the shader
 *
 * @example A compute shader with groups of 64 threads
 * ```ts no-assert
 * import { openShaders, resolveShaderAbi } from "@anyagc/anyagc";
 *
 * const shaders = openShaders(), fill = shaders.load("fill_color.sb");
 * console.log(resolveShaderAbi(shaders, fill, { waveSize: 32, groupSize: [64, 1, 1] })); // queued
 * await shaders.close();
 * ```
 */
export function resolveShaderAbi(shaders: Shaders, shader: Shader, state: ShaderState): Resolution {
  return shaders.resolveShaderAbi(shader, state);
}

function abiOf({ record }: Shader, { linked, waveSize = 64, groupSize }: ShaderState): Abi {
  if (record.stage !== "compute") return stageAbi(record, linked?.context ?? []);
  const program = recordProgram(record);
  if (groupSize === undefined && program.numThreadsX === 0) {
    throw new InvalidInputError("registry.state", "its record does not say the size of a workgroup: groupSize must");
  }
  const [numThreadsX, numThreadsY, numThreadsZ] = groupSize ??
    [program.numThreadsX, program.numThreadsY, program.numThreadsZ];
  return computeAbi({ ...program, numThreadsX, numThreadsY, numThreadsZ }, waveSize, false);
}
