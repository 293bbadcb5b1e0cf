/**
 * Waits for what only a shader writes: what the word would have to be.
 *
 * @module
 */
import type { WaitDescription } from "../../pm4/packets/definition.ts";

const HOLDS: Readonly<Record<WaitDescription["compare"], (value: bigint, reference: bigint) => boolean>> = {
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
  ">=": (a, b) => a >= b,
  ">": (a, b) => a > b,
};

/** A value of the word for which a wait goes on, its other bits as they are; undefined when there is none. */
export function valueThatEnds({ compare, reference, mask, present }: WaitDescription): bigint | undefined {
  const lowest = mask & -mask;
  const tried = [reference, reference + lowest, reference - lowest, reference ^ lowest, mask, 0n];
  const value = tried.map((each) => BigInt.asUintN(64, each) & mask).find((each) => HOLDS[compare](each, reference));
  return value === undefined ? undefined : (present & ~mask) | value;
}
