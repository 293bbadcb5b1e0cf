import { assert, assertEquals } from "@std/assert";
import { InvalidInputError } from "../../src/errors.ts";
import { decode } from "../../src/rdna/decode.ts";
import { disassemble } from "../../src/rdna/disassemble.ts";
import { Instruction } from "../../src/rdna/instruction.ts";
import { OPCODES } from "../../src/rdna/table.ts";
import { TARGETS } from "../../src/rdna/target.ts";
import { Random } from "./random_code.ts";

Deno.test("Random words are either an instruction with text or refused with pc and words, never a crash", () => {
  const random = new Random(20240607);
  const words = Uint32Array.from({ length: 100_000 }, () => random.bits());
  const out = new Instruction();
  for (const target of TARGETS) {
    let accepted = 0;
    for (let at = 0; at < words.length; at++) {
      try {
        decode(words, at * 4, target, out);
      } catch (error) {
        assert(error instanceof InvalidInputError, String(error));
        assertEquals(error.place.pc, at * 4);
        assert(error.place.words !== undefined && error.place.words.length > 0);
        continue;
      }
      accepted++;
      assert(out.size >= 1 && out.size <= 5);
      const text = disassemble(out, { waveSize: at & 1 ? 32 : 64, target });
      assert(text.startsWith(OPCODES[out.op].name), text);
      assert(!/undefined|NaN/.test(text), text);
    }
    // The top bits of most words select an encoding, and about half of the rest is well-formed.
    assert(accepted > 20_000, `${accepted} of ${words.length} accepted`);
  }
});
