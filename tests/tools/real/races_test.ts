import { assertEquals } from "@std/assert";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { racyWords } from "../../../tools/real/races.ts";

/** Words of llvm-mc-19 for gfx1030, wave 32. */
const STORES = Uint32Array.of(
  ...[0x2c020081, 0x34020282, 0x34040082], // v1 = v0 / 2 * 4, v2 = v0 * 4
  ...[0xdc708000, 0x00000001], // global_store_dword v1, v0, s[0:1]: two lanes to each word
  ...[0xdc708100, 0x00000002], // global_store_dword v2, v0, s[0:1] offset:256: each lane to its own
  ...[0xdc608200, 0x00000000], // global_store_byte v0, v0, s[0:1] offset:512: four lanes to the bytes of a word
  0xbf810000,
);

Deno.test("words that several lanes store to with one instruction are races; own words, and bytes side by side, are none", () => {
  const guest = new GuestProgram("races", { target: "gfx1030" });
  const code = guest.code(STORES);
  const output = guest.buffer(new Uint32Array(256));
  guest.submit(
    0,
    computeState({ code, userData: words64(output.address), threads: [32, 1, 1] }),
    dispatchDirect([1, 1, 1], { waveSize: 32 }),
  );
  const found = [...racyWords(guest.program)].map((address) => address - Number(output.address)).sort((a, b) => a - b);
  assertEquals(found, Array.from({ length: 16 }, (_, k) => 4 * k));
});
