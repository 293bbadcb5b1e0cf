/** Assembler text in tests: template literals whose lines are looked up in words.ts. */
import type { Target } from "../../../src/rdna/target.ts";
import { type After, type Before, run } from "./machine.ts";

/** A program of the tests: its lines, and what they are assembled for. */
export interface Program {
  lines: string[];
  target: Target;
  waveSize: 32 | 64;
}

function program(text: TemplateStringsArray, target: Target, waveSize: 32 | 64): Program {
  const lines = text[0].split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return { lines, target, waveSize };
}

/** gfx1013, waves of 32 lanes. */
export const asm = (text: TemplateStringsArray): Program => program(text, "gfx1013", 32);
/** gfx1013, waves of 64 lanes. */
export const asm64 = (text: TemplateStringsArray): Program => program(text, "gfx1013", 64);
/** gfx1030, waves of 32 lanes. */
export const asm1030 = (text: TemplateStringsArray): Program => program(text, "gfx1030", 32);

/** Runs a program. */
export function execute({ lines, target, waveSize }: Program, before: Before = {}): After {
  return run(lines, { ...before, target, waveSize });
}
