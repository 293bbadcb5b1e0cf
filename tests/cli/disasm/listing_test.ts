import { assertEquals } from "@std/assert";
import { listCode, listingText, programWords } from "../../../src/cli/disasm/listing.ts";

// Assembled with llvm-mc -mcpu=gfx1013:
//   s_cmp_lt_u32 s0, 5 ; s_cbranch_scc1 +2 ; v_mov_b32 v0, 0x12345678 ; s_endpgm ; s_branch -1 (never reached)
const CODE = Uint32Array.of(0xbf0a8500, 0xbf850002, 0x7e0002ff, 0x12345678, 0xbf810000, 0xbf82ffff);
const shader = { code: CODE, target: "gfx1013", waveSize: 32 } as const;

Deno.test("a listing has each instruction's offset, words, text and branch target", () => {
  assertEquals(listCode(shader, 5), [
    { pc: 0, words: [0xbf0a8500], text: "s_cmp_lt_u32 s0, 5" },
    { pc: 4, words: [0xbf850002], text: "s_cbranch_scc1 2", target: 16 },
    { pc: 8, words: [0x7e0002ff, 0x12345678], text: "v_mov_b32_e32 v0, 0x12345678" },
    { pc: 16, words: [0xbf810000], text: "s_endpgm" },
  ]);
});

Deno.test("as text, a line to which a branch leads is marked", () => {
  assertEquals(listingText(listCode(shader, 5)), [
    " 0x0000: bf0a8500           s_cmp_lt_u32 s0, 5",
    " 0x0004: bf850002           s_cbranch_scc1 2  ; to 0x0010",
    " 0x0008: 7e0002ff 12345678  v_mov_b32_e32 v0, 0x12345678",
    ">0x0010: bf810000           s_endpgm",
  ]);
});

Deno.test("words that are no instruction are listed as data with the reason, and the listing goes on", () => {
  const [bad, good] = listCode({ ...shader, code: Uint32Array.of(0xffffffff, 0xbf810000) });
  assertEquals([bad.text, bad.words, good.text], [".long 0xffffffff", [0xffffffff], "s_endpgm"]);
  assertEquals(typeof bad.problem, "string");
});

Deno.test("a program ends at the first end that no earlier branch leads past", () => {
  assertEquals(programWords(CODE, "gfx1013"), 5);
  // s_cbranch_scc1 +1 over the first s_endpgm.
  assertEquals(programWords(Uint32Array.of(0xbf850001, 0xbf810000, 0xbf810000, 0), "gfx1013"), 3);
  // s_branch -1 is an endless loop: nothing behind it belongs to the program.
  assertEquals(programWords(Uint32Array.of(0xbf82ffff, 0xbf810000), "gfx1013"), 1);
  // Data before any end.
  assertEquals(programWords(Uint32Array.of(0xbf800000, 0xffffffff), "gfx1013"), 1);
});
