import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { VulkanDevice } from "../../../src/driver/vulkan/vulkan_device.ts";
import { probeDevice } from "../../../src/gpu/probe/probe_device.ts";
import { recompilerDevice } from "../../../src/gpu/recompiler_device.ts";
import { computeState, descriptor, GuestProgram } from "../../support/guest_program.ts";
import { SQUARE, STEP } from "../../support/machine_code.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { manyPipelines, watchCreations } from "./programs.ts";
import { inFolder, openStore, run } from "./stores.ts";

deviceTest(
  "what a run builds the next one has before it begins, and the driver creates nothing twice",
  (device) =>
    inFolder(async (folder) => {
      const created: string[] = [];
      probeDevice(device); // its pipelines are not counted
      watchCreations(device, (module) => created.push(module));
      const program = manyPipelines(1, 8);
      const first = openStore(device, folder);
      assertEquals((await first.replay()).recorded, 0);
      const words = run(device, program, first);
      assertEquals([first.used, first.built, new Set(created).size], [0, 8, 8]);
      const modules = created.splice(0).sort();
      first.close();

      const second = openStore(device, folder), progress: string[] = [];
      const { ms: _, ...replay } = await second.replay({
        progress: (done, of) => progress.push(`${done}/${of}`),
        threads: 2,
      });
      assertEquals([replay.recorded, replay.created, replay.failed], [8, 8, 0]);
      assertEquals(progress, Array.from({ length: 9 }, (_, i) => `${i}/8`));
      assertEquals(created.slice().sort(), modules);
      assertEquals(run(device, program, second), words);
      assertEquals([second.used, second.built, created.length], [8, 0, 8]);
      // Another run on the same store has them, too.
      assertEquals(run(device, program, second), words);
      assertEquals([second.used, second.built, created.length], [8, 0, 8]);
      // A program that has more than was recorded: only that is built, and recorded.
      run(device, manyPipelines(5, 10), second);
      assertEquals([second.used, second.built, created.length], [8, 2, 10]);
      second.close();
      const third = openStore(device, folder);
      assertEquals((await third.replay()).created, 10);
      third.close();
      third.close(); // once more changes nothing
    }),
);

deviceTest("a recorded pipeline is not used for other code at its address", (device) =>
  inFolder(async (folder) => {
    const make = (code: Uint32Array<ArrayBuffer>) => {
      const guest = new GuestProgram("changed"), address = guest.code(code);
      const from = guest.buffer(Uint32Array.from({ length: 64 }, (_, i) => i)), to = guest.buffer(new Uint32Array(64));
      const state = { code: address, userData: [...descriptor(from), ...descriptor(to)] };
      guest.submit(0, computeState(state), dispatchDirect([1, 1, 1]));
      return guest.program;
    };
    const store = openStore(device, folder);
    const words = run(device, make(SQUARE), store);
    assertEquals(words[9], 81 + 9);
    store.close();
    const changed = SQUARE.slice(), at = changed.length - 1;
    changed[at - 1] = 0xbf800000; // s_nop 0 instead of what is before s_endpgm
    assert(changed[at - 1] !== SQUARE[at - 1]);
    const next = openStore(device, folder);
    assertEquals((await next.replay()).created, 1);
    try {
      run(device, make(changed), next);
    } catch {
      // Half an instruction may be refused: it must not be taken for the recorded program in any case.
    }
    assertEquals(next.used, 0);
    assertEquals(run(device, make(SQUARE), next), words);
    assertEquals(next.used, 1);
    next.close();
  }));

deviceTest(
  "a replay that is stopped ends with the reason, has what was created, and leaves nothing",
  (device) =>
    inFolder(async (folder) => {
      const first = openStore(device, folder), program = manyPipelines(1, 6);
      run(device, program, first);
      first.close();
      const second = openStore(device, folder);
      const progress = (done: number) => {
        if (done === 3) throw new RangeError("stop");
      };
      await assertRejects(() => second.replay({ progress, threads: 1 }), RangeError, "stop");
      run(device, program, second);
      assertEquals([second.used, second.built], [3, 3]);
      second.close();
    }),
);

deviceTest(
  "records that are no pipeline any more are counted, and the rest is created",
  (device) =>
    inFolder(async (folder) => {
      const first = openStore(device, folder);
      run(device, manyPipelines(1, 2), first);
      first.journal!.append(new TextEncoder().encode("no record"));
      // A whole record whose program is not recompiled: its code is a word that is no instruction.
      const bad = openStore(device, folder);
      const { float, endsLoops } = probeDevice(device);
      const { decodeRecorded, encodeRecorded } = await import("../../../src/driver/warm_start/recorded_pipeline.ts");
      const request = decodeRecorded(
        bad.journal!.records[0],
        recompilerDevice(device.capabilities, float, endsLoops),
      )!;
      assertEquals(request.code, STEP.slice(0, request.code.length));
      first.journal!.append(encodeRecorded({ ...request, code: Uint32Array.of(0xffff_ffff) }, 1));
      bad.close();
      first.close();
      const second = openStore(device, folder);
      const { recorded, created, failed } = await second.replay();
      assertEquals([recorded, created, failed], [4, 2, 2]);
      second.close();
    }),
);

deviceTest("a record that cannot be written is said, and the run is as without", (device) =>
  inFolder((folder) => {
    const store = openStore(device, folder, { recordLimitBytes: 16 });
    run(device, manyPipelines(1, 2), store);
    assertEquals([store.built, store.notes.length], [2, 2]);
    assertStringIncludes(store.notes[0], "a record is too large: more than 16 bytes");
    assertStringIncludes(store.notes[1], "2 records could not be written");
    store.close();
  }));

deviceTest("a device prepares a program as the switches want it", async (gpu) => {
  const names = ["APS5_NO_PIPELINE_JOURNAL", "ANYAGC_NO_PIPELINE_CACHE", "ANYAGC_CACHE_DIR"];
  const before = names.map((name) => Deno.env.get(name));
  await inFolder(async (folder) => {
    Deno.env.set("ANYAGC_CACHE_DIR", folder);
    try {
      const program = manyPipelines(1, 3), device = new VulkanDevice(gpu, "automatic");
      const once = async () => {
        const prepared = await device.prepare(program);
        const ran = device.run(program);
        assertEquals(ran.result.outcome, "passed");
        ran.close();
        return prepared && [prepared.replay.recorded, prepared.used, prepared.built, prepared.notes.length];
      };
      assertEquals(await once(), [0, 0, 3, 0]);
      assertEquals(await once(), [3, 3, 0, 0]);
      Deno.env.set(names[0], "1");
      assertEquals(await once(), [0, 0, 3, 0]);
      Deno.env.set(names[1], "1");
      assertEquals(await once(), undefined);
      Deno.env.delete(names[0]);
      assertEquals(await once(), [3, 3, 0, 0]);
      // Another program has a journal of its own.
      const other = await device.prepare(manyPipelines(1, 3, "other"));
      assertEquals(other?.replay.recorded, 0);
      await device.prepare(program); // gives back what the other one has
      Deno.env.set(names[0], "1");
      await device.prepare(program);
    } finally {
      names.forEach((name, i) => before[i] === undefined ? Deno.env.delete(name) : Deno.env.set(name, before[i]!));
    }
  });
});
