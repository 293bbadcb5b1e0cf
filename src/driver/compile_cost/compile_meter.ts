/**
 * The meter of compiles: which isolates are in the driver's compiler just now, with how many bytes of SPIR-V, and what compiles cost that
 * ran alone. Memory figures are those of the process, so a compile beside which anything else compiled or recompiled teaches nothing.
 *
 * @module
 */
import type { Isolate, Recoverable } from "../../sync/isolates.ts";
import { slotOf } from "../../sync/isolates.ts";
import { SyncError } from "../../sync/sync_error.ts";
import { type CostSample, KEPT_SAMPLES, LEAST_BYTES } from "./learned_cost.ts";
import { type MemoryProbe, procMemory } from "./peak_memory.ts";

const MAGIC = 0x434d5431;
const H = { Magic: 0, Slots: 1, Begun: 2, Samples: 3, GuardedAt: 4, IdleKiB: 5, Words: 8 } as const;
/** An isolate's words: its token while it compiles or recompiles anything, and the bytes that it compiles. */
const SLOT_WORDS = 2;
const SAMPLE_WORDS = 3;
const MAX_WORD = 2 ** 31 - 1;

/** The shared part, for postMessage. */
export interface CompileMeterHandle {
  readonly meter: SharedArrayBuffer;
}

/** A compile that goes on. */
interface Measure {
  readonly begun: number;
  /** It began alone, and memory can be measured. */
  readonly measured: boolean;
  /** When it began: bytes that were resident, and the time. */
  readonly resident: number;
  readonly start: number;
}

/** See the module. */
export class CompileMeter implements Recoverable {
  readonly name = "compile meter";
  readonly handle: CompileMeterHandle;
  readonly #self: Isolate;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #memory: MemoryProbe;
  readonly #samplesAt: number;
  /** What goes on in this isolate: how much of it, and its bytes. */
  #under = 0;
  #bytes = 0;
  /** In a compile that blocks this isolate. */
  #inside = false;

  private constructor(self: Isolate, handle: CompileMeterHandle, memory: MemoryProbe) {
    this.#self = self;
    this.handle = handle;
    this.#words = new Int32Array(handle.meter);
    this.#memory = memory;
    this.#samplesAt = H.Words + this.#words[H.Slots] * SLOT_WORDS;
    self.registry.attachStructure(this);
  }

  /** Makes a meter; to be called by the supervisor. @param samples of earlier runs on this device, oldest first */
  static create(self: Isolate, samples: readonly CostSample[] = [], memory = procMemory): CompileMeter {
    const { slots } = self.registry;
    const words = H.Words + slots * SLOT_WORDS + KEPT_SAMPLES * SAMPLE_WORDS;
    const handle = { meter: new SharedArrayBuffer(4 * words) };
    const header = new Int32Array(handle.meter);
    header[H.Magic] = MAGIC;
    header[H.Slots] = slots;
    const meter = new CompileMeter(self, handle, memory);
    for (const sample of samples) meter.add(sample);
    return meter;
  }

  /** The same in another isolate. */
  static attach(self: Isolate, handle: CompileMeterHandle, memory = procMemory): CompileMeter {
    if (new Int32Array(handle.meter)[H.Magic] !== MAGIC) throw new SyncError("sync.handle", "this is no compile meter");
    return new CompileMeter(self, handle, memory);
  }

  /**
   * Runs a driver compile, and learns from it if it ran alone.
   *
   * @param bytes of SPIR-V
   * @param compiled whether the driver compiled, and did not find the result in a cache
   */
  compile<T>(bytes: number, create: () => T, compiled: (result: T) => boolean = () => true): T {
    // A part of a compile that is measured already.
    if (this.#inside) return create();
    const measure = this.#begin(bytes);
    this.#inside = true;
    try {
      const result = create();
      this.#learn(measure, bytes, () => compiled(result));
      return result;
    } finally {
      this.#inside = false;
      this.#end(bytes);
    }
  }

  /** {@linkcode compile} of one that goes on while this isolate does other things, also further compiles. */
  async compileAsync<T>(
    bytes: number,
    create: () => Promise<T>,
    compiled: (result: T) => boolean = () => true,
  ): Promise<T> {
    const measure = this.#begin(bytes);
    try {
      const result = await create();
      this.#learn(measure, bytes, () => compiled(result));
      return result;
    } finally {
      this.#end(bytes);
    }
  }

  /** Runs something else that takes memory for a while (a recompile): what compiles meanwhile does not do so alone. */
  beside<T>(work: () => T): T {
    this.#enter(0);
    try {
      return work();
    } finally {
      this.#end(0);
    }
  }

  #begin(bytes: number): Measure {
    const begun = this.#enter(bytes);
    // Whoever began before is seen here; whoever begins later is seen when it ends.
    const measured = bytes >= LEAST_BYTES && this.#isAlone() && this.#memory.beginPeak();
    return {
      begun,
      measured,
      resident: measured ? this.#memory.resident() : 0,
      start: measured ? performance.now() : 0,
    };
  }

  #learn({ begun, measured, resident, start }: Measure, bytes: number, compiled: () => boolean): void {
    if (!measured || !compiled()) return;
    const ms = performance.now() - start, peakBytes = Math.max(0, this.#memory.peak() - resident);
    if (Atomics.load(this.#words, H.Begun) === begun) this.add({ bytes, peakBytes, ms });
  }

  /** Something begins in this isolate; its number in all isolates. */
  #enter(bytes: number): number {
    const words = this.#words, at = H.Words + this.#self.slot * SLOT_WORDS;
    this.#under++;
    this.#bytes += bytes;
    Atomics.store(words, at + 1, Math.min(this.#bytes, MAX_WORD));
    Atomics.store(words, at, this.#self.token);
    return Atomics.add(words, H.Begun, 1) + 1;
  }

  #end(bytes: number): void {
    const words = this.#words, at = H.Words + this.#self.slot * SLOT_WORDS;
    this.#bytes -= bytes;
    Atomics.store(words, at + 1, Math.min(this.#bytes, MAX_WORD));
    if (--this.#under === 0) Atomics.store(words, at, 0);
  }

  /** Keeps a sample. Who calls is the only one that compiles. */
  add({ bytes, peakBytes, ms }: CostSample): void {
    const words = this.#words, count = Atomics.load(words, H.Samples);
    const at = this.#samplesAt + (count % KEPT_SAMPLES) * SAMPLE_WORDS;
    Atomics.store(words, at, Math.min(bytes, MAX_WORD));
    Atomics.store(words, at + 1, Math.min(Math.ceil(peakBytes / 1024), MAX_WORD));
    Atomics.store(words, at + 2, Math.min(Math.round(ms * 1000), MAX_WORD));
    Atomics.store(words, H.Samples, count + 1);
  }

  /** Samples that are kept, oldest first. */
  samples(): CostSample[] {
    const words = this.#words, count = Atomics.load(words, H.Samples), samples: CostSample[] = [];
    for (let i = Math.max(0, count - KEPT_SAMPLES); i < count; i++) {
      const at = this.#samplesAt + (i % KEPT_SAMPLES) * SAMPLE_WORDS;
      const [bytes, kib, us] = [0, 1, 2].map((word) => Atomics.load(words, at + word));
      samples.push({ bytes, peakBytes: kib * 1024, ms: us / 1000 });
    }
    return samples;
  }

  /** Samples so far, those that are not kept any more and those of earlier runs included. */
  get learned(): number {
    return Atomics.load(this.#words, H.Samples);
  }

  /** Bytes of SPIR-V in the driver's compiler now, with a hold or without. */
  get compiling(): number {
    let bytes = 0;
    for (let at = H.Words; at < this.#samplesAt; at += SLOT_WORDS) {
      if (Atomics.load(this.#words, at) !== 0) bytes += Atomics.load(this.#words, at + 1);
    }
    return bytes;
  }

  /** True, for one caller in all isolates, once in so many milliseconds (of the clock of 1970). */
  isDue(intervalMs: number): boolean {
    const now = Date.now() | 0, last = Atomics.load(this.#words, H.GuardedAt);
    if (last !== 0 && ((now - last) | 0) >= 0 && ((now - last) | 0) < intervalMs) return false;
    return Atomics.compareExchange(this.#words, H.GuardedAt, last, now === 0 ? 1 : now) === last;
  }

  /** Bytes that were resident when nothing compiled the last time. */
  get idleResident(): number {
    return Atomics.load(this.#words, H.IdleKiB) * 1024;
  }

  set idleResident(bytes: number) {
    Atomics.store(this.#words, H.IdleKiB, Math.ceil(bytes / 1024));
  }

  /** A dead isolate compiles nothing. */
  recover(token: number): number {
    const at = H.Words + slotOf(token) * SLOT_WORDS;
    return Atomics.compareExchange(this.#words, at, token, 0) === token ? 1 : 0;
  }

  #isAlone(): boolean {
    if (this.#under !== 1) return false;
    const own = H.Words + this.#self.slot * SLOT_WORDS;
    for (let at = H.Words; at < this.#samplesAt; at += SLOT_WORDS) {
      if (at !== own && Atomics.load(this.#words, at) !== 0) return false;
    }
    return true;
  }
}
