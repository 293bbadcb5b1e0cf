import { assertEquals } from "@std/assert";
import { openJournal, openRoomStore, sweep } from "../../../src/driver/warm_start/open_store.ts";
import { withLock } from "../../../src/storage/file_lock.ts";
import { Journal } from "../../../src/storage/journal.ts";
import type { SwitchName } from "../../../src/switches.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { manyPipelines } from "./programs.ts";
import { inFolder } from "./stores.ts";

const JOURNAL = "APS5_NO_PIPELINE_JOURNAL", CACHE = "ANYAGC_NO_PIPELINE_CACHE";

deviceTest(
  "a room has journal and cache as the switches want them; a journal that is off is not touched",
  async (gpu) => {
    const names: SwitchName[] = [JOURNAL, CACHE, "ANYAGC_CACHE_DIR"], before = names.map((name) => Deno.env.get(name));
    const program = manyPipelines(1, 1);
    /** Records, whether there is a place for more, whether there is a cache. */
    const opened = (switches: Partial<Record<SwitchName, string>>) => {
      for (const name of [JOURNAL, CACHE] as const) {
        const value = switches[name];
        value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
      }
      const journal = openJournal(gpu, program), store = openRoomStore(gpu, program, journal);
      store?.cache?.close();
      return store && {
        records: store.records.length,
        journal: journal !== undefined,
        writes: store.place !== undefined,
        cache: store.cache !== undefined,
        costs: store.costs !== undefined,
      };
    };
    await inFolder((folder) => {
      try {
        Deno.env.set("ANYAGC_CACHE_DIR", folder);
        const first = openRoomStore(gpu, program, openJournal(gpu, program))!, place = first.place!;
        first.cache?.close();
        const path = `${place.folder}/${place.name}.journal`;
        const on = { records: 0, journal: true, writes: true, cache: true, costs: true };
        assertEquals(opened({}), on);
        new Journal(place.folder, place.name, place.identity).append(Uint8Array.of(1, 2, 3));
        assertEquals(opened({}), { ...on, records: 1, journal: true });
        assertEquals(opened({ [CACHE]: "1" }), { ...on, records: 1, journal: true, cache: false, costs: false });
        // Something behind the record, which whoever opens the journal cuts off.
        Deno.writeFileSync(path, Uint8Array.of(9), { append: true });
        const bytes = Deno.readFileSync(path);
        assertEquals(opened({ [JOURNAL]: "1" }), { ...on, journal: false, writes: false });
        assertEquals(opened({ [JOURNAL]: "1", [CACHE]: "1" }), undefined);
        assertEquals(Deno.readFileSync(path), bytes);
      } finally {
        names.forEach((name, i) => before[i] === undefined ? Deno.env.delete(name) : Deno.env.set(name, before[i]!));
      }
    });
  },
);

Deno.test("of the journals of a folder the 64 that were used last stay, and what a killed process left half-written goes", () =>
  inFolder((folder) => {
    const path = (n: number, ending = "journal") => `${folder}/${String(n).padStart(3, "0")}.${ending}`;
    const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3600_000);
    for (let n = 0; n < 70; n++) {
      Deno.writeTextFileSync(path(n), "");
      Deno.utimeSync(path(n), hoursAgo(100 - n), hoursAgo(100 - n));
    }
    for (const [n, hours] of [[0, 2], [1, 0]]) {
      Deno.writeTextFileSync(path(n, "part"), "");
      Deno.utimeSync(path(n, "part"), hoursAgo(hours), hoursAgo(hours));
    }
    // Of journals that stay, that go, and that went before; that of the fifth oldest has been taken.
    for (const n of [1, 3, 4, 5, 68, 80]) Deno.writeTextFileSync(path(n, "journal.lock"), "");
    withLock(path(4, "journal.lock"), () => sweep(folder, path(2))); // the third oldest, used now
    const left = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    const kept = [2, 4, ...Array.from({ length: 63 }, (_, i) => 7 + i)].map((n) => path(n).slice(folder.length + 1));
    assertEquals(left, [...kept, "001.part", "004.journal.lock", "068.journal.lock"].sort());
  }));

Deno.test("a journal that was used between the look at it and its lock is not removed", () =>
  inFolder((folder) => {
    const path = (n: number) => `${folder}/${100 + n}.journal`, { tryLockSync } = Deno.FsFile.prototype;
    for (let n = 0; n < 65; n++) {
      Deno.writeTextFileSync(path(n), "");
      Deno.utimeSync(path(n), n, n);
    }
    Deno.FsFile.prototype.tryLockSync = function (exclusive) {
      Deno.utimeSync(path(0), new Date(), new Date());
      return tryLockSync.call(this, exclusive);
    };
    try {
      sweep(folder, path(1));
    } finally {
      Deno.FsFile.prototype.tryLockSync = tryLockSync;
    }
    assertEquals(Deno.statSync(path(0)).isFile, true);
  }));
