import { Op } from "../ir/ops.ts";
import type { Emitter } from "./emitter.ts";

/** How a program accesses LDS: which accesses are calls, and what their functions add to addresses. */
export interface LdsCalls {
  /** How many accesses would call each function, by its name. */
  readonly counts: ReadonlyMap<string, number>;
  /** Accesses that are calls with something to add. */
  readonly added: ReadonlySet<number>;
  /** Sums of a value and a constant that only such accesses use: there is nothing to emit. */
  readonly absorbed: ReadonlySet<number>;
}

/** Accesses of a form from which on they are calls of a function of their own, and no longer in place: consumers of the module inline them. */
export const MANY_ACCESSES = 4;
/** Sums in addresses of a form from which on its function adds: each saves four words, and the other accesses take one more. */
const MANY_SUMS = 8;

/** @param nameOf name of the function that a load or store would call */
export function planLdsCalls(e: Emitter, nameOf: (i: number) => string): LdsCalls {
  const { ir, usage } = e;
  const counts = new Map<string, number>(), sums = new Map<string, number>(), names = new Map<number, string>();
  const isSum = (value: number) => ir.op[value] === Op.IAdd && ir.op[ir.b[value]] === Op.Const;
  const count = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1);
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.LdsLoad && ir.op[i] !== Op.LdsStore) continue;
    const name = nameOf(i);
    names.set(i, name);
    count(counts, name);
    if (isSum(ir.a[i])) count(sums, name);
  }
  const added = new Set<number>(), uses = new Map<number, number>();
  for (const [i, name] of names) {
    const adds = sums.get(name) ?? 0;
    if (adds < MANY_SUMS || 3 * adds < counts.get(name)!) continue;
    added.add(i);
    const address = ir.a[i];
    // The stored value may be the sum as well: such a use is none of the address.
    if (isSum(address)) uses.set(address, (uses.get(address) ?? 0) + 1);
  }
  const absorbed = new Set<number>();
  for (const [address, number] of uses) if (usage.uses[address] === number) absorbed.add(address);
  return { counts, added, absorbed };
}
