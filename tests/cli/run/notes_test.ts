import { assertEquals, assertMatch } from "@std/assert";
import { writeAgcap } from "../../../src/guest/agcap/write_agcap.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import { placeRecord } from "../../driver/vulkan/shared/registered.ts";
import { entries, inFolder } from "../../driver/shader_cache/support.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { STEP } from "../../support/machine_code.ts";
import { acquireMem, dispatchDirect, dmaFill } from "../../support/packets.ts";
import { anyagc, vulkanTest } from "../support.ts";

/** Runs `body` with the shader cache in a folder, and nothing else that is kept between runs. */
async function withShaderCache(folder: string, body: () => Promise<void>): Promise<void> {
  const switches = {
    ANYPS5_SHADER_CACHE_DIR: folder,
    ANYPS5_NO_SHADER_CACHE: "0",
    ANYAGC_NO_PIPELINE_CACHE: "1",
    APS5_NO_PIPELINE_JOURNAL: "1",
  };
  const before = Object.keys(switches).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(switches)) Deno.env.set(name, value);
  try {
    await body();
  } finally {
    for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
  }
}

function save(folder: string, program: LoadedProgram): string {
  const file = `${folder}/program.agcap`;
  Deno.writeFileSync(file, writeAgcap(program, { producer: "test" }));
  return file;
}

/** x = 3 * x + 5, with what comes of it. */
function stepping(folder: string): string {
  const guest = new GuestProgram("stepping"), code = guest.code(STEP), data = guest.buffer(new Uint32Array(64));
  const state = computeState({ code, userData: [...words64(data.address), 5] });
  guest.submit(0, state, dispatchDirect([1, 1, 1]));
  const expected = { address: data.address, data: Uint8Array.of(5, 0, 0, 0), bytes: 256, reason: "3 * 0 + 5" };
  return save(folder, { ...guest.program, expectations: [expected] });
}

/** The notes of a command's result as data, and the lines about them as text. */
async function notesOf(command: "run" | "replay", file: string): Promise<{ data: string[]; text: string[] }> {
  const json = await anyagc(command, file, "--json"), result = JSON.parse(json.text);
  assertEquals(json.code, 0, json.errors);
  const text = await anyagc(command, file);
  assertEquals(text.code, 0, text.errors);
  return {
    data: command === "run" ? result.notes : result.inputs[0].notes,
    text: text.lines.filter((line) => /^ +note/.test(line)).map((line) => line.trim()),
  };
}

for (const command of ["run", "replay"] as const) {
  vulkanTest(
    `what is wrong with the shader cache is in the report of anyagc ${command}: entries, and a folder that is refused`,
    () =>
      inFolder(async (folder) => {
        const file = stepping(folder), shaders = `${folder}/shaders`;
        await withShaderCache(shaders, async () => {
          assertEquals(await notesOf(command, file), { data: [], text: [] });
          const [name] = entries(shaders), path = `${shaders}/${name}`;
          const damage = () => {
            const bytes = Deno.readFileSync(path);
            bytes[bytes.length >> 1] ^= 1;
            Deno.writeFileSync(path, bytes);
          };
          damage();
          const json = JSON.parse((await anyagc(command, file, "--json")).text);
          const notes = command === "run" ? json.notes : json.inputs[0].notes;
          assertEquals(notes, [`${path} is damaged: it is recompiled and written anew`]);
          damage();
          const { lines } = await anyagc(command, file);
          const said = lines.filter((line) => line.includes("is damaged"));
          assertEquals(said.length, 1);
          assertMatch(said[0], /^ +note:? +\/.* is damaged: it is recompiled and written anew$/);
          assertEquals(await notesOf(command, file), { data: [], text: [] }, "it was written anew");
          Deno.chmodSync(shaders, 0o777);
          const { data, text } = await notesOf(command, file);
          assertEquals(data, [`${shaders} is no folder that only this user can write to: no shaders are kept`]);
          assertEquals(text.length, 1);
        });
      }),
  );
}

vulkanTest(
  "what the isolates of a run find wrong with the shader cache is in its report, once",
  () =>
    inFolder(async (folder) => {
      const guest = new GuestProgram("two queues"), code = guest.code(STEP), shaders = `${folder}/shaders`;
      for (const queue of [0x20, 0x28]) {
        const data = guest.buffer(new Uint32Array(64)), userData = [...words64(data.address), 5];
        guest.submit(queue, computeState({ code, userData }), dispatchDirect([1, 1, 1]));
      }
      const file = save(folder, guest.program);
      await withShaderCache(shaders, async () => {
        const notes = async () => JSON.parse((await anyagc("run", file, "--json")).text).notes;
        assertEquals(await notes(), []);
        const [name, ...more] = entries(shaders), path = `${shaders}/${name}`;
        assertEquals(more, []);
        Deno.writeFileSync(path, Deno.readFileSync(path).subarray(0, 100));
        assertEquals(await notes(), [`${path} is damaged: it is recompiled and written anew`]);
        assertEquals(await notes(), []);
      });
    }),
);

vulkanTest(
  "that a program overwrites a shader of a record in its file is in the report, when its queues run at once",
  () =>
    inFolder(async (folder) => {
      const guest = new GuestProgram("overwritten"), placed = placeRecord(guest, STEP, 3);
      for (const queue of [0x20, 0x28]) {
        const data = guest.buffer(new Uint32Array(64));
        const state = computeState({ code: placed.code, userData: [...words64(data.address), 5] });
        guest.submit(queue, dmaFill(placed.code, 4, 0xbf81_0000), acquireMem(true), state, dispatchDirect([1, 1, 1]));
      }
      const file = save(folder, { ...guest.program, shaders: [placed.shader] });
      await withShaderCache(`${folder}/shaders`, async () => {
        const { code, text, errors } = await anyagc("run", file, "--json"), { notes } = JSON.parse(text);
        assertEquals([code, notes.length], [0, 1], errors);
        assertMatch(
          notes[0],
          /^the compute shader [0-9a-f]{16} at 0x2\w+ was changed in memory since it was registered/,
        );
      });
    }),
);
