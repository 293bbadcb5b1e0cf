import { assertEquals, assertNotEquals } from "@std/assert";
import { journalIdentity } from "../../../src/driver/warm_start/recorded_pipeline.ts";
import { Journal } from "../../../src/storage/journal.ts";
import { fakeIdentity } from "../../gpu/fake_cache_driver.ts";
import { manyPipelines } from "./programs.ts";
import { inFolder } from "./stores.ts";

const PROGRAM = manyPipelines(1, 2), CARD = fakeIdentity("card");

Deno.test("a journal is for one device with its driver, and for one program: name, target, queues and streams", () => {
  const own = journalIdentity(PROGRAM, CARD), [first, second] = PROGRAM.submissions;
  // Memory is no part of it, nor where the file lies.
  assertEquals(journalIdentity({ ...PROGRAM, memory: [] } as typeof PROGRAM, fakeIdentity("card")), own);
  const changed = Uint32Array.from(first.words);
  changed[changed.length - 1] ^= 1;
  const others: Parameters<typeof journalIdentity>[] = [
    [PROGRAM, fakeIdentity("the same card with another driver")],
    [{ ...PROGRAM, name: "another" }, CARD],
    [{ ...PROGRAM, target: PROGRAM.target === "gfx1013" ? "gfx1030" : "gfx1013" }, CARD],
    [{ ...PROGRAM, submissions: [first] }, CARD],
    [{ ...PROGRAM, submissions: [second, first] }, CARD],
    [{ ...PROGRAM, submissions: [{ ...first, queue: 0x20 }, second] }, CARD],
    [{ ...PROGRAM, submissions: [{ ...first, words: changed }, second] }, CARD],
  ];
  for (const [program, device] of others) {
    const other = journalIdentity(program, device);
    assertNotEquals(other.name, own.name);
    assertNotEquals(other.identity, own.identity);
  }
});

Deno.test("under the name of a journal, one of another driver is off", () =>
  inFolder((folder) => {
    const { name, identity } = journalIdentity(PROGRAM, CARD);
    new Journal(folder, name, identity).append(Uint8Array.of(1));
    const other = new Journal(folder, name, journalIdentity(PROGRAM, fakeIdentity("another driver")).identity);
    assertEquals([other.off, other.records.length, other.append(Uint8Array.of(2))], [true, 0, false]);
    assertEquals(new Journal(folder, name, identity).records, [Uint8Array.of(1)]);
  }));
