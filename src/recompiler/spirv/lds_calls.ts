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
/** Words that functions which add must save. */
const WORTH = 32;
/** Words of a sum, and of an operand. */
const SUM = 5, OPERAND = 1;

/** @param nameOf name of the function that a load or store would call */
export function planLdsCalls(e: Emitter, nameOf: (i: number) => string): LdsCalls {
  const { ir, usage } = e;
  const names = new Map<number, string>(), counts = new Map<string, number>(), users = new Map<number, number>();
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.LdsLoad && ir.op[i] !== Op.LdsStore) continue;
    const name = nameOf(i), address = ir.a[i];
    names.set(i, name);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (ir.op[address] === Op.IAdd && ir.op[ir.b[address]] === Op.Const) {
      users.set(address, (users.get(address) ?? 0) + 1);
    }
  }
  /** Whether nobody but LDS accesses looks at a sum. */
  const isAddress = (sum: number) => users.get(sum) === usage.uses[sum];
  const saved = new Map<string, number>();
  for (const [i, name] of names) {
    const words = isAddress(ir.a[i]) ? SUM / users.get(ir.a[i])! : 0;
    saved.set(name, (saved.get(name) ?? 0) + words - OPERAND);
  }
  const added = new Set<number>(), reached = new Map<number, number>();
  for (const [i, name] of names) {
    if (saved.get(name)! < WORTH) continue;
    added.add(i);
    if (isAddress(ir.a[i])) reached.set(ir.a[i], (reached.get(ir.a[i]) ?? 0) + 1);
  }
  const absorbed = new Set<number>();
  for (const [sum, number] of reached) if (usage.uses[sum] === number) absorbed.add(sum);
  return { counts, added, absorbed };
}
