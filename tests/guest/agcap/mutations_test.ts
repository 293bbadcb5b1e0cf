import { assertEquals } from "@std/assert";
import { SoftwareDevice } from "../../../src/driver/software/software_device.ts";
import { compareRecorded } from "../../../src/driver/results/compare.ts";
import { recordResults } from "../../../src/driver/results/record.ts";
import { AnyAgcError } from "../../../src/errors.ts";
import { readAgcap } from "../../../src/guest/agcap/read_agcap.ts";
import { writeAgcap } from "../../../src/guest/agcap/write_agcap.ts";
import { Permission } from "../../../src/guest/memory/window.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import { writeZip } from "../../../src/guest/zip/write_zip.ts";
import { mutations, seededNumbers } from "../support/mutations.ts";
import { changed, everything, FILE, pattern } from "./support.ts";

const LABEL = 0x2_0000_0010, DATA = 0x2_0000_1000;
const lowHigh = (address: number) => [address % 2 ** 32, Math.floor(address / 2 ** 32)];

/** Two queues that write, copy and wait. Without dispatches: a damaged dispatch may run for ever, and rightly so. */
function program(): LoadedProgram {
  return {
    name: "packets",
    target: "gfx1013",
    memory: [{
      name: "data",
      base: 0x2_0000_0000n,
      bytes: 0x3000,
      permissions: Permission.ReadWrite,
      contents: [{ offset: 0x1000, data: pattern(256) }],
    }],
    submissions: [
      // WAIT_REG_MEM on memory, equal, then WRITE_DATA.
      { queue: 0, words: Uint32Array.of(0xC0053C00, 0x13, ...lowHigh(LABEL), 0x1234, 0xFFFFFFFF, 4) },
      { queue: 0, words: Uint32Array.of(0xC0043700, 0x00100200, ...lowHigh(LABEL + 16), 0x11, 0x22) },
      // DMA_DATA memory to memory, then RELEASE_MEM.
      { queue: 0x20, words: Uint32Array.of(0xC0055000, 0x60300000, ...lowHigh(DATA), ...lowHigh(DATA + 0x800), 0x80) },
      { queue: 0x20, words: Uint32Array.of(0xC0064900, 0x0030C528, 0x20000000, ...lowHigh(LABEL), 0x1234, 0, 0) },
    ],
    expectations: [{ address: BigInt(DATA + 0x800), data: pattern(128), bytes: 128, reason: "copied" }],
    untouched: [],
    shaders: [],
    notes: [],
  };
}

/** Runs a capture; whatever the guest does wrong is in the result, everything else is thrown. */
function run(capture: LoadedProgram): string {
  using device = new SoftwareDevice();
  const run = device.run(capture);
  try {
    if (capture.recorded !== undefined) compareRecorded(capture, run, capture.recorded);
    return run.result.outcome;
  } finally {
    run.close();
  }
}

function recorded(): Uint8Array {
  const original = program();
  using device = new SoftwareDevice();
  const run = device.run(original);
  try {
    assertEquals([run.result.outcome, run.result.labels.length, run.result.waits.length], ["passed", 1, 1]);
    return writeAgcap({ ...original, recorded: recordResults(original, run, device.description) });
  } finally {
    run.close();
  }
}

Deno.test("1,000 damaged captures give 1,000 clear refusals or runs, and no crash", () => {
  const good = recorded(), counts = { refused: 0, passed: 0, differs: 0, failed: 0 };
  const attempt = (bytes: Uint8Array) => {
    let capture: LoadedProgram;
    try {
      capture = readAgcap(FILE, bytes);
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      assertEquals(error.place.file?.startsWith(FILE), true, error.message);
      assertEquals(error.summary.length > 10, true, error.message);
      counts.refused++;
      return;
    }
    counts[run(capture) as keyof typeof counts]++;
  };
  const random = seededNumbers(99), text = new TextEncoder();
  // The file as it is; its manifest as text; its command buffers and contents; the last two in archives that are right.
  for (const damaged of mutations(good, 300, 1)) attempt(damaged);
  const manifests: Uint8Array[] = [];
  changed(good, (manifest) => void manifests.push(text.encode(JSON.stringify(manifest))));
  for (const damaged of mutations(manifests[0], 400, 2)) attempt(withManifest(good, damaged));
  for (let i = 0; i < 300; i++) {
    attempt(changed(good, (_, entries) => {
      const names = [...entries.keys()].filter((name) => name !== "manifest.json"), name = names[random(names.length)];
      const [damaged] = mutations(entries.get(name)!, 1, i);
      // Of the same length, or the manifest would refuse it at once.
      entries.set(name, resized(damaged, entries.get(name)!.length));
    }));
  }
  assertEquals(counts.refused + counts.passed + counts.differs + counts.failed, 1000);
  for (const [outcome, count] of Object.entries(counts)) assertEquals(count > 10, true, `${outcome}: ${count}`);
});

Deno.test("500 damaged captures with shaders and results are read or refused", () => {
  const good = writeAgcap(everything()), random = seededNumbers(5);
  let read = 0, refused = 0;
  for (let i = 0; i < 500; i++) {
    const bytes = changed(good, (_, entries) => {
      const names = [...entries.keys()].filter((name) => /shaders|memory|expect/.test(name)),
        name = names[random(names.length)];
      entries.set(name, resized([...mutations(entries.get(name)!, 1, i)][0], entries.get(name)!.length));
    });
    try {
      readAgcap(FILE, bytes);
      read++;
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      assertEquals(error.place.file?.startsWith(FILE), true, error.message);
      refused++;
    }
  }
  assertEquals(read + refused, 500);
  assertEquals(read > 50 && refused > 50, true, `${read} read, ${refused} refused`);
});

function withManifest(capture: Uint8Array, manifest: Uint8Array): Uint8Array {
  let all: Map<string, Uint8Array> = new Map();
  changed(capture, (_, entries) => void (all = new Map(entries)));
  all.set("manifest.json", manifest);
  return writeZip([...all].map(([name, data]) => ({ name, data })));
}

function resized(bytes: Uint8Array, length: number): Uint8Array {
  const result = new Uint8Array(length);
  result.set(bytes.subarray(0, length));
  return result;
}
