import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Journal, type JournalOptions } from "../../src/storage/journal.ts";

const IDENTITY = new TextEncoder().encode("this program on that device");

async function inFolder(body: (folder: string) => void | Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-journal-test-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const bytes = (text: string) => new TextEncoder().encode(text);
const texts = ({ records }: Journal) => records.map((record) => new TextDecoder().decode(record));
const open = (folder: string, options?: JournalOptions, identity = IDENTITY) =>
  new Journal(folder, "test", identity, options);

/** A journal with these records. */
function write(folder: string, ...records: string[]): Journal {
  const journal = open(folder);
  for (const record of records) assertEquals(journal.append(bytes(record)), true);
  return journal;
}

Deno.test("records come back in order, each once, however often it was appended", () =>
  inFolder((folder) => {
    const journal = write(folder, "one", "two", "one", "");
    assertEquals([journal.has(bytes("two")), journal.has(bytes("three"))], [true, false]);
    assertEquals(texts(journal), []); // what was there when it was opened
    const again = open(folder);
    assertEquals([texts(again), again.notes, again.failures], [["one", "two", ""], [], 0]);
    again.append(bytes("three"));
    again.append(bytes("two"));
    assertEquals(texts(open(folder)), ["one", "two", "", "three"]);
  }));

Deno.test("a journal that ends anywhere has all records that are whole, and goes on behind them", () =>
  inFolder((folder) => {
    const { path } = write(folder, "first", "second record", "third");
    const whole = Deno.readFileSync(path);
    let before = 0;
    for (let length = 0; length < whole.length; length++) {
      Deno.writeFileSync(path, whole.subarray(0, length));
      const journal = open(folder), found = texts(journal);
      assertEquals(found, ["first", "second record", "third"].slice(0, found.length), `${length} bytes`);
      assert(found.length >= before && found.length < 3);
      before = found.length;
      assertEquals(journal.append(bytes("new")), true);
      const after = open(folder);
      assertEquals([texts(after), after.notes], [[...found, "new"], []], `${length} bytes`);
    }
    assertEquals(before, 2);
  }));

Deno.test("a changed bit costs the record that it is in, and no other; the damage is told once", () =>
  inFolder((folder) => {
    const records = ["first", "second record", "third"];
    const { path } = write(folder, ...records);
    const whole = Deno.readFileSync(path);
    let lost = 0;
    for (let at = 0; at < whole.length; at++) {
      Deno.writeFileSync(path, whole.with(at, whole[at] ^ 1 << at % 8));
      const journal = open(folder), found = texts(journal);
      if (journal.off) continue; // the identity says something else now, with a good checksum: not by one bit
      assertEquals(records.filter((record) => found.includes(record)), found, `byte ${at}`);
      assert(found.length >= 2, `byte ${at}`);
      if (at >= 12 && at < 16) assertEquals(found.length, 3); // nobody reads these
      else assertEquals(journal.notes.length, 1, `byte ${at}: ${journal.notes}`);
      lost += 3 - found.length;
      assertEquals(open(folder).notes, [], `byte ${at}`);
      assertEquals(texts(open(folder)), found);
    }
    // Each byte of the three records, with their heads of 16 bytes.
    assertEquals(lost, records.join("").length + 3 * 16);
  }));

Deno.test("what a killed process left of a record is cut off before another one appends", () =>
  inFolder((folder) => {
    const first = write(folder, "a"), second = open(folder);
    assertEquals(second.append(bytes("b")), true);
    Deno.writeFileSync(first.path, new Uint8Array(9).fill(7), { append: true });
    assertEquals(first.append(bytes("c")), true);
    assertEquals(second.append(bytes("c")), true); // it is there: seen after looking
    assertEquals(second.append(bytes("d")), true);
    const all = open(folder);
    assertEquals([texts(all), all.notes], [["a", "b", "c", "d"], []]);
  }));

Deno.test("a journal that was removed or replaced while it is open begins anew", () =>
  inFolder((folder) => {
    const journal = write(folder, "a");
    Deno.removeSync(journal.path);
    assertEquals(journal.append(bytes("a")), true); // known: not looked for
    assertEquals(journal.append(bytes("b")), true);
    assertEquals(journal.append(bytes("a")), true);
    assertEquals(texts(open(folder)), ["b", "a"]);
  }));

Deno.test("a journal of something else is off: nothing is read, and nothing changed", () =>
  inFolder((folder) => {
    const { path } = write(folder, "a");
    const before = Deno.readFileSync(path);
    const journal = open(folder, {}, bytes("another device"));
    assertEquals([texts(journal), journal.off, journal.append(bytes("b")), journal.failures], [[], true, false, 0]);
    assertMatch(journal.notes.join(), /is off: it is of another device, driver or program/);
    assertEquals(Deno.readFileSync(path), before);
  }));

Deno.test("a journal that looks like records everywhere is off, and stays as it is", () =>
  inFolder((folder) => {
    const { path } = write(folder, "one"), head = Deno.readFileSync(path);
    const hostile = new Uint8Array(1 << 19), view = new DataView(hostile.buffer);
    hostile.set(head);
    for (let at = head.length; at + 16 <= hostile.length; at += 16) {
      view.setUint32(at, 0x5243_6a1e, true);
      view.setUint32(at + 4, hostile.length - at - 16, true);
    }
    Deno.writeFileSync(path, hostile);
    const journal = open(folder);
    assertEquals([journal.off, journal.append(bytes("two"))], [true, false]);
    assert(Deno.readFileSync(path).every((byte, i) => byte === hostile[i]));
    assertStringIncludes(journal.notes.join(), "`anyagc journal clear` removes it");
  }));

Deno.test("a record that is too large is counted, and the journal goes on", () =>
  inFolder((folder) => {
    const journal = open(folder, { recordLimitBytes: 10 });
    assertEquals(journal.append(bytes("12345678901")), false);
    assertEquals([journal.failures, journal.off], [1, false]);
    assertEquals(journal.append(bytes("1234567890")), true);
    assertEquals(texts(open(folder)), ["1234567890"]);
  }));

Deno.test("a full journal drops its oldest records, and says so", () =>
  inFolder((folder) => {
    const journal = open(folder, { limitBytes: 1000 });
    for (let i = 0; i < 100; i++) assertEquals(journal.append(bytes(`record ${i}`.padEnd(50))), true);
    assert(Deno.statSync(journal.path).size <= 1000);
    const found = texts(open(folder)).map((text) => Number(text.slice(7)));
    assert(found.length >= 6);
    assertEquals(found, found.map((_, i) => 100 - found.length + i));
    assertMatch(journal.notes[0], /is full: the oldest \d+ of \d+ records are dropped/);
  }));

Deno.test("paths of more than 255 bytes work, folders that cannot be used turn the journal off", () =>
  inFolder((folder) => {
    const long = `${folder}/${"a".repeat(200)}/${"b".repeat(200)}`;
    write(long, "a");
    assertEquals(texts(open(long)), ["a"]);
    Deno.chmodSync(long, 0o777);
    const journal = open(long);
    assertEquals([texts(journal), journal.off, journal.append(bytes("b"))], [[], true, false]);
    Deno.writeTextFileSync(`${folder}/file`, "");
    assertEquals(open(`${folder}/file/below`).off, true);
  }));
