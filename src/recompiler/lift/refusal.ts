import { hex, RefusedError } from "../../errors.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import { OPCODES } from "../../rdna/table.ts";
import type { RecompileRequest } from "../request.ts";

/** Thrown by a handler to give up one instruction; the lift notes it and goes on, so that one error names everything that is refused. */
export class Refusal extends Error {
  override name = "Refusal";
}

/** Gives up the current instruction. @param why completes "refused: v_foo_b32, ...". */
export function refuse(why: string): never {
  throw new Refusal(why);
}

/** One refused instruction. */
export interface RefusedInstruction {
  mnemonic: string;
  pc: number;
  why: string;
  words: number[];
}

/** Notes what is refused in a program. */
export class RefusalList {
  readonly items: RefusedInstruction[] = [];

  constructor(private readonly request: RecompileRequest) {}

  /** Adds an instruction. */
  add(instruction: Instruction, why: string): void {
    const { pc, size, op } = instruction;
    const words = [...this.request.code.subarray(pc / 4, pc / 4 + size)];
    this.items.push({ mnemonic: OPCODES[op].name, pc, why, words });
  }

  /** Throws one error for everything noted, if anything was. */
  throwIfAny(): void {
    if (this.items.length === 0) return;
    const first = this.items[0];
    const address = this.request.codeAddress + BigInt(first.pc);
    const place = { guestAddress: BigInt.asUintN(64, address), pc: first.pc, words: first.words };
    const lines = this.items.map((item) =>
      `${item.mnemonic} at pc ${hex(item.pc)} (guest address ${
        hex(this.request.codeAddress + BigInt(item.pc))
      }, words ${item.words.map((w) => hex(w, 8)).join(" ")}): ${item.why}`
    );
    const message = lines.length === 1
      ? `the program uses ${first.mnemonic}: ${first.why}`
      : `the program uses ${lines.length} instructions that are refused:\n  ${lines.join("\n  ")}\nfirst one`;
    throw new RefusedError("recompiler.unsupported-instruction", message, place);
  }
}
