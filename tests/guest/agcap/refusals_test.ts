import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, ExitCode } from "../../../src/errors.ts";
import { readAgcap } from "../../../src/guest/agcap/read_agcap.ts";
import { writeAgcap } from "../../../src/guest/agcap/write_agcap.ts";
import { buildArchive } from "../zip/archive.ts";
import { changed, everything, FILE, type Manifest } from "./support.ts";

/** One thing wrong in a capture whose archive is right. */
interface Refusal {
  code: string;
  /** A part of the message. */
  says: string;
  edit: (manifest: Manifest, entries: Map<string, Uint8Array>) => void;
  /** File that the error names; the manifest unless it is said. */
  file?: string;
}

const last = (list: Manifest[]) => list[list.length - 1];
const REFUSALS: Refusal[] = [
  {
    code: "agcap.no-manifest",
    says: "without manifest.json",
    file: FILE,
    edit: (_, e) => void e.delete("manifest.json"),
  },
  { code: "agcap.version", says: "only anyagc.agcap/1 is known", edit: (m) => m.schema = "anyagc.agcap/2" },
  { code: "file.missing-key", says: '"schema" is missing', edit: (m) => delete m.schema },
  { code: "file.missing-key", says: '"memory" is missing', edit: (m) => delete m.memory },
  { code: "file.unknown-key", says: "$.more", edit: (m) => m.more = 1 },
  { code: "file.unknown-key", says: "$.memory[0].color", edit: (m) => m.memory[0].color = 1 },
  { code: "file.value", says: "$.name: the text is empty", edit: (m) => m.name = "" },
  { code: "file.value", says: "$.name: a text of 65537 letters", edit: (m) => m.name = "x".repeat(65537) },
  { code: "file.value", says: '"gfx900" is not one of', edit: (m) => m.target = "gfx900" },
  { code: "file.value", says: "does not have the form", edit: (m) => m.memory[0].base = "0X200000000" },
  { code: "file.value", says: "a text is expected, not a number", edit: (m) => m.memory[0].base = 4096 },
  { code: "file.value", says: "a number is expected, not a text", edit: (m) => m.memory[0].bytes = "0x2000" },
  { code: "file.value", says: "is outside 0 to 87", edit: (m) => m.submissions[0].queue = 88 },
  { code: "file.value", says: "queues are 0 (graphics)", edit: (m) => m.submissions[0].queue = 5 },
  { code: "file.value", says: "no multiple of 4096", edit: (m) => m.memory[0].base = "0x200000100" },
  { code: "file.value", says: "no multiple of 4096", edit: (m) => m.memory[0].bytes = 0x2001 },
  { code: "file.value", says: "no guest address", edit: (m) => m.memory[1].base = "0x800000000000" },
  { code: "file.value", says: "leaves the guest's addresses", edit: (m) => m.memory[1].base = "0xfffffffffffff000" },
  { code: "file.value", says: "overlaps window code", edit: (m) => m.memory[2].base = "0x200001000" },
  { code: "file.value", says: "does not have the form", edit: (m) => m.memory[0].permissions = "xr" },
  {
    code: "agcap.overlap",
    says: "starts before 0x1388",
    edit: (m) => m.memory[2].contents = [{ offset: 0, bytes: 5000 }, { offset: 4999, bytes: 1 }],
  },
  {
    code: "agcap.range",
    says: "ends at 0x3008, the window at 0x3000",
    edit: (m) => m.memory[2].contents[0].offset = 7296,
  },
  {
    code: "agcap.entry-size",
    says: "has 5000 bytes; 4999 are expected",
    edit: (m) => m.memory[2].contents[0].bytes = 4999,
  },
  {
    code: "agcap.entry-size",
    says: "no pieces that the entry could hold",
    edit: (m) => m.memory[1].entry = "memory/2.bin",
  },
  { code: "file.missing-key", says: '"entry" is missing', edit: (m) => delete m.memory[2].entry },
  { code: "agcap.missing-entry", says: "no entry memory/9.bin", edit: (m) => m.memory[2].entry = "memory/9.bin" },
  { code: "file.value", says: "does not have the form", edit: (m) => m.memory[2].entry = "../memory/2.bin" },
  { code: "agcap.shared-entry", says: "named a second time", edit: (m) => m.submissions[2] = { ...m.submissions[0] } },
  {
    code: "agcap.shared-entry",
    says: "manifest.json is named a second time",
    edit: (m) => m.memory[2].entry = "manifest.json",
  },
  {
    code: "agcap.unknown-entry",
    says: "does not name entry extra",
    file: FILE,
    edit: (_, e) => void e.set("extra", new Uint8Array(1)),
  },
  { code: "agcap.entry-size", says: "has 8 bytes; 12 are expected", edit: (m) => m.submissions[0].dwords = 3 },
  {
    code: "agcap.submission-memory",
    says: "memory holds 0x00000008 at 0x20000100c, the submission 0x00000009",
    edit: (_, e) => void (e.get("streams/1.bin")![12] = 9),
  },
  {
    code: "file.value",
    says: "is not inside one memory window",
    edit: (m) => m.submissions[1].address = "0x200001ff8",
  },
  { code: "file.value", says: "no multiple of 4", edit: (m) => m.submissions[1].address = "0x200001001" },
  { code: "agcap.queues", says: "the submissions use queues 0x21, 0x0", edit: (m) => m.queues.reverse() },
  { code: "agcap.queues", says: "the submissions use queues", edit: (m) => m.queues.pop() },
  { code: "agcap.expectation-size", says: "3 bytes cannot be repeated to 10", edit: (m) => m.expect[0].bytes = 10 },
  { code: "file.value", says: "is not inside one memory window", edit: (m) => m.expect[0].address = "0x300002fff" },
  { code: "file.value", says: "does not have the form", edit: (m) => m.expect[0].data.hex = "012" },
  { code: "file.value", says: "a text of 514 letters", edit: (m) => m.expect[0].data.hex = "01".repeat(257) },
  { code: "file.value", says: "one of manifest, entry is expected", edit: (m) => m.expect[0].data.in = "cloud" },
  { code: "file.unknown-key", says: "$.expect[0].data.bytes", edit: (m) => m.expect[0].data.bytes = 3 },
  { code: "agcap.entry-size", says: "has 600 bytes; 400 are expected", edit: (m) => m.expect[1].data.bytes = 400 },
  { code: "file.value", says: "is not inside one memory window", edit: (m) => m.untouched[0].bytes = 0x1001 },
  { code: "file.value", says: "is outside 20 to", edit: (m) => m.frame.pitchBytes = 16 },
  { code: "file.value", says: "is not inside one memory window", edit: (m) => m.frame.height = 16384 },
  { code: "file.record", says: "a shader record starts with", edit: (m) => m.shaders[0].record = "0x200000104" },
  { code: "file.record", says: "is not inside one memory window", edit: (m) => m.shaders[0].record = "0x200001fc0" },
  { code: "file.record", says: "code of 6 bytes", edit: (_, e) => void (e.get("memory/0.bin")![0x44] = 6) },
  { code: "file.record", says: "code of 0 bytes", edit: (_, e) => void (e.get("memory/0.bin")![0x44] = 0) },
  {
    code: "file.record",
    says: "only 24 is known",
    file: `${FILE}:shaders/1.sb`,
    edit: (_, e) => void (e.get("shaders/1.sb")![4] = 9),
  },
  {
    code: "file.code-size",
    says: "but folder/x.agcap:shaders/2.json says 8",
    file: `${FILE}:shaders/2.rdna.bin`,
    edit: (_, e) => void e.set("shaders/2.rdna.bin", new Uint8Array(12)),
  },
  {
    code: "file.value",
    says: "unknown stage",
    file: `${FILE}:shaders/2.json`,
    edit: (_, e) => replace(e, "shaders/2.json", '"comp"', '"ray"'),
  },
  {
    code: "agcap.target",
    says: "the shader is gfx1030 code, the program gfx1013",
    edit: (_, e) => replace(e, "shaders/2.json", "gfx1013", "gfx1030"),
  },
  {
    code: "agcap.results",
    says: "a run that failed has an error",
    edit: (m) => m.results.error = { code: "a", message: "b" },
  },
  { code: "agcap.results", says: "a run that failed has an error", edit: (m) => m.results.outcome = "failed" },
  {
    code: "agcap.results",
    says: "after a run that failed is not defined",
    edit: (m) => Object.assign(m.results, { outcome: "failed", error: { code: "a", message: "b" } }),
  },
  {
    code: "agcap.overlap",
    says: "starts before 0x300000010",
    edit: (m) => m.results.memory[1].address = "0x30000000f",
  },
  { code: "agcap.entry-size", says: "has 18 bytes; 19 are expected", edit: (m) => last(m.results.memory).bytes = 3 },
  {
    code: "file.value",
    says: "is not inside one memory window",
    edit: (m) => last(m.results.memory).address = "0x300002fff",
  },
  {
    code: "file.value",
    says: "is not inside one memory window",
    edit: (m) => m.results.volatile[0].address = "0x300002ffc",
  },
  { code: "file.value", says: "no multiple of 4", edit: (m) => m.results.labels[0].address = "0x300000001" },
  { code: "file.value", says: "no guest address", edit: (m) => m.results.labels[0].address = "0x800000000000" },
  {
    code: "agcap.empty",
    says: "without submissions",
    edit: (m, e) =>
      [m.submissions, m.queues] = (["0", "1", "2"].forEach((i) => e.delete(`streams/${i}.bin`)), [[], []]),
  },
];

function replace(entries: Map<string, Uint8Array>, name: string, from: string, to: string): void {
  const text = new TextDecoder().decode(entries.get(name));
  entries.set(name, new TextEncoder().encode(text.replace(from, to)));
}

Deno.test("the capture that the refusals start from is read", () => {
  readAgcap(FILE, changed(writeAgcap(everything()), () => {}));
});

Deno.test("everything that is wrong in a capture is refused with file, offset and reason", async (t) => {
  const good = writeAgcap(everything());
  for (const { code, says, edit, file = `${FILE}:manifest.json` } of REFUSALS) {
    await t.step(`${code}: ${says}`, () => {
      const bytes = changed(good, edit);
      const error = assertThrows(() => readAgcap(FILE, bytes), AnyAgcError);
      assertStringIncludes(error.summary, says);
      assertEquals([error.code, error.place.file, error.exitCode], [code, file, ExitCode.Usage]);
      assertEquals(typeof error.place.fileOffset, code === "agcap.no-manifest" ? "undefined" : "number");
    });
  }
});

Deno.test("a manifest that is too large is refused before it is unpacked", () => {
  // The data is nothing that could be unpacked.
  const entry = { name: "manifest.json", method: 8, packed: new Uint8Array(70_000).fill(7), bytes: (64 << 20) + 1 };
  const huge = buildArchive({ entries: [entry] }).bytes;
  const error = assertThrows(() => readAgcap(FILE, huge), AnyAgcError);
  assertEquals([error.code, error.place.fileOffset], ["agcap.manifest-size", 30 + "manifest.json".length]);
});
