/** GLOBAL instructions (AMD RDNA2 ISA, section 12.15). FLAT (apertures decide what memory is meant) and SCRATCH are not implemented. */
import type { Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import {
  add64,
  ATOMIC_NAMES,
  coherence,
  extend64,
  fromHalf,
  guestAtomic,
  intoHalf,
  joinDwords,
  opcodesNamed,
  refuseForms,
  splitDwords,
  type Transfer,
  transferOf,
  vectorDwords,
  vectorType,
} from "./memory.ts";

/** Adds the handlers of this class. */
export function defineFlat(define: Define): void {
  for (const opcode of opcodesNamed("global_")) {
    if (opcode.memory === undefined || opcode.words.has("atomic") || opcode.words.has("wave")) continue;
    const transfer = transferOf(opcode);
    define(opcode.name, opcode.words.has("load") ? (l, i) => load(l, i, transfer) : (l, i) => store(l, i, transfer));
  }
  for (const name of ATOMIC_NAMES) {
    for (const wide of [false, true]) {
      define(`global_atomic_${name}${wide ? "_x2" : ""}`, (l, i) => {
        refuseForms(i);
        guestAtomic(l, i, name, wide, addressOf(l, i), l.exec());
      });
    }
  }
}

/** Vector address, or scalar base plus 32-bit unsigned vector offset; plus the signed offset of the instruction. */
function addressOf(l: Lifter, i: Instruction): number {
  const address = i.srsrc < 0
    ? l.pack(l.sourcePair(i.addr))
    : l.ir.emit(Op.IAdd64, l.pack(l.scalarPair(i.srsrc)), extend64(l, l.asU(l.source(i.addr))));
  return add64(l, address, i.imm);
}

function load(l: Lifter, i: Instruction, { dwords, width, half }: Transfer): void {
  refuseForms(i);
  const id = l.ir.append(Op.Load, vectorType(dwords), addressOf(l, i), l.exec(), width | coherence(i));
  if (half !== "none") l.setVector(i.dst, intoHalf(l, l.asU(l.source(i.dst)), id, half));
  else l.setVectors(i.dst, splitDwords(l, id, dwords));
}

function store(l: Lifter, i: Instruction, { dwords, width, half }: Transfer): void {
  refuseForms(i);
  const value = fromHalf(l, joinDwords(l, vectorDwords(l, i.data, dwords)), half);
  l.ir.emit(Op.Store, addressOf(l, i), l.exec(), value, width | coherence(i));
}
