/**
 * Memory that orders nothing between workgroups but what barriers of Device scope order: a store gets to the others when it likes, and a load may find what
 * was there any time since the last barrier. Real devices do the same, only seldom; this does it as often as it can.
 *
 * - A store goes in parts of its alignment, each of which is its workgroup's own at first. It is delivered at any later time, in any order but that of stores to the same bytes; at the latest when its
 *   invocation comes to a barrier of Device scope.
 * - A load finds the bytes as they were at one time since the dispatch began, mostly the oldest: a cache of the device answers it, behind whatever barrier,
 *   Volatile or not (so does NVIDIA's driver 580.159). An atomic load finds them as they were between the invocation's last such barrier and now. What an
 *   invocation has seen of a place it does not see older again. What its own workgroup has stored it finds.
 * - Atomic operations are done at once, on what is there now, and order nothing else.
 *
 * @module
 */
import type { Random } from "../random.ts";
import { byteSize, DeviceMemory, read, write } from "./memory.ts";
import type { SpirvType, Value } from "./parse.ts";

/** What has come to a byte, and when. */
interface Version {
  readonly time: number;
  readonly value: number;
}

/** What has come to the memory of a device since a dispatch began. */
export class History {
  /** Deliveries so far. */
  now = 0;
  readonly #versions = new Map<bigint, Version[]>();

  constructor(readonly memory: DeviceMemory) {}

  /** Bytes come to a place. */
  deliver(address: bigint, bytes: Uint8Array): void {
    const { view, offset } = this.memory.at(address, bytes.length, 1);
    this.now++;
    bytes.forEach((value, k) => {
      const at = address + BigInt(k);
      if (!this.#versions.has(at)) this.#versions.set(at, [{ time: 0, value: view.getUint8(offset + k) }]);
      this.#versions.get(at)!.push({ time: this.now, value });
      view.setUint8(offset + k, value);
    });
  }

  /** What was in a byte at a time. */
  byteAt(address: bigint, time: number): number {
    const versions = this.#versions.get(address);
    if (versions !== undefined) return versions.findLast((version) => version.time <= time)!.value;
    const { view, offset } = this.memory.at(address, 1, 1);
    return view.getUint8(offset);
  }
}

/** A store that others do not see yet. */
interface Store {
  readonly address: bigint;
  readonly bytes: Uint8Array;
  readonly by: number;
}

/** One in so many accesses delivers a store of the workgroup. */
const DELIVERY = 12;

/** The memory of a device as a workgroup sees it. */
export class WeakMemory extends DeviceMemory {
  #pending: Store[] = [];
  /** Time of each invocation's last barrier. */
  readonly #floors: number[];
  /** Time of the newest version of a byte that an invocation has seen. */
  readonly #seen: Map<bigint, number>[];
  /** The same of the workgroup's own stores. */
  readonly #stored = new Map<bigint, number>();

  constructor(private readonly history: History, invocations: number, private readonly random: Random) {
    super();
    this.#floors = new Array(invocations).fill(history.now);
    this.#seen = Array.from({ length: invocations }, () => new Map());
  }

  override load(address: bigint, type: SpirvType, alignment: number, by = 0, atomic = false): Value {
    this.#maybeDeliver();
    const { history } = this, size = byteSize(type), seen = this.#seen[by];
    this.history.memory.at(address, size, alignment);
    const places = Array.from({ length: size }, (_, k) => address + BigInt(k));
    let time = atomic ? this.#floors[by] : 0;
    for (const at of places) time = Math.max(time, seen.get(at) ?? 0, this.#stored.get(at) ?? 0);
    if (this.random.below(atomic ? 2 : 8) === 0) time = history.now;
    const view = new DataView(new ArrayBuffer(size));
    places.forEach((at, k) => {
      view.setUint8(k, history.byteAt(at, time));
      seen.set(at, time);
    });
    for (const store of this.#pending) {
      store.bytes.forEach((value, k) => {
        const at = Number(store.address - address) + k;
        if (at >= 0 && at < size) view.setUint8(at, value);
      });
    }
    return read(view, 0, type);
  }

  override store(address: bigint, type: SpirvType, value: Value, alignment: number, by = 0): void {
    this.#maybeDeliver();
    this.history.memory.at(address, byteSize(type), alignment);
    const bytes = new Uint8Array(byteSize(type));
    write(new DataView(bytes.buffer), 0, type, value);
    for (let at = 0; at < bytes.length; at += alignment) {
      this.#pending.push({ address: address + BigInt(at), bytes: bytes.slice(at, at + alignment), by });
    }
  }

  override update(address: bigint, type: SpirvType, change: (old: Value) => Value): Value {
    this.#maybeDeliver();
    const { history } = this, size = byteSize(type);
    this.#deliver((store) => overlap(store, address, size));
    const { view, offset } = history.memory.at(address, size, size);
    const old = read(view, offset, type), bytes = new Uint8Array(size);
    write(new DataView(bytes.buffer), 0, type, change(old));
    history.deliver(address, bytes);
    this.#know(address, size);
    return old;
  }

  override fence(invocations: readonly number[]): void {
    this.#deliver(({ by }) => invocations.includes(by));
    for (const invocation of invocations) this.#floors[invocation] = this.history.now;
  }

  /** All stores get to the others. */
  deliverAll(): void {
    this.#deliver(() => true);
  }

  #maybeDeliver(): void {
    if (this.random.below(DELIVERY) === 0) this.deliverOne();
  }

  /** Some store gets to the others, rather a new one than an old one. */
  deliverOne(): void {
    if (this.#pending.length === 0) return;
    const { random } = this, count = this.#pending.length;
    const one = this.#pending[Math.max(random.below(count), random.below(count))];
    this.#deliver((store) => store === one);
  }

  /** Delivers stores, and before each those to the same bytes that are older. */
  #deliver(isMeant: (store: Store) => boolean): void {
    const goes = this.#pending.map(isMeant);
    for (let k = goes.length - 1; k >= 0; k--) {
      if (!goes[k]) continue;
      const { address, bytes } = this.#pending[k];
      for (let j = 0; j < k; j++) if (overlap(this.#pending[j], address, bytes.length)) goes[j] = true;
    }
    const going = this.#pending.filter((_, k) => goes[k]);
    this.#pending = this.#pending.filter((_, k) => !goes[k]);
    for (const { address, bytes } of going) {
      this.history.deliver(address, bytes);
      this.#know(address, bytes.length);
    }
  }

  /** The workgroup has written bytes, now. */
  #know(address: bigint, size: number): void {
    for (let k = 0; k < size; k++) this.#stored.set(address + BigInt(k), this.history.now);
  }
}

function overlap(store: Store, address: bigint, size: number): boolean {
  return store.address < address + BigInt(size) && address < store.address + BigInt(store.bytes.length);
}
