/** A small seeded generator (xorshift32) for tests: the same seed gives the same run everywhere. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = (seed * 0x9e3779b1 ^ 0x5bd1e995) | 0 || 1;
  }

  /** 32 random bits, unsigned. */
  u32(): number {
    let x = this.state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.state = x;
    return Math.imul(x, 0x2545f491) >>> 0;
  }

  /** An integer in 0..n-1. */
  below(n: number): number {
    return this.u32() % n;
  }

  /** One of the items. */
  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }

  /** True with probability p. */
  chance(p: number): boolean {
    return this.u32() < p * 0x1_0000_0000;
  }
}
