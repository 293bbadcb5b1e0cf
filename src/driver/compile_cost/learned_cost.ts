/**
 * What a compile costs on this device: memory and time for each byte of SPIR-V, learned from compiles that ran alone in the process.
 *
 * @module
 */

/** One compile that ran alone. */
export interface CostSample {
  /** Bytes of SPIR-V. */
  readonly bytes: number;
  /** Bytes by which the process grew at most while it ran. */
  readonly peakBytes: number;
  /** Milliseconds. */
  readonly ms: number;
}

/** Costs for a byte of SPIR-V. */
export interface CompileCost {
  /** Bytes of memory at the peak. */
  readonly memory: number;
  /** Milliseconds. */
  readonly ms: number;
  /** Compiles that it was learned from; 0: it is the assumption. */
  readonly samples: number;
}

/** Smaller modules say nothing: what a pipeline needs whatever its size is most of it. */
export const LEAST_BYTES = 32 << 10;
/** Samples that are kept, the newest ones. */
export const KEPT_SAMPLES = 64;
/** With fewer samples the assumption holds. */
const LEAST_SAMPLES = 3;
/**
 * What is assumed until something was learned: a gigabyte, and ten seconds, for a module of 3.2 MB, the dearest that was seen of a desktop
 * driver.
 */
export const ASSUMED_COST: CompileCost = { memory: 320, ms: 10_000 / 3.2e6, samples: 0 };
/** Memory: this part of the samples costs no more. The allocator may have had some of it already, so most samples say too little. */
const MEMORY_RANK = 0.9, TIME_RANK = 0.5;

/** The costs of a device. */
export function learnedCost(samples: readonly CostSample[]): CompileCost {
  const usable = samples.filter(({ bytes }) => bytes >= LEAST_BYTES);
  if (usable.length < LEAST_SAMPLES) return ASSUMED_COST;
  return {
    memory: Math.max(1, rank(usable.map(({ bytes, peakBytes }) => peakBytes / bytes), MEMORY_RANK)),
    ms: rank(usable.map(({ bytes, ms }) => ms / bytes), TIME_RANK),
    samples: usable.length,
  };
}

/** The least value that a part of the values does not pass. */
function rank(values: number[], part: number): number {
  values.sort((a, b) => a - b);
  return values[Math.max(0, Math.ceil(values.length * part) - 1)];
}
