import { switchNumber } from "../../switches.ts";
import { DEFAULT_COMPILE_KIB } from "../../sync/compile_budget.ts";

/** Limit of the compile budget in bytes: APS5_BACKGROUND_COMPILE_KIB. @throws UsageError if it is no whole number */
export function compileLimitBytes(): number {
  return (switchNumber("APS5_BACKGROUND_COMPILE_KIB") ?? DEFAULT_COMPILE_KIB) * 1024;
}
