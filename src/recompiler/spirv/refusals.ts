import { RefusedError } from "../../errors.ts";
import { Type } from "../ir/ops.ts";
import type { Emitter, Handler } from "./emitter.ts";
import type { T } from "./module.ts";

/** Emits an operation. What is refused is noted in {@linkcode Emitter.refusals}, and the rest of the program is looked at, so that one error names all of it. */
export function emitOperation(e: Emitter, handler: Handler, i: number): void {
  try {
    handler(e, i);
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    e.refusals.push(error);
    const type = e.ir.type[i];
    if (type !== Type.Void && e.ids[i] === 0) e.ids[i] = e.module.undef(type as T);
  }
}
