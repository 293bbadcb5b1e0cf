import { assert, assertEquals } from "@std/assert";
import { decode } from "../../src/rdna/decode.ts";
import { disassemble } from "../../src/rdna/disassemble.ts";
import { type Target, TARGETS } from "../../src/rdna/target.ts";
import { hasLlvmMc, llvmDisassemble } from "./llvm_mc.ts";
import { encodingsOf, Random, randomEncoding } from "./random_code.ts";

const missing = !hasLlvmMc();

/**
 * Opcodes that LLVM's disassembler refuses in forms that the ISA has or ignores, at most so many of all encodings: DLC on atomics, GDS
 * instructions without the GDS bit, v_cmp_class with clamp, more non-sequential address words than needed, sign extension of v_cndmask SDWA.
 */
const REFUSED_BY_LLVM = 0.06;

/** What LLVM writes with symbols that say nothing (compiler version bits). */
const NOT_COMPARED = new Set(["s_version"]);

async function compare(target: Target, waveSize: 32 | 64, perEncoding: number, seed: number): Promise<number> {
  const random = new Random(seed);
  const programs: number[][] = [];
  for (const { opcode, encoding } of encodingsOf(target)) {
    if (NOT_COMPARED.has(opcode.name)) continue;
    for (let i = 0; i < perEncoding; i++) programs.push(randomEncoding(opcode, encoding, random, waveSize));
  }
  const expected = await llvmDisassemble(programs, target, waveSize);
  let refused = 0;
  programs.forEach((words, i) => {
    const instruction = decode(Uint32Array.from(words), 0, target);
    if (expected[i] === undefined) {
      refused++;
      return;
    }
    const hexWords = words.map((word) => word.toString(16).padStart(8, "0")).join(" ");
    assertEquals(disassemble(instruction, { waveSize, target }), expected[i], hexWords);
    assertEquals(instruction.size, words.length, hexWords);
  });
  assert(refused < programs.length * REFUSED_BY_LLVM, `LLVM refuses ${refused} of ${programs.length} encodings`);
  return programs.length - refused;
}

for (const target of TARGETS) {
  Deno.test({
    name: `Random encodings of every opcode of ${target} read as llvm-mc reads them` +
      (missing ? " [ignored: llvm-mc-19 is not installed]" : ""),
    ignore: missing,
    async fn() {
      const compared = await compare(target, 64, 9, 11) + await compare(target, 32, 9, 12);
      assert(compared >= 20_000, `${compared} encodings compared`);
    },
  });
}
