import type { OwnBudget } from "../pools/own_budget.ts";

/** While something waits, memory is looked at again at least so often, in milliseconds. */
const LOOK_MS = 250;

/** Creations under way, bounded in number, and in bytes by a budget. */
export class BuildQueue {
  readonly #limit: number;
  readonly #budget: Pick<OwnBudget, "tryHold" | "release">;
  readonly #running = new Set<Promise<void>>();

  /** @param limit creations at a time  @param budget bytes of SPIR-V at a time */
  constructor(limit: number, budget: Pick<OwnBudget, "tryHold" | "release">) {
    this.#limit = limit;
    this.#budget = budget;
  }

  /** Starts `work` as soon as there is room for it, and the budget has a hold of so many bytes for it. */
  async start(bytes: number, work: () => Promise<void>): Promise<void> {
    let hold: number | undefined;
    while (this.#running.size >= this.#limit || (hold = this.#budget.tryHold(bytes)) === undefined) {
      await this.#change();
    }
    const held = hold,
      running = work().finally(() => {
        this.#budget.release(held);
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  /** Waits for all. */
  async finished(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Waits until something has ended, or a while. */
  async #change(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOOK_MS);
    await Promise.race([...this.#running, promise]);
    clearTimeout(timer);
  }
}
