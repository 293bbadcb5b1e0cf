/** Folds of memory accesses that are known to be inactive. */
import type { Type } from "../../ir/ops.ts";
import { zeroOf } from "./fold_wide.ts";
import type { Fold } from "./folder.ts";

const load: Fold = (f, _op, type, _address, active) => f.isBool(active, false) ? zeroOf(f, type as Type) : 0;

/** By operation name. Stores are dropped by the walk (simplify.ts), since they have no value. */
export const MEMORY_FOLDS: Readonly<Record<string, Fold>> = {
  Load: load,
  LdsLoad: load,
  Atomic: load,
  LdsAtomic: load,
};
