/**
 * What earlier runs of a program leave to the next one: the journal of its pipelines, and the driver's cache. The next run creates the
 * recorded pipelines before it begins, and none of them again.
 *
 * @module
 */
import { hex } from "../../errors.ts";
import type { GpuDevice } from "../../gpu/device.ts";
import type { PipelineCache } from "../../gpu/pipeline_cache.ts";
import {
  type ComputePipeline,
  createPipelineLayout,
  destroyPipeline,
  destroyPipelineLayout,
} from "../../gpu/pipelines.ts";
import { recompile } from "../../recompiler/recompile.ts";
import type { Artifact, RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { failureNotes, type Journal } from "../../storage/journal.ts";
import { tracer } from "../../sync/tracer.ts";
import { OwnBudget } from "../pools/own_budget.ts";
import { defaultPoolWorkers } from "../pools/room_slots.ts";
import { type Creation, VulkanPipelineDriver } from "../pools/vulkan_driver.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import { type PipelineRequest, pipelineRequest } from "../vulkan/pipeline_request.ts";
import { BuildQueue } from "./build_queue.ts";
import { decodeRecorded, stateKey } from "./recorded_pipeline.ts";

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
}

/** Parts of a store; a run may have either, both or none. */
export interface PipelineStoreParts {
  readonly cache?: PipelineCache;
  readonly journal?: Journal;
  /** Spares the replay most of the recompiling; stays the caller's. */
  readonly shaders?: ShaderCache;
  /** Of all compiles; one without a file of costs when left out. */
  readonly budget?: OwnBudget;
}

/** The pipelines of one program on one device, between its runs. */
export class PipelineStore {
  readonly cache: PipelineCache | undefined;
  readonly journal: Journal | undefined;
  /** Pipelines of the replay that a dispatch asked for. */
  used = 0;
  /** Pipelines that a dispatch had to wait for: not in the journal. */
  built = 0;
  readonly #budget: OwnBudget;
  readonly #driver: VulkanPipelineDriver;
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
    this.#budget = parts.budget ?? new OwnBudget();
    this.#driver = new VulkanPipelineDriver(
      device,
      this.cache?.handle ?? 0n,
      (made) => this.#created(made),
      this.#budget,
    );
  }

  /** Something of it is kept for the next run. */
  get keeps(): boolean {
    return this.journal !== undefined || this.cache !== undefined;
  }

  /** What went wrong with the files, for people. */
  get notes(): string[] {
    const { journal, cache } = this;
    return [
      ...journal?.notes ?? [],
      ...journal === undefined ? [] : failureNotes(journal.path, journal.failures),
      ...cache?.notes ?? [],
      ...this.#budget.notes,
    ];
  }

  /**
   * Creates the recorded pipelines, once each: this isolate recompiles, threads of the system compile within the budget. What the driver has in its
   * caches goes first and without the budget, where it can tell.
   */
  async replay(options: ReplayOptions = {}): Promise<ReplayResult> {
    const start = performance.now(), records = this.journal?.records ?? [];
    const queue = new BuildQueue(options.threads ?? defaultPoolWorkers(navigator.hardwareConcurrency), this.#budget);
    const counts = { created: 0, hits: 0, failed: 0 };
    const layout = createPipelineLayout(this.#device);
    try {
      for (const [index, record] of records.entries()) {
        options.progress?.(index, records.length);
        const work = this.#recompiled(record, layout);
        if (work === undefined) counts.failed++;
        else if (!this.#createCached(work, counts)) {
          await queue.start(work.request.spirv.byteLength, () => this.#create(work, counts));
        }
      }
    } finally {
      await queue.finished();
      destroyPipelineLayout(this.#device, layout);
    }
    options.progress?.(records.length, records.length);
    this.save();
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

  /** Creates a pipeline that {@linkcode find} did not have, for a dispatch, and records it for the next run. */
  create(request: PipelineRequest, record: Uint8Array): bigint {
    const pipeline = this.#driver.create(request, record);
    this.built++;
    return pipeline;
  }

  /** A run is over: what is not on the disk yet goes there. */
  save(): void {
    this.cache?.save();
    this.#budget.save();
  }

  /** Destroys the pipelines of the replay, which the device must not be using, and the cache. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const { pipeline } of [...this.#ready.values()].flat()) destroyPipeline(this.#device, pipeline);
    this.#ready.clear();
    this.cache?.close();
    this.#budget.close();
  }

  #recompiled(record: Uint8Array, layout: bigint): Work | undefined {
    const program = decodeRecorded(record, this.#recompilerDevice);
    if (program === undefined) return undefined;
    try {
      const artifact = this.#shaders?.find(program) ?? this.#recompile(program);
      return {
        record,
        code: program.code,
        artifact,
        request: pipelineRequest(artifact, layout),
        key: stateKey(program),
      };
    } catch {
      // Whatever it is, the dispatch that needs the program says it, with its place.
      return undefined;
    }
  }

  #recompile(program: RecompileRequest): Artifact {
    const start = performance.now(), artifact = this.#budget.beside(() => recompile(program));
    tracer?.span("recompile", `recompile ${hex(program.codeAddress)}`, start, performance.now());
    this.#shaders?.add(program, artifact);
    return artifact;
  }

  /** Creates it if the driver need not compile; false if it must, or cannot tell. */
  #createCached(work: Work, counts: Counts): boolean {
    try {
      const pipeline = this.#driver.cached?.(work.request, work.record);
      if (pipeline === undefined) return false;
      this.#add(work, pipeline, counts);
      counts.hits++;
      return true;
    } catch {
      return false; // then it fails, and is counted, without this shortcut
    }
  }

  /** Compiles it, with a hold of the budget. */
  async #create(work: Work, counts: Counts): Promise<void> {
    try {
      this.#add(work, await this.#driver.createAsync(work.request, work.record), counts);
    } catch {
      counts.failed++;
    } finally {
      this.#driver.giveBack();
    }
  }

  #add({ code, artifact, key }: Work, handle: bigint, counts: Counts): void {
    counts.created++;
    const ready = this.#ready.get(key), entry = { artifact, pipeline: { handle }, code, used: false };
    if (ready === undefined) this.#ready.set(key, [entry]);
    else ready.push(entry);
  }

  /** A record of the journal is there already. */
  #created({ ms, hit, record }: Creation): void {
    this.cache?.created(ms, hit);
    if (record !== undefined) this.journal?.append(record);
  }
}

/** A record on its way to a pipeline. */
interface Work {
  readonly record: Uint8Array;
  readonly code: Uint32Array;
  readonly artifact: Artifact;
  readonly request: PipelineRequest;
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
