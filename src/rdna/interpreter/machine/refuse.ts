import { GuestFaultError, RefusedError } from "../../../errors.ts";
import type { Instruction } from "../../instruction.ts";
import { OPCODES } from "../../table.ts";
import type { Wave } from "./wave.ts";

function place(w: Wave, i: Instruction) {
  const { code } = w.group;
  return { guestAddress: BigInt.asUintN(64, BigInt(code.entry + i.pc)), pc: i.pc, words: code.words(i) };
}

/**
 * Gives up: the instruction, or this form of it, is not implemented.
 *
 * @throws RefusedError `interpreter.unsupported-instruction` with the name, the pc and the words
 */
export function refuse(w: Wave, i: Instruction, why: string): never {
  throw new RefusedError("interpreter.unsupported-instruction", `${OPCODES[i.op].name}: ${why}`, place(w, i));
}

/** Gives up: the guest does something that ends it on the console too. */
export function guestFault(w: Wave, i: Instruction, why: string): never {
  throw new GuestFaultError("interpreter.guest-fault", `${OPCODES[i.op].name}: ${why}`, place(w, i));
}
