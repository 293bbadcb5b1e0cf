/**
 * GLOBAL and FLAT instructions (AMD RDNA2 ISA, section 12.15). A FLAT address may lie in the LDS or the private aperture: see flat_apertures.ts. SCRATCH: see
 * scratch.ts.
 */
import type { Instruction } from "../../rdna/instruction.ts";
import { Op, Type } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { flatAtomic, flatLoad, flatStore } from "./flat_apertures.ts";
import {
  add64,
  ATOMIC_NAMES,
  atomicKind,
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
import { refuse } from "./refusal.ts";
import { isToLds, storeToLds } from "./to_lds.ts";

/** Adds the handlers of this class. */
export function defineFlat(define: Define): void {
  for (const segment of ["global", "flat"]) {
    for (const opcode of opcodesNamed(`${segment}_`)) {
      if (opcode.memory === undefined || opcode.words.has("atomic")) continue;
      const transfer = transferOf(opcode);
      define(opcode.name, opcode.words.has("load") ? (l, i) => load(l, i, transfer) : (l, i) => store(l, i, transfer));
    }
    for (const name of ATOMIC_NAMES) {
      for (const wide of [false, true]) {
        define(`${segment}_atomic_${name}${wide ? "_x2" : ""}`, (l, i) => {
          refuseForms(i);
          if (isFlat(l, i)) flatAtomic(l, i, atomicKind(name, wide), addressOf(l, i), flatOffset(l, i));
          else guestAtomic(l, i, name, wide, addressOf(l, i), l.exec());
        });
      }
    }
  }
  define("global_atomic_csub", (l, i) => {
    refuseForms(i);
    guestAtomic(l, i, "csub", false, addressOf(l, i), l.exec());
  });
}

/** Vector address, or scalar base plus 32-bit unsigned vector offset; plus the signed offset of the instruction. */
function addressOf(l: Lifter, i: Instruction): number {
  const { ir } = l;
  if (i.mode === SEGMENT_FLAT) return add64(l, l.pack(l.sourcePair(i.addr)), flatOffset(l, i));
  if (i.addr < 0) {
    // global_*_addtid: four bytes a lane behind the scalar base.
    if (i.srsrc < 0) refuse("an address made of the lane's number without a scalar base");
    const place = ir.emit(Op.IAdd64, l.pack(l.scalarPair(i.srsrc)), extend64(l, ir.emit(Op.Shl, l.lane, l.u(2))));
    return add64(l, place, i.imm);
  }
  const address = i.srsrc < 0
    ? l.pack(l.sourcePair(i.addr))
    : ir.emit(Op.IAdd64, l.pack(l.scalarPair(i.srsrc)), extend64(l, l.asU(l.source(i.addr))));
  return add64(l, address, i.imm);
}

const SEGMENT_FLAT = 0;

/** Whether an instruction may mean LDS or scratch memory. */
function isFlat(l: Lifter, i: Instruction): boolean {
  return l.knowsApertures && i.mode === SEGMENT_FLAT;
}

/** The offset of FLAT is unsigned, its top bit ignored. gfx10.1 forgets it for memory (LLVM, FeatureFlatSegmentOffsetBug), so no compiler uses one there. */
function flatOffset(l: Lifter, i: Instruction): number {
  const offset = i.imm & 0x7ff;
  if (offset !== 0 && l.request.target === "gfx1013") refuse("the offset of a FLAT instruction, which gfx10.1 ignores");
  return offset;
}

function load(l: Lifter, i: Instruction, transfer: Transfer): void {
  refuseForms(i, { lds: true });
  const { dwords, width, half } = transfer;
  if (isToLds(i)) {
    return storeToLds(l, i, l.ir.append(Op.Load, Type.U32, addressOf(l, i), l.exec(), width | coherence(i)));
  }
  if (isFlat(l, i)) return flatLoad(l, i, transfer, addressOf(l, i), flatOffset(l, i));
  const id = l.ir.append(Op.Load, vectorType(dwords), addressOf(l, i), l.exec(), width | coherence(i));
  if (half !== "none") l.setVector(i.dst, intoHalf(l, l.asU(l.source(i.dst)), id, half));
  else l.setVectors(i.dst, splitDwords(l, id, dwords));
}

function store(l: Lifter, i: Instruction, transfer: Transfer): void {
  refuseForms(i);
  const { dwords, width, half } = transfer;
  if (isFlat(l, i)) return flatStore(l, i, transfer, addressOf(l, i), flatOffset(l, i));
  const value = fromHalf(l, joinDwords(l, vectorDwords(l, i.data, dwords)), half);
  l.ir.emit(Op.Store, addressOf(l, i), l.exec(), value, width | coherence(i));
}
