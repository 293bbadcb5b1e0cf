/**
 * APS5_PROFILE_DRAW=1: which programs make pipelines that take long.
 *
 * @module
 */
import { hex } from "../../errors.ts";
import { switchFlag } from "../../switches.ts";

/** Smaller modules are not worth a line. */
export const PROFILED_WORDS = 100_000;

/** A pipeline that was created. */
export interface ProfiledCreation {
  /** Words of SPIR-V. */
  readonly words: number;
  /** Milliseconds that its creation took. */
  readonly ms: number;
  /** Guest address of the program; a function where it takes time to find out. Undefined: nobody knows. */
  readonly address: bigint | undefined | (() => bigint | undefined);
}

let wanted: boolean | undefined;
let most = PROFILED_WORDS;

/** To be called for each pipeline that was created: prints a line for a large one, where the switch asks for it. */
export function profileCreation(
  { words, ms, address }: ProfiledCreation,
  print: (line: string) => void = printLine,
): void {
  if (words <= most) return;
  if (!(wanted ??= switchFlag("APS5_PROFILE_DRAW"))) return;
  const found = typeof address === "function" ? address() : address;
  print(`pipeline: ${words} words, ${ms.toFixed(1)} ms, program ${found === undefined ? "unknown" : hex(found)}`);
}

/** For tests: looks at the switch again. @param words largest module that is not worth a line */
export function resetProfile(words = PROFILED_WORDS): void {
  wanted = undefined;
  most = words;
}

/** Standard error: standard output is for results. */
function printLine(line: string): void {
  console.error(line);
}
