/** Guest programs with several queues. */
import type { Program } from "../../../src/guest/program.ts";
import { computeState, type GuestBuffer, GuestProgram, words64 } from "../../support/guest_program.ts";
import { COPY, STEP } from "../../support/machine_code.ts";
import {
  dispatchDirect,
  dmaCopy,
  dmaFill,
  releaseMem32,
  waitMemoryAtLeast64,
  waitMemoryEquals,
  writeData,
} from "../../support/packets.ts";
import { Random } from "../../sync/stress/scenario.ts";

/** Two queues that hand over to each other by labels so many times. */
export function pingPong(times: number): { program: Program; labels: GuestBuffer } {
  const guest = new GuestProgram("ping-pong"), labels = guest.buffer(new Uint32Array(4));
  const ping: number[][] = [], pong: number[][] = [];
  for (let i = 1; i <= times; i++) {
    ping.push(releaseMem32(labels.address, i), waitMemoryEquals(labels.address + 8n, i));
    pong.push(waitMemoryEquals(labels.address, i), releaseMem32(labels.address + 8n, i));
  }
  guest.submit(0, ...ping);
  guest.submit(0x20, ...pong);
  return { program: guest.program, labels };
}

/** A producer, a queue that works on what it gets, and a consumer, over one buffer, `rounds` times. */
export function chain(rounds: number): { program: Program; results: GuestBuffer; expected: Uint32Array } {
  const guest = new GuestProgram("chain"), step = guest.code(STEP), copy = guest.code(COPY);
  const item = guest.buffer(new Uint32Array(64)), results = guest.buffer(new Uint32Array(64 * rounds));
  const [made, worked, taken] = [0, 1, 2].map((i) => guest.buffer(new Uint32Array(4)).address + BigInt(i * 4));
  const produce: number[][] = [], work: number[][] = [], consume: number[][] = [];
  for (let i = 1; i <= rounds; i++) {
    produce.push(dmaFill(item.address, 256, i), releaseMem32(made, i), waitMemoryEquals(taken, i));
    work.push(
      waitMemoryEquals(made, i),
      computeState({ code: step, userData: [...words64(item.address), i] }),
      dispatchDirect([1, 1, 1]),
      releaseMem32(worked, i),
    );
    const target = results.address + BigInt(256 * (i - 1));
    consume.push(
      waitMemoryEquals(worked, i),
      computeState({ code: copy, userData: [...words64(item.address), ...words64(target), 1] }),
      dispatchDirect([1, 1, 1]),
      releaseMem32(taken, i),
    );
  }
  guest.submit(0x30, ...consume);
  guest.submit(0x21, ...work);
  guest.submit(0, ...produce);
  const expected = Uint32Array.from({ length: 64 * rounds }, (_, at) => 4 * (Math.floor(at / 64) + 1) + 1);
  return { program: guest.program, results, expected };
}

const WORDS = 64;

/**
 * A random program: steps in a random order on random queues. Each reads what earlier ones made, waits for those of other queues, makes a
 * buffer of its own, and writes a label in one of the ways in which labels are written. So its labels form a graph without a circle, and
 * what it makes does not depend on who comes first.
 */
export function randomProgram(seed: number): Program {
  const random = new Random(seed);
  const guest = new GuestProgram(`random ${seed}`), step = guest.code(STEP), copy = guest.code(COPY);
  const queues = [0, 0x20, 0x33, 0x57].slice(0, 2 + random.below(3));
  const count = 12 + random.below(20);
  const first = guest.buffer(Uint32Array.from({ length: WORDS }, (_, i) => i * 0x01010101 ^ seed));
  // Sources of labels that shaders store.
  const ones = guest.buffer(new Uint32Array(WORDS).fill(1));
  const made: { buffer: GuestBuffer; label: bigint; queue: number }[] = [];
  const streams = new Map<number, number[][]>(queues.map((queue) => [queue, []]));
  const submit = (queue: number) => {
    guest.submit(queue, ...streams.get(queue)!);
    streams.set(queue, []);
  };
  for (let i = 0; i < count; i++) {
    const queue = queues[random.below(queues.length)], stream = streams.get(queue)!;
    const buffer = guest.buffer(new Uint32Array(WORDS)), label = guest.buffer(new Uint32Array(WORDS)).address;
    const sources = made.length === 0 ? [] : Array.from({ length: 1 + random.below(2) }, () => made[random.below(i)]);
    for (const source of sources) {
      if (source.queue === queue) continue;
      stream.push(
        random.oneIn(2) ? waitMemoryEquals(source.label, 1) : waitMemoryAtLeast64(source.label, 1n),
      );
    }
    const source = sources[0]?.buffer ?? first;
    const userData = (from: bigint, to: bigint, add: number) => [...words64(from), ...words64(to), add];
    if (random.oneIn(3)) stream.push(dmaCopy(buffer.address, source.address, 4 * WORDS));
    else {
      const data = userData(source.address, buffer.address, random.below(1000));
      stream.push([...computeState({ code: copy, userData: data }), ...dispatchDirect([1, 1, 1])]);
    }
    for (let rounds = random.below(3); rounds > 0; rounds--) {
      const data = [...words64(buffer.address), random.below(1000)];
      stream.push([...computeState({ code: step, userData: data }), ...dispatchDirect([1, 1, 1])]);
    }
    if (sources[1] !== undefined) stream.push(dmaCopy(buffer.address, sources[1].buffer.address, 4 * WORDS / 2));
    const ways = [
      () => releaseMem32(label, 1),
      () => writeData(label, 1, 0),
      () => dmaFill(label, 4, 1),
      () => dmaCopy(label, ones.address, 4),
      // A shader stores it: no packet says so.
      () => [
        ...computeState({ code: copy, userData: userData(ones.address, label, 0), threads: [1, 1, 1] }),
        ...dispatchDirect([1, 1, 1]),
      ],
    ];
    stream.push(ways[random.below(ways.length)]());
    made.push({ buffer, label, queue });
    if (random.oneIn(6)) submit(queue);
  }
  for (const queue of queues) submit(queue);
  return guest.program;
}
