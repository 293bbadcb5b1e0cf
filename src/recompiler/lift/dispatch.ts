import type { Instruction } from "../../rdna/instruction.ts";
import { opcodeId, OPCODES } from "../../rdna/table.ts";
import type { Lifter } from "./context.ts";
import { defineBuffer } from "./mubuf.ts";
import { defineCarry } from "./vop_carry.ts";
import { defineCompares } from "./vopc.ts";
import { defineConversions } from "./vop_convert.ts";
import { withDpp } from "./dpp.ts";
import { defineLdsAtomics } from "./ds_atomic.ts";
import { defineLdsExchange } from "./ds_exchange.ts";
import { defineFlat } from "./flat.ts";
import { defineFloat } from "./vop_float.ts";
import { defineHardwareRegisters } from "./hardware_registers.ts";
import { defineImage } from "./mimg.ts";
import { defineImageSamples } from "./image/sample.ts";
import { defineIndexed } from "./indexed.ts";
import { defineDivision } from "./vop_division.ts";
import { defineDouble } from "./vop_double.ts";
import { defineFormattedBuffer } from "./mbuf_format.ts";
import { defineHalf } from "./vop_half.ts";
import { defineInt16 } from "./vop_int16.ts";
import { defineLanes } from "./vop_lanes.ts";
import { defineLds } from "./ds.ts";
import { definePermutations } from "./permlane.ts";
import { defineMath } from "./vop_math.ts";
import { definePacked } from "./vop3p.ts";
import { defineProgramControl } from "./sopp.ts";
import { defineQuadMasks } from "./quad_masks.ts";
import { defineScalarArithmetic } from "./sop.ts";
import { defineScalarLogic } from "./sop_logic.ts";
import { defineScalarMemory } from "./smem.ts";
import { defineScalarMemoryWrites } from "./smem_write.ts";
import { defineScratch } from "./scratch.ts";
import { defineExports } from "./stages/exports.ts";
import { defineInterpolation } from "./stages/interpolate.ts";
import { defineMessages } from "./stages/messages.ts";
import { defineUnsupported } from "./unsupported.ts";
import { defineVectorInteger } from "./vop_int.ts";

/** Lifts one instruction: reads and writes the register state, appends to the IR, or calls `refuse`. */
export type Handler = (l: Lifter, instruction: Instruction) => void;

/** Gives an opcode its handler. */
export type Define = (name: string, handler: Handler) => void;

/** Handlers by op id; undefined where the instruction is not implemented. */
export const HANDLERS: readonly (Handler | undefined)[] = build();

function build(): (Handler | undefined)[] {
  const handlers: (Handler | undefined)[] = OPCODES.map(() => undefined);
  const define: Define = (name, handler) => {
    const id = opcodeId(name);
    if (handlers[id] !== undefined) throw new Error(`${name} has two handlers`);
    handlers[id] = withDpp(OPCODES[id], handler);
  };
  for (
    const add of [
      defineScalarLogic,
      defineScalarArithmetic,
      defineProgramControl,
      defineScalarMemory,
      defineVectorInteger,
      defineCarry,
      defineCompares,
      defineConversions,
      defineFloat,
      defineMath,
      defineDivision,
      defineDouble,
      defineHalf,
      defineInt16,
      definePacked,
      defineLanes,
      defineLds,
      defineFlat,
      defineScratch,
      defineBuffer,
      defineFormattedBuffer,
      defineImage,
      defineImageSamples,
      definePermutations,
      defineIndexed,
      defineQuadMasks,
      defineHardwareRegisters,
      defineScalarMemoryWrites,
      defineLdsAtomics,
      defineLdsExchange,
      defineExports,
      defineInterpolation,
      defineMessages,
      defineUnsupported,
    ]
  ) add(define);
  return handlers;
}
