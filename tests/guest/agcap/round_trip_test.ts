import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { readAgcap } from "../../../src/guest/agcap/read_agcap.ts";
import { shaderProgram, writeAgcap } from "../../../src/guest/agcap/write_agcap.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import { ZipArchive } from "../../../src/guest/zip/read_zip.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { withFiles } from "../support/files.ts";
import { comparable, everything, FILE, roundTrip } from "./support.ts";

Deno.test("a program with every feature comes back as it was", () => {
  assertEquals(comparable(roundTrip(everything())), comparable(everything()));
});

Deno.test("what may be missing comes back missing, what a run needs and lacks comes back by name", () => {
  const { frame: _, recorded: _recorded, ...rest } = everything();
  const bare: LoadedProgram = {
    ...rest,
    expectations: [],
    untouched: [],
    shaders: [],
    notes: [],
    missing: ["the code"],
  };
  assertEquals(comparable(roundTrip(bare)), comparable(bare));
  assertEquals(roundTrip(bare).missing, ["the code"]);
});

Deno.test("a run that failed comes back with its error", () => {
  const program = everything(), recorded = { ...program.recorded!, memory: [], volatile: [] };
  const error = {
    code: "memory.unmapped",
    message: "what\nhappened",
    queue: 0x21,
    guestAddress: 0x8000_0000_0000n,
    pc: 12,
  };
  const failed: LoadedProgram = { ...program, recorded: { ...recorded, outcome: "failed", error } };
  assertEquals(comparable(roundTrip(failed)), comparable(failed));
});

Deno.test("the same program gives the same bytes, and reading and writing again changes nothing", () => {
  const first = writeAgcap(everything());
  assertEquals(writeAgcap(everything()), first);
  const again = readAgcap("everything.json", first);
  assertEquals(writeAgcap(again), first);
});

Deno.test("of the source only the name is kept, and command buffers lie in the file where a submission says", () => {
  const bytes = writeAgcap(everything(), { producer: "test" });
  const archive = new ZipArchive(FILE, bytes), manifest = new TextDecoder().decode(archive.read("manifest.json"));
  assertEquals([manifest.includes("some/where"), JSON.parse(manifest).source], [false, "everything.json"]);
  assertEquals(JSON.parse(manifest).producer, "test");
  for (const { words, fileOffset } of readAgcap(FILE, bytes).submissions) {
    assertEquals([...new Uint32Array(bytes.slice(fileOffset, fileOffset! + 4 * words.length).buffer)], [...words]);
  }
});

Deno.test("a shader that only memory of elsewhere could tell about cannot be written", () => {
  const program = everything(), [{ source }] = program.shaders;
  const odd = {
    ...source,
    abi: { kind: "llvm" as const, arguments: [], kernargBytes: 0, scratchBytesPerLane: 0 },
    waveSize: undefined,
  };
  const error = assertThrows(() => writeAgcap({ ...program, shaders: [{ name: "odd", source: odd }] }), RefusedError);
  assertStringIncludes(error.message, "a capture cannot hold this compute shader");
});

Deno.test("program JSON becomes the same program", () => {
  const json = JSON.stringify({
    schema: "anyagc.program/1",
    memory: [{
      base: "0x1000",
      bytes: 8192,
      contents: [{ offset: 4, hex: "01020304" }, { offset: 100, words: [1, 2] }],
    }],
    submissions: [{ queue: 0, words: ["0xc0001000", 0] }, { queue: "0x57", address: "0x1064", dwords: 2 }],
    expect: [{ address: "0x1004", hex: "01", repeat: 3, reason: "r" }],
  });
  withFiles({ "p.json": json }, (folder) => checkProgram(`${folder}/p.json`));
});

function checkProgram(path: string): LoadedProgram {
  const loaded = loadFile(path);
  if (loaded.kind !== "program") throw new Error(`${path} holds no program`);
  assertEquals(comparable(roundTrip(loaded.program)), comparable(loaded.program));
  return loaded.program;
}

corpusTest("every golden capture becomes the same program", "golden", () => {
  const names = corpusNames("golden", /^(?!.*__run-1).*__.*\.json$/);
  assertEquals(names.length >= 15, true, `${names.length} captures`);
  let shaders = 0;
  for (const name of names) shaders += checkProgram(corpusFile("golden", name)).shaders.length;
  assertEquals(shaders > 20, true, `${shaders} shader records`);
});

corpusTest("the OpenAGC capture becomes the same program, without the list of its records", "openagc", () => {
  const program = checkProgram(corpusFile("openagc", "reference.oagc"));
  assertEquals([program.missing?.length, program.listing?.length, program.shaders.length], [1, 28, 1]);
});

for (
  const [folder, files, least] of [["openagc", /\.sb$/, 53], ["aco", /\.json$/, 20], ["llvm", /\.json$/, 15]] as const
) {
  corpusTest(`every shader of ${folder} becomes the same shader`, folder, () => {
    const names = corpusNames(folder, files);
    assertEquals(names.length >= least, true, `${names.length} shaders`);
    withFiles({}, (target) => {
      for (const name of names) {
        const loaded = loadFile(corpusFile(folder, name));
        if (loaded.kind !== "shader") throw new Error(`${name} holds no shader`);
        Deno.writeFileSync(`${target}/x.agcap`, writeAgcap(shaderProgram(loaded.shader)));
        const again = loadFile(`${target}/x.agcap`);
        if (again.kind !== "shader") throw new Error(`${name} does not come back as a shader`);
        assertEquals(comparable(shaderProgram(again.shader)), comparable(shaderProgram(loaded.shader)), name);
      }
    });
  });
}
