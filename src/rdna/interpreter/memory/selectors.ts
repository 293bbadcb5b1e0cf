/** DST_SEL: which component of the format each register gets, and 16-bit register data (AMD RDNA2 ISA, section 8.1.4 and 8.2.5). */
import type { Instruction } from "../../instruction.ts";
import { f32Value, isNan32, quiet32, widen16 } from "../float/bits.ts";
import { Round } from "../float/mode.ts";
import { roundToF16 } from "../float/round.ts";
import { refuse } from "../machine/refuse.ts";
import type { Wave } from "../machine/wave.ts";
import type { Format } from "../../formats.ts";
import { COMPONENTS } from "./formats.ts";

/** DST_SEL codes: zero, one, or component X..W. */
const SELECT_ZERO = 0, SELECT_ONE = 1, SELECT_X = 4;

/** What each of four selectors gives: a component number, -1 for zero, -2 for one. */
const SELECTED = new Int8Array(4);

/**
 * Resolves DST_SEL for a format. Where a component is selected that the format lacks, one- and two-component formats repeat theirs (measured on the console
 * for images); for three components what comes is not known.
 *
 * @param wanted bit mask of the selectors that matter
 */
export function resolveSelectors(w: Wave, i: Instruction, dstSel: number, format: Format, wanted: number): Int8Array {
  const present = format.kind === "shared" ? 3 : format.bits.length;
  for (let c = 0; c < 4; c++) {
    const select = dstSel >>> c * 3 & 7;
    if ((wanted >>> c & 1) === 0) continue;
    if (select === SELECT_ZERO) SELECTED[c] = -1;
    else if (select === SELECT_ONE) SELECTED[c] = -2;
    else if (select < SELECT_X) refuse(w, i, `the component selector ${select} is reserved`);
    else {
      const component = select - SELECT_X;
      if (component >= present && present === 3) {
        refuse(w, i, `the fourth component of ${format.name}, which has three, is selected`);
      }
      SELECTED[c] = component % present;
    }
  }
  return SELECTED;
}

/** Value of a resolved selector from {@linkcode COMPONENTS}. */
export function selectedComponent(selected: number, format: Format): number {
  if (selected >= 0) return COMPONENTS[selected];
  return selected === -1 ? 0 : format.isFloat ? 0x3f800000 : 1;
}

const DATA = new Int32Array(4);

/**
 * Turns register data in {@linkcode COMPONENTS} into components of the format: each is the first register whose selector names it, zero when there is none.
 *
 * @param mask registers that were given
 */
export function storedComponents(dstSel: number, mask: number): void {
  DATA.set(COMPONENTS);
  COMPONENTS.fill(0);
  for (let c = 3; c >= 0; c--) {
    const select = dstSel >>> c * 3 & 7;
    if (select >= SELECT_X && (mask >>> c & 1) !== 0) COMPONENTS[select - SELECT_X] = DATA[c];
  }
}

/** 16 bits for a D16 result: floats rounded to f16, integers cut off. */
export function toD16(value: number, format: Format): number {
  if (!format.isFloat) return value & 0xffff;
  const number = f32Value(value);
  return number === number ? roundToF16(number, Round.NearestEven) : 0x7e00;
}

/** A 16-bit component as 32 bits: f16 as f32 (a NaN becomes quiet), integers extended by the format's sign. */
export function fromD16(bits: number, format: Format): number {
  if (format.isFloat) {
    const wide = widen16(bits);
    return isNan32(wide) ? quiet32(wide) : wide;
  }
  return format.kind === "sint" ? bits << 16 >> 16 : bits;
}
