import { assert, assertEquals } from "@std/assert";
import { hasEnded, startWatched } from "../../src/sync/worker_threads.ts";

/** A worker that runs a line. */
function worker(line: string): Worker {
  return new Worker(`data:text/javascript,${encodeURIComponent(line)}`, { type: "module" });
}

async function until(holds: () => boolean): Promise<void> {
  for (const end = performance.now() + 20_000; !holds();) {
    assert(performance.now() < end, "it never holds");
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

Deno.test("the thread of a worker is known when it was started, and that it has ended, whoever started others meanwhile", async () => {
  const stays = startWatched(() => worker("onmessage = () => close()"));
  const ends = startWatched(() => worker("close()"));
  const words = new Int32Array(new SharedArrayBuffer(8));
  const blocked = startWatched(() =>
    worker("onmessage = ({ data }) => { Atomics.store(data, 1, 1); Atomics.wait(data, 0, 0); }")
  );
  blocked.postMessage(words);
  await until(() => hasEnded(ends) && Atomics.load(words, 1) === 1);
  assertEquals([hasEnded(stays), hasEnded(blocked)], [false, false]);
  // Nothing that runs is stopped: it lives until its call has returned.
  blocked.terminate();
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setTimeout(resolve, 2));
  assertEquals(hasEnded(blocked), false);
  Atomics.store(words, 0, 1);
  Atomics.notify(words, 0);
  stays.postMessage(0);
  await until(() => hasEnded(blocked) && hasEnded(stays));
});

Deno.test("of a worker that somebody else started nothing is known, and one that was started before is still known", async () => {
  const other = worker("close()"), own = startWatched(() => worker("close()"));
  await until(() => hasEnded(own));
  assertEquals([hasEnded(startWatched(() => other, true)), hasEnded(startWatched(() => own, true))], [false, true]);
});
