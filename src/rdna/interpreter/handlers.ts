/** The table of handlers, by op id. What has none is refused by name when it is executed. */
import { opcodeId, OPCODES } from "../table.ts";
import type { Define, Handler } from "./handler.ts";
import { defineImageAccess } from "./image/access_ops.ts";
import { defineImageSamples } from "./image/sample_ops.ts";
import { defineDs } from "./memory/ds.ts";
import { defineFlat } from "./memory/flat.ts";
import { defineBuffers } from "./memory/mubuf.ts";
import { defineControl } from "./scalar/control.ts";
import { defineScalarMemory } from "./scalar/smem.ts";
import { defineExports } from "./stage/exports.ts";
import { defineInterpolation } from "./stage/interpolation.ts";
import { defineScalar } from "./scalar/sop.ts";
import { defineCarries } from "./vector/carry_ops.ts";
import { defineCompares } from "./vector/compare_ops.ts";
import { defineConversions } from "./vector/convert_ops.ts";
import { defineFloatOperations } from "./vector/float_ops.ts";
import { defineIntegers } from "./vector/int_ops.ts";
import { defineLanes } from "./vector/lane_ops.ts";
import { definePacked } from "./vector/packed_ops.ts";

const handlers: (Handler | undefined)[] = new Array(OPCODES.length).fill(undefined);

const define: Define = (name, handler) => {
  const id = opcodeId(name);
  if (handlers[id] !== undefined) throw new Error(`two handlers for ${name}`);
  handlers[id] = handler;
};

defineScalar(define);
defineControl(define);
defineScalarMemory(define);
defineFloatOperations(define);
defineConversions(define);
defineIntegers(define);
defineCarries(define);
defineCompares(define);
definePacked(define);
defineLanes(define);
defineDs(define);
defineFlat(define);
defineBuffers(define);
defineImageAccess(define);
defineImageSamples(define);
defineExports(define);
defineInterpolation(define);

/** Handlers by op id. */
export const HANDLERS: readonly (Handler | undefined)[] = handlers;
