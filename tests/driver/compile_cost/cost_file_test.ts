import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CostFile } from "../../../src/driver/compile_cost/cost_file.ts";
import { KEPT_SAMPLES } from "../../../src/driver/compile_cost/learned_cost.ts";

const identity = (text: string) => ({ name: "device-driver-v1", bytes: new TextEncoder().encode(text) });
const SAMPLES = [{ bytes: 100_000, peakBytes: 5_000_192, ms: 12.345 }, { bytes: 7, peakBytes: 0, ms: 0 }];

function inFolder(body: (folder: string) => void): void {
  const parent = Deno.makeTempDirSync({ prefix: "anyagc-costs-" });
  try {
    body(`${parent}/pipelines`);
  } finally {
    Deno.removeSync(parent, { recursive: true });
  }
}

Deno.test("costs come back as they were written, the newest ones, without a note", () => {
  inFolder((folder) => {
    const file = new CostFile(folder, identity("a"));
    assertEquals(file.read(), { samples: [] }, "there is none yet");
    assert(file.write(SAMPLES));
    assertEquals(new CostFile(folder, identity("a")).read(), { samples: SAMPLES });
    const many = Array.from({ length: KEPT_SAMPLES + 3 }, (_, bytes) => ({ bytes, peakBytes: 1, ms: 1 }));
    file.write(many);
    assertEquals(file.read().samples, many.slice(3));
  });
});

Deno.test("a file that is damaged anywhere or cut off anywhere is ignored with a note, and written anew at once", () => {
  inFolder((folder) => {
    const file = new CostFile(folder, identity("a"));
    file.write(SAMPLES);
    const good = Deno.readFileSync(file.path);
    for (let at = 0; at < good.length; at++) {
      const bad = good.slice();
      bad[at] ^= 1 << at % 7;
      Deno.writeFileSync(file.path, bad);
      const { samples, note } = file.read();
      assertEquals(samples, [], `byte ${at}`);
      assertStringIncludes(note!, `${file.path} are ignored, and written anew: `);
      assertEquals(file.read(), { samples: [] }, "the note comes once");
      Deno.writeFileSync(file.path, good.subarray(0, at));
      assertEquals(file.read().samples, [], `cut off at ${at}`);
    }
    assert(file.write(SAMPLES));
    assertEquals(file.read(), { samples: SAMPLES });
  });
});

Deno.test("that a file that is ignored cannot be written anew is in its note", () => {
  inFolder((folder) => {
    const file = new CostFile(folder, identity("a"));
    Deno.mkdirSync(file.path, { recursive: true, mode: 0o700 });
    assertStringIncludes(file.read().note!, `${file.path} are ignored, and cannot be written anew: `);
  });
});

Deno.test("costs of another device, driver or version are ignored with a note", () => {
  inFolder((folder) => {
    new CostFile(folder, identity("driver 1")).write(SAMPLES);
    const other = new CostFile(folder, identity("driver 2"));
    assertStringIncludes(other.read().note!, "another device or driver");
    assertEquals(other.read().samples, []);
    const text = Deno.readTextFileSync(other.path);
    Deno.writeTextFileSync(other.path, text.replace("compile-costs/1", "compile-costs/2"));
    assertStringIncludes(other.read().note!, "another version");
  });
});

Deno.test("a folder into which others may write is not used", () => {
  inFolder((folder) => {
    const file = new CostFile(folder, identity("a"));
    file.write(SAMPLES);
    Deno.chmodSync(folder, 0o777);
    assertEquals([file.read(), file.write(SAMPLES)], [{ samples: [] }, false]);
  });
});
