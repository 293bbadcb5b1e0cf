/**
 * Races in memory between invocations of a subgroup: what one stores, another may load (or store anew) only behind a barrier that both have come to,
 * of the workgroup or of their subgroup. In buffers only loads are looked at: who stores last to a place is a matter of the guest's own. Subgroups of the evaluator are in step, so that without this a missing barrier would not show.
 *
 * Between subgroups nothing is looked at: guest lanes that are switched off may load what nobody looks at, from places of other waves. Atomic operations are
 * left out: they are how invocations may meet without a barrier.
 *
 * @module
 */

/** An access: who, and how many barriers of the workgroup and of the subgroup came before. */
interface Access {
  readonly invocation: number;
  readonly subgroup: object;
  readonly workgroupBarriers: number;
  readonly subgroupBarriers: number;
}

/** What is known of an element. */
interface Element {
  store?: Access;
  value?: unknown;
  /** Loads since the store, the last ones of two invocations of each subgroup. */
  loads: Access[];
}

/** Looks at the accesses of one workgroup. */
export class Races {
  readonly #elements = new WeakMap<object, Map<number, Element>>();
  /** Stands for the bytes of device memory. */
  readonly #memory = {};

  /** A load of an element. @throws Error for a race */
  load(cells: object, index: number, access: Access, word: number): void {
    const element = this.#element(cells, index);
    if (element.store !== undefined && !isOrdered(element.store, access)) {
      throw new Error(
        `word ${word}: invocation ${access.invocation} loads element ${index}, which ${element.store.invocation} has stored without a barrier between them`,
      );
    }
    const { invocation, subgroup } = access;
    const others = element.loads.filter((load) => load.subgroup !== subgroup || load.invocation !== invocation);
    // Two of each subgroup are enough: at least one of them is not the one that stores.
    const [own] = others.filter((load) => load.subgroup === subgroup);
    element.loads = [
      access,
      ...(own === undefined ? [] : [own]),
      ...others.filter((load) => load.subgroup !== subgroup),
    ];
  }

  /** A load from device memory. @throws Error for a race */
  loadMemory(address: bigint, bytes: number, access: Access, word: number): void {
    for (let k = 0; k < bytes; k++) this.load(this.#memory, Number(address) + k, access, word);
  }

  /** A store to device memory. @throws Error for a race with a load */
  storeMemory(address: bigint, bytes: number, access: Access, word: number): void {
    for (let k = 0; k < bytes; k++) this.store(this.#memory, Number(address) + k, undefined, access, word);
  }

  /** An atomic operation in device memory. */
  forgetMemory(address: bigint, bytes: number): void {
    for (let k = 0; k < bytes; k++) this.forget(this.#memory, Number(address) + k);
  }

  /** A store to an element. Two that store the same do not conflict. @throws Error for a race */
  store(cells: object, index: number, value: unknown, access: Access, word: number): void {
    const element = this.#element(cells, index);
    const reader = element.loads.find((load) => !isOrdered(load, access));
    if (reader !== undefined) {
      throw new Error(
        `word ${word}: invocation ${access.invocation} stores element ${index}, which ${reader.invocation} has loaded without a barrier between them`,
      );
    }
    if (element.store !== undefined && element.value !== value && !isOrdered(element.store, access)) {
      throw new Error(
        `word ${word}: invocations ${element.store.invocation} and ${access.invocation} store element ${index} without a barrier between them`,
      );
    }
    element.store = access;
    element.value = value;
    element.loads = [];
  }

  /** An atomic operation: who comes next is not looked at. */
  forget(cells: object, index: number): void {
    const element = this.#element(cells, index);
    element.store = undefined;
    element.loads = [];
  }

  #element(cells: object, index: number): Element {
    let map = this.#elements.get(cells);
    if (map === undefined) this.#elements.set(cells, map = new Map());
    let element = map.get(index);
    if (element === undefined) map.set(index, element = { loads: [] });
    return element;
  }
}

/** Whether an access of the same subgroup comes before another one by a barrier, or by being of the same invocation. */
function isOrdered(before: Access, after: Access): boolean {
  return before.subgroup !== after.subgroup || before.invocation === after.invocation ||
    before.workgroupBarriers < after.workgroupBarriers || before.subgroupBarriers < after.subgroupBarriers;
}
