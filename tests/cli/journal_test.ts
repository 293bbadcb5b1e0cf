import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Journal } from "../../src/storage/journal.ts";
import { encodeData } from "../../src/sync/plain_data.ts";
import { mutations } from "../guest/support/mutations.ts";
import { COPY, STEP } from "../support/machine_code.ts";
import { REQUESTS, snapshot, withCache, writeJournal } from "./journal/support.ts";
import { anyagc, projectFile, vulkanTest } from "./support.ts";

const HOUR = 3600_000;

/** A command's data, and the exit code. */
async function journal(...args: string[]) {
  const { code, text } = await anyagc("journal", ...args, "--json");
  return { code, data: JSON.parse(text) };
}

Deno.test("list says program, device, records, bytes and age of each journal, and changes nothing", () =>
  withCache(async (cache) => {
    const first = writeJournal(cache), second = writeJournal(cache, "another", "a new card", REQUESTS.slice(1));
    Deno.utimeSync(first.path, new Date(), new Date(Date.now() - 80 * HOUR));
    Deno.utimeSync(second.path, new Date(), new Date(Date.now() - 2 * HOUR - 60_000));
    const before = snapshot(`${cache}/pipelines`), bytes = Deno.statSync(first.path).size;
    for (const args of [["journal"], ["journal", "list"]]) {
      const { code, lines } = await anyagc(...args);
      assertEquals([code, lines.length, lines[0]], [0, 3, `${cache}/pipelines:`]);
      const [one, other] = [first, second].map(({ name }) => lines.find((line) => line.includes(name))!);
      assertMatch(one, new RegExp(`sample +gfx1013  2 records  ${bytes} bytes +3 days ago +some card, driver 77$`));
      assertMatch(other, /another +gfx1013 +1 record .* 2 h 1 min ago +a new card, driver 77$/);
    }
    const { data } = await journal("list", first.name);
    const [{ usedAt, ...rest }] = data.journals;
    assertEquals([data.schema, data.action, data.folder], ["anyagc.journal/1", "list", `${cache}/pipelines`]);
    assertEquals(new Date(usedAt).getTime(), Deno.statSync(first.path).mtime?.getTime());
    assertEquals(rest, {
      ...{ name: first.name, file: first.path, bytes, records: 2, damage: [] },
      program: { name: "sample", target: "gfx1013", queues: [0, 0x20] },
      device: {
        ...{ name: "some card", apiVersion: "1.3.0", driverVersion: 77 },
        ...{ deviceUuid: "00".repeat(16), driverUuid: "01".repeat(16) },
      },
    });
    assertEquals(snapshot(`${cache}/pipelines`), before);
  }));

Deno.test("where runs keep nothing there are no journals, and nothing is made", () =>
  withCache(async (cache) => {
    for (const action of ["list", "verify", "clear"]) assertEquals((await anyagc("journal", action)).code, 0);
    assertEquals(snapshot(cache), []);
    Deno.env.set("ANYAGC_CACHE_DIR", `${cache}/none`);
    for (const action of ["list", "verify", "clear"]) {
      assertEquals((await anyagc("journal", action)).text, "nothing is kept");
    }
    assertEquals(snapshot(cache), []);
  }));

Deno.test("show tells the recorded pipelines: address, hash, words, wave size and what the driver chose", () =>
  withCache(async (cache) => {
    const { name, path } = writeJournal(cache), elsewhere = `${cache}/copy`;
    Deno.copyFileSync(path, elsewhere);
    const { code, data: { journals: [{ records }] } } = await journal("show", name);
    assertEquals(code, 0);
    const [one, two] = records.map(({ pipeline: { hash: _, ...rest } }: { pipeline: { hash: string } }) => rest);
    const same = { stage: "compute", floatMode: 0xc0 };
    assertEquals(one, {
      ...{ ...same, address: "0x200000000", words: STEP.length, waveSize: 32, threads: [...REQUESTS[0].workgroupSize] },
      ...{ userSgprCount: 3, ldsBytes: 0, floatMode: REQUESTS[0].floatMode },
      specialization: { partialThreads: false, windows: 8, unalignedLoads: false, resolve: true, imageDescriptors: 0 },
    });
    assertEquals([two.words, two.waveSize, two.threads, two.ldsBytes], [COPY.length, 64, [8, 8, 2], 1024]);
    assertEquals(two.specialization, {
      ...{ partialThreads: true, unalignedLoads: true, resolve: false, imageDescriptors: 1 },
    });
    assertEquals(records[1].offset, records[0].offset + 16 + records[0].bytes);
    assert(records[0].pipeline.hash !== records[1].pipeline.hash);
    // By the beginning of its name, by its file, and by a path outside of the folder.
    const texts = await Promise.all(
      [name, name.slice(0, 5), `${name}.journal`, path, elsewhere].map((word) => anyagc("journal", "show", word)),
    );
    for (const { text } of texts) {
      assertEquals(text.replace(elsewhere, path), texts[0].text);
      assertMatch(
        text,
        /compute 0x200000400 [0-9a-f]{16}, \d+ words, wave64, 8 x 8 x 2 threads, 5 user SGPRs, LDS 1024/,
      );
    }
  }));

Deno.test("a journal that is not there, or that several names mean, is a mistake", () =>
  withCache(async (cache) => {
    const { name } = writeJournal(cache);
    Deno.copyFileSync(`${cache}/pipelines/${name}.journal`, `${cache}/pipelines/${name.slice(0, 8)}.journal`);
    for (
      const [args, message] of [
        [["show"], /needs a JOURNAL/],
        [["show", "ffffffffffffffffff"], /there is no journal ffffffffffffffffff/],
        [["clear", name.slice(0, 4)], /2 journals begin with/],
        [["show", `${cache}/none`], /no such file/],
        [["clear", `${cache}/pipelines/${name}.journal`], /is a path/],
        [["lst"], /did you mean list|not lst/],
        [["clear", "--unused", "soon"], /number of days/],
        [["list", "--unused", "3"], /belongs to journal clear/],
        [["clear", "--device", "x"], /belongs to journal list/],
      ] as const
    ) {
      const { code, errors } = await anyagc("journal", ...args);
      assertEquals(code, 2, errors);
      assertMatch(errors, message);
    }
    assert(Deno.statSync(`${cache}/pipelines/${name}.journal`).isFile);
  }));

Deno.test("verify tells where a journal is damaged and what the next run does about it, and changes nothing", () =>
  withCache(async (cache) => {
    const { name, path } = writeJournal(cache), whole = Deno.readFileSync(path);
    const sound = await journal("verify");
    assertEquals([sound.code, sound.data.damaged, sound.data.journals[0].sound], [0, 0, true]);
    const { data: { journals: [{ records: [first, second] }] } } = await journal("show", name);
    const [one, two, end] = [first.offset, second.offset, whole.length], record = two - one;
    const changed = (at: number) => whole.map((byte, i) => i === at ? byte ^ 4 : byte);
    const cases: [string, Uint8Array, unknown[], number][] = [
      ["cut off", whole.subarray(0, end - 1), [{ offset: two, bytes: end - 1 - two, part: "end" }], 1],
      ["a record begun", whole.subarray(0, two + 3), [{ offset: two, bytes: 3, part: "end" }], 1],
      ["first record", changed(one + 20), [{ offset: one, bytes: record, part: "middle" }], 1],
      ["last record", changed(two + 20), [{ offset: two, bytes: end - two, part: "end" }], 1],
      ["head", changed(3), [{ offset: 0, bytes: one, part: "head" }], 2],
      ["identity", changed(one - 2), [{ offset: 0, bytes: one, part: "head" }], 2],
      ["nothing left", new Uint8Array(40), [{ offset: 0, bytes: 40, part: "head" }], 0],
      ["empty", new Uint8Array(), [{ offset: 0, bytes: 0, part: "head" }], 0],
    ];
    for (const [what, bytes, damage, records] of cases) {
      Deno.writeFileSync(path, bytes);
      const before = snapshot(`${cache}/pipelines`), { code, data } = await journal("verify");
      assertEquals([code, data.damaged], [1, 1], what);
      assertEquals([data.journals[0].damage, data.journals[0].records], [damage, records], what);
      assertEquals(snapshot(`${cache}/pipelines`), before, what);
      // What is said is what the next run does.
      const identity = whole.subarray(24, one);
      assertEquals(new Journal(`${cache}/pipelines`, name, identity).records.length, records, what);
      assertEquals((await journal("verify")).code, 0, what);
    }
    Deno.writeFileSync(path, whole.subarray(0, end - 1));
    assertMatch((await anyagc("journal", "verify")).text, /: DAMAGED\n.*not finished: the next run cuts it off/);
  }));

Deno.test("verify says of sound journals why no run uses them", () =>
  withCache(async (cache) => {
    const { name, path } = writeJournal(cache);
    Deno.renameSync(path, `${cache}/pipelines/other.journal`);
    const identity = new TextEncoder().encode("of another version");
    const strange = new Journal(`${cache}/pipelines`, "strange", identity);
    // Whole records that say anything.
    for (const data of [[1, {}], [1, null], [2, {}], [1, { code: new Uint32Array(1), codeAddress: 1n }], "text"]) {
      strange.append(encodeData(data));
    }
    strange.append(new Uint8Array(5));
    const { code, data: { journals } } = await journal("verify");
    assertEquals([code, journals.map(({ sound }: { sound: boolean }) => sound)], [0, [true, true]]);
    assertEquals(journals[0].notes, [`its name should be ${name}: no run finds it`]);
    assertMatch(journals[1].notes.join("; "), /records of another version, which runs skip: 6; .* no run opens it/);
    assertMatch((await anyagc("journal", "show", "strange")).text, /device not known, 6 records/);
    assertStringIncludes((await anyagc("journal", "list")).text, "strange");
  }));

Deno.test("journals damaged in any way give facts, never a defect; one that looks like records everywhere is given up", () =>
  withCache(async (cache) => {
    const { path } = writeJournal(cache), whole = Deno.readFileSync(path);
    for (const [i, bytes] of [...mutations(whole, 100, 3)].entries()) {
      Deno.writeFileSync(`${cache}/pipelines/m${i}.journal`, bytes);
    }
    const hostile = new Uint8Array(1 << 19), view = new DataView(hostile.buffer);
    for (let at = 0; at + 16 <= hostile.length; at += 16) {
      view.setUint32(at, 0x5243_6a1e, true);
      view.setUint32(at + 4, hostile.length - at - 16, true);
    }
    Deno.writeFileSync(`${cache}/pipelines/z.journal`, hostile);
    for (const action of ["verify", "list"]) {
      const { data } = await journal(action);
      assertEquals([data.error, data.journals.length], [undefined, 102], action);
      assertEquals(data.journals.at(-1).damage, [{ offset: 0, bytes: hostile.length, part: "unread" }]);
    }
    assertEquals((await journal("show", ...Array.from({ length: 100 }, (_, i) => `m${i}.journal`))).code, 0);
  }));

Deno.test("clear removes journals with their locks, and says which; a run that has one open begins it anew", () =>
  withCache(async (cache) => {
    const { name, path } = writeJournal(cache), other = writeJournal(cache, "another");
    Deno.writeTextFileSync(`${cache}/pipelines/card.pipelines`, "not a journal");
    const identity = Deno.readFileSync(path).subarray(
      24,
      new DataView(Deno.readFileSync(path).buffer).getUint32(8, true) + 24,
    );
    const open = new Journal(`${cache}/pipelines`, name, identity), bytes = Deno.statSync(path).size;
    const one = await journal("clear", name.slice(0, 9));
    assertEquals([one.code, one.data.removed, one.data.kept], [0, [{ file: path, bytes }], []]);
    assertEquals(open.append(Uint8Array.of(1, 2, 3)), true);
    assertEquals(new Journal(`${cache}/pipelines`, name, identity).records, [Uint8Array.of(1, 2, 3)]);
    const { code, lines } = await anyagc("journal", "clear");
    assertEquals([code, lines.length], [0, 2]);
    for (const file of [path, other.path]) assert(lines.some((line) => line.startsWith(`removed ${file}, `)));
    assertEquals(Array.from(Deno.readDirSync(`${cache}/pipelines`), ({ name }) => name), ["card.pipelines"]);
  }));

Deno.test("clear keeps what another process has locked, and with --unused what was used since", () =>
  withCache(async (cache) => {
    const locked = writeJournal(cache), old = writeJournal(cache, "old"), young = writeJournal(cache, "young");
    Deno.utimeSync(old.path, new Date(), new Date(Date.now() - 50 * HOUR));
    Deno.utimeSync(locked.path, new Date(), new Date(Date.now() - 50 * HOUR));
    using lock = Deno.openSync(`${locked.path}.lock`, { write: true });
    lock.lockSync(true);
    const { code, data: { removed, kept } } = await journal("clear", "--unused", "2");
    assertEquals([code, removed.map(({ file }: { file: string }) => file)], [0, [old.path]]);
    const reasons = new Map(kept.map(({ file, reason }: { file: string; reason: string }) => [file, reason]));
    assertMatch(reasons.get(locked.path) as string, /^in use: .* is locked/);
    assertEquals(reasons.get(young.path), "a run used it less than 2 days ago");
    lock.unlockSync();
    assertEquals((await journal("clear")).data.removed.length, 2);
  }));

Deno.test("clear follows no links out of the folder: of journals, of locks, of the folder itself", () =>
  withCache(async (cache) => {
    const outside = Deno.makeTempDirSync({ prefix: "anyagc-outside-" });
    try {
      const { name, path } = writeJournal(cache), target = `${outside}/precious.journal`;
      Deno.writeTextFileSync(target, "precious");
      Deno.symlinkSync(target, `${cache}/pipelines/link.journal`);
      Deno.mkdirSync(`${cache}/pipelines/folder.journal`);
      Deno.removeSync(`${path}.lock`);
      Deno.symlinkSync(`${outside}/made`, `${path}.lock`);
      const { code, data } = await journal("clear");
      assertEquals([code, data.removed, data.kept.length], [1, [], 3]);
      for (const { failed } of data.kept) assertEquals(failed, true);
      assertEquals(snapshot(outside).length, 1);
      assertEquals(Deno.readTextFileSync(target), "precious");
      assert(Deno.statSync(path).isFile);
      assertEquals((await anyagc("journal", "show", "link")).code, 2);
      assertEquals((await journal("verify", "link", "folder", name)).data.damaged, 2);

      Deno.renameSync(`${cache}/pipelines`, `${outside}/moved`);
      Deno.symlinkSync(`${outside}/moved`, `${cache}/pipelines`);
      for (const action of ["list", "verify", "clear"]) {
        const { code, errors } = await anyagc("journal", action);
        assertEquals(code, 2);
        assertStringIncludes(errors, `${cache}/pipelines is no folder (or a link to one)`);
      }
      assert(Deno.statSync(`${outside}/moved/${name}.journal`).isFile);
    } finally {
      Deno.removeSync(outside, { recursive: true });
    }
  }));

vulkanTest(
  "list --device says which journals are the device's: the one of a run here, not that of another card",
  () =>
    withCache(async (cache) => {
      const other = writeJournal(cache);
      assertEquals((await anyagc("run", projectFile("shaders/julia/program.json"))).code, 0);
      const { data: { journals } } = await journal("list", "--device", "any");
      const verdicts = journals.map(({ program, thisDevice }: { program: { name: string }; thisDevice: boolean }) => [
        program.name,
        thisDevice,
      ]).sort();
      assertEquals(verdicts, [["julia", true], ["sample", false]]);
      assertStringIncludes((await anyagc("journal", "list", "--device", "any", other.name)).text, "another device");
      const { code } = await anyagc("journal", "list", "--device", "no such card");
      assertEquals(code, 3);
    }),
);
