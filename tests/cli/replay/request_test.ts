import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { openShaders, recompileMergedShader } from "../../../mod.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { RequestDump } from "../../../src/driver/request_dump.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { encodeRequest } from "../../../src/recompiler/request_file.ts";
import { makeRequest } from "../../support/lift.ts";
import { COPY, STEP } from "../../support/machine_code.ts";
import { Random } from "../../support/random.ts";
import { EXPORT_END, S_TRAP } from "../../driver/registry/support.ts";
import { inFolder } from "../../driver/shader_cache/support.ts";
import { buildRecord } from "../../guest/support/records.ts";
import { corpusFile, corpusTest } from "../../support/corpus.ts";
import { anyagc, projectFile } from "../support.ts";

const request = (changes: Partial<RecompileRequest> = {}) =>
  makeRequest({
    ...{ code: COPY, target: "gfx1013", userSgprCount: 8, device: GENERIC_DEVICE },
    ...changes,
  });
/** Its subgroups can be required. */
const ABLE = { ...GENERIC_DEVICE, requiredSubgroup: { minimum: 32, maximum: 32, perWorkgroup: 32 } };
/** Counts the lanes below this one whose v0 is not 0: observes the wave. Assembled with llvm-mc-19 for gfx1013. */
const OBSERVES = Uint32Array.of(
  0x34000082, // v_lshlrev_b32_e32 v0, 2, v0
  0x7d8a0080, // v_cmp_ne_u32_e32 vcc, 0, v0
  ...[0xd7650001, 0x0001006a], // v_mbcnt_lo_u32_b32 v1, vcc_lo, 0
  ...[0xdc708000, 0x00020100], // global_store_dword v0, v1, s[2:3]
  0xbf810000, // s_endpgm
);
const dumped = (folder: string, what: RecompileRequest) => new RequestDump(folder).write(what);

Deno.test("replay of a request tells the shader, its words, the passes, the time and the wave mode", () =>
  inFolder(async (folder) => {
    const file = dumped(folder, request()), { code, text } = await anyagc("replay", file);
    assertEquals(code, 0, text);
    const words = recompile(request()).spirv.length;
    assertMatch(text, /: recompiled, compute shader [0-9a-f]{16} at 0x10000: 5 instructions became /);
    assertMatch(text, new RegExp(`became ${words} words, wave32, laneless \\(.+\\), \\d+\\.\\d ms`));
    assertMatch(text, /passes: cfg \d+\.\d ms, structurize .+, lift .+, simplify .+, regions .+, final .+, emit \d/);
  }));

Deno.test("--json of a request has the keys that docs/cli-json.md tells", () =>
  inFolder(async (folder) => {
    const file = dumped(folder, request());
    const docs = Deno.readTextFileSync(projectFile("docs/cli-json.md"));
    const start = docs.indexOf("## anyagc.replay/1\n"), about = docs.slice(start, docs.indexOf("\n## ", start + 1));
    const { inputs: [input], equal } = JSON.parse(
      (await anyagc("replay", file, "--json", "--artifacts", `${folder}/a`, "--compare", "windows=1")).text,
    );
    assertEquals([input.kind, input.stage, input.waveSize, input.laneMode], ["request", "compute", 32, "laneless"]);
    assertEquals([input.outcome, equal], ["differs", 0]);
    for (const key of [...Object.keys(input), ...Object.keys(input.compare)]) {
      assert(about.includes(`\`${key}\``), `${key} is not documented`);
    }
    assertEquals(input.passes.at(-1).name, "emit");
    const files = JSON.parse(Deno.readTextFileSync(file));
    for (const key of Object.keys(files)) assert(about.includes(`\`${key}\``), `${key} is not documented`);
  }));

Deno.test("--compare NAME=VALUE recompiles with another setting, and tells what differs: exit code 1", () =>
  inFolder(async (folder) => {
    const file = dumped(folder, request({ code: OBSERVES, device: ABLE }));
    const { code, text } = await anyagc("replay", file, "--compare", "ANYAGC_WAVE_MODE=spanned");
    assertEquals(code, 1, text);
    assertMatch(text, /with ANYAGC_WAVE_MODE=spanned: \d+ words, wave32, spanned/);
    assertStringIncludes(text, 'laneMode is "native" here, "spanned" there');
    assertMatch(text, /the modules differ from word \d+ on, \d+ words (more|fewer) there/);
    const same = await anyagc("replay", file, "--compare", "ANYAGC_WAVE_MODE=native,APS5_SPANNED_WAVE=0");
    assertEquals(same.code, 0, same.text);
    assertMatch(same.text, /: equal, compute shader/);
    for (
      const [setting, message] of [
        ["ANYAGC_WAVE_MOD=spanned", "did you mean ANYAGC_WAVE_MODE"],
        ["ANYAGC_WAVE_MODE=wide", "ANYAGC_WAVE_MODE is native, spanned or packed"],
        ["windows=0", "windows is a number from 1 on"],
        ["resolve=yes", "resolve is 0 or 1"],
      ]
    ) {
      const wrong = await anyagc("replay", file, "--compare", setting);
      assertEquals(wrong.code, 2);
      assertStringIncludes(wrong.errors, message);
    }
  }));

Deno.test("what one build left with --artifacts another one compares with --compare: equal, or what differs", () =>
  inFolder(async (folder) => {
    const files = [dumped(`${folder}/q`, request()), dumped(`${folder}/q`, request({ code: STEP }))];
    const left = await anyagc("replay", ...files, "--artifacts", `${folder}/a`);
    assertEquals(left.code, 0, left.text);
    const same = await anyagc("replay", ...files, "--compare", `${folder}/a`);
    assertEquals(same.code, 0, same.text);
    assertStringIncludes(same.text, "2 of 2 equal");
    // As if the other build had made something else of it: the artifact of the same code in another state.
    const name = (path: string) => path.split("/").at(-1)!.replace(".request.json", ".artifact");
    const other = dumped(`${folder}/q`, request({ ldsBytes: 4096, partialThreads: true }));
    assertEquals((await anyagc("replay", other, "--artifacts", `${folder}/a`)).code, 0);
    Deno.copyFileSync(`${folder}/a/${name(other)}`, `${folder}/a/${name(files[0])}`);
    const differs = await anyagc("replay", ...files, "--compare", `${folder}/a`);
    assertEquals(differs.code, 1);
    assertMatch(differs.text, /the modules differ from word/);
    // The artifact of another shader, and one that is damaged.
    const wrong = await anyagc("replay", files[0], "--compare", `${folder}/a/${name(files[1])}`);
    assertEquals(wrong.code, 2);
    assertStringIncludes(wrong.errors, "is the artifact of the shader");
    const path = `${folder}/a/${name(files[0])}`, bytes = Deno.readFileSync(path), random = new Random(3);
    for (let round = 0; round < 30; round++) {
      const mutant = random.chance(0.5) ? bytes.slice(0, random.below(bytes.length)) : bytes.slice();
      if (mutant.length === bytes.length) mutant[random.below(mutant.length)] ^= 1 << random.below(8);
      Deno.writeFileSync(path, mutant);
      const damaged = await anyagc("replay", files[0], "--compare", path);
      assertEquals(damaged.code, 2);
      assertStringIncludes(damaged.errors, "is no artifact of anyagc replay --artifacts, or is damaged");
    }
  }));

Deno.test("a failure tells the shader's hash, the stage, the pc and the request's file; the others are replayed all the same", () =>
  inFolder(async (folder) => {
    // The third instruction is an encoding that there is not.
    const bad = dumped(folder, request({ code: Uint32Array.of(0x7e000280, 0x7e000280, 0xfc000000, 0xbf810000) }));
    const { code, errors, text } = await anyagc("replay", bad, dumped(folder, request()));
    assertEquals(code, 1);
    assertMatch(errors, /compute shader [0-9a-f]{16}: /);
    assertStringIncludes(errors, `file ${bad}`);
    assertMatch(errors, /pc 0x8/);
    assertStringIncludes(text, "recompiled, compute shader");
  }));

Deno.test("hostile and cut-off requests: a clear error that names the file, never a crash", () =>
  inFolder(async (folder) => {
    const whole = new TextEncoder().encode(encodeRequest(request())), random = new Random(11);
    const file = `${folder}/x.request.json`;
    let failed = 0;
    for (let round = 0; round < 300; round++) {
      let mutant = whole.slice();
      if (round % 3 === 0) mutant = mutant.slice(0, random.below(mutant.length));
      else for (let n = 0; n < 2; n++) mutant[random.below(mutant.length)] ^= 1 << random.below(8);
      Deno.writeFileSync(file, mutant);
      const { code, errors } = await anyagc("replay", file);
      if (code === 0) continue;
      failed++;
      assertStringIncludes(errors, file, `round ${round}`);
      assert(code === 1 || code === 2, `exit code ${code}`);
    }
    assert(failed > 200, `${failed} failed`);
    // A file without blocks: reading all of it would take minutes.
    Deno.truncateSync(file, 8e9);
    assertMatch((await anyagc("replay", file)).errors, /cannot read .*: 8000000000 bytes; such files are read up to /);
    Deno.removeSync(file);
    // Valid files whose code is anything: the recompiler takes it, or refuses it; nothing else.
    for (let round = 0; round < 200; round++) {
      const code = Uint32Array.from(
        { length: 1 + random.below(12) },
        () => random.chance(0.3) ? random.u32() : COPY[random.below(COPY.length)],
      );
      Deno.writeTextFileSync(file, encodeRequest(request({ code })));
      const { code: exit, errors } = await anyagc("replay", file);
      if (exit !== 0) assertMatch(errors, /compute shader [0-9a-f]{16}: /);
      assert(!errors.includes("the recompiler fails on it"), `${[...code].map((w) => w.toString(16))}: ${errors}`);
    }
  }));

/** Writes a pixel shader's file: float mode 0xc0, one target of four f32 numbers, no interpolants. */
function pixelFile(folder: string, name: string, code: number[]): string {
  const { bytes } = buildRecord({
    type: 1,
    code,
    sh: [[0x008, 0], [0x009, 0], [0x00a, 0xc0 << 12], [0x00b, 4]],
    cx: [[0x1b3, 2], [0x1b4, 2], [0x1b6, 0x8000], [0x1c5, 9], [0x08f, 0xf], [0x203, 0x10]],
  }, { form: "file-offset" });
  Deno.writeFileSync(`${folder}/${name}`, bytes);
  return `${folder}/${name}`;
}

async function dumpingTo(folder: string, work: () => Promise<unknown>): Promise<string[]> {
  Deno.env.set("APS5_DUMP_SHADERS", folder);
  try {
    await work();
  } finally {
    Deno.env.delete("APS5_DUMP_SHADERS");
  }
  return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
}

Deno.test("what the registry and anyagc recompile ask for is dumped with its stage in the name, failures too, and replayed", () =>
  inFolder(async (folder) => {
    const good = pixelFile(folder, "good.sb", EXPORT_END), bad = pixelFile(folder, "bad.sb", [S_TRAP, ...EXPORT_END]);
    const names = await dumpingTo(`${folder}/registry`, async () => {
      const shaders = openShaders({ threads: 1, cache: false, log: () => {} });
      try {
        shaders.use(shaders.load(good), {});
        assertEquals(shaders.resolveShaderAbi(shaders.load(bad), {}) === "registered", false);
      } finally {
        await shaders.close();
      }
    });
    assertEquals(names.length, 2);
    const texts: string[] = [];
    for (const name of names) {
      assertMatch(name, /^pixel_0x2000[0-9a-f]{5}_wave32_[0-9a-f]{16}\.request\.json$/);
      const { code, text, errors } = await anyagc("replay", `${folder}/registry/${name}`);
      texts.push(`${code} ${text}${errors}`);
    }
    texts.sort();
    assertMatch(texts[0], /^0 .*: recompiled, pixel shader [0-9a-f]{16} at 0x2000[0-9a-f]+: 2 instructions became/);
    assertMatch(texts[1], /^1 .*pixel shader [0-9a-f]{16}: .*s_trap.*file .*\/pixel_0x2000/s);
    const [name] = await dumpingTo(`${folder}/command`, () => anyagc("recompile", good, "--device", "generic"));
    assertMatch(name, /^pixel_0x0_wave32_/);
    assertEquals((await anyagc("replay", `${folder}/command/${name}`)).code, 0);
  }));

corpusTest(
  "the request of a merged program's two files is dumped, and replayed",
  "openagc",
  () =>
    inFolder(async (folder) => {
      const files = ["front", "back"].map((half) => corpusFile("openagc", `triangle_ngg_${half}.sb`));
      const names = await dumpingTo(folder, () => Promise.resolve(recompileMergedShader(files[0], files[1])));
      assertEquals(names.length, 1);
      assertMatch(names[0], /^compute_0x200000000_wave32_/);
      assertEquals((await anyagc("replay", `${folder}/${names[0]}`)).code, 0);
    }),
);

Deno.test("--compare and --artifacts are refused for a program", async () => {
  const { code, errors } = await anyagc("replay", projectFile("shaders/julia/program.json"), "--compare", "windows=1");
  assertEquals(code, 2);
  assertStringIncludes(errors, "--compare and --artifacts are for recompile requests");
});
