/** What the PM4 tests share: a sink that records every effect, and a way to write packets. */
import { GuestFaultError, hex } from "../../src/errors.ts";
import { QueueExecutor } from "../../src/pm4/execute.ts";
import type {
  BarrierCommand,
  CommandSink,
  DispatchCommand,
  DispatchIndirectCommand,
  PacketSource,
  ReleaseCommand,
} from "../../src/pm4/sink.ts";

/** A packet from its header and body; the count in the header is not changed. */
export function words(...all: (number | readonly number[])[]): Uint32Array {
  return Uint32Array.from(all.flat());
}

/** Guest memory of the tests: 64 KiB at 0x2_0000_0000 and 4 KiB at 0xffff_8000_0000_1000. */
const WINDOWS: readonly { base: bigint; bytes: number }[] = [
  { base: 0x2_0000_0000n, bytes: 0x10000 },
  { base: 0xffff_8000_0000_1000n, bytes: 0x1000 },
];

/** Base of the first window. */
export const BASE = 0x2_0000_0000n;

/** Records effects as text, and has real memory behind it. */
export class RecordingSink implements CommandSink {
  /** Every effect, in order. Reads are not effects. */
  readonly effects: string[] = [];
  /** Addresses that were read, as `address+bytes`. */
  readonly reads: string[] = [];
  /** Commands as they came. */
  readonly dispatches: DispatchCommand[] = [];
  readonly indirectDispatches: DispatchIndirectCommand[] = [];
  readonly barriers: BarrierCommand[] = [];
  readonly releases: ReleaseCommand[] = [];
  readonly sources: PacketSource[] = [];
  time = 0x1_0000_0002n;
  readonly #windows = WINDOWS.map(({ base, bytes }) => ({ base, data: new DataView(new ArrayBuffer(bytes)) }));

  /** Puts words into memory without recording it. */
  poke(address: bigint, ...values: number[]): void {
    const [data, offset] = this.#find(address, values.length * 4);
    values.forEach((value, i) => data.setUint32(offset + i * 4, value, true));
  }

  /** Words in memory, without recording it. */
  peek(address: bigint, count = 1): number[] {
    const [data, offset] = this.#find(address, count * 4);
    return Array.from({ length: count }, (_, i) => data.getUint32(offset + i * 4, true));
  }

  readU32(address: bigint): number {
    this.reads.push(`${hex(address)}+4`);
    return this.peek(address)[0];
  }

  readU64(address: bigint): bigint {
    this.reads.push(`${hex(address)}+8`);
    const [lo, hi] = this.peek(address, 2);
    return BigInt(hi) << 32n | BigInt(lo);
  }

  readWords(address: bigint, count: number): Uint32Array {
    this.reads.push(`${hex(address)}+${count * 4}`);
    return Uint32Array.from(this.peek(address, count));
  }

  writeWords(address: bigint, data: Uint32Array, source: PacketSource): void {
    this.poke(address, ...data);
    this.#record(`write ${hex(address)}: ${Array.from(data, (word) => hex(word)).join(" ")}`, source);
  }

  fill(address: bigint, bytes: number, value: number, source: PacketSource): void {
    this.poke(address, ...Array.from({ length: bytes / 4 }, () => value));
    this.#record(`fill ${hex(address)}+${bytes}: ${hex(value)}`, source);
  }

  copy(target: bigint, from: bigint, bytes: number, source: PacketSource): void {
    const [to, toOffset] = this.#find(target, bytes), [data, offset] = this.#find(from, bytes);
    for (let i = 0; i < bytes; i++) to.setUint8(toOffset + i, data.getUint8(offset + i));
    this.#record(`copy ${hex(target)} from ${hex(from)}+${bytes}`, source);
  }

  dispatch(command: DispatchCommand): void {
    this.dispatches.push(command);
    const { x, y, z, waveSize, partialThreads } = command;
    this.#record(
      `dispatch ${x} ${y} ${z} ${partialThreads ? "threads" : "groups"} wave${waveSize}`,
      command.source,
    );
  }

  dispatchIndirect(command: DispatchIndirectCommand): void {
    this.indirectDispatches.push(command);
    const { address, waveSize, partialThreads } = command;
    this.#record(
      `dispatch at ${hex(address)} ${partialThreads ? "threads" : "groups"} wave${waveSize}`,
      command.source,
    );
  }

  barrier(command: BarrierCommand): void {
    this.barriers.push(command);
    this.#record(`barrier ${command.kind}`, command.source);
  }

  release(command: ReleaseCommand): void {
    this.releases.push(command);
    const { data, address, value } = command;
    if (data === "u32") this.poke(address, Number(value));
    if (data === "u64") this.poke(address, Number(value & 0xffffffffn), Number(value >> 32n));
    if (data === "clock") this.poke(address, Number(this.time & 0xffffffffn), Number(this.time >> 32n));
    const text = data === "none" || data === "clock" ? data : `${data} ${hex(value)}`;
    this.#record(
      `release ${text}${data === "none" ? "" : ` at ${hex(address)}`}${
        command.interrupt ? ` interrupt ${hex(command.interruptContext)}` : ""
      }`,
      command.source,
    );
  }

  clock(): bigint {
    return this.time;
  }

  marker(text: string | null): void {
    this.effects.push(text === null ? "marker end" : `marker ${text}`);
  }

  #record(effect: string, source: PacketSource): void {
    this.effects.push(effect);
    this.sources.push(source);
  }

  #find(address: bigint, bytes: number): [DataView, number] {
    for (const { base, data } of this.#windows) {
      const offset = Number(address - base);
      if (offset >= 0 && offset + bytes <= data.byteLength) return [data, offset];
    }
    throw new GuestFaultError("memory.unmapped", `no window holds ${hex(address)}, ${bytes} bytes`, {
      guestAddress: address,
    });
  }
}

/** Address halves as packets have them. */
export function split(address: bigint): [lo: number, hi: number] {
  return [Number(address & 0xffffffffn), Number(address >> 32n & 0xffffn)];
}

/** Runs a stream on a queue until it is blocked or done, and gives the sink and the executor. */
export function run(
  stream: Uint32Array,
  { queue = 0, sink = new RecordingSink(), executor = new QueueExecutor(queue, sink) }: {
    queue?: number;
    sink?: RecordingSink;
    executor?: QueueExecutor;
  } = {},
): { sink: RecordingSink; executor: QueueExecutor; result: "blocked" | "done" } {
  executor.submit({ queue, words: stream });
  return { sink, executor, result: executor.run() };
}

/** SET_SH_REG of a group of 64 x 1 x 1 threads: what a dispatch needs at least. */
export const GROUP_64 = [0xc0037600, 0x207, 64, 1, 1];
