import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CompileMeter } from "../../../src/driver/compile_cost/compile_meter.ts";
import { KEPT_SAMPLES } from "../../../src/driver/compile_cost/learned_cost.ts";
import type { MemoryProbe } from "../../../src/driver/compile_cost/peak_memory.ts";
import { Members } from "../../sync/support/members.ts";

const KIB = 1024;

/** Memory that the test decides. */
class FakeMemory implements MemoryProbe {
  now = 1000 * KIB;
  most = 0;
  begun = 0;
  able = true;

  resident(): number {
    return this.now;
  }

  peak(): number {
    return Math.max(this.most, this.now);
  }

  beginPeak(): boolean {
    this.begun++;
    this.most = this.now;
    return this.able;
  }

  /** Takes and gives back. */
  spike(bytes: number): void {
    this.most = Math.max(this.most, this.now + bytes);
  }
}

function setUp() {
  const members = new Members(3), memory = new FakeMemory();
  const meters = [CompileMeter.create(members.isolates[0], [], memory)];
  for (const isolate of members.isolates.slice(1)) {
    meters.push(CompileMeter.attach(isolate, meters[0].handle, memory));
  }
  return { members, memory, meters };
}

Deno.test("a compile that ran alone teaches its peak, also of memory that it gave back, in all isolates", () => {
  const { memory, meters: [a, b] } = setUp();
  assertEquals(
    b.compile(100 * KIB, () => {
      memory.spike(5000 * KIB);
      return 7;
    }),
    7,
  );
  const [{ bytes, peakBytes }] = a.samples();
  assertEquals([bytes, peakBytes, a.learned], [100 * KIB, 5000 * KIB, 1]);
});

Deno.test("a compile teaches nothing if another began before it, or meanwhile: memory is the process's", () => {
  const { meters: [a, b] } = setUp();
  a.compile(100 * KIB, () => b.compile(200 * KIB, () => {}));
  assertEquals([a.learned, a.compiling], [0, 0], "neither the outer one, nor the inner one");
  a.compile(100 * KIB, () => {});
  assertEquals(a.learned, 1);
});

Deno.test("compiles on other threads teach only what one of them alone cost, with nothing beside it in its isolate or others", async () => {
  const { memory, meters: [a, b] } = setUp();
  /** A compile that goes on until it is told to end. */
  const begin = (meter: CompileMeter, bytes: number) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const running = meter.compileAsync(bytes, () => promise);
    return () => (resolve(), running);
  };
  const alone = begin(a, 100 * KIB);
  memory.spike(300 * KIB);
  assertEquals([a.compiling, b.compiling], [100 * KIB, 100 * KIB]);
  await alone();
  assertEquals([a.samples().map(({ peakBytes }) => peakBytes), a.compiling], [[300 * KIB], 0]);
  const two = [begin(a, 100 * KIB), begin(a, 200 * KIB)];
  assertEquals(b.compiling, 300 * KIB);
  await two[0]();
  assertEquals(b.compiling, 200 * KIB, "the other one goes on");
  await two[1]();
  for (
    const besides of [
      () => a.beside(() => {}),
      () => b.beside(() => {}),
      () => a.compile(100 * KIB, () => {}),
      () => b.compile(100 * KIB, () => {}),
    ]
  ) {
    const end = begin(a, 100 * KIB);
    besides();
    assertEquals(b.compiling, 100 * KIB);
    await end();
  }
  assertEquals([a.learned, a.compiling], [1, 0]);
  await a.compileAsync(100 * KIB, () => Promise.resolve(), () => false);
  const failing = a.compileAsync(100 * KIB, () => Promise.reject(new Error("the driver says no")));
  await assertRejects(() => failing, Error, "the driver says no");
  assertEquals([a.learned, a.compiling], [1, 0], "nor what was in a cache, nor a failure");
});

Deno.test("a compile teaches nothing if something is recompiled before it or meanwhile", () => {
  const { meters: [a, b] } = setUp();
  b.beside(() => a.compile(100 * KIB, () => {}));
  a.compile(100 * KIB, () => b.beside(() => {}));
  assertEquals(a.learned, 0);
});

Deno.test("a compile that fails teaches nothing, and the next one is alone again", () => {
  const { meters: [a, b] } = setUp();
  assertThrows(
    () =>
      a.compile(100 * KIB, () => {
        throw new Error("the driver says no");
      }),
    Error,
    "the driver says no",
  );
  assertEquals([a.learned, a.compiling], [0, 0]);
  b.compile(100 * KIB, () => {});
  assertEquals(a.learned, 1);
});

Deno.test("a compile in several steps teaches once, all of it", () => {
  const { memory, meters: [a] } = setUp();
  a.compile(100 * KIB, () => {
    a.compile(100 * KIB, () => memory.spike(200 * KIB));
    assertEquals(a.compiling, 100 * KIB);
    memory.spike(900 * KIB);
  });
  assertEquals([a.samples().map(({ peakBytes }) => peakBytes), a.compiling], [[900 * KIB], 0]);
});

Deno.test("what the driver had in a cache teaches nothing", () => {
  const { meters: [a] } = setUp();
  assertEquals([a.compile(100 * KIB, () => 5, (made) => made !== 5), a.learned], [5, 0]);
  assertEquals([a.compile(100 * KIB, () => 6, (made) => made !== 5), a.learned], [6, 1]);
});

Deno.test("a small module is not measured, nor anything where the kernel cannot", () => {
  const { memory, meters: [a] } = setUp();
  a.compile(31 * KIB, () => {});
  assertEquals([a.learned, memory.begun], [0, 0]);
  memory.able = false;
  a.compile(64 * KIB, () => {});
  assertEquals([a.learned, memory.begun], [0, 1]);
});

Deno.test("a dead isolate compiles nothing: its bytes are taken out once, and others are alone again", () => {
  const { members, meters: [a, b] } = setUp();
  assertThrows(
    () =>
      b.compile(100 * KIB, () => {
        // It dies here; nothing of it runs any more.
        members.kill(members.isolates[1]);
        assertEquals(a.compiling, 100 * KIB);
        assertEquals(members.registry.sweep().map(({ released }) => released), [{ "compile meter": 1 }]);
        assertEquals([a.compiling, a.recover(members.isolates[1].token)], [0, 0]);
        a.compile(200 * KIB, () => {});
        assertEquals(a.learned, 1);
        throw new Error("dead");
      }),
    Error,
    "dead",
  );
});

Deno.test("only the newest samples are kept, and those of earlier runs come first", () => {
  const members = new Members(1), memory = new FakeMemory();
  const earlier = Array.from({ length: 10 }, (_, i) => ({ bytes: i, peakBytes: 0, ms: 0 }));
  const meter = CompileMeter.create(members.isolates[0], earlier, memory);
  for (let i = 0; i < KEPT_SAMPLES - 5; i++) meter.add({ bytes: 1000 + i, peakBytes: 2048, ms: 1.5 });
  const samples = meter.samples();
  assertEquals([samples.length, samples[0].bytes, samples[5].bytes, samples.at(-1)], [
    KEPT_SAMPLES,
    5,
    1000,
    { bytes: 1000 + KEPT_SAMPLES - 6, peakBytes: 2048, ms: 1.5 },
  ]);
});

Deno.test("in an interval one isolate looks at memory, whoever comes first", () => {
  const { meters } = setUp();
  assertEquals(meters.map((meter) => meter.isDue(600_000)), [true, false, false]);
  assertEquals(meters[2].isDue(0), true);
});
