/** Untyped buffer instructions (AMD RDNA2 ISA, section 12.13): loads, stores and atomics of fixed width. Formatted ones are not implemented. */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op, Type } from "../ir/ops.ts";
import { BUFFER_SHIFT, BufferForm } from "../resources/plan.ts";
import { type BufferAccess, bufferAccess } from "./buffer_address.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import {
  ATOMIC_NAMES,
  coherence,
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
  writeStatus,
} from "./memory.ts";
import { refuse } from "./refusal.ts";
import { isToLds, storeToLds } from "./to_lds.ts";

/** Adds the handlers of this class. */
export function defineBuffer(define: Define): void {
  for (const opcode of opcodesNamed("buffer_")) {
    if (opcode.memory === undefined || opcode.words.has("atomic")) continue;
    const transfer = transferOf(opcode);
    define(opcode.name, opcode.words.has("load") ? (l, i) => load(l, i, transfer) : (l, i) => store(l, i, transfer));
  }
  for (const name of ATOMIC_NAMES) {
    define(`buffer_atomic_${name}`, (l, i) => atomic(l, i, name, false));
    define(`buffer_atomic_${name}_x2`, (l, i) => atomic(l, i, name, true));
  }
  define("buffer_atomic_csub", (l, i) => atomic(l, i, "csub", false));
}

/** Each dword is checked on its own; the first one in range decides whether memory is read at all. */
function load(l: Lifter, i: Instruction, { bytes, dwords, width, half }: Transfer): void {
  refuseForms(i, { lds: true, status: true });
  if (isToLds(i)) {
    const access = bufferAccess(l, i, 4);
    const active = l.and(l.exec(), access.inRange(0));
    return storeToLds(l, i, l.ir.append(Op.Load, Type.U32, access.address(0), active, width | coherence(i)));
  }
  const place = resolvedPlace(l, i);
  if (place !== undefined) {
    const id = l.ir.append(Op.Load, vectorType(dwords), place.offset, l.exec(), width | coherence(i) | place.buffer);
    if (bytes < 4) l.setVector(i.dst, half === "none" ? id : intoHalf(l, l.asU(l.source(i.dst)), id, half));
    else l.setVectors(i.dst, splitDwords(l, id, dwords));
    return writeStatus(l, i, dwords);
  }
  const access = bufferAccess(l, i, bytes);
  if (bytes > 4) refuseSwizzled(access);
  const active = l.and(l.exec(), access.inRange(0));
  const id = l.ir.append(Op.Load, vectorType(dwords), access.address(0), active, width | coherence(i));
  if (bytes < 4) {
    l.setVector(i.dst, half === "none" ? id : intoHalf(l, l.asU(l.source(i.dst)), id, half));
    return writeStatus(l, i, dwords);
  }
  const parts = splitDwords(l, id, dwords);
  l.setVectors(i.dst, parts.map((part, k) => k === 0 ? part : l.select(access.inRange(k * 4), part, l.u(0))));
  writeStatus(l, i, dwords);
}

function store(l: Lifter, i: Instruction, { bytes, dwords, width, half }: Transfer): void {
  refuseForms(i);
  const place = resolvedPlace(l, i);
  if (place !== undefined) {
    const value = fromHalf(l, joinDwords(l, vectorDwords(l, i.data, dwords)), half);
    l.ir.emit(Op.Store, place.offset, l.exec(), value, width | coherence(i) | place.buffer);
    return;
  }
  const access = bufferAccess(l, i, bytes);
  if (bytes > 4) refuseSwizzled(access);
  vectorDwords(l, i.data, dwords).forEach((value, k) => {
    const active = l.and(l.exec(), access.inRange(k * 4));
    l.ir.emit(
      Op.Store,
      access.address(k * 4),
      active,
      fromHalf(l, value, half),
      (bytes < 4 ? width : 4) | coherence(i),
    );
  });
}

/** Where an access goes whose V# the host resolves: offset, and the bits of the immediate operand that name the buffer. */
function resolvedPlace(l: Lifter, i: Instruction): { offset: number; buffer: number } | undefined {
  const { ir, resources } = l;
  if (resources === undefined || (i.flags & Flag.Idxen) !== 0) return undefined;
  const number = resources.buffer([0, 1, 2, 3].map((k) => l.scalar(i.srsrc + k)), BufferForm.Vector);
  if (number < 0) return undefined;
  let offset = l.addConstant(i.flags & Flag.Offen ? l.asU(l.source(i.addr)) : l.u(0), i.imm);
  const added = l.scalar(i.soffset);
  if (ir.op[added] !== Op.Const || ir.a[added] !== 0) offset = joinDwords(l, [offset, added]);
  return { offset, buffer: (number + 1) << BUFFER_SHIFT };
}

/** Compilers split such accesses into dwords (LLVM, GCNSubtarget::getMaxPrivateElementSize), because elements of a swizzled buffer have 4 bytes. */
function refuseSwizzled({ swizzled }: BufferAccess): void {
  if (swizzled) refuse("more than a dword from a swizzled buffer");
}

/** Range-checked as a whole. */
function atomic(l: Lifter, i: Instruction, name: string, wide: boolean): void {
  refuseForms(i);
  const place = resolvedPlace(l, i);
  if (place !== undefined) {
    guestAtomic(l, i, name, wide, place.offset, l.exec(), place.buffer);
    return;
  }
  const access = bufferAccess(l, i, wide ? 8 : 4);
  let active = l.and(l.exec(), access.inRange(0));
  if (wide) refuseSwizzled(access);
  if (wide) active = l.and(active, access.inRange(4));
  guestAtomic(l, i, name, wide, access.address(0), active);
}
