import { assertEquals, assertStringIncludes } from "@std/assert";
import { readAgcap } from "../../src/guest/agcap/read_agcap.ts";
import { writeAgcap } from "../../src/guest/agcap/write_agcap.ts";
import { loadFile } from "../../src/guest/loaders/load_file.ts";
import { corpusFile, corpusTest } from "../support/corpus.ts";
import { buildArchive } from "../guest/zip/archive.ts";
import { changed, comparable, everything } from "../guest/agcap/support.ts";
import { mutations, seededNumbers } from "../guest/support/mutations.ts";
import { anyagc, projectFile } from "./support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");

async function inFolder(body: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-test-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** All files below a folder. */
function files(folder: string, prefix = ""): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory ? files(`${folder}/${name}`, `${prefix}${name}/`) : [prefix + name]
  ).sort();
}

Deno.test("a program is converted without being run", () =>
  inFolder(async (folder) => {
    const { code, text } = await anyagc("convert", PROGRAM, "-o", `${folder}/julia.agcap`);
    assertEquals(code, 0);
    assertStringIncludes(text, `${PROGRAM}: program, ${folder}/julia.agcap, `);
    const capture = readAgcap("x", Deno.readFileSync(`${folder}/julia.agcap`)), loaded = loadFile(PROGRAM);
    assertEquals(capture.recorded, undefined);
    assertEquals(loaded.kind === "program" && comparable(loaded.program), comparable(capture));
  }));

Deno.test("several inputs go to a folder; refused ones are told and the others converted", () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/everything.agcap`, writeAgcap(everything()));
    const { code, text, errors } = await anyagc(
      "convert",
      PROGRAM,
      projectFile("LICENSE"),
      `${folder}/everything.agcap`,
      "-o",
      `${folder}/out/deep/`,
    );
    assertEquals(code, 2);
    assertStringIncludes(errors, projectFile("LICENSE"));
    assertEquals(text.split("\n").length, 2);
    assertEquals(files(`${folder}/out`), ["deep/everything.agcap", "deep/program.agcap"]);
    assertEquals(
      comparable(readAgcap("x", Deno.readFileSync(`${folder}/out/deep/everything.agcap`))),
      comparable(everything()),
    );
  }));

Deno.test("two inputs that would become one capture are refused before anything is written", () =>
  inFolder(async (folder) => {
    const { code, errors } = await anyagc("convert", PROGRAM, PROGRAM, "-o", folder);
    assertEquals(code, 2);
    assertStringIncludes(errors, `would both become ${folder}/program.agcap`);
    assertEquals(files(folder), []);
  }));

Deno.test("names that lead out of folders come to nothing: in archives, in manifests, as names of programs", () =>
  inFolder(async (folder) => {
    Deno.mkdirSync(`${folder}/in`);
    const data = new TextEncoder().encode("evil"), inputs: string[] = [];
    for (const [i, name] of ["../../evil", "/tmp/anyagc-evil", "..\\evil", "a/../../evil", "~/evil"].entries()) {
      const { bytes } = buildArchive({
        entries: [{ name: "manifest.json", data: new TextEncoder().encode("{}") }, { name, data }],
      });
      inputs.push(`${folder}/in/zip${i}.agcap`);
      Deno.writeFileSync(inputs[i], bytes);
    }
    const before = files(folder);
    for (const command of [["convert", "-o", `${folder}/out/`], ["replay"], ["run"], ["disasm"], ["recompile"]]) {
      for (const input of inputs) {
        const { code, errors } = await anyagc(command[0], input, ...command.slice(1));
        assertEquals(code, 2);
        assertStringIncludes(errors, "zip");
      }
    }
    assertEquals(files(folder), before);

    // A capture whose every name tries to lead out, run with a folder for its picture.
    const name = "../../../evil", program = { ...everything(), name, shaders: [], recorded: undefined };
    const nop = { queue: 0, words: Uint32Array.of(0xC0001000, 0), label: name };
    const memory = program.memory.map((window) => ({ ...window, name }));
    Deno.writeFileSync(
      `${folder}/in/name.agcap`,
      writeAgcap({ ...program, memory, submissions: [nop], expectations: [], untouched: [] }),
    );
    const { code } = await anyagc(
      "run",
      `${folder}/in/name.agcap`,
      "--frames",
      `${folder}/out/frames`,
      "--device",
      "software",
    );
    assertEquals(code, 0);
    assertEquals((await anyagc("convert", `${folder}/in/name.agcap`, "-o", `${folder}/out`)).code, 0);
    const made = files(folder).filter((file) => !before.includes(file) && file !== "in/name.agcap");
    assertEquals(made.length, 2);
    for (const file of made) assertEquals(/^out\/(frames\/)?[^/.][^/]*$/.test(file), true, file);
  }));

Deno.test("300 damaged captures give 300 captures or refusals, in the output folder and nowhere else", () =>
  inFolder(async (folder) => {
    Deno.mkdirSync(`${folder}/in`);
    const good = writeAgcap(everything()), random = seededNumbers(8), inputs: string[] = [];
    for (const [i, damaged] of [...mutations(good, 150, 31)].entries()) {
      Deno.writeFileSync(`${folder}/in/file${i}.agcap`, damaged);
      // The same kind of damage inside of an archive that is right.
      const inside = changed(good, (_, entries) => {
        const names = [...entries.keys()].filter((name) => name !== "manifest.json"),
          name = names[random(names.length)];
        entries.set(name, [...mutations(entries.get(name)!, 1, i)][0]);
      });
      Deno.writeFileSync(`${folder}/in/entry${i}.agcap`, inside);
      inputs.push(`${folder}/in/file${i}.agcap`, `${folder}/in/entry${i}.agcap`);
    }
    const before = files(folder), { text } = await anyagc("convert", ...inputs, "-o", `${folder}/out`, "--json");
    const results: { output?: string; error?: { code: string; place: { file: string } } }[] = JSON.parse(text).inputs;
    assertEquals(results.length, 300);
    for (const [i, { output, error }] of results.entries()) {
      if (error === undefined) assertEquals(output?.startsWith(`${folder}/out/`), true);
      else assertEquals([error.code === "internal", error.place.file.startsWith(inputs[i])], [false, true], error.code);
    }
    const made = files(folder).filter((file) => !before.includes(file));
    assertEquals(made.every((file) => /^out\/(file|entry)\d+\.agcap$/.test(file)), true);
    assertEquals(made.length, results.filter(({ output }) => output !== undefined).length);
    assertEquals(made.length > 10 && made.length < 290, true, `${made.length} converted`);
  }));

corpusTest(
  "inputs of every format become captures that are listed, and run where they can",
  "golden",
  () =>
    inFolder(async (folder) => {
      const inputs = [
        corpusFile("golden", "c0__c0-dispatch-1.json"),
        corpusFile("openagc", "reference.oagc"),
        corpusFile("openagc", "fill_color.sb"),
        corpusFile("aco", "buf.w32.comp.json"),
        corpusFile("aco", "loop.w64.comp.rdna.bin"),
        corpusFile("llvm", "k.w64.saxpy.json"),
      ];
      const { code, text } = await anyagc("convert", ...inputs, "-o", folder);
      assertEquals(code, 0);
      assertStringIncludes(text, "not in the file, but needed for a run: descriptor set 0 of fill_color_native");
      const made = files(folder).map((name) => `${folder}/${name}`);
      assertEquals(made.length, inputs.length);
      for (const file of made) {
        const original = inputs[made.indexOf(file)];
        assertEquals((await anyagc("disasm", file)).code, 0, original);
      }
      assertEquals((await anyagc("replay", `${folder}/c0__c0-dispatch-1.agcap`, "--device", "software")).code, 0);
      const refused = await anyagc("run", `${folder}/reference.agcap`);
      assertEquals(refused.code, 1);
      assertStringIncludes(refused.errors, "descriptor set 0 of fill_color_native");
      const shader = await anyagc("run", `${folder}/fill_color.agcap`);
      assertEquals(shader.code, 2);
      assertStringIncludes(shader.errors, "holds a shader");
      const [ours, theirs] = await Promise.all(
        ["buf.w32.comp.agcap", ""].map((name) => anyagc("disasm", name === "" ? inputs[3] : `${folder}/${name}`)),
      );
      assertEquals(ours.text, theirs.text);
    }),
);
