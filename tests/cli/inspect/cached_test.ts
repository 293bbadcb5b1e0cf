import { assert, assertEquals, assertMatch } from "@std/assert";
import { CostFile } from "../../../src/driver/compile_cost/cost_file.ts";
import { RequestDump } from "../../../src/driver/request_dump.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { PipelineCacheFile } from "../../../src/gpu/pipeline_cache_file.ts";
import { entries, inFolder, madeShaders } from "../../driver/shader_cache/support.ts";
import { mutations } from "../../guest/support/mutations.ts";
import { makeRequest } from "../../support/lift.ts";
import { COPY, UNSUPPORTED } from "../../support/machine_code.ts";
import { madeUpDevice, writeJournal } from "../journal/support.ts";
import { anyagc } from "../support.ts";

// deno-lint-ignore no-explicit-any -- what the command prints
type Input = any;

async function inspected(...files: string[]): Promise<{ code: number; inputs: Input[] }> {
  const { code, text } = await anyagc("inspect", ...files, "--json");
  return { code, inputs: JSON.parse(text).inputs };
}

/** A file of each kind that runs keep, under names that say nothing. */
function writeAll(folder: string): string[] {
  const device = madeUpDevice("some card"), [{ request, artifact }] = madeShaders();
  const cache = new ShaderCache(`${folder}/shaders`);
  cache.add(request, artifact);
  cache.flush();
  const pipelines = new PipelineCacheFile(folder, device), costs = new CostFile(folder, device);
  pipelines.update(() => new Uint8Array(1000).fill(7));
  costs.write([{ bytes: 10, peakBytes: 20, ms: 30 }, { bytes: 11, peakBytes: 21, ms: 31 }]);
  const paths = [
    writeJournal(folder).path,
    pipelines.path,
    `${folder}/shaders/${entries(`${folder}/shaders`)[0]}`,
    costs.path,
  ];
  return paths.map((path, i) => {
    Deno.copyFileSync(path, `${folder}/file${i}`);
    return `${folder}/file${i}`;
  });
}

Deno.test("what runs keep for the next ones is told by content: journals, pipeline caches, shader cache entries, compile costs", () =>
  inFolder(async (folder) => {
    const files = writeAll(folder),
      { code, inputs } = await inspected(...files),
      [{ request, artifact }] = madeShaders();
    assertEquals([code, inputs.map(({ kind }: Input) => kind)], [0, ["journal", "pipelines", "artifact", "costs"]]);
    const [journal, pipelines, entry, costs] = inputs;
    assertEquals([journal.program.name, journal.records.length, journal.device.name], ["sample", 2, "some card"]);
    assertEquals([pipelines.device.name, pipelines.dataBytes], ["some card", 1000]);
    assertEquals([costs.device.driverVersion, costs.compiles], [77, 2]);
    const { words, laneMode, codeWords } = entry.artifact;
    assertEquals([words, laneMode, codeWords], [artifact.spirv.length, artifact.laneMode, request.code.length]);
    assertEquals([BigInt(entry.codeAddress), entry.target], [request.codeAddress, "gfx1013"]);
    for (const { file, bytes } of inputs) assertEquals(Deno.statSync(file).size, bytes);
    assertMatch((await anyagc("inspect", ...files)).text, /: journal of pipelines, [\s\S]*: compile costs, /);
  }));

Deno.test("a file of a cache that is not as it was written is a problem, since runs ignore it; nothing of it is a defect", () =>
  inFolder(async (folder) => {
    const files = writeAll(folder), cut: string[] = [], bad: string[] = [];
    for (const [i, file] of files.entries()) {
      const whole = Deno.readFileSync(file);
      Deno.writeFileSync(`${folder}/cut${i}`, whole.subarray(0, whole.length - 1));
      cut.push(`${folder}/cut${i}`);
      for (const [k, bytes] of [...mutations(whole, 40, i)].entries()) {
        Deno.writeFileSync(`${folder}/bad${i}-${k}`, bytes);
        bad.push(`${folder}/bad${i}-${k}`);
      }
    }
    const { code, inputs } = await inspected(...cut);
    assertEquals(code, 1);
    for (const [i, { problems, problemCount }] of inputs.entries()) {
      assertEquals([problemCount, problems[0].place.file], [1, cut[i]]);
      assertMatch(problems[0].code, /^(cache|journal)\.damaged$/);
    }
    assertEquals(typeof inputs[0].problems[0].place.fileOffset, "number");
    const damaged = (await inspected(...bad)).inputs;
    assertEquals(damaged.length, 160);
    for (const { error, problemCount, file } of damaged) {
      // Where the first bytes are others, it is a file that nobody knows.
      assert(error?.exitCode === 2 || error?.exitCode === 1 || problemCount > 0, `${file}: ${JSON.stringify(error)}`);
      assert(error?.code !== "internal");
    }
  }));

Deno.test("requests to the recompiler and artifacts are told; a request that is refused is a problem at its pc", () =>
  inFolder(async (folder) => {
    const good = makeRequest({ code: COPY, codeAddress: 0x2_0000_0000n, userSgprCount: 5 });
    const bad = makeRequest({ code: UNSUPPORTED, userSgprCount: 0 });
    const [one, two] = [good, bad].map((request) => new RequestDump(folder).write(request));
    assertEquals((await anyagc("replay", one, "--artifacts", `${folder}/made`)).code, 0);
    const [made] = [...Deno.readDirSync(`${folder}/made`)];
    Deno.renameSync(one, `${folder}/one`);
    Deno.renameSync(`${folder}/made/${made.name}`, `${folder}/made/x`);
    const { code, inputs: [first, artifact, second] } = await inspected(`${folder}/one`, `${folder}/made/x`, two);
    assertEquals([code, first.kind, first.problemCount, second.problemCount], [1, "request", 0, 1]);
    assertEquals([first.stage, first.codeAddress, first.codeWords], ["compute", "0x200000000", COPY.length]);
    assertEquals([first.userSgprCount, first.waveSize], [5, good.waveSize]);
    assertEquals([artifact.kind, artifact.shader, artifact.artifact.codeWords], [
      "artifact",
      first.shader,
      COPY.length,
    ]);
    assertEquals([second.problems[0].place.pc, second.problems[0].place.file], [0, two]);
    Deno.writeFileSync(`${folder}/cut`, Deno.readFileSync(`${folder}/made/x`).subarray(0, 300));
    const { code: refused, inputs: [cut] } = await inspected(`${folder}/cut`);
    assertEquals([refused, cut.error.code], [2, "replay.no-artifact"]);
  }));
