import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { juliaReference } from "../shaders/julia_reference.ts";
import { decodePng } from "./png_decoder.ts";
import { anyagc, projectFile, vulkanTest } from "./support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");

/** A folder with a copy of the sample, changed by `edit`; removed afterwards. */
async function withSample(edit: (text: string) => string, body: (program: string, folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-run-test-" });
  try {
    await Deno.copyFile(projectFile("shaders/julia/julia.bin"), `${folder}/julia.bin`);
    const before = await Deno.readTextFile(PROGRAM), after = edit(before);
    await Deno.writeTextFile(`${folder}/program.json`, after);
    await body(`${folder}/program.json`, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

vulkanTest(
  "run as a process: prints what happened, writes the exact picture, and exits with 0",
  () =>
    withSample((text) => text, async (program, folder) => {
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "-A",
          projectFile("src/main.ts"),
          "run",
          program,
          "--quiet",
          "--frames",
          `${folder}/out/pictures`,
        ],
        env: { NO_COLOR: "1" },
      }).output();
      const text = new TextDecoder().decode(stdout), errors = new TextDecoder().decode(stderr);
      assertEquals([code, errors], [0, ""]);
      for (
        const line of [
          /^julia$/m,
          /^ {2}device +\S.* \(\w+, Vulkan 1\.\d+\.\d+\)$/m,
          /^ {2}queues +0x0, 0x20: 2 submissions, 1 dispatch$/m,
          /^ {2}program +0x200000000: \d+ instructions became \d+ SPIR-V words, wave32, 8 x 8 x 1 threads, laneless/m,
          /^ {2}label +queue 0x20 wrote 0x4a554c49 to 0x200010000$/m,
          /^ {2}wait +queue 0x0 waited for 0x4a554c49 at 0x200010000, released$/m,
          /^ {2}results +2 of 2 as expected$/m,
          /^ {2}picture +640 x 360, .*\/out\/pictures\/julia\.png$/m,
          /^passed$/m,
        ]
      ) assertMatch(text, line);
      const picture = decodePng(await Deno.readFile(`${folder}/out/pictures/julia.png`));
      assertEquals([picture.width, picture.height], [640, 360]);
      assertEquals(picture.rgba, juliaReference());
    }),
);

vulkanTest(
  "results that differ are exit code 1 and named by address and reason",
  () =>
    withSample((text) => text.replace(`"words": [ "0x5345454e" ]`, `"words": [ "0x5345454f" ]`), async (program) => {
      const { code, text } = await anyagc("run", program);
      assertEquals(code, 1);
      assertStringIncludes(text, "1 of 2 as expected");
      assertStringIncludes(text, "0x200010008 differs: 0x4e, expected 0x4f; 1 byte (WRITE_DATA of the graphics queue");
      assertMatch(text, /\ndiffers$/);
    }),
);

vulkanTest(
  "a packet that is not supported is refused before anything runs, with its place, and there is no picture",
  () =>
    // DRAW_INDEX_AUTO in front of the dispatch.
    withSample(
      (text) => text.replace(`"0xc0031502",`, `"0xc0012d00", 3, 2, "0xc0031502",`),
      async (program, folder) => {
        const { code, text, errors } = await anyagc("run", program, "--frames", folder);
        assertEquals(code, 1);
        assertMatch(errors, /DRAW_INDEX_AUTO.*file offset|DRAW_INDEX_AUTO.*queue 0x20/s);
        assertStringIncludes(text, "none: the program did not finish");
        const json = JSON.parse((await anyagc("run", program, "--json")).text);
        assertEquals([json.outcome, json.error.exitCode, json.frame], ["failed", 1, undefined]);
      },
    ),
);

vulkanTest(
  "an instruction that does not exist is refused with its pc and address",
  () =>
    withSample((text) => text, async (program, folder) => {
      const code = await Deno.readFile(`${folder}/julia.bin`);
      code.set([0xff, 0xff, 0xff, 0xff], 0);
      await Deno.writeFile(`${folder}/julia.bin`, code);
      const { code: exit, errors } = await anyagc("run", program);
      assertEquals(exit, 1);
      assertMatch(errors, /pc 0x0/);
      assertMatch(errors, /0x200000000/);
    }),
);

vulkanTest(
  "a wait that nothing can end is an error that names the label",
  () =>
    withSample((text) => text.replace(`"0x4a554c49", "0xffffffff"`, `"0x00000001", "0xffffffff"`), async (program) => {
      const { code, errors } = await anyagc("run", program);
      assertEquals(code, 1);
      assertMatch(errors, /nothing can end.*0x200010000/s);
    }),
);

vulkanTest("--validate reports no messages for the sample", async () => {
  const { code, text } = await anyagc("run", PROGRAM, "--validate");
  assertEquals(code, 0);
  assertMatch(text, /validation +no messages/);
});

vulkanTest("a device that is not there is exit code 3, with those that are", async () => {
  const { code, errors } = await anyagc("run", PROGRAM, "--device", "no such device");
  assertEquals(code, 3);
  assertMatch(errors, /no Vulkan device matches "no such device" \(there is ".*"\)/);
});

Deno.test("run says what is wrong with its input", async () => {
  const missing = await anyagc("run", projectFile("no-such-file.json"));
  assertEquals([missing.code, missing.text], [2, ""]);
  assertMatch(missing.errors, /no such file/);
  const other = await anyagc("run", projectFile("deno.json"));
  assertEquals(other.code, 2);
  assertMatch(other.errors, /no known format/);
});

Deno.test("a folder for pictures that cannot be made is said before anything runs", async () => {
  const file = await Deno.makeTempFile();
  try {
    const { code, text, errors } = await anyagc("run", PROGRAM, "--frames", file, "--device", "software");
    assertEquals([code, text], [2, ""]);
    assertStringIncludes(errors, `cannot make the folder ${file}: a file has that name`);
    const below = await anyagc("run", PROGRAM, "--frames", `${file}/frames`, "--device", "software");
    assertEquals([below.code, below.text], [2, ""]);
  } finally {
    await Deno.remove(file);
  }
});
