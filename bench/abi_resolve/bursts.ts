/** Bursts of bench/abi_resolve: a room, its pool and the guest's threads, which stay warm from run to run; artifacts and registrations go. */
import { evictArtifact } from "../../src/driver/pools/preparation.ts";
import { createRoom, Pool, type Room } from "../../src/driver/pools/room.ts";
import { WorkerPool } from "../../src/driver/pools/worker_pool.ts";
import { stageAbi } from "../../src/driver/registry/abi.ts";
import { ShaderRegistry } from "../../src/driver/registry/shader_registry.ts";
import { closePreparation } from "../../src/driver/registry/shutdown.ts";
import type { RegistryHost } from "../../src/driver/registry/variant_maker.ts";
import type { IsolateMessage, IsolateResult, IsolateRun, IsolateStart } from "./isolate.ts";
import { addShaders, guestMemory, makeShaders, type ShaderSet } from "./shaders.ts";

/** Shaders that each worker recompiles before the first run, and where they lie. */
const WARM_UP = 24, WARM_BASE = 0x20_0000_0000n;
/** For the code and the modules of all runs. */
const ARENA_BYTES = 2 ** 33;

/** What is measured in a run. */
export interface Burst {
  readonly loaderMs: number;
  readonly totalMs: number;
  readonly worstMs: number;
  readonly pending: number;
  readonly recompiled: number;
}

/** What a run is. */
export interface BurstKind {
  /** The loader resolves on its own thread. */
  readonly synchronous: boolean;
  /** Another thread registers compute shaders meanwhile. */
  readonly flood: boolean;
  /** Milliseconds that the loader works on something else for each call. */
  readonly otherMs: number;
}

/** See the module. */
export class Bursts {
  readonly #host: RegistryHost;
  readonly #shaders: ShaderSet;
  readonly #room: Room;
  readonly #pool: WorkerPool;
  readonly #failed: string[] = [];
  readonly #go = new Int32Array(new SharedArrayBuffer(4));
  readonly #loader: GuestThread;
  readonly #flooder: GuestThread;

  private constructor(host: RegistryHost, shaders: ShaderSet, threads: number, warmOperations: number) {
    this.#host = host;
    this.#shaders = shaders;
    this.#room = createRoom({ workers: [threads, 1, 1], arenaBytes: ARENA_BYTES });
    this.#pool = new WorkerPool(this.#room, {
      name: "preparation",
      module: new URL("../../src/workers/preparation.ts", import.meta.url),
      pool: Pool.Preparation,
      workers: threads,
      onLog: (line) => this.#failed.push(line),
    });
    const memory = guestMemory(shaders.bytes), warm = makeShaders(WARM_UP * threads, 0, warmOperations, WARM_BASE);
    addShaders(memory, warm);
    const registry = ShaderRegistry.create(this.#room, { host, memory });
    // The isolates have compiled their own code when they are measured: a title's first shaders are not what is asked.
    for (const record of warm.pixels) registry.resolveShaderAbi(registry.registerShader(record), stageAbi(record, []));
    const start = { room: this.#room.handle, registry: registry.handle, shaders, warm, go: this.#go };
    this.#loader = new GuestThread({ ...start, role: "loader" });
    this.#flooder = new GuestThread({ ...start, role: "flooder" });
  }

  /**
   * Starts the isolates, and has them recompile some shaders.
   *
   * @param threads workers of the pool
   */
  static async open(host: RegistryHost, shaders: ShaderSet, threads: number, warmOperations: number): Promise<Bursts> {
    const bursts = new Bursts(host, shaders, threads, warmOperations);
    await bursts.#pool.ready();
    await Promise.all([bursts.#loader.next(), bursts.#flooder.next()]);
    await bursts.#drained();
    return bursts;
  }

  /** One run. */
  async run({ synchronous, flood, otherMs }: BurstKind): Promise<Burst> {
    const room = this.#room, memory = guestMemory(this.#shaders.bytes);
    for (const { reference } of room.artifacts.snapshot()) evictArtifact(room, reference);
    const registry = ShaderRegistry.create(room, { host: this.#host, memory });
    const run = { number: this.#go[0] + 1, registry: registry.handle, synchronous, otherMs };
    const threads = flood ? [this.#loader, this.#flooder] : [this.#loader];
    threads.forEach((thread) => thread.begin(run));
    await Promise.all(threads.map((thread) => thread.next()));
    const before = room.artifacts.stats().created, begin = performance.now();
    Atomics.store(this.#go, 0, run.number);
    Atomics.notify(this.#go, 0);
    const [loader] = await Promise.all(threads.map((thread) => thread.next() as Promise<IsolateResult>));
    await this.#drained();
    const totalMs = performance.now() - begin, recompiled = room.artifacts.stats().created - before;
    return { loaderMs: loader.ms, totalMs, worstMs: loader.worstMs, pending: loader.pending, recompiled };
  }

  /** Ends the isolates. */
  async close(): Promise<void> {
    this.#loader.end();
    this.#flooder.end();
    if (!await closePreparation(this.#room, [this.#pool])) throw new Error("the pool does not end");
  }

  async #drained(): Promise<void> {
    await this.#room.board.drainAsync(Pool.Preparation);
    if (this.#failed.length > 0) throw new Error(this.#failed[0]);
  }
}

/** One of the guest's threads. */
class GuestThread {
  readonly #worker: Worker;
  readonly #said: IsolateMessage[] = [];
  #wake: () => void = () => {};
  #error: Error | undefined;

  constructor(start: IsolateStart) {
    this.#worker = new Worker(new URL("./isolate.ts", import.meta.url), { type: "module", name: start.role });
    this.#worker.onmessage = ({ data }: MessageEvent<IsolateMessage>) => {
      this.#said.push(data);
      this.#wake();
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#error = new Error(`${start.role}: ${event.message}`);
      this.#wake();
    };
    this.#worker.postMessage(start);
  }

  /** Has it prepare a run, which begins when `go` has its number. */
  begin(run: IsolateRun): void {
    this.#worker.postMessage(run);
  }

  /** What it says next. */
  async next(): Promise<IsolateMessage> {
    while (this.#said.length === 0) {
      if (this.#error !== undefined) throw this.#error;
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    return this.#said.shift()!;
  }

  /** Ends it. */
  end(): void {
    this.#worker.postMessage("end");
  }
}
