import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { readAgcap } from "../../src/guest/agcap/read_agcap.ts";
import { changed } from "../guest/agcap/support.ts";
import { anyagc, projectFile, vulkanTest } from "./support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");

async function inFolder(body: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-test-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const names = (folder: string) => [...Deno.readDirSync(folder)].map(({ name }) => name).sort();

vulkanTest(
  "a captured run holds what it started from and what it gave, and replays equal on Vulkan and in the interpreter",
  () =>
    inFolder(async (folder) => {
      const file = `${folder}/julia.agcap`, { code, text } = await anyagc("capture", PROGRAM, "-o", file);
      assertEquals(code, 0);
      assertMatch(text, /^ {2}run +passed, 1 dispatch$/m);
      assertMatch(text, /^ {2}recorded +1 label, 921612 bytes of memory in 2 ranges$/m);
      assertEquals(names(folder), ["julia.agcap"]);
      const { recorded, memory, submissions } = readAgcap(file, Deno.readFileSync(file));
      assertEquals([memory.length, submissions.length, recorded?.outcome], [3, 2, "passed"]);
      assertEquals(recorded!.labels, [{ queue: 0x20, address: 0x2_0001_0000n, value: 0x4A55_4C49n, kind: "u32" }]);
      // The same run gives the same file, bit by bit.
      await anyagc("capture", PROGRAM, "-o", `${folder}/again.agcap`);
      assertEquals(Deno.readFileSync(`${folder}/again.agcap`), Deno.readFileSync(file));

      const replayed = await anyagc("replay", file);
      assertEquals([replayed.code, replayed.text], [
        0,
        `${file}: equal, 1 label and 929792 bytes of memory as recorded`,
      ]);
      const inInterpreter = await anyagc("replay", file, "--device", "software");
      assertEquals([inInterpreter.code, inInterpreter.text], [replayed.code, replayed.text]);
      const run = await anyagc("run", file);
      assertEquals(run.code, 0);
      assertStringIncludes(run.text, "2 of 2 as expected");

      // One byte of the recorded picture, changed in the file.
      const wrong = changed(
        Deno.readFileSync(file),
        (_, entries) => void (entries.get("results/memory.bin")![12 + 5000] ^= 0x40),
      );
      Deno.writeFileSync(file, wrong);
      const differing = await anyagc("replay", file);
      assertEquals(differing.code, 1);
      assertMatch(
        differing.text,
        /differs, 1 difference\n {2}window picture at 0x200101388: [0-9a-f ]{47}, recorded [0-9a-f ]{47}; 1 byte differs$/,
      );
    }),
);

/** A small program that writes two words, and waits, on two queues; no dispatch, so that any device takes a moment only. */
function packets(edit: (program: Record<string, unknown>) => void = () => {}): string {
  const program = {
    schema: "anyagc.program/1",
    name: "packets",
    memory: [{ base: "0x200000000", bytes: 4096, permissions: "rw", name: "data" }],
    submissions: [
      { queue: 0, words: ["0xc0053c00", "0x13", "0x10", 2, "0x1234", "0xffffffff", 4] },
      { queue: 0, words: ["0xc0043700", "0x00100200", "0x20", 2, "0x11", "0x22"] },
      { queue: "0x20", words: ["0xc0064900", "0x0030c528", "0x20000000", "0x10", 2, "0x1234", 0, 0] },
    ],
  };
  edit(program);
  return JSON.stringify(program);
}

Deno.test("a program that says nothing of its results is refused by replay, and replays once it is captured", () =>
  inFolder(async (folder) => {
    const program = `${folder}/p.json`, capture = `${folder}/p.agcap`;
    Deno.writeTextFileSync(program, packets());
    const refused = await anyagc("replay", program, "--device", "software");
    assertEquals(refused.code, 2);
    assertStringIncludes(
      refused.errors,
      `says nothing of its results; anyagc capture ${program} -o FILE.agcap records them`,
    );
    assertEquals((await anyagc("capture", program, "-o", capture, "--device", "software")).code, 0);
    const replayed = await anyagc("replay", capture, "--device", "software");
    assertEquals([replayed.code, replayed.text], [
      0,
      `${capture}: equal, 1 label and 4096 bytes of memory as recorded`,
    ]);
  }));

Deno.test("a run that fails is recorded with its error, exits with 1, and replays equal", () =>
  inFolder(async (folder) => {
    const program = `${folder}/p.json`, capture = `${folder}/p.agcap`;
    Deno.writeTextFileSync(program, packets((p) => (p.submissions as unknown[]).pop()));
    const { code, text, errors } = await anyagc("capture", program, "-o", capture, "--device", "software");
    assertEquals(code, 1);
    assertMatch(text, /^ {2}run +failed, 0 dispatches$/m);
    assertStringIncludes(errors, "nothing can end these waits");
    const replayed = await anyagc("replay", capture, "--device", "software");
    assertEquals([replayed.code, replayed.text], [0, `${capture}: equal, fails as recorded: driver.wait-forever`]);
  }));

Deno.test("what AnyAGC does not execute is refused: nothing is recorded, and a replay of it is no difference", () =>
  inFolder(async (folder) => {
    const program = `${folder}/p.json`, capture = `${folder}/p.agcap`;
    const draw = { queue: 0, words: ["0xc0012d00", 3, 2] };
    Deno.writeTextFileSync(program, packets((p) => (p.submissions as unknown[]).push(draw)));
    const { code, errors } = await anyagc("capture", program, "-o", capture, "--device", "software");
    assertEquals([code, names(folder)], [1, ["p.json"]]);
    assertStringIncludes(errors, "DRAW_INDEX_AUTO");
    await anyagc("convert", program, "-o", capture);
    const expecting = changed(Deno.readFileSync(capture), (manifest) => {
      manifest.untouched = [{ address: "0x200000000", bytes: 4, reason: "to have something to compare" }];
    });
    Deno.writeFileSync(capture, expecting);
    const replayed = await anyagc("replay", capture, "--device", "software", "--json");
    const [input] = JSON.parse(replayed.text).inputs;
    assertEquals([replayed.code, input.outcome, input.error.class], [1, "refused", "RefusedError"]);
  }));

Deno.test("results that the program does not expect are recorded, exit with 1, and replay equal", () =>
  inFolder(async (folder) => {
    const program = `${folder}/p.json`, capture = `${folder}/p.agcap`;
    const expect = [{ address: "0x200000020", words: [1], reason: "wrong on purpose" }];
    Deno.writeTextFileSync(program, packets((p) => p.expect = expect));
    assertEquals((await anyagc("capture", program, "-o", capture, "--device", "software")).code, 1);
    assertEquals((await anyagc("replay", program, "--device", "software")).code, 1);
    assertEquals((await anyagc("replay", capture, "--device", "software")).code, 0);
  }));

Deno.test("replay takes every input, and its exit code is that of the worst", () =>
  inFolder(async (folder) => {
    const right = [{ address: "0x200000020", words: ["0x11", "0x22"], reason: "written" }];
    const wrong = [{ address: "0x200000020", words: ["0x11", "0x23"], reason: "wrong on purpose" }];
    Deno.writeTextFileSync(`${folder}/right.json`, packets((p) => p.expect = right));
    Deno.writeTextFileSync(`${folder}/wrong.json`, packets((p) => p.expect = wrong));
    Deno.writeTextFileSync(`${folder}/broken.agcap`, "PK\x03\x04");
    const replay = async (...files: string[]) => {
      const { code, text, errors } = await anyagc(
        "replay",
        ...files.map((name) => `${folder}/${name}`),
        "--device",
        "software",
      );
      return { code, text: text.replaceAll(folder, "F"), errors: errors.replaceAll(folder, "F") };
    };
    assertEquals((await replay("right.json", "right.json")).code, 0);
    const both = await replay("wrong.json", "right.json");
    assertEquals([both.code, both.text], [
      1,
      "F/wrong.json: differs, 1 difference\n  wrong on purpose at 0x200000024: 22, recorded 23; 1 byte differs\n" +
      "F/right.json: equal, 1 range as expected\n1 of 2 equal",
    ]);
    const all = await replay("broken.agcap", "wrong.json", "missing", "right.json");
    assertEquals(all.code, 2);
    assertStringIncludes(all.errors, "file F/broken.agcap, file offset 0x0");
    assertStringIncludes(all.errors, "cannot read F/missing: no such file or folder");
    assertStringIncludes(all.text, "1 of 4 equal");
  }));

Deno.test("capture and convert need to be told where the capture goes, and write nothing when the input is refused", () =>
  inFolder(async (folder) => {
    for (const command of ["capture", "convert"]) {
      const { code, errors } = await anyagc(command, PROGRAM);
      assertEquals(code, 2);
      assertStringIncludes(errors, `${command} needs -o FILE.agcap`);
      const bad = await anyagc(command, projectFile("LICENSE"), "-o", `${folder}/x.agcap`);
      assertEquals(bad.code, 2);
      assertStringIncludes(bad.errors, "no known format");
    }
    assertEquals(names(folder), []);
  }));

Deno.test("an output whose folder is missing is told before anything else is done", () =>
  inFolder(async (folder) => {
    const { code, errors } = await anyagc("capture", `${folder}/no-program`, "-o", `${folder}/none/x.agcap`);
    assertEquals(code, 2);
    assertStringIncludes(errors, `cannot write ${folder}/none/x.agcap: there is no folder ${folder}/none`);
  }));
