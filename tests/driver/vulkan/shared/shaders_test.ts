import { assertEquals } from "@std/assert";
import { chainRequest } from "../../../../bench/programs/request.ts";
import { openDriverRoom } from "../../../../src/driver/pools/driver_room.ts";
import { artifactAsync } from "../../../../src/driver/pools/preparation.ts";
import { Pool } from "../../../../src/driver/pools/room.ts";
import { ShaderCache } from "../../../../src/driver/shader_cache/shader_cache.ts";
import { computeState, GuestProgram, words64 } from "../../../support/guest_program.ts";
import { COPY, STEP } from "../../../support/machine_code.ts";
import { dispatchDirect } from "../../../support/packets.ts";
import { deviceTest } from "../../../support/vulkan.ts";
import { inFolder } from "../../warm_start/stores.ts";
import { inRoom, runShared } from "./run.ts";

/** Two queues with a program each. */
function twoQueues() {
  const guest = new GuestProgram("kept"), step = guest.code(STEP), copy = guest.code(COPY);
  const data = [1, 2].map(() => guest.buffer(new Uint32Array(1024)));
  const state = computeState({ code: step, userData: [...words64(data[0].address), 5] });
  guest.submit(0x20, state, dispatchDirect([1, 1, 1]));
  const userData = [...words64(data[1].address), ...words64(data[1].address + 2048n), 9];
  guest.submit(0x28, computeState({ code: copy, userData }), dispatchDirect([1, 1, 1]));
  return { program: guest.program, data };
}

/** The files of a folder and which they are: a file that is written again is another one. */
function files(folder: string) {
  return [...Deno.readDirSync(folder)].filter(({ name }) => name !== "lock").map(({ name }) => {
    return [name, Deno.statSync(`${folder}/${name}`).ino] as const;
  }).sort(([a], [b]) => a < b ? -1 : 1);
}

deviceTest(
  "all isolates keep what they recompile, by one writer, and find what earlier runs kept",
  (device) =>
    inFolder(async (folder) => {
      const path = `${folder}/shaders`, shaders = new ShaderCache(path).handle, { program, data } = twoQueues();
      const once = () =>
        inRoom(device, async (room) => {
          const run = await runShared(room, device, program);
          assertEquals([run.errors.size, run.words(data[0])[63], run.words(data[1])[512 + 63]], [0, 5, 9]);
          assertEquals(room.room.artifacts.stats().created, 2);
        }, { shaders });
      await once();
      const kept = files(path);
      assertEquals(kept.length, 2);
      // What is recompiled is written.
      await once();
      assertEquals(files(path), kept);
    }),
);

deviceTest(
  "what the pool's workers find wrong with the shader cache they say when they go home",
  (device) =>
    inFolder(async (folder) => {
      const path = `${folder}/shaders`, shaders = new ShaderCache(path).handle;
      const lines: string[][] = [];
      for (let time = 0; time < 2; time++) {
        const room = openDriverRoom(device, { workers: [1, 1, 1], arenaBytes: 64 << 20, shaders });
        try {
          const request = chainRequest(Uint32Array.of(0xbf81_0000), 0, room.recompilerDevice); // s_endpgm
          room.start(Pool.Preparation);
          const { pin } = await artifactAsync(room.room, request);
          room.room.artifacts.unpin(pin);
        } finally {
          await room.close();
        }
        lines.push(room.lines);
        for (const [name] of files(path)) Deno.writeFileSync(`${path}/${name}`, new Uint8Array(64));
      }
      const [[name]] = files(path);
      assertEquals(lines, [[], [`${path}/${name} is damaged: it is recompiled and written anew`]]);
    }),
);
