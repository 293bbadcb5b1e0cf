import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { createInterpolantMapping, linkShaders, openShaders, readShaderFile, resolveShaderAbi } from "../../../mod.ts";
import type { ShaderState } from "../../../src/driver/registry/open_shaders.ts";
import { InvalidInputError, RefusedError, UsageError } from "../../../src/errors.ts";
import { SyncError } from "../../../src/sync/sync_error.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { buildRecord } from "../../guest/support/records.ts";
import { entries, inFolder } from "../shader_cache/support.ts";
import { literalProgram, S_ENDPGM, S_TRAP } from "./support.ts";

/** Writes a `.sb` file of a compute shader. */
function computeFile(folder: string, name: string, code: number[]): string {
  const sh: [number, number][] = [[0x20c, 0], [0x20d, 0], [0x212, 0xc0 << 12], [0x213, 1 << 7]];
  const { bytes } = buildRecord({ type: 0, sh, code, userData: true }, { form: "file-offset" });
  Deno.writeFileSync(`${folder}/${name}`, bytes);
  return `${folder}/${name}`;
}

Deno.test("the library loads a shader file, resolves its ABI in the background, and gives the module where it is used", () =>
  inFolder(async (folder) => {
    const lines: string[] = [], shaders = openShaders({ threads: 1, cache: false, log: (line) => lines.push(line) });
    try {
      const shader = shaders.load(computeFile(folder, "fill.sb", literalProgram(7)));
      assertEquals(shader.record.userData?.directResourceOffsets, [4, 0xffff, 6]);
      const state = { waveSize: 32, groupSize: [64, 1, 1] } as const;
      assertEquals(resolveShaderAbi(shaders, shader, state), "queued");
      const { spirv, instructions } = shaders.use(shader, state);
      assertEquals([spirv[0], instructions], [0x07230203, 1]);
      assertEquals(resolveShaderAbi(shaders, shader, state), "registered");
    } finally {
      await shaders.close();
    }
    assertEquals(lines, []);
  }));

Deno.test("what one opening recompiled the next one takes from the shader cache", () =>
  inFolder(async (folder) => {
    // Other test files switch the cache off for the whole process.
    const switches = { ANYPS5_SHADER_CACHE_DIR: `${folder}/cache`, ANYPS5_NO_SHADER_CACHE: "0" };
    const before = Object.keys(switches).map((name) => [name, Deno.env.get(name)] as const);
    for (const [name, value] of Object.entries(switches)) Deno.env.set(name, value);
    try {
      const file = computeFile(folder, "fill.sb", literalProgram(7)), found: string[] = [], lines: string[] = [];
      for (let time = 0; time < 2; time++) {
        const shaders = openShaders({ threads: 1, log: (line) => lines.push(line) });
        try {
          found.push(resolveShaderAbi(shaders, shaders.load(file), { waveSize: 32, groupSize: [64, 1, 1] }));
        } finally {
          await shaders.close();
        }
      }
      assertEquals(found, ["queued", "cached"], JSON.stringify([entries(`${folder}/cache`), lines]));
    } finally {
      for (const [name, value] of before) value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
    }
  }));

Deno.test("files that are none, or no record, are the call's own errors", () =>
  inFolder(async (folder) => {
    const shaders = openShaders({ threads: 1, cache: false });
    try {
      assertThrows(() => shaders.load(`${folder}/none.sb`), UsageError);
      Deno.writeTextFileSync(`${folder}/text.sb`, "text");
      assertThrows(() => shaders.load(`${folder}/text.sb`), InvalidInputError);
      const again = computeFile(folder, "good.sb", literalProgram(1));
      assertEquals(shaders.load(again).record.stage, "compute");
      assertEquals(readShaderFile(again).stage, "compute");
    } finally {
      await shaders.close();
    }
  }));

Deno.test("a shader of another registry, or none, is refused by each call, and this registry goes on", () =>
  inFolder(async (folder) => {
    const [here, there] = [1, 2].map(() => openShaders({ threads: 1, cache: false }));
    try {
      const file = computeFile(folder, "fill.sb", literalProgram(7)), state = { groupSize: [64, 1, 1] } as const;
      here.load(computeFile(folder, "other.sb", literalProgram(8)));
      there.load(file);
      const foreign = [there.load(file), { record: readShaderFile(file), hash: "" }];
      for (const shader of foreign) {
        const calls = [
          () => here.resolveShaderAbi(shader, state),
          () => here.use(shader, state),
          () => here.unregister(shader),
        ];
        for (const call of calls) {
          assertEquals(assertThrows(call, InvalidInputError).code, "registry.foreign-shader");
        }
      }
      assertEquals([here.snapshot(), here.use(here.load(file), state).instructions], [1, 1]);
    } finally {
      await here.close();
      await there.close();
    }
  }));

Deno.test("a state that no dispatch can have is the call's own error: workgroups of no or too many threads, waves of 48", () =>
  inFolder(async (folder) => {
    const shaders = openShaders({ threads: 1, cache: false });
    try {
      const file = computeFile(folder, "fill.sb", literalProgram(7)), shader = shaders.load(file);
      const sizes = [[0, 1, 1], [NaN, 1, 1], [-1, -1, 1], [1.5, 2, 1], [1025, 1, 1], [32, 32, 2], [64]];
      const states: ShaderState[] = [
        ...sizes.map((groupSize) => ({ groupSize } as unknown as ShaderState)),
        { groupSize: [64, 1, 1], waveSize: 48 as 64 },
        {}, // nor does the record say it
      ];
      for (const state of states) {
        for (const call of [() => shaders.resolveShaderAbi(shader, state), () => shaders.use(shader, state)]) {
          const { code, message, place } = assertThrows(call, InvalidInputError);
          assertEquals([code, place.file, place.fileOffset !== undefined], ["registry.state", file, true]);
          assertMatch(message, /^the compute shader [0-9a-f]{16} at 0x[0-9a-f]+/);
        }
      }
      assertEquals(shaders.snapshot(), 1, "nothing was asked for");
    } finally {
      await shaders.close();
    }
  }));

Deno.test("errors of a shader file say its name, the offset in it and the guest address, also of code that was damaged", () =>
  inFolder(async (folder) => {
    const shaders = openShaders({ threads: 1, cache: false, log: () => {} }),
      state = { groupSize: [64, 1, 1] } as const;
    const file = computeFile(folder, "trap.sb", [...literalProgram(7).slice(0, 2), S_TRAP, S_ENDPGM]);
    const codeAt = Number(readShaderFile(file).codeAddress);
    try {
      const shader = shaders.load(file), { codeAddress } = shader.record;
      const { place, message } = assertThrows(() => shaders.use(shader, state), RefusedError, "s_trap");
      assertEquals([place.file, place.fileOffset, place.guestAddress], [file, codeAt + 8, codeAddress + 8n]);
      assertMatch(message, /^the compute shader [0-9a-f]{16} at /);
      // VOP2 opcode 0 is none.
      const bytes = Deno.readFileSync(file);
      bytes.set([0, 0, 0, 0], codeAt + 8);
      Deno.writeFileSync(file, bytes);
      const damaged = assertThrows(() => shaders.load(file), InvalidInputError).place;
      assertEquals([damaged.file, damaged.fileOffset, damaged.pc], [file, codeAt + 8, 8]);
    } finally {
      await shaders.close();
    }
    const shader = readShaderFile(file);
    assertEquals(
      assertThrows(() => shaders.use({ record: shader, hash: "" }, state), SyncError).code,
      "registry.closed",
    );
  }));

corpusTest(
  "every shader file of the corpus whose record is whole registers, and pixel shaders link and resolve",
  "openagc",
  async () => {
    const shaders = openShaders({ threads: 1, cache: false, log: () => {} });
    const geometry = readShaderFile(corpusFile("openagc", "runtime_triangle_vert_back.sb"));
    let registered = 0, linked = 0;
    const refused: string[] = [];
    try {
      for (const name of corpusNames("openagc", /\.sb$/)) {
        try {
          const shader = shaders.load(corpusFile("openagc", name));
          registered++;
          if (shader.record.stage !== "pixel" || shader.record.cxRegisters.length === 0) continue;
          const tables = linkShaders({ geometry, pixel: shader.record, primitiveType: 4 });
          assertEquals(
            tables.context.slice(0, 32).map(({ value }) => value),
            [...createInterpolantMapping(geometry.outputs, shader.record.inputs)],
          );
          const found = resolveShaderAbi(shaders, shader, { linked: tables });
          assert(["queued", "pending", "registered", "failed"].includes(found), `${name}: ${found}`);
          linked++;
        } catch (error) {
          if (!(error instanceof InvalidInputError)) throw error;
          refused.push(name);
        }
      }
    } finally {
      await shaders.close();
    }
    // triangle_vert.sb calls itself a hull shader and has the registers of another stage.
    assertEquals(refused, ["triangle_vert.sb"]);
    assert(registered >= 40 && linked >= 20, `${registered} registered, ${linked} linked`);
  },
);
