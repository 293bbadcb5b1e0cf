import type { Emitter, HandlerTable } from "../emitter.ts";
import { QUADS } from "./exchange.ts";
import { EXPORTS } from "./exports.ts";
import { INTERPOLATION } from "./interpolation.ts";

/** Operations that a pass has taken away before. */
function gone(e: Emitter, i: number): never {
  throw e.refuse(i, "ngg", "of a merged wave, in no NGG program");
}

/** Handlers of the operations of graphics stages. */
export const STAGES: HandlerTable = { ...EXPORTS, ...INTERPOLATION, ...QUADS, GsAllocate: gone, GsPrimitive: gone };
