/** Messages (AMD RDNA2 ISA, section 12.5, "S_SENDMSG"). */
import { Operand } from "../../../rdna/instruction.ts";
import { Op } from "../../ir/ops.ts";
import type { Define } from "../dispatch.ts";
import { refuse } from "../refusal.ts";
import { allocateGroup } from "./group.ts";

/** MSG_GS_ALLOC_REQ: an NGG group asks for space for vertices (M0 bits 8:0) and primitives (20:12). */
const GS_ALLOC_REQ = 9;

/** Adds the handlers of this class. */
export function defineMessages(define: Define): void {
  define("s_sendmsg", (l, i) => {
    const { graphics } = l.request;
    if (l.group !== undefined && (i.imm & 0xffff) === GS_ALLOC_REQ) return allocateGroup(l, l.group);
    if (graphics?.stage !== "vertex" || graphics.form !== "ngg" || (i.imm & 0xffff) !== GS_ALLOC_REQ) {
      refuse("a message to the hardware outside of the wave");
    }
    l.ir.emit(Op.GsAllocate, l.scalar(Operand.M0));
  });
}
