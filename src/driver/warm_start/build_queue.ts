/** Creations under way, bounded in number and in bytes. */
export class BuildQueue {
  readonly #limit: number;
  readonly #budget: number;
  readonly #running = new Set<Promise<void>>();
  #bytes = 0;

  /** @param limit creations at a time  @param budget bytes of SPIR-V at a time, unless a single one has more */
  constructor(limit: number, budget: number) {
    this.#limit = limit;
    this.#budget = budget;
  }

  /** Starts `work` as soon as there is room for it; one that is larger than the budget runs alone. */
  async start(bytes: number, work: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#limit || (this.#running.size > 0 && this.#bytes + bytes > this.#budget)) {
      await Promise.race(this.#running);
    }
    this.#bytes += bytes;
    const running = work().finally(() => {
      this.#bytes -= bytes;
      this.#running.delete(running);
    });
    this.#running.add(running);
  }

  /** Waits for all. */
  async finished(): Promise<void> {
    await Promise.all(this.#running);
  }
}
