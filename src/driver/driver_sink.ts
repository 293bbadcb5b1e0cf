import type { GuestMemory } from "../guest/memory/guest_memory.ts";
import type {
  BarrierCommand,
  CommandSink,
  DispatchCommand,
  DispatchIndirectCommand,
  DispatchState,
  PacketSource,
  ReleaseCommand,
} from "../pm4/sink.ts";
import { DispatchReader } from "./compute_dispatch.ts";
import type { ComputeExecutor } from "./executor.ts";

/** A label that the command processor wrote. */
export interface LabelWrite {
  /** Queue that wrote it. */
  queue: number;
  /** Guest address. */
  address: bigint;
  /** What was written. */
  value: bigint;
  /** Size, or that it was the clock. */
  kind: "u32" | "u64" | "clock";
}

/** Who wants to know what a sink does, where other queues run in other isolates. */
export interface SinkWatch {
  /** Memory was written by the command processor, or by dispatches that have finished. */
  written(): void;
  /** A number for a label that is about to be written: in the order of cause and effect over all queues. */
  order(): number;
  /** A dispatch was handed to the executor. */
  dispatched(): void;
}

/** Ticks of the 100 MHz GPU clock in a millisecond. */
const TICKS_PER_MS = 100_000;

/**
 * Carries out what command streams ask for: dispatches go to the executor, everything that touches memory waits for them first. Simple and exact; writes
 * are therefore in order with all earlier work of every queue that has the same executor.
 */
export class DriverSink implements CommandSink {
  /** Queue whose stream is being executed. */
  queue = 0;
  /** Labels written by RELEASE_MEM, in order. */
  readonly labels: LabelWrite[] = [];
  /** Of each label, its {@linkcode SinkWatch.order}; empty without a watch. */
  readonly labelOrders: number[] = [];
  /** Interrupts raised by RELEASE_MEM. */
  interrupts = 0;
  /** Number of dispatches that were executed (empty indirect ones are not). */
  dispatches = 0;

  /** @param watch where other queues run in other isolates */
  private readonly reader: DispatchReader;

  constructor(
    private readonly memory: GuestMemory,
    private readonly executor: ComputeExecutor,
    private readonly watch?: SinkWatch,
  ) {
    this.reader = new DispatchReader(executor.scratch);
  }

  readU32(address: bigint): number {
    this.settle();
    return this.memory.readU32(address);
  }

  readU64(address: bigint): bigint {
    this.settle();
    return this.memory.readU64(address);
  }

  readWords(address: bigint, count: number): Uint32Array {
    this.settle();
    const bytes = this.memory.read(address, count * 4);
    return new Uint32Array(bytes.buffer, bytes.byteOffset, count);
  }

  writeWords(address: bigint, words: Uint32Array, _source: PacketSource): void {
    this.settle();
    // One or two words may be a label: another queue sees them whole.
    if (words.length === 1) this.memory.writeU32(address, words[0]);
    else if (words.length === 2 && (address & 7n) === 0n) {
      this.memory.writeU64(address, BigInt(words[1]) << 32n | BigInt(words[0]));
    } else this.memory.write(address, new Uint8Array(words.buffer, words.byteOffset, words.byteLength));
    this.watch?.written();
  }

  fill(address: bigint, bytes: number, value: number, _source: PacketSource): void {
    this.settle();
    this.memory.fillU32(address, bytes / 4, value);
    this.watch?.written();
  }

  copy(target: bigint, from: bigint, bytes: number, _source: PacketSource): void {
    this.settle();
    this.memory.copy(target, from, bytes);
    this.watch?.written();
  }

  dispatch(command: DispatchCommand): void {
    this.run(command, command.x, command.y, command.z);
  }

  dispatchIndirect(command: DispatchIndirectCommand): void {
    const [x, y, z] = this.readWords(command.address, 3);
    if (x === 0 || y === 0 || z === 0) return;
    this.run(command, x, y, z);
  }

  barrier(command: BarrierCommand): void {
    // Dispatches take effect in order, and every access of the command processor waits for them. What is left is the code of later dispatches, which
    // is read when they are recorded: earlier ones may have written it.
    if (command.instructions) this.settle();
  }

  release(command: ReleaseCommand): void {
    this.settle();
    if (command.interrupt) this.interrupts++;
    if (command.data === "none") return;
    const value = command.data === "clock" ? this.clock() : command.value;
    const order = this.watch?.order();
    if (command.data === "u32") this.memory.writeU32(command.address, Number(value & 0xffff_ffffn));
    else this.memory.writeU64(command.address, value);
    this.labels.push({ queue: this.queue, address: command.address, value, kind: command.data });
    if (order !== undefined) this.labelOrders.push(order);
    this.watch?.written();
  }

  clock(): bigint {
    return BigInt(Math.round(performance.now() * TICKS_PER_MS));
  }

  /** Waits for dispatches in flight. */
  settle(): void {
    if (!this.executor.busy) return;
    this.executor.drain();
    this.watch?.written();
  }

  private run(command: DispatchState, x: number, y: number, z: number): void {
    this.dispatches++;
    this.watch?.dispatched();
    this.executor.dispatch(this.reader.read(command, x, y, z));
  }
}
