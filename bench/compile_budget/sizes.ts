/**
 * Sizes of compute modules as titles have them. Of five titles it is known that the medians are 239 to 671 KiB, the means 0.65 to 1.5 MiB,
 * and the largest modules 4.8 to 18.1 MiB; here title 0 has the least of each, title 4 the most, the others lie evenly between, and sizes
 * are log-normal: the distribution with that median and that mean.
 */
const KIB = 1024, MIB = 1024 * KIB;

/** Titles. */
export const TITLES = 5;
/** Smaller modules are not drawn, in bytes. */
const LEAST = 4 * KIB;

/** What is known of a title's modules, in bytes. */
export interface Title {
  readonly median: number;
  readonly mean: number;
  readonly largest: number;
}

/** A title, 0 to 4. */
export function title(index: number): Title {
  const between = (least: number, most: number) => least + (most - least) * index / (TITLES - 1);
  return { median: between(239, 671) * KIB, mean: between(0.65, 1.5) * MIB, largest: between(4.8, 18.1) * MIB };
}

/** Draws sizes, multiples of 4 bytes, in the order in which the title needs them. The same seed gives the same sizes. */
export function drawSizes({ median, mean, largest }: Title, count: number, seed: number): number[] {
  const random = generator(seed), sigma = Math.sqrt(2 * Math.log(mean / median));
  return Array.from({ length: count }, () => {
    for (;;) {
      // Box and Muller, 1958.
      const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      const size = median * Math.exp(sigma * normal);
      if (size >= LEAST && size <= largest) return Math.round(size / 4) * 4;
    }
  });
}

/** xorshift32 (Marsaglia, 2003). */
function generator(seed: number): () => number {
  let state = (seed * 0x9e3779b1) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
