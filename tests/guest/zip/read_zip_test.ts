import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, InvalidInputError, RefusedError } from "../../../src/errors.ts";
import { ZipArchive } from "../../../src/guest/zip/read_zip.ts";
import { ZIP_LIMITS, type ZipLimits } from "../../../src/guest/zip/zip_format.ts";
import { writeZip } from "../../../src/guest/zip/write_zip.ts";
import { mutations, seededNumbers } from "../support/mutations.ts";
import { buildArchive, type RawArchive } from "./archive.ts";

const FILE = "somewhere/x.agcap";
const bytes = (text: string) => new TextEncoder().encode(text);
const open = (archive: RawArchive, limits?: ZipLimits) => new ZipArchive(FILE, buildArchive(archive).bytes, limits);

Deno.test("entries of an archive built by hand are found and unpacked, stored and deflated, empty ones included", () => {
  const long = new Uint8Array(70000).map((_, i) => i >> 3);
  const archive = open({
    entries: [
      { name: "b/long.bin", data: long, method: 8 },
      { name: "a", data: bytes("hello"), extra: Uint8Array.of(0x55, 0x54, 1, 0, 7) },
      { name: "nothing" },
      { name: "packed-nothing", method: 8 },
    ],
  });
  assertEquals([...archive.entries.keys()], ["b/long.bin", "a", "nothing", "packed-nothing"]);
  assertEquals(archive.read("b/long.bin"), long);
  assertEquals(new TextDecoder().decode(archive.read("a")), "hello");
  assertEquals([archive.read("nothing").length, archive.read("packed-nothing").length], [0, 0]);
  assertEquals(open({ entries: [] }).entries.size, 0);
});

/** One thing wrong, and what is said about it. The offset is a function of where things are in the archive. */
interface Refusal {
  code: string;
  archive: RawArchive;
  at: (at: ReturnType<typeof buildArchive>["at"]) => number;
  says: string;
  limits?: Partial<ZipLimits>;
  /** Only seen when the entry is read. */
  read?: string;
}

const data = bytes("some data, some data, some data"), one = { name: "a", data };
/** An archive whose entry is hidden in another entry's data. */
const INNER = buildArchive({ entries: [{ name: "b", data }] });
const REFUSALS: Refusal[] = [
  { code: "zip.end", archive: { entries: [one], tail: Uint8Array.of(0) }, at: ({ end }) => end + 1, says: "cut short" },
  { code: "zip.end", archive: { entries: [one], end: { comment: 3 } }, at: ({ end }) => end + 20, says: "a comment" },
  { code: "zip.multi-disk", archive: { entries: [one], end: { disk: 1 } }, at: ({ end }) => end + 4, says: "parts" },
  {
    code: "zip.multi-disk",
    archive: { entries: [{ ...one, disk: 1 }] },
    at: ({ central }) => central[0] + 34,
    says: "disk",
  },
  {
    code: "zip.zip64",
    archive: { entries: [one], end: { count: 0xFFFF, here: 0xFFFF } },
    at: ({ end }) => end,
    says: "zip64",
  },
  {
    code: "zip.zip64",
    archive: { entries: [{ ...one, bytes: 0xFFFF_FFFF }] },
    at: ({ central }) => central[0],
    says: "zip64",
  },
  {
    code: "zip.zip64",
    archive: { entries: [one], directoryTail: Uint8Array.from([0x50, 0x4B, 6, 7, ...new Uint8Array(16)]) },
    at: ({ end }) => end,
    says: "zip64",
  },
  {
    code: "zip.count",
    archive: { entries: [one], end: { here: 2 } },
    at: ({ end }) => end + 8,
    says: "2 entries on this disk, but 1",
  },
  {
    code: "zip.directory",
    archive: { entries: [one], end: { size: 5 } },
    at: ({ end }) => end + 12,
    says: "does not end at",
  },
  {
    code: "zip.directory",
    archive: { entries: [one], end: { here: 2, count: 2 } },
    at: ({ end }) => end,
    says: "ends within",
  },
  {
    code: "zip.directory",
    archive: { entries: [one], end: { here: 0, count: 0 } },
    at: ({ directory }) => directory,
    says: "0 entries end here",
  },
  {
    code: "zip.directory",
    archive: { entries: [one], directoryTail: new Uint8Array(60), end: { here: 2, count: 2 } },
    at: ({ end }) => end - 60,
    says: "no directory entry",
  },
  {
    code: "zip.too-many",
    archive: { entries: [one, { name: "b" }] },
    limits: { entries: 1 },
    at: ({ end }) => end + 10,
    says: "2 entries; at most 1",
  },
  {
    code: "zip.encrypted",
    archive: { entries: [{ ...one, flags: 1 }] },
    at: ({ central }) => central[0] + 8,
    says: "encrypted",
  },
  {
    code: "zip.descriptor",
    archive: { entries: [{ ...one, flags: 8 }] },
    at: ({ central }) => central[0] + 8,
    says: "descriptors",
  },
  {
    code: "zip.flags",
    archive: { entries: [{ ...one, flags: 0x40 }] },
    at: ({ central }) => central[0] + 8,
    says: "0x0040",
  },
  {
    code: "zip.method",
    archive: { entries: [{ ...one, method: 12 }] },
    at: ({ central }) => central[0] + 10,
    says: "method 12",
  },
  ...([
    ["", "empty"],
    ["/etc/passwd", "absolute"],
    ["../evil", 'leads out of the archive with ".."'],
    ["a/../../evil", 'leads out of the archive with ".."'],
    ["a\\b", "backslash"],
    ["C:evil", "drive letter"],
    ["folder/", "a folder"],
    ["a//b", "empty"],
    ["./a", "starts with a dot"],
    [".hidden", "starts with a dot"],
    ["a b", "characters other than"],
    ["a\0b", "characters other than"],
    ["a\xE9", "characters other than"],
    ["x".repeat(201), "201 bytes"],
  ] as const).map(([name, says]): Refusal => ({
    code: "zip.name",
    archive: { entries: [{ name, data }] },
    at: ({ central }) => central[0] + 46,
    says,
  })),
  {
    code: "zip.duplicate",
    archive: { entries: [one, { name: "A" }] },
    at: ({ central }) => central[1],
    says: "given twice",
  },
  {
    code: "zip.size",
    archive: { entries: [{ ...one, packedBytes: 30 }] },
    at: ({ central }) => central[0] + 20,
    says: "stored in 30",
  },
  {
    code: "zip.too-large",
    archive: { entries: [one] },
    limits: { entryBytes: 30 },
    at: ({ central }) => central[0] + 24,
    says: "at most 30",
  },
  {
    code: "zip.too-large",
    archive: { entries: [one, { name: "b", data }] },
    limits: { totalBytes: 40 },
    at: ({ central }) => central[1],
    says: "over 40 bytes",
  },
  {
    code: "zip.ratio",
    archive: { entries: [{ name: "a", method: 8, packed: data, bytes: 31 * 1032 + 1 }] },
    at: ({ central }) => central[0] + 24,
    says: "over 1032 to 1",
  },
  { code: "zip.local", archive: { entries: [{ ...one, headerOffset: 7 }] }, at: () => 7, says: "no header here" },
  { code: "zip.local", archive: { entries: [{ ...one, local: { name: "b" } }] }, at: () => 30, says: "another name" },
  { code: "zip.local", archive: { entries: [{ ...one, local: { flags: 2 } }] }, at: () => 6, says: "flags" },
  { code: "zip.local", archive: { entries: [{ ...one, local: { method: 8 } }] }, at: () => 8, says: "method" },
  { code: "zip.local", archive: { entries: [{ ...one, local: { crc: 1 } }] }, at: () => 14, says: "CRC-32" },
  {
    code: "zip.local",
    archive: { entries: [{ ...one, local: { packedBytes: 1 } }] },
    at: () => 18,
    says: "packed size",
  },
  { code: "zip.local", archive: { entries: [{ ...one, local: { bytes: 1 } }] }, at: () => 22, says: "size" },
  {
    code: "zip.truncated",
    archive: { entries: [{ ...one, bytes: 5000, packedBytes: 5000 }] },
    at: () => 0,
    says: "5000 bytes, which",
  },
  {
    code: "zip.overlap",
    archive: {
      entries: [{ name: "a", data: INNER.bytes.slice(0, INNER.at.directory) }, { ...one, name: "b", headerOffset: 31 }],
    },
    at: () => 31,
    says: "entry b overlaps",
  },
  {
    code: "zip.overlap",
    archive: { entries: [{ ...one, bytes: 40, packedBytes: 40 }] },
    at: ({ directory }) => directory,
    says: "overlaps",
  },
  {
    code: "zip.gap",
    archive: { entries: [one], gap: new Uint8Array(3) },
    at: ({ directory }) => directory - 3,
    says: "3 bytes before the directory",
  },
  { code: "zip.missing", archive: { entries: [one] }, read: "b", at: () => NaN, says: "no entry b" },
  { code: "zip.crc", archive: { entries: [{ ...one, crc: 5 }] }, read: "a", at: () => 31, says: "0x00000005" },
  {
    code: "zip.size",
    archive: { entries: [{ ...one, method: 8, bytes: 30 }] },
    read: "a",
    at: () => 31,
    says: "more than the 30 bytes",
  },
  {
    code: "zip.size",
    archive: { entries: [{ ...one, method: 8, bytes: 32 }] },
    read: "a",
    at: () => 31,
    says: "unpacks to 31 bytes",
  },
  {
    code: "zip.deflate",
    archive: { entries: [{ name: "a", method: 8, packed: Uint8Array.of(7, 7, 7), bytes: 3 }] },
    read: "a",
    at: () => 31,
    says: "no Deflate stream",
  },
  {
    code: "zip.deflate",
    archive: { entries: [{ name: "a", method: 8, packed: Uint8Array.of(3, 0, 9, 9) }] },
    read: "a",
    at: () => 31,
    says: "ends 2 bytes before",
  },
];

Deno.test("everything that is wrong with an archive is refused with file, offset and reason", async (t) => {
  for (const { code, archive, at, says, limits, read } of REFUSALS) {
    const built = buildArchive(archive), offset = at(built.at);
    await t.step(`${code}: ${says}`, () => {
      const error = assertThrows(() => {
        const opened = new ZipArchive(FILE, built.bytes, { ...ZIP_LIMITS, ...limits });
        if (read !== undefined) opened.read(read);
      }, AnyAgcError);
      assertEquals([error.code, error.place.file], [code, FILE]);
      assertEquals(error.place.fileOffset, Number.isNaN(offset) ? undefined : offset);
      assertStringIncludes(error.summary, says);
    });
  }
});

Deno.test("a name that runs out of the directory is refused", () => {
  const { bytes, at } = buildArchive({ entries: [one] });
  new DataView(bytes.buffer).setUint16(at.central[0] + 28, 500, true);
  const error = assertThrows(() => new ZipArchive(FILE, bytes), AnyAgcError);
  assertEquals([error.code, error.place.fileOffset], ["zip.directory", at.central[0]]);
});

Deno.test("what the format has and captures have not is refused by name, other damage is malformed", () => {
  const refused = ["zip.multi-disk", "zip.zip64", "zip.encrypted", "zip.descriptor", "zip.flags", "zip.method"];
  for (const { code, archive, limits, read } of REFUSALS) {
    const type = refused.includes(code) ? RefusedError : InvalidInputError;
    assertThrows(() => {
      const opened = open(archive, { ...ZIP_LIMITS, ...limits });
      if (read !== undefined) opened.read(read);
    }, type as typeof AnyAgcError);
  }
});

Deno.test("an archive that unpacks to more than it says is stopped at the size that it says", () => {
  const bomb = new Uint8Array(1 << 24);
  const archive = open({ entries: [{ name: "a", data: bomb, method: 8, bytes: 100_000 }] });
  const before = Deno.memoryUsage().external;
  const error = assertThrows(() => archive.read("a"), AnyAgcError);
  assertEquals(error.code, "zip.size");
  assertEquals(Deno.memoryUsage().external - before < 1 << 23, true, "the data was unpacked whole");
});

Deno.test("an archive cut short at any byte is refused", () => {
  const whole = writeZip([{ name: "manifest.json", data: bytes('{"a":1}') }, {
    name: "b/c",
    data: new Uint8Array(300),
  }]);
  for (let length = 0; length < whole.length; length++) {
    const error = assertThrows(() => new ZipArchive(FILE, whole.subarray(0, length)), AnyAgcError);
    assertEquals([error.code, error.place.file], ["zip.end", FILE]);
  }
});

Deno.test("2,000 damaged archives are refused with a place, or give the very bytes that were put in", () => {
  const random = seededNumbers(11), noise = new Uint8Array(500).map(() => random(256));
  const inputs = [
    { name: "a", data: noise },
    { name: "b/c", data: new Uint8Array(3000).map((_, i) => i & 7) },
    { name: "d", data: bytes("stored as it is"), stored: true },
  ];
  let refused = 0, read = 0;
  for (const damaged of mutations(writeZip(inputs), 2000, 12)) {
    try {
      const archive = new ZipArchive(FILE, damaged);
      for (const name of archive.entries.keys()) {
        const original = inputs.find((each) => each.name === name);
        // A name that is damaged in both headers alike would be another archive; the generator never does that.
        assertEquals(archive.read(name), original?.data);
      }
      read++;
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      assertEquals(error.place.file, FILE);
      assertEquals(typeof error.place.fileOffset, "number");
      refused++;
    }
  }
  assertEquals(refused + read, 2000);
  assertEquals(refused > 1500, true, `${refused} refused`);
});
