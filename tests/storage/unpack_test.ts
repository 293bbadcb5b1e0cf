import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { HostError } from "../../src/errors.ts";
import { type Package, sha256, unpack } from "../../src/storage/unpack.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

async function pack(contents: Record<string, string>): Promise<Package & { reads: string[] }> {
  const reads: string[] = [];
  const files = await Promise.all(
    Object.entries(contents).map(async ([name, text]) => ({
      name,
      bytes: bytes(text).length,
      sha256: await sha256(bytes(text)),
      checkedOnUse: name.endsWith(".so") || undefined,
      read: () => {
        reads.push(name);
        return bytes(text);
      },
    })),
  );
  return { name: "content-hash", files, reads };
}

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-test-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
const listing = (folder: string) => [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();

Deno.test("a package is written once, and found again without reading it from the executable", () =>
  inFolder(async (folder) => {
    const one = await pack({ "a.js": "1", "b.so": "22" });
    const place = await unpack(one, [`${folder}/cache`]);
    assertEquals(place, `${folder}/cache/unpacked/content-hash`);
    assertEquals(listing(place), ["a.js", "b.so"]);
    assertEquals(one.reads, ["a.js", "b.so"]);
    assertEquals(await unpack(one, [`${folder}/cache`]), place);
    assertEquals(one.reads.length, 2);
    assertEquals(listing(`${folder}/cache/unpacked`), ["content-hash"]);
  }));

Deno.test("a changed, a missing and a shortened file are each noticed and replaced", () =>
  inFolder(async (folder) => {
    const one = await pack({ "a.js": "1", "b.so": "22" });
    const place = await unpack(one, [folder]);
    for (
      const damage of [
        () => Deno.writeTextFileSync(`${place}/a.js`, "2"),
        () => Deno.removeSync(`${place}/a.js`),
        () => Deno.truncateSync(`${place}/b.so`, 1),
      ]
    ) {
      damage();
      assertEquals(await unpack(one, [folder]), place);
      assertEquals([Deno.readTextFileSync(`${place}/a.js`), Deno.readTextFileSync(`${place}/b.so`)], ["1", "22"]);
      assertEquals(listing(`${folder}/unpacked`), ["content-hash"]);
    }
  }));

Deno.test("a folder into which others may write, or that is a link, is not trusted: the next one is taken", () =>
  inFolder(async (folder) => {
    const one = await pack({ "a.js": "1" });
    Deno.mkdirSync(`${folder}/open`);
    Deno.chmodSync(`${folder}/open`, 0o777);
    Deno.mkdirSync(`${folder}/mine`, { mode: 0o700 });
    Deno.symlinkSync(`${folder}/mine`, `${folder}/link`);
    Deno.writeTextFileSync(`${folder}/file`, "");
    const folders = ["open", "link", "file", "good"].map((name) => `${folder}/${name}`);
    assertEquals(await unpack(one, folders), `${folder}/good/unpacked/content-hash`);
  }));

Deno.test("where no folder will do, a new temporary one does", async () => {
  const place = await unpack(await pack({ "a.js": "1" }), ["/proc/none"]);
  try {
    assertMatch(place, /\/anyagc-\w+\/content-hash$/);
    assertEquals(listing(place), ["a.js"]);
  } finally {
    Deno.removeSync(place.slice(0, place.lastIndexOf("/")), { recursive: true });
  }
});

Deno.test("content with another hash than the index says is a damaged executable, and leaves nothing behind", () =>
  inFolder(async (folder) => {
    const one = await pack({ "a.js": "1", "b.js": "2" });
    const damaged = { ...one, files: one.files.map((file) => ({ ...file, read: () => bytes("x") })) };
    const error = await assertRejects(() => unpack(damaged, [folder]), HostError);
    assertEquals((error as HostError).code, "host.damaged-executable");
    assertStringIncludes(error.message, "a.js");
    assertEquals(listing(`${folder}/unpacked`), []);
  }));

Deno.test("packages that nobody used for a month, and half-written ones, go when another is unpacked", () =>
  inFolder(async (folder) => {
    const parent = `${folder}/unpacked`, now = Date.now();
    Deno.mkdirSync(parent, { mode: 0o700 });
    const old = (name: string, hours: number) => {
      Deno.mkdirSync(`${parent}/${name}`);
      const at = new Date(now - hours * 3600_000);
      Deno.utimeSync(`${parent}/${name}`, at, at);
    };
    old("last-month", 24 * 31);
    old("last-week", 24 * 7);
    old("cut-off.part", 2);
    old("being-written.part", 0.1);
    await unpack(await pack({ "a.js": "1" }), [folder]);
    assertEquals(listing(parent), ["being-written.part", "content-hash", "last-week"]);
  }));
