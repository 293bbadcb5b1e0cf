/** Streams that nobody would write: decoder, disassembler, validation and execution answer with results or with typed errors, never otherwise. */
import { assert, assertEquals } from "@std/assert";
import { AnyAgcError } from "../../src/errors.ts";
import { scanPackets } from "../../src/pm4/decode.ts";
import { disassemble } from "../../src/pm4/disassemble.ts";
import { QueueExecutor } from "../../src/pm4/execute.ts";
import { knownPackets } from "../../src/pm4/lookup.ts";
import { Random } from "../support/random.ts";
import { BASE, RecordingSink, split, words } from "./support.ts";

/** Packets that a mutation starts from: all are executed as they are. */
const [LO, HI] = split(BASE);
const SEEDS: readonly number[][] = [
  [0xc0037600, 0x207, 64, 1, 1],
  [0xc0036300, LO + 0x2000, HI, 0x80000000, 4],
  [0xc0036400, LO + 0x2100, HI, 0x80000000, 2],
  [0xc0039f00, LO + 0x2100, HI, 0x80000000, 3],
  [0xc0016900, 0x200, 1],
  [0xc0017900, 0x242, 1],
  [0xc0017a00, 0x20000243, 1],
  [0xc0001000, 5],
  [0xc0001024, 0],
  [0xc001102c, 0x41424344, 0],
  [0xc0001030, 0],
  [0xc0001068, 0],
  [0x80000000],
  [0xc0031500, 1, 1, 1, 0x8041],
  [0xc0021600, LO + 0x300, HI, 0x41],
  [0xc0021102, 1, LO, HI],
  [0xc0033700, 0x100, LO + 0x400, HI, 1],
  [0xc0044000, 0x10505, 1, 2, LO + 0x408, HI],
  [0xc0055000, 0x40000000, 1, 0, LO + 0x410, HI, 16],
  [0xc0064900, 0x528, 0x20000000, LO + 0x420, HI, 1, 0, 0],
  [0xc0065800, 0, 0x10, 0, 0, 2, 10, 0],
  [0xc0004600, 0x407],
  [0xc0004200, 0],
  [0xc0053c00, 0x11, LO + 0x500, HI, 1, 0xff, 4],
  [0xc0079300, 0x13, LO + 0x500, HI, 0, 0, 0, 0, 4],
  [0xc0032200, LO + 0x600, HI, 0, 2, 0xc0001000, 0],
  [0xc0023f00, LO + 0x1000, HI, 2],
  [0xc0012800, 0x80000000, 0x80000000],
  [0xc0001200, 0],
  [0xc0012d00, 3, 2],
];

/** Memory that streams find: an indirect buffer, register tables, a word that is not zero. */
function memory(): RecordingSink {
  const sink = new RecordingSink();
  sink.poke(BASE + 0x1000n, 0xc0001000, 0);
  sink.poke(BASE + 0x2000n, 0x207, 1, 0x208, 1, 0x209, 1, 0x240, 2);
  sink.poke(BASE + 0x2100n, 1, 2, 3, 4, 5, 6);
  sink.poke(BASE + 0x600n, 1);
  return sink;
}

/** Feeds a stream to everything. True when it was executed to the end or to a wait. */
function feed(stream: Uint32Array, queue: number): boolean {
  const { end, packets } = scanPackets(stream);
  assertEquals(packets.reduce((sum, packet) => sum + packet.size, 0), end);
  assert(disassemble(stream, { memory: memory() }).length >= packets.length);
  const sink = memory();
  const executor = new QueueExecutor(queue, sink);
  try {
    executor.submit({ queue, words: stream });
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    assertEquals([error.place.queue, sink.effects.length], [queue, 0]);
    assert(error.code.startsWith("pm4."), error.code);
    return false;
  }
  try {
    executor.run();
    return true;
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    assertEquals(error.place.queue, queue);
    return false;
  }
}

Deno.test("random words never cause an error without a type", () => {
  const random = new Random(1);
  for (let round = 0; round < 1500; round++) {
    const stream = Uint32Array.from({ length: 1 + random.below(40) }, () => random.u32());
    feed(stream, round & 1 ? 0 : 0x20);
  }
});

Deno.test("random bodies under real headers never cause an error without a type", () => {
  const random = new Random(2);
  const known = knownPackets();
  for (let round = 0; round < 3000; round++) {
    const parts: number[][] = [];
    for (let i = 0; i < 3; i++) {
      const { opcode, code = 0, definition } = known[random.below(known.length)];
      const sizes = "min" in definition.sizes
        ? [Math.max(2, definition.sizes.min) + random.below(4)]
        : definition.sizes;
      const size = sizes[random.below(sizes.length)];
      const body = Array.from({ length: size - 1 }, () => random.below(3) === 0 ? random.u32() : random.below(64));
      parts.push([(0xc0000000 | size - 2 << 16 | opcode << 8 | code << 2 | random.below(8)) >>> 0, ...body]);
    }
    feed(words(...parts), random.below(2) === 0 ? 0 : 0x30);
  }
});

Deno.test("mutated streams never cause an error without a type, and some still run", () => {
  const random = new Random(3);
  let ran = 0;
  for (let round = 0; round < 4000; round++) {
    const stream = words(...Array.from({ length: 1 + random.below(6) }, () => SEEDS[random.below(SEEDS.length)]));
    for (let i = random.below(3); i > 0; i--) {
      const at = random.below(stream.length);
      stream[at] = random.below(2) === 0 ? stream[at] ^ 1 << random.below(32) : random.u32();
    }
    const length = random.below(8) === 0 ? random.below(stream.length + 1) : stream.length;
    if (feed(stream.subarray(0, length), random.below(2) === 0 ? 0 : 0x20)) ran++;
  }
  assert(ran > 400, `only ${ran} streams ran`);
  assert(ran < 3600, `${ran} streams ran: the mutations do too little`);
});
