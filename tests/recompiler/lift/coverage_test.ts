/**
 * Which vector ALU instructions are lifted. A change of a number here is a change of what programs can run: say so in the commit.
 */
import { assertEquals } from "@std/assert";
import { Encoding } from "../../../src/rdna/instruction.ts";
import { OPCODES } from "../../../src/rdna/table.ts";
import { HANDLERS } from "../../../src/recompiler/lift/dispatch.ts";
import { REFUSED_NAMES } from "../../../src/recompiler/lift/unsupported.ts";

const ENCODINGS = {
  VOP1: Encoding.Vop1,
  VOP2: Encoding.Vop2,
  VOP3: Encoding.Vop3,
  VOP3P: Encoding.Vop3p,
  VOPC: Encoding.Vopc,
} as const;

/** By encoding: opcodes that are lifted, that are refused by name, that have no handler. */
const COUNTS: Readonly<Record<keyof typeof ENCODINGS, readonly [lifted: number, refused: number, missing: number]>> = {
  VOP1: [81, 0, 0],
  VOP2: [50, 1, 0],
  VOP3: [113, 4, 0],
  VOP3P: [28, 1, 0],
  VOPC: [190, 0, 0],
};

Deno.test("every vector ALU opcode is lifted or refused with a reason", () => {
  for (const [name, encoding] of Object.entries(ENCODINGS)) {
    const opcodes = OPCODES.filter((opcode) => opcode.encoding === encoding);
    const missing = opcodes.filter(({ id }) => HANDLERS[id] === undefined).map((opcode) => opcode.name);
    const refused = opcodes.filter((opcode) => REFUSED_NAMES.has(opcode.name)).map((opcode) => opcode.name);
    const counts = [opcodes.length - missing.length - refused.length, refused.length, missing.length];
    console.log(`${name}: ${counts[0]} lifted, ${counts[1]} refused (${refused.join(" ")})`);
    assertEquals(missing, [], `${name} opcodes without a handler`);
    assertEquals(counts, [...COUNTS[name as keyof typeof ENCODINGS]], `${name}: lifted, refused, missing`);
  }
});
