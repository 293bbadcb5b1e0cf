import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InvalidInputError } from "../../../src/errors.ts";
import { isZip, ZipArchive } from "../../../src/guest/zip/read_zip.ts";
import { ZIP_LIMITS } from "../../../src/guest/zip/zip_format.ts";
import { writeZip } from "../../../src/guest/zip/write_zip.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const INPUTS = [
  { name: "b/words", data: new Uint8Array(9000).map((_, i) => i % 9) },
  { name: "a", data: bytes("short") },
  { name: "b/kept", data: new Uint8Array(9000), stored: true },
  { name: "empty", data: new Uint8Array(0) },
];

Deno.test("what is written is read back, sorted by name", () => {
  const archive = new ZipArchive("x.zip", writeZip(INPUTS));
  assertEquals([...archive.entries.keys()], ["a", "b/kept", "b/words", "empty"]);
  for (const { name, data } of INPUTS) assertEquals(archive.read(name), data);
});

Deno.test("the same contents in any order, at any time, give the same bytes", () => {
  const first = writeZip(INPUTS);
  assertEquals(writeZip(INPUTS.toReversed()), first);
  assertEquals(isZip(first), true);
  assertEquals(isZip(writeZip([])), true);
  // Dates are 1 January 1980: nothing in the file comes from a clock.
  const view = new DataView(first.buffer);
  assertEquals([view.getUint16(10, true), view.getUint16(12, true)], [0, 0x21]);
});

Deno.test("entries that must stay as they are lie in the file as they are", () => {
  const file = writeZip(INPUTS), { dataOffset, packedBytes } = new ZipArchive("x.zip", file).entries.get("b/kept")!;
  assertEquals(packedBytes, 9000);
  assertEquals(file.subarray(dataOffset, dataOffset + 9000).every((byte) => byte === 0), true);
  assertEquals(file.length < 10_000, true, "the other entries are packed");
});

/** Python's zipfile is an implementation that shares nothing with ours; it is not on every machine. */
const python = await new Deno.Command("python3", { args: ["-c", "import zipfile"], stdout: "null", stderr: "null" })
  .output().then(({ success }) => success, () => false);

Deno.test({
  name: `another program reads the archive${python ? "" : " [ignored: no python3 here]"}`,
  ignore: !python,
  fn: async () => {
    const folder = Deno.makeTempDirSync({ prefix: "anyagc-test-" });
    try {
      Deno.writeFileSync(`${folder}/x.zip`, writeZip(INPUTS));
      const script = "import sys,zipfile;z=zipfile.ZipFile(sys.argv[1]);assert z.testzip() is None;" +
        "print([(i.filename,i.file_size,i.date_time[0]) for i in z.infolist()])";
      const { success, stdout } = await new Deno.Command("python3", { args: ["-c", script, `${folder}/x.zip`] })
        .output();
      assertEquals(success, true);
      assertEquals(
        new TextDecoder().decode(stdout).trim(),
        "[('a', 5, 1980), ('b/kept', 9000, 1980), ('b/words', 9000, 1980), ('empty', 0, 1980)]",
      );
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
});

Deno.test("names that the reader would refuse, and names given twice, are not written", () => {
  for (const name of ["../a", "/a", "a\\b", "", ".a"]) {
    const error = assertThrows(() => writeZip([{ name, data: new Uint8Array(1) }]), InvalidInputError);
    assertEquals(error.code, "zip.name");
  }
  const twice = [{ name: "a", data: bytes("1") }, { name: "A", data: bytes("2") }];
  assertStringIncludes(assertThrows(() => writeZip(twice), InvalidInputError).message, "given twice");
});

Deno.test("more entries than the reader takes are not written", () => {
  const inputs = Array.from({ length: ZIP_LIMITS.entries + 1 }, (_, i) => ({ name: `e${i}`, data: new Uint8Array(0) }));
  assertEquals(assertThrows(() => writeZip(inputs), InvalidInputError).code, "zip.too-large");
  assertEquals(new ZipArchive("x.zip", writeZip(inputs.slice(1))).entries.size, ZIP_LIMITS.entries);
});
