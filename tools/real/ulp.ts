/**
 * Distance of words whose type is not known.
 *
 * @module
 */

/**
 * Units in the last place between two words. A word is taken as an f32 or as two f16, whichever is closer: the type of a buffer's elements is nothing that
 * a comparison from outside knows. NaN is one unit from any other NaN.
 */
export function wordUlp(a: number, b: number): number {
  const single = floatUlp(a, b, 31, 0x7f80_0000);
  // Halves of f32 infinities and NaN look like f16 NaN: such words count as f32 only, unless both words have the f16 NaN that arithmetic makes there.
  const isNan = (x: number) => (x & 0x7fff) > 0x7c00, made = (x: number) => (x & 0x7fff) === 0x7e00;
  for (const [x, y] of [[a & 0xffff, b & 0xffff], [a >>> 16, b >>> 16]]) {
    if ((isNan(x) || isNan(y)) && !(made(x) && made(y))) return single;
  }
  const low = floatUlp(a & 0xffff, b & 0xffff, 15, 0x7c00), high = floatUlp(a >>> 16, b >>> 16, 15, 0x7c00);
  return Math.min(single, Math.max(low, high));
}

/** Steps from one float to the other; +0 and -0 are one step apart, since they are different bits. */
function floatUlp(a: number, b: number, signBit: number, infinity: number): number {
  const magnitude = 2 ** signBit - 1;
  const nan = (x: number) => (x & magnitude) > infinity;
  if (nan(a) && nan(b)) return a === b ? 0 : 1;
  if (nan(a) !== nan(b)) return Infinity;
  const order = (x: number) => (x >>> signBit) === 0 ? x + 1 : -(x & magnitude);
  return Math.abs(order(a) - order(b));
}
