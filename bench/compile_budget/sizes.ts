/**
 * Sizes of compute modules as titles have them. Of five titles it is known that the medians are 239 to 671 KiB, the means 0.65 to 1.5 MiB,
 * and the largest modules 4.8 to 18.1 MiB; here title 0 has the least of each, title 4 the most, and the others lie evenly between. Sizes are
 * log-normal between 4 KiB and the largest module, with the two parameters that give that median and that mean.
 */
const KIB = 1024, MIB = 1024 * KIB;

/** Titles. */
export const TITLES = 5;
/** No module is smaller, in bytes. */
const LEAST = 4 * KIB;
/** Steps of the logarithm of the size. */
const STEPS = 2000;

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

/** Draws sizes, multiples of 4 bytes, in the order in which the title needs them; one is the largest. The same seed gives the same sizes. */
export function drawSizes(of: Title, count: number, seed: number): number[] {
  const random = generator(seed), { sizes, shares } = fit(of);
  const drawn = Array.from({ length: count }, () => {
    const share = random(), at = shares.findIndex((each) => each >= share);
    return Math.floor(sizes[at] / 4) * 4;
  });
  drawn[Math.floor(random() * count)] = Math.floor(of.largest / 4) * 4;
  return drawn;
}

/** A distribution: what part of the modules is at most so large. */
interface Distribution {
  readonly sizes: Float64Array;
  readonly shares: Float64Array;
}

/** Finds the parameters: a larger spread has a larger mean with the same median, and a larger centre a larger median. */
function fit({ median, mean, largest }: Title): Distribution {
  const withMedian = (spread: number) => {
    let low = Math.log(LEAST) - 20, high = Math.log(largest) + 20;
    for (let i = 0; i < 50; i++) {
      const centre = (low + high) / 2, { sizes, shares } = normal(centre, spread, largest);
      if (sizes[shares.findIndex((share) => share >= 0.5)] < median) low = centre;
      else high = centre;
    }
    return normal(high, spread, largest);
  };
  let low = 0.1, high = 8;
  for (let i = 0; i < 30; i++) {
    const spread = (low + high) / 2;
    if (meanOf(withMedian(spread)) < mean) low = spread;
    else high = spread;
  }
  return withMedian(high);
}

/** The normal distribution of the logarithm, cut off at both ends. */
function normal(centre: number, spread: number, largest: number): Distribution {
  const sizes = new Float64Array(STEPS), shares = new Float64Array(STEPS);
  let sum = 0;
  for (let i = 0; i < STEPS; i++) {
    const log = Math.log(LEAST) + Math.log(largest / LEAST) * (i + 1) / STEPS;
    sizes[i] = Math.exp(log);
    shares[i] = sum += Math.exp(-(((log - centre) / spread) ** 2) / 2);
  }
  for (let i = 0; i < STEPS; i++) shares[i] /= sum;
  return { sizes, shares };
}

function meanOf({ sizes, shares }: Distribution): number {
  return sizes.reduce((sum, size, i) => sum + size * (shares[i] - (i === 0 ? 0 : shares[i - 1])), 0);
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
