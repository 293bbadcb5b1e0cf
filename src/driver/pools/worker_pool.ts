/**
 * Supervision of a pool's workers, by the main isolate: starts them, notices deaths, has what they held given back, starts others, and ends
 * them by the board's stop flag. Nothing depends on a message to a worker that blocks, nor on `terminate()`, which stops nothing that runs.
 *
 * @module
 */
import { HostError } from "../../errors.ts";
import type { Death } from "../../sync/isolates.ts";
import { hasEnded, startWatched } from "../../sync/worker_threads.ts";
import type { ShaderCacheHandle } from "../shader_cache/shader_cache.ts";
import type { DriverRoomHandle } from "./driver_room.ts";
import type { LogLine } from "./failures.ts";
import type { Room, RoomHandle } from "./room.ts";

/** What a worker gets when it starts. */
export interface PoolWorkerStart {
  readonly room: RoomHandle;
  /** Which pool of the board. */
  readonly pool: number;
  /** Where what it makes is kept for later runs, if it is. */
  readonly cache?: ShaderCacheHandle;
  /** The Vulkan side of the room, for pools that make pipelines. */
  readonly driver?: DriverRoomHandle;
}

/** What a worker says: once when it has attached, once when it goes home; and lines for the log. */
export type PoolWorkerMessage = "ready" | "done" | { readonly log: string };

/** How a pool is set up. */
export interface WorkerPoolOptions {
  /** Name for messages. */
  readonly name: string;
  /** The workers' module. */
  readonly module: URL;
  /** Which pool of the board. */
  readonly pool: number;
  /** Workers; as the room was told. */
  readonly workers: number;
  /** Workers that may die before the pool gives up; default 16. */
  readonly restarts?: number;
  /** How often deaths are looked for that no event told of, in milliseconds; default 250. */
  readonly sweepMs?: number;
  /** Told of every death. */
  readonly onDeath?: (death: Death | undefined, message: string) => void;
  /** Gets the workers' lines; console.error when left out. */
  readonly onLog?: LogLine;
  /** Where artifacts are kept for later runs (`ShaderCache.share`); nowhere when left out. */
  readonly cache?: ShaderCacheHandle;
  /** The Vulkan side of the room, for pools that make pipelines. */
  readonly driver?: DriverRoomHandle;
}

const SWEEP_MS = 250;
/** After so many looks, what a worker said before its thread ended has arrived. */
const LAST_WORDS_LOOKS = 4;

/** A worker of the pool. */
interface Member {
  readonly worker: Worker;
  /** It has said that it is ready. */
  attached: boolean;
  /** How often its thread was seen to have ended. */
  looks: number;
}

/** See the module. */
export class WorkerPool {
  readonly #room: Room;
  readonly #options: WorkerPoolOptions;
  readonly #workers = new Set<Member>();
  readonly #timer: ReturnType<typeof setInterval>;
  #restartsLeft: number;
  #wake: () => void = () => {};
  #changed: Promise<void> = Promise.resolve();
  #stopping = false;
  /** Why the pool gave up. */
  #broken: HostError | undefined;

  constructor(room: Room, options: WorkerPoolOptions) {
    this.#room = room;
    this.#options = options;
    this.#restartsLeft = options.restarts ?? 16;
    this.#arm();
    for (let i = 0; i < options.workers; i++) this.#start();
    this.#timer = setInterval(() => this.#look(), options.sweepMs ?? SWEEP_MS);
  }

  /** Workers that live. */
  get size(): number {
    return this.#workers.size;
  }

  /**
   * Waits until all workers have attached.
   *
   * @throws HostError `driver.pool` if they keep dying.
   */
  async ready(): Promise<void> {
    const starting = () => [...this.#workers].some(({ attached }) => !attached);
    while (this.#broken === undefined && starting()) await this.#changed;
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** Why nobody is left who would do a job of the pool; undefined while there is somebody. */
  get failure(): HostError | undefined {
    return this.#workers.size === 0 ? this.#broken : undefined;
  }

  /**
   * Waits until the pool has nothing queued and nothing running.
   *
   * @returns false if jobs are left after the time, or when its workers are gone for good ({@linkcode failure})
   */
  async drained(timeoutMs = Infinity): Promise<boolean> {
    const end = performance.now() + timeoutMs;
    for (;;) {
      const rest = Math.max(0, end - performance.now());
      if (await this.#room.board.drainAsync(this.#options.pool, Math.min(rest, SWEEP_MS))) return true;
      if (this.failure !== undefined || rest <= SWEEP_MS) return false;
    }
  }

  /**
   * After the board was stopped: waits until the workers have gone home. (`board.stop` ends all pools of the board.)
   *
   * @returns false after the time: a worker is still in a call that does not end
   */
  async stopped(timeoutMs = 10_000): Promise<boolean> {
    this.#stopping = true;
    const end = performance.now() + timeoutMs;
    while (this.#workers.size > 0 && performance.now() < end) {
      const timer = setTimeout(() => this.#notify(), Math.min(50, Math.max(1, end - performance.now())));
      await this.#changed;
      clearTimeout(timer);
    }
    clearInterval(this.#timer);
    this.#room.registry.sweep();
    this.#failKept();
    return this.#workers.size === 0;
  }

  #start(): void {
    const { module, name, pool, cache, driver, onLog = console.error } = this.#options;
    let worker: Worker;
    try {
      worker = startWatched(() => new Worker(module, { type: "module", name }));
    } catch (error) {
      this.#giveUp(error instanceof Error ? error.message : String(error));
      return;
    }
    const member: Member = { worker, attached: false, looks: 0 };
    this.#workers.add(member);
    worker.onmessage = ({ data }: MessageEvent<PoolWorkerMessage>) => {
      if (typeof data === "object") return onLog(data.log);
      if (data === "done") this.#workers.delete(member);
      member.attached = true;
      this.#notify();
    };
    worker.onerror = (event) => {
      // Without this, an error in a worker ends the process.
      event.preventDefault();
      this.#died(member, event.message);
    };
    worker.postMessage({ room: this.#room.handle, pool, cache, driver } satisfies PoolWorkerStart);
  }

  /** Has what a worker held given back, and another one started in its place: also while the pool is stopped, if jobs are left to finish. */
  #died(member: Member, message: string): void {
    if (!this.#workers.delete(member)) return;
    this.#sweep(message);
    if (!this.#stopping || !this.#room.board.drain(this.#options.pool, 0)) {
      if (this.#restartsLeft-- > 0) this.#start();
      else this.#giveUp(message);
    }
    this.#notify();
  }

  /** What no event tells of. */
  #look(): void {
    this.#sweep("");
    for (const member of this.#workers) {
      if (!hasEnded(member.worker) || ++member.looks <= LAST_WORDS_LOOKS) continue;
      this.#died(member, `its thread ended without a word${member.attached ? "" : ", before it was ready"}`);
    }
    this.#failKept();
  }

  #giveUp(message: string): void {
    if (this.#broken === undefined) {
      const { name, onLog = console.error } = this.#options;
      this.#broken = new HostError("driver.pool", `workers of ${name} keep dying; the last said: ${message}`);
      onLog(this.#broken.message);
    }
    this.#failKept();
  }

  /** Nobody is left who would do what others wait for. */
  #failKept(): void {
    const { failure } = this;
    if (failure !== undefined) this.#room.board.failKept(this.#options.pool, failure);
  }

  #sweep(message: string): void {
    const deaths = this.#room.registry.sweep().filter((death) => !death.left);
    for (const death of deaths) this.#options.onDeath?.(death, message);
    if (deaths.length === 0 && message !== "") this.#options.onDeath?.(undefined, message);
  }

  #arm(): void {
    this.#changed = new Promise((resolve) => this.#wake = resolve);
  }

  #notify(): void {
    const wake = this.#wake;
    this.#arm();
    wake();
  }
}
