import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { browserTest, Page } from "../../support/browser.ts";
import { anyagc, projectFile } from "../support.ts";

const PROGRAM = projectFile("shaders/julia/program.json");

/** Runs the sample, changed by `edit`, with a report, and hands the page's path to `body`. */
async function report(
  edit: (program: Record<string, unknown>, code: Uint8Array) => void,
  body: Body,
  ...args: string[]
) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-report-test-" });
  try {
    const program = JSON.parse(await Deno.readTextFile(PROGRAM));
    const code = await Deno.readFile(projectFile("shaders/julia/julia.bin"));
    edit(program, code);
    await Deno.writeTextFile(`${folder}/program.json`, JSON.stringify(program));
    await Deno.writeFile(`${folder}/julia.bin`, code);
    const { code: exit, text, errors } = await anyagc(
      "run",
      `${folder}/program.json`,
      "--report",
      `${folder}/a/page`,
      ...args,
    );
    await body(`${folder}/a/page/index.html`, exit, text + errors);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
type Body = (file: string, exit: number, text: string) => Promise<void>;

browserTest(
  "the page of a run shows picture, timeline, programs, and code beside SPIR-V, and loads nothing",
  () =>
    report(() => {}, async (file, exit, text) => {
      assertEquals(exit, 0, text);
      assertStringIncludes(text, `report: ${file}`);
      await Page.with(file, async (page) => {
        assertEquals(await page.evaluate("document.querySelector('.outcome').textContent"), "passed");
        assertEquals(await page.evaluate("document.querySelector('#problems')"), null);
        assertEquals(
          await page.evaluate(
            "[document.images.length, document.images[0].naturalWidth, document.images[0].naturalHeight]",
          ),
          [1, 640, 360],
        );
        // Queues run at the same time, so which comes first is nobody's.
        const tracks = await page.evaluate("[...document.querySelectorAll('.names div')].map((e) => e.textContent)");
        assertEquals((tracks as string[]).toSorted(), [
          "device 0x20",
          "host 0x20",
          "pipelines 0x20",
          "queue 0x0",
          "queue 0x20",
          "recompile 0x20",
        ]);
        const cells = await page.evaluate(
          "[...document.querySelectorAll('#programs + .wide td')].map((e) => e.innerText)",
        );
        assertMatch((cells as string[]).join("|"), /^0x200000000\|87\|\d{3,4}\|wave32\|laneless\n.*\|8 x 8 x 1\|/);
        assertStringIncludes(String(await page.evaluate("document.querySelector('.guest').textContent")), "s_endpgm");
        assertStringIncludes(
          String(await page.evaluate("document.querySelector('.spirv').textContent")),
          "OpEntryPoint GLCompute",
        );
        assertEquals(
          await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"),
          true,
        );
        assertEquals(page.messages, []);
        assertEquals(page.requests.filter((url) => !url.startsWith("data:")), [`file://${file}`]);
      });
    }),
);

browserTest("the zoom widens the timeline", () =>
  report(() => {}, (file) =>
    Page.with(file, async (page) => {
      const width = "document.querySelector('.tracks').clientWidth";
      const before = Number(await page.evaluate(width));
      await page.evaluate("zoom.value = 10; zoom.dispatchEvent(new Event('input'))");
      assertEquals(Math.round(Number(await page.evaluate(width)) / before), 10);
    })));

browserTest("a hostile name is text on the page, and what differs is a table, in the interpreter too", () => {
  // One workgroup instead of all, so that the interpreter is done soon.
  const edit = (program: Record<string, unknown>) => {
    program.name = `<img src=x onerror=alert(1)></title><script>alert(2)</script>`;
    const { words } = (program.submissions as { words: string[] }[])[1];
    words.splice(words.indexOf("0x00000050"), 3, "0x1", "0x1", "0x1");
    (program.expect as unknown[]).push({ address: "0x200100000", words: ["0x12345678"], reason: "nobody" });
  };
  const body = (file: string, exit: number) =>
    Page.with(file, async (page) => {
      assertEquals(exit, 1);
      assertMatch(String(await page.evaluate("document.querySelector('h1').textContent")), /^<img src=x onerror=alert/);
      assertMatch(String(await page.evaluate("document.title")), /^<img src=x/);
      assertEquals(await page.evaluate("[document.images.length, document.scripts.length]"), [1, 1]);
      assertEquals(await page.evaluate("document.querySelector('.outcome').textContent"), "differs");
      assertMatch(
        String(await page.evaluate("document.querySelector('#problems + .wide').innerText")),
        /^address\twhat\t.*\n0x2001[0-9a-f]{5}\tdiffers\t/,
      );
      assertEquals(
        await page.evaluate("document.querySelector('.spirv').textContent"),
        "There is none: the program was interpreted.",
      );
      assertEquals(page.messages, []);
    });
  return report(edit, body, "--device", "software");
});

browserTest(
  "the page of a refused run tells the refusal, and shows the program that did not run",
  () =>
    report(
      (_, code) => new DataView(code.buffer).setUint32(0, 0xbf920000, true),
      (file, exit) =>
        Page.with(file, async (page) => {
          assertEquals(exit, 1);
          assertEquals(await page.evaluate("document.querySelector('.outcome').textContent"), "failed");
          assertMatch(
            String(await page.evaluate("document.querySelector('.error').textContent")),
            /s_trap.*0x200000000/s,
          );
          assertEquals(await page.evaluate("document.images.length"), 0);
          assertStringIncludes(
            String(await page.evaluate("document.querySelector('#programs + .wide').innerText")),
            "did not run",
          );
          assert(String(await page.evaluate("document.querySelector('.guest').textContent")).includes("s_trap"));
          assertEquals(await page.evaluate("document.querySelectorAll('.span.stopped').length > 0"), true);
          assertEquals(page.messages, []);
        }),
    ),
);
