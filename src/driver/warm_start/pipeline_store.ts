/**
 * What earlier runs of a program leave to the next one: the journal of its pipelines, and the driver's cache. The next run creates the
 * recorded pipelines before it begins, and none of them again.
 *
 * @module
 */
import type { GpuDevice } from "../../gpu/device.ts";
import type { PipelineCache } from "../../gpu/pipeline_cache.ts";
import {
  type ComputePipeline,
  type ComputePipelineRequest,
  createComputePipeline,
  createComputePipelineAsync,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../gpu/pipelines.ts";
import { recompile } from "../../recompiler/recompile.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { failureNotes, type Journal } from "../../storage/journal.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import { BuildQueue } from "./build_queue.ts";
import { decodeRecorded, encodeRecorded, stateKey } from "./recorded_pipeline.ts";

/** SPIR-V bytes that the driver compiles at a time, unless a single module has more: the compile budget of a replay. */
const BUDGET_BYTES = 8 << 20;

/** A pipeline that was created before the run. */
export interface ReadyPipeline {
  readonly artifact: Artifact;
  /** Stays the store's. */
  readonly pipeline: ComputePipeline;
}

/** What a replay did. */
export interface ReplayResult {
  /** Records of the journal. */
  readonly recorded: number;
  /** Pipelines that were created. */
  readonly created: number;
  /** Of them, those that the driver had in its caches: no compile. */
  readonly hits: number;
  /** Records that are no pipeline any more: refused by the recompiler or the driver of today. */
  readonly failed: number;
  /** Milliseconds. */
  readonly ms: number;
}

/** Options of {@linkcode PipelineStore.replay}. */
export interface ReplayOptions {
  /** Called before each record; what it throws ends the replay, and is thrown after the creations under way. */
  progress?(done: number, total: number): void;
  /** Creations at a time: half the hardware threads by default. */
  readonly threads?: number;
  /** See the module; 8 MiB by default. */
  readonly budgetBytes?: number;
}

/** Parts of a store; a run may have either, both or none. */
export interface PipelineStoreParts {
  readonly cache?: PipelineCache;
  readonly journal?: Journal;
  /** Spares the replay most of the recompiling; stays the caller's. */
  readonly shaders?: ShaderCache;
}

/** The pipelines of one program on one device, between its runs. */
export class PipelineStore {
  readonly cache: PipelineCache | undefined;
  readonly journal: Journal | undefined;
  /** Pipelines of the replay that a dispatch asked for. */
  used = 0;
  /** Pipelines that a dispatch had to wait for: not in the journal. */
  built = 0;
  readonly #device: GpuDevice;
  readonly #recompilerDevice: RecompilerDevice;
  readonly #shaders: ShaderCache | undefined;
  readonly #ready = new Map<string, (ReadyPipeline & { code: Uint32Array; used: boolean })[]>();
  #closed = false;

  /**
   * @param device stays the caller's
   * @param parts owned from now on
   */
  constructor(device: GpuDevice, recompilerDevice: RecompilerDevice, parts: PipelineStoreParts) {
    this.#device = device;
    this.#recompilerDevice = recompilerDevice;
    this.cache = parts.cache;
    this.journal = parts.journal;
    this.#shaders = parts.shaders;
  }

  /** What went wrong with the files, for people. */
  get notes(): string[] {
    const { journal, cache } = this;
    return [
      ...journal?.notes ?? [],
      ...journal === undefined ? [] : failureNotes(journal.path, journal.failures),
      ...cache?.notes ?? [],
    ];
  }

  /**
   * Creates the recorded pipelines, once each: this isolate recompiles, threads of the driver compile. What the driver has in its caches
   * goes first and without the budget, where it can tell.
   */
  async replay(options: ReplayOptions = {}): Promise<ReplayResult> {
    const start = performance.now(), records = this.journal?.records ?? [];
    const threads = options.threads ?? Math.max(1, navigator.hardwareConcurrency >> 1);
    const queue = new BuildQueue(threads, options.budgetBytes ?? BUDGET_BYTES);
    const counts = { created: 0, hits: 0, failed: 0 };
    const layout = createPipelineLayout(this.#device);
    try {
      for (const [index, record] of records.entries()) {
        options.progress?.(index, records.length);
        const work = this.#recompiled(record);
        if (work === undefined) {
          counts.failed++;
          continue;
        }
        if (!this.#createCached(work, layout, counts)) {
          await queue.start(work.artifact.spirv.byteLength, () => this.#create(work, layout, counts));
        }
      }
    } finally {
      await queue.finished();
      destroyPipelineLayout(this.#device, layout);
    }
    options.progress?.(records.length, records.length);
    this.cache?.save();
    return { recorded: records.length, ...counts, ms: performance.now() - start };
  }

  /** The pipeline of a request, if the replay made it. Its code may be followed by anything. */
  find(request: RecompileRequest): ReadyPipeline | undefined {
    if (this.#ready.size === 0) return undefined;
    const ready = this.#ready.get(stateKey(request))?.find(({ code }) => startsWith(request.code, code));
    if (ready !== undefined && !ready.used) {
      ready.used = true;
      this.used++;
    }
    return ready;
  }

  /** A dispatch created a pipeline that {@linkcode find} did not have: it is recorded for the next run. */
  created(request: RecompileRequest, { codeWords }: Artifact, { feedback }: ComputePipeline, ms: number): void {
    this.built++;
    this.cache?.created(ms, feedback?.cacheHit ?? false);
    this.journal?.append(encodeRecorded(request, codeWords));
  }

  /** A run is over: what is not on the disk yet goes there. */
  save(): void {
    this.cache?.save();
  }

  /** Destroys the pipelines of the replay, which the device must not be using, and the cache. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const { pipeline } of [...this.#ready.values()].flat()) destroyPipeline(this.#device, pipeline);
    this.#ready.clear();
    this.cache?.close();
  }

  #recompiled(record: Uint8Array): Work | undefined {
    const request = decodeRecorded(record, this.#recompilerDevice);
    if (request === undefined) return undefined;
    try {
      const kept = this.#shaders?.find(request), artifact = kept ?? recompile(request);
      if (kept === undefined) this.#shaders?.add(request, artifact);
      return { request, artifact, key: stateKey(request) };
    } catch {
      // Whatever it is, the dispatch that needs the program says it, with its place.
      return undefined;
    }
  }

  /** Creates it if the driver need not compile; false if it must, or cannot tell. */
  #createCached(work: Work, layout: bigint, counts: Counts): boolean {
    if (!this.#device.capabilities.features.includes("pipelineCreationCacheControl")) return false;
    const start = performance.now();
    try {
      const pipeline = createComputePipeline(this.#device, {
        ...this.#pipelineRequest(work, layout),
        onlyCached: true,
      });
      if (pipeline === undefined) return false;
      this.#add(work, pipeline, performance.now() - start, counts);
      counts.hits++;
      return true;
    } catch {
      return false; // then it fails, and is counted, without this shortcut
    }
  }

  async #create(work: Work, layout: bigint, counts: Counts): Promise<void> {
    const start = performance.now();
    try {
      const pipeline = await createComputePipelineAsync(this.#device, this.#pipelineRequest(work, layout));
      this.#add(work, pipeline!, performance.now() - start, counts);
    } catch {
      counts.failed++;
    }
  }

  #pipelineRequest({ artifact: { spirv, subgroupSize } }: Work, layout: bigint): ComputePipelineRequest {
    return {
      spirv,
      layout,
      requiredSubgroupSize: subgroupSize,
      fullSubgroups: subgroupSize !== undefined,
      cache: this.cache?.handle,
    };
  }

  #add({ request: { code }, artifact, key }: Work, pipeline: ComputePipeline, ms: number, counts: Counts): void {
    counts.created++;
    this.cache?.created(ms, pipeline.feedback?.cacheHit ?? false);
    const ready = this.#ready.get(key), entry = { artifact, pipeline, code, used: false };
    if (ready === undefined) this.#ready.set(key, [entry]);
    else ready.push(entry);
  }
}

/** A record on its way to a pipeline. */
interface Work {
  readonly request: RecompileRequest;
  readonly artifact: Artifact;
  readonly key: string;
}

/** See {@linkcode ReplayResult}. */
interface Counts {
  created: number;
  hits: number;
  failed: number;
}

function startsWith(words: Uint32Array, code: Uint32Array): boolean {
  if (words.length < code.length) return false;
  for (let i = 0; i < code.length; i++) if (words[i] !== code[i]) return false;
  return true;
}
