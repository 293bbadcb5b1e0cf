/** DST_SEL, and 16-bit register data: what src/rdna/interpreter/memory/selectors.ts does, as IR. */
import type { Format } from "../../../rdna/formats.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { refuse } from "../refusal.ts";
import { halfFloat, wideFloat } from "./bits.ts";

const SELECT_ZERO = 0, SELECT_ONE = 1, SELECT_X = 4;

/** The 1 of a format: a float or an integer. */
function one(l: Lifter, format: Format): number {
  return l.u(format.isFloat ? 0x3f800000 : 1);
}

/** Components that a format has. */
function presentComponents(format: Format): number {
  return format.kind === "shared" ? 3 : format.bits.length;
}

/**
 * The value of component `c` of the result. Where a component is selected that the format lacks, one- and two-component formats repeat theirs (measured on
 * the console for images); for three components what comes is not known.
 */
export function selectComponent(
  l: Lifter,
  format: Format,
  dstSel: number,
  c: number,
  components: readonly number[],
): number {
  const selector = (dstSel >>> (c * 3)) & 7;
  if (selector === SELECT_ZERO) return l.u(0);
  if (selector === SELECT_ONE) return one(l, format);
  if (selector < SELECT_X) return refuse(`the component selector ${selector} is reserved`);
  const component = selector - SELECT_X, present = presentComponents(format);
  if (component >= present && present === 3) {
    refuse("the fourth component of a format that has three is selected");
  }
  return components[component % present];
}

/**
 * The components of a format from register data: each is the first register whose selector names it, zero when there is none.
 *
 * @param data by selector; undefined for registers that are not given
 */
export function storedComponents(l: Lifter, dstSel: number, data: readonly (number | undefined)[]): number[] {
  const components = [0, 0, 0, 0].map(() => l.u(0));
  for (let c = 3; c >= 0; c--) {
    const selector = (dstSel >>> (c * 3)) & 7, value = data[c];
    if (selector >= SELECT_X && value !== undefined) components[selector - SELECT_X] = value;
  }
  return components;
}

/** 16 bits for a D16 result: floats rounded to f16, integers cut off. */
export function toD16(l: Lifter, isFloat: boolean, value: number): number {
  return isFloat ? halfFloat(l, value, false) : l.ir.emit(Op.And, value, l.u(0xffff));
}

/** A 16-bit component as 32 bits: f16 as f32 (a NaN becomes quiet), integers extended by the format's sign. @param value U32, upper half 0 */
export function fromD16(l: Lifter, format: Pick<Format, "isFloat" | "kind">, value: number): number {
  if (format.isFloat) return wideFloat(l, value);
  return format.kind === "sint" ? l.ir.emit(Op.SBfe, value, l.u(0), l.u(16)) : value;
}
