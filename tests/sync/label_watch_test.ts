import { assert, assertEquals, assertThrows } from "@std/assert";
import { GpuMutex } from "../../src/sync/gpu_mutex.ts";
import { LabelWatch, type LabelWatchHandle, Stop } from "../../src/sync/label_watch.ts";
import { setStepHook } from "../../src/sync/steps.ts";
import { SyncError } from "../../src/sync/sync_error.ts";
import { waitCounts } from "../../src/sync/waits.ts";
import { Death, Members } from "./support/members.ts";

/** A watch over so many queues, as each of their isolates has it; `watches[0]` is the supervisor's. */
function setUp(queues: number, onDeath: "stop" | "go-on" = "stop") {
  const members = new Members(queues + 1);
  const main = LabelWatch.create(members.isolates[0], queues, { onDeath, recheckMs: 1 });
  const handle: LabelWatchHandle = main.handle;
  const own = members.isolates.slice(1).map((isolate) => LabelWatch.attach(isolate, handle, { onDeath, recheckMs: 1 }));
  own.forEach((watch, queue) => {
    watch.enter(queue);
    main.handOver(queue);
  });
  return { members, main, own };
}

/** Runs `act` where the present isolate goes to sleep for the `nth` time; other isolates act meanwhile, as far as this one can tell. */
function whenItSleeps(act: (nth: number) => void): () => void {
  let nth = 0;
  setStepHook((point) => {
    if (point !== "labels.sleep") return;
    if (++nth > 50) throw new Error("it sleeps for ever");
    act(nth);
  });
  return () => setStepHook(undefined);
}

Deno.test("a wait that holds already does not sleep", () => {
  const { own } = setUp(1);
  const before = waitCounts().work;
  assertEquals(own[0].wait(0, () => true, Infinity), "ready");
  assertEquals(waitCounts().work, before);
});

Deno.test("a wait looks again after every write, and ends when what was written is enough", () => {
  const { main, own: [first, second] } = setUp(2);
  main.seal();
  let label = 0, looks = 0;
  const undo = whenItSleeps(() => {
    label++;
    second.written();
  });
  try {
    const outcome = first.wait(0, () => (looks++, label === 3), Infinity);
    assertEquals([outcome, looks, label], ["ready", 4, 3]);
  } finally {
    undo();
  }
});

Deno.test("a write between the look and the sleep is not slept through", () => {
  const { own: [first, second] } = setUp(2);
  let label = 0;
  const before = waitCounts().work;
  // The condition itself writes after it has looked: the word is different when this isolate asks to sleep.
  const outcome = first.wait(0, () => {
    if (label === 1) return true;
    label = 1;
    second.written();
    return false;
  }, Infinity);
  assertEquals([outcome, waitCounts().work - before], ["ready", 1]);
});

Deno.test("who begins to wait last finds that all wait for ever, and does not sleep", () => {
  const { main, own: [first, second] } = setUp(2);
  main.seal();
  const before = waitCounts().work;
  let inner = "";
  const undo = whenItSleeps((nth) => {
    if (nth === 1) inner = second.wait(1, () => false, Infinity);
  });
  try {
    assertEquals(first.wait(0, () => false, Infinity), "stopped");
  } finally {
    undo();
  }
  assertEquals([inner, main.stopped, waitCounts().work - before], ["stopped", Stop.Forever, 1]);
});

Deno.test("who finishes last finds that all others wait for ever", () => {
  const { main, own: [first, second] } = setUp(2);
  main.seal();
  let looks = 0;
  const undo = whenItSleeps((nth) => {
    if (nth === 1) second.finished(1);
  });
  try {
    assertEquals(first.wait(0, () => (looks++, false), Infinity), "stopped");
  } finally {
    undo();
  }
  assertEquals([main.stopped, looks], [Stop.Forever, 1], "the one that waits need not look again");
});

Deno.test("a queue whose submissions are not all finished may still end waits", () => {
  const { main, own: [first, second] } = setUp(2);
  main.handOver(1); // a second submission, which is on its way
  main.seal();
  let label = 0;
  const undo = whenItSleeps((nth) => {
    if (nth === 1) second.finished(1);
    else {
      label = 1;
      second.written();
    }
  });
  try {
    assertEquals(first.wait(0, () => label === 1, Infinity), "ready");
    assertEquals([main.stopped, main.pending(1), main.pending(0)], [Stop.None, 1, 1]);
  } finally {
    undo();
  }
});

Deno.test("waits are not for ever while submissions may still come", () => {
  const { main, own: [first] } = setUp(1);
  let looks = 0;
  const undo = whenItSleeps((nth) => {
    if (nth === 3) main.seal();
  });
  assertEquals(first.wait(0, () => (looks++, false), Infinity), "stopped");
  undo();
  assertEquals([main.stopped, looks], [Stop.Forever, 3], "the end of submissions finds it");
});

Deno.test("a queue that was written for but has not looked again does not count as waiting", () => {
  const { main, own: [first, second] } = setUp(2);
  main.seal();
  let label = 0;
  const undo = whenItSleeps((nth) => {
    if (nth > 1) return;
    // The second queue ends the first one's wait and finishes before that one has looked.
    label = 1;
    second.written();
    second.finished(1);
  });
  try {
    assertEquals(first.wait(0, () => label === 1, Infinity), "ready");
    assertEquals(main.stopped, Stop.None);
  } finally {
    undo();
  }
});

Deno.test("a write that comes while somebody looks whether all wait is not overlooked", () => {
  const { main, own: [first, second] } = setUp(2);
  main.seal();
  let label = 0, once = false;
  setStepHook((point) => {
    if (point !== "labels.forever" || once) return;
    once = true;
    // All were seen to wait or to have finished; the write that ends the wait became known only now.
    label = 1;
    second.written();
  });
  second.finished(1);
  assertEquals(first.wait(0, () => label === 1, Infinity), "ready");
  setStepHook(undefined);
  assertEquals([main.stopped, once], [Stop.None, true]);
});

Deno.test("a wait is given up when nobody has written for so long, counted from the last write", () => {
  const { own: [first, second] } = setUp(2);
  let writes = 0;
  const undo = whenItSleeps((nth) => {
    if (nth > 3) return;
    writes++;
    second.written();
  });
  let looks = 0;
  assertEquals(first.wait(0, () => (looks++, false), 0), "timed-out");
  undo();
  // Each write was looked at, and then once more without one.
  assertEquals([writes, looks], [3, 5]);
});

Deno.test("a stop ends a wait, also one that holds, and the first reason stays", () => {
  const { main, own: [first] } = setUp(2);
  const undo = whenItSleeps((nth) => {
    if (nth > 1) return;
    assert(main.stop(Stop.Failed));
    assert(!main.stop(Stop.Died));
  });
  try {
    assertEquals(first.wait(0, () => false, Infinity), "stopped");
  } finally {
    undo();
  }
  assertEquals(first.wait(0, () => true, Infinity), "stopped");
  assertEquals(main.stopped, Stop.Failed);
});

Deno.test("a queue whose isolate died stops all, found by the sweep or by who waits", () => {
  for (const bySweep of [true, false]) {
    const { members, main, own: [first] } = setUp(2);
    main.seal();
    const undo = whenItSleeps((nth) => {
      if (nth > 1) return;
      members.kill(members.isolates[2]);
      if (bySweep) assertEquals(members.registry.sweep().map((d) => d.released), [{ labels: 1 }]);
    });
    assertEquals(first.wait(0, () => false, Infinity), "stopped");
    undo();
    assertEquals([main.stopped, main.isDead(1), main.isDead(0)], [Stop.Died, true, false]);
  }
});

Deno.test("an isolate that has given its results over may end without a death", () => {
  const { members, main, own: [, second] } = setUp(2);
  second.leave(1);
  members.kill(members.isolates[2]);
  members.registry.sweep();
  assertEquals([main.stopped, main.isDead(1)], [Stop.None, false]);
});

Deno.test("where another isolate takes the dead one's place, waits go on, and what it wrote is looked at", () => {
  const { members, main, own: [first] } = setUp(2, "go-on");
  main.seal();
  let label = 0, looks = 0;
  const undo = whenItSleeps((nth) => {
    if (nth > 1) return;
    label = 1; // and it died before it said so
    members.kill(members.isolates[2]);
    const points: string[] = [];
    setStepHook((point) => points.push(point));
    members.registry.sweep();
    assertEquals(points.slice(0, 3), ["labels.recover", "labels.written", "labels.ring"]);
  });
  assertEquals(first.wait(0, () => (looks++, label === 1), Infinity), "ready");
  undo();
  assertEquals([main.stopped, looks, main.isDead(1)], [Stop.None, 2, true]);
  const next = members.enter();
  LabelWatch.attach(next, main.handle).enter(1);
  assertEquals(main.isDead(1), false);
});

/** Runs `act` once, at the moment when somebody looks at a word that holds `value`: right behind a load, or right before an exchange. */
function whenLookedAt(value: number, act: () => void): () => void {
  const { load, compareExchange } = Atomics;
  let once = false;
  const come = () => {
    if (once) return;
    once = true;
    act();
  };
  Object.assign(Atomics, {
    load(words: Int32Array, index: number) {
      const seen = load(words, index);
      if (seen === value) come();
      return seen;
    },
    compareExchange(words: Int32Array, index: number, expected: number, next: number) {
      if (expected === value) come();
      return compareExchange(words, index, expected, next);
    },
  });
  return () => Object.assign(Atomics, { load, compareExchange });
}

Deno.test("who notices a death late says nothing of the isolate that has taken the dead one's place meanwhile", () => {
  const { members, main, own: [first] } = setUp(2, "go-on"), dead = members.isolates[2];
  members.kill(dead);
  const next = LabelWatch.attach(members.enter(), main.handle, { onDeath: "go-on" });
  const undo = whenLookedAt(dead.token, () => {
    assertEquals(main.recover(dead.token), 1);
    assert(main.isDead(1));
    next.enter(1);
  });
  try {
    assertEquals(first.recover(dead.token), 0);
  } finally {
    undo();
  }
  assertEquals([main.isDead(1), main.stopped], [false, Stop.None]);
  main.seal();
  next.finished(1);
  assertEquals(first.wait(0, () => false, Infinity), "stopped", "and that it has finished is seen");
});

Deno.test("who notices a death and dies over it has not kept the others asleep: the sweep wakes them", () => {
  for (const onDeath of ["stop", "go-on"] as const) {
    const { members, main, own: [first] } = setUp(2, onDeath), dead = members.isolates[2];
    members.kill(dead);
    setStepHook((point) => {
      if (point === "labels.recover") throw new Error("dies here");
    });
    assertThrows(() => first.recover(dead.token), Error, "dies here");
    const points: string[] = [];
    setStepHook((point) => points.push(point));
    members.registry.sweep();
    setStepHook(undefined);
    assertEquals(points.filter((point) => point.startsWith("labels")), [
      "labels.recover",
      "labels.written",
      "labels.ring",
    ]);
    assertEquals([main.stopped, main.isDead(1)], [onDeath === "stop" ? Stop.Died : Stop.None, true]);
  }
});

Deno.test("where somebody takes a dead one's place, waits are not for ever because it waited when it died", () => {
  const { members, main, own: [first, second] } = setUp(2, "go-on");
  main.seal();
  let label = 0, sleeps = 0;
  const undo = whenItSleeps((nth) => {
    if (++sleeps > 1) return;
    assertEquals(nth, 1);
    // The second one waits as well, and dies; the first one has to look once more, and sleeps again.
    members.kill(members.isolates[2]);
    setStepHook((point) => {
      if (point !== "labels.sleep") return;
      assert(main.isDead(1));
      LabelWatch.attach(members.enter(), main.handle, { onDeath: "go-on" }).enter(1);
      label = 1;
      main.written();
      setStepHook(undefined);
    });
    assertEquals(first.wait(0, () => label === 1, Infinity), "ready");
    throw new Death();
  });
  try {
    assertThrows(() => second.wait(1, () => false, Infinity), Death);
  } finally {
    undo();
  }
  assertEquals([main.stopped, main.isDead(1)], [Stop.None, false]);
});

Deno.test("an error of the condition ends the wait, and the queue runs again", () => {
  const { main, own: [first, second] } = setUp(2);
  main.seal();
  let looks = 0;
  assertThrows(
    () =>
      first.wait(0, () => {
        if (++looks === 2) throw new RangeError("bad");
        return false;
      }, Infinity),
    RangeError,
    "bad",
  );
  second.finished(1);
  assertEquals(main.stopped, Stop.None, "the first queue deals with its error");
});

Deno.test("nobody waits for memory with a lock", () => {
  const { members, own: [first] } = setUp(1);
  const mutex = new GpuMutex(members.isolates[1]);
  mutex.lock();
  assertThrows(() => first.wait(0, () => false, Infinity), SyncError, "wait for guest memory while holding Gpu");
  mutex.unlock();
});

Deno.test("numbers of labels rise over all isolates", () => {
  const { main, own: [first, second] } = setUp(2);
  assertEquals([first.order(), second.order(), main.order(), first.order()], [0, 1, 2, 3]);
});

Deno.test("a handle of something else is refused", () => {
  const { members } = setUp(1);
  const error = assertThrows(
    () => LabelWatch.attach(members.isolates[0], { labels: new SharedArrayBuffer(64) }),
    SyncError,
  );
  assertEquals(error.code, "sync.handle");
});
