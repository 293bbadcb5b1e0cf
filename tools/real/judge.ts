/**
 * Says what a difference is. Three results are there: the original module's, the recompiled code's, and the interpreter's of the same machine code.
 *
 * - Recompiled code and interpreter must agree to the bit, with the device's own functions in the interpreter. Where they do not, the words must be such
 *   that the machine code leaves them open: they change when the interpreter makes another choice that the hardware may make as well.
 * - Where they agree, the recompiler is right, and the original differs from RADV's code. That must have a reason too: choices as above, choices of a
 *   compiler, operations with an error bound, and then the difference must be within what these bounds make of the results, or accesses outside of arrays
 *   and buffers, and then the words must change when the original is made to access something else (`outside.ts`).
 *
 * @module
 */
import {
  dividesByZero,
  DOT_PRODUCTS,
  type Freedom,
  FUNCTION_PRECISION,
  LANE_ORDER,
  OUT_OF_RANGE,
  UNWRITTEN_LDS,
  WAVE_ORDER,
} from "./freedoms.ts";
import type { Results } from "./module_runs.ts";
import { wordUlp } from "./ulp.ts";

/** What a difference is. */
export type Judgement =
  /** Recompiled code and interpreter agree, and so does the original where it counts: to the bit, but for the bits of NaN. */
  | { readonly kind: "same" }
  /** Nobody defines the words that differ. */
  | { readonly kind: "open"; readonly causes: readonly string[] }
  /** The words that differ do so within the bounds of operations that have one; `ulp` is the largest difference. */
  | { readonly kind: "bounded"; readonly causes: readonly string[]; readonly ulp: number }
  /** The recompiled code does what its machine code does not. */
  | { readonly kind: "wrong"; readonly where: string }
  /** The recompiled code does what its machine code does, and nothing says why the original does something else. */
  | { readonly kind: "unexplained"; readonly where: string };

/** What is judged. */
export interface Case {
  readonly actual: Results;
  /** What the original gives; undefined where only the machine code counts. */
  readonly original: Results | undefined;
  /** Runs the machine code in the interpreter, with the device's functions. */
  interpret(): Results;
  /** Operations of the original that have an error bound, and those that are undefined for some operands, by name (see usageOf). */
  readonly inexact: readonly string[];
  readonly partial: readonly string[];
  /** Runs the original with indices outside of arrays and buffers led back inside, each time to other elements; nothing where it has no such index. */
  outside?(): readonly Results[];
}

/** Runs with an error moved at random. */
const RUNS = 8;
/**
 * How far a difference may go beyond what these runs show: the largest of eight random draws is about 1.4 standard deviations of the sum of many errors,
 * both sides have such errors, and four times as much is 5.6 of them.
 */
const SAFETY = 4;

/** Choices of the hardware, with the seeds that are tried. */
const HARDWARE: readonly (readonly [Freedom, readonly number[]])[] = [
  [UNWRITTEN_LDS, [1, 2]],
  [WAVE_ORDER, [1, 2, 4]],
  [LANE_ORDER, [1]],
];

/** Judges. The interpreter runs once, and once for each choice that is tried. */
export function judge({ actual, original, interpret, inexact, partial, outside }: Case): Judgement {
  const base = interpret();
  const tried = new Map<Freedom, Results[]>();
  const variants = (freedom: Freedom, seeds: readonly number[]): Results[] => {
    let list = tried.get(freedom);
    if (list === undefined) tried.set(freedom, list = seeds.map((seed) => withChoice(freedom, seed, interpret)));
    return list;
  };
  const causes = new Set<string>();
  /** Takes away the words that the choices of the hardware open. */
  const close = (words: Difference[]): Difference[] => {
    let rest = words;
    for (const [freedom, seeds] of HARDWARE) {
      if (rest.length === 0) break;
      const list = variants(freedom, seeds);
      const left = rest.filter(({ key, at }) => list.every((each) => each.get(key)![at] === base.get(key)![at]));
      if (left.length < rest.length) causes.add(freedom.name);
      rest = left;
    }
    return rest;
  };
  const wrong = close(differences(base, actual));
  if (wrong.length > 0) return { kind: "wrong", where: describe(wrong[0], "the interpreter") };
  if (original === undefined) return causes.size > 0 ? { kind: "open", causes: [...causes] } : { kind: "same" };

  let rest = close(differences(original, actual));
  if (rest.length === 0) return causes.size > 0 ? { kind: "open", causes: [...causes] } : { kind: "same" };
  if (partial.some((name) => name.startsWith("ConvertF"))) {
    const list = variants(OUT_OF_RANGE, [1, 2]);
    const left = rest.filter(({ key, at }) => list.every((each) => each.get(key)![at] === base.get(key)![at]));
    if (left.length < rest.length) causes.add(OUT_OF_RANGE.name);
    rest = left;
    if (rest.length === 0) return { kind: "open", causes: [...causes] };
  }
  let ulp = 0;
  const bounds = new Set<string>();
  for (
    const [freedom, needs] of [[FUNCTION_PRECISION, /^(?!Dot|Matrix|VectorTimes)/], [DOT_PRODUCTS, SUMS]] as const
  ) {
    if (rest.length === 0 || !inexact.some((name) => needs.test(name))) continue;
    const list = variants(freedom, Array.from({ length: RUNS }, (_, k) => k + 1));
    const left = rest.filter(({ key, at, difference }) => {
      const spread = Math.max(...list.map((each) => wordUlp(each.get(key)![at], base.get(key)![at])));
      return !(difference <= SAFETY * spread);
    });
    if (left.length < rest.length) bounds.add(freedom.name);
    for (const each of rest) if (!left.includes(each)) ulp = Math.max(ulp, each.difference);
    rest = left;
  }
  if (rest.length > 0 && partial.some((name) => /Div|Mod|Rem/.test(name)) && dividesByZero(interpret)) {
    return { kind: "open", causes: ["a division of integers by zero"] };
  }
  if (rest.length > 0) {
    // Where operations have no error bound, nothing but such an index makes the runs differ from the original's as it is.
    const list = [...inexact.length === 0 ? [original] : [], ...outside?.() ?? []];
    const left = rest.filter(({ key, at }) => list.every((each) => each.get(key)![at] === list[0].get(key)![at]));
    if (left.length < rest.length) causes.add("accesses outside of arrays and buffers");
    rest = left;
  }
  if (rest.length > 0) return { kind: "unexplained", where: describe(rest[0], "the original") };
  // Where something is open as well, the run says less than one in which nothing is.
  if (causes.size > 0) return { kind: "open", causes: [...causes, ...bounds] };
  return { kind: "bounded", causes: [...bounds], ulp };
}

/** Operations that add up products. */
const SUMS = /^(Dot|Matrix|VectorTimesMatrix|Fma|Cross|Reflect|Refract|Length|Distance|Normalize)/;

function withChoice(freedom: Freedom, seed: number, interpret: () => Results): Results {
  const takeBack = freedom.install(seed);
  try {
    return interpret();
  } finally {
    takeBack();
  }
}

/** A word that differs. */
interface Difference {
  key: string;
  at: number;
  expected: number;
  actual: number;
  /** In units in the last place. */
  difference: number;
}

function differences(expected: Results, actual: Results): Difference[] {
  const list: Difference[] = [];
  for (const [key, words] of expected) {
    const other = actual.get(key)!;
    words.forEach((word, at) => {
      if (word !== other[at] && !bothNan(word, other[at])) {
        list.push({ key, at, expected: word, actual: other[at], difference: wordUlp(word, other[at]) });
      }
    });
  }
  return list;
}

/** Whether words differ in the bits of NaN only, which no device promises: as f32, or as the f16 NaN that arithmetic makes in each half that differs. */
function bothNan(a: number, b: number): boolean {
  const wide = (x: number) => (x & 0x7fff_ffff) > 0x7f80_0000, half = (x: number) => (x & 0x7fff) === 0x7e00;
  if (wide(a) && wide(b)) return true;
  return [0, 16].every((shift) => {
    const x = a >>> shift & 0xffff, y = b >>> shift & 0xffff;
    return x === y || half(x) && half(y);
  });
}

function describe({ key, at, expected, actual, difference }: Difference, whose: string): string {
  return `${key}[${at}]: 0x${actual.toString(16)}, ${whose} has 0x${expected.toString(16)} (${difference} ULP)`;
}
