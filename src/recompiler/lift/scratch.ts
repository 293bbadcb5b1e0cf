/**
 * SCRATCH instructions (AMD RDNA2 ISA, section 12.15). Scratch memory is guest memory: FLAT_SCRATCH, which the program sets from user data and the offset
 * that the dispatcher loads, is its address, and the dwords of a wave's lanes are interleaved: dword d of lane l lies (d * lanes + l) dwords from there.
 *
 * An element must not cross a dword; one that does gets an address that is none, and is reported as a fault.
 */
import type { Instruction } from "../../rdna/instruction.ts";
import { FaultReason, nowhere } from "../abi.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import {
  coherence,
  constant64,
  extend64,
  fromHalf,
  intoHalf,
  opcodesNamed,
  refuseForms,
  type Transfer,
  transferOf,
  vectorDwords,
  vectorType,
} from "./memory.ts";
import { Slot } from "./slots.ts";

/** Adds the handlers of this class. */
export function defineScratch(define: Define): void {
  for (const opcode of opcodesNamed("scratch_")) {
    const transfer = transferOf(opcode);
    if (opcode.words.has("load")) define(opcode.name, (l, i) => load(l, i, transfer));
    else define(opcode.name, (l, i) => store(l, i, transfer));
  }
}

/** Scalar and vector offset, each where there is one, plus the instruction's. */
function offsetOf(l: Lifter, i: Instruction): number {
  const { ir } = l;
  const scalar = i.srsrc < 0 ? l.u(0) : l.scalar(i.srsrc);
  const vector = i.addr < 0 ? l.u(0) : l.asU(l.source(i.addr));
  const sum = i.srsrc < 0 ? vector : i.addr < 0 ? scalar : ir.emit(Op.IAdd, scalar, vector);
  return l.addConstant(sum, i.imm);
}

/**
 * Guest addresses of the dwords of an element in the lane's scratch memory.
 *
 * @param offset U32: byte address of the element in the lane's memory
 * @param bytes of the element; more than 4 are several dwords
 * @returns the U64 address of byte `at` of it, a multiple of 4
 */
function scratchAddress(l: Lifter, offset: number, bytes: number): (at: number) => number {
  const { ir } = l;
  const log = l.wave64 ? 6 : 5;
  const [baseLow, baseHigh] = [Slot.FlatScratch, Slot.FlatScratch + 1].map((slot) => l.asU(l.state.values[slot]));
  const inDword = ir.emit(Op.And, offset, l.u(3));
  const lane = ir.emit(Op.Shl, l.lane, l.u(2));
  const interleaved = (byte: number) => ir.emit(Op.Shl64, extend64(l, ir.emit(Op.And, byte, l.u(~3))), l.u(log));
  let high = baseHigh, column = lane;
  if (bytes > 1) {
    const fits = bytes === 2 ? ir.emit(Op.INe, inDword, l.u(3)) : ir.emit(Op.IEq, inDword, l.u(0));
    high = l.select(fits, baseHigh, l.u(nowhere(FaultReason.ScratchCrossing)));
  }
  if (bytes < 4) column = ir.emit(Op.IAdd, lane, inDword);
  const start = ir.emit(Op.IAdd64, l.pack([baseLow, high]), extend64(l, column));
  return (at) => {
    const byte = l.addConstant(offset, at);
    const row = ir.op[byte] === Op.Const
      ? constant64(l, BigInt((ir.a[byte] & ~3) >>> 0) << BigInt(log))
      : interleaved(byte);
    return ir.emit(Op.IAdd64, start, row);
  };
}

/** Loads an element of scratch memory where `active`; a register for each dword. */
export function scratchLoad(
  l: Lifter,
  i: Instruction,
  { bytes, dwords, width }: Transfer,
  offset: number,
  active: number,
): number[] {
  const address = scratchAddress(l, offset, bytes);
  const size = (bytes < 4 ? width : 4) | coherence(i);
  return Array.from({ length: dwords }, (_, k) => l.ir.append(Op.Load, vectorType(1), address(k * 4), active, size));
}

/** Stores an element to scratch memory where `active`. */
export function scratchStore(
  l: Lifter,
  i: Instruction,
  { bytes, dwords, width, half }: Transfer,
  offset: number,
  active: number,
): void {
  const address = scratchAddress(l, offset, bytes);
  const size = (bytes < 4 ? width : 4) | coherence(i);
  vectorDwords(l, i.data, dwords).forEach((value, k) => {
    l.ir.emit(Op.Store, address(k * 4), active, fromHalf(l, value, half), size);
  });
}

function load(l: Lifter, i: Instruction, transfer: Transfer): void {
  refuseForms(i);
  const parts = scratchLoad(l, i, transfer, offsetOf(l, i), l.exec());
  if (transfer.half === "none") l.setVectors(i.dst, parts);
  else l.setVector(i.dst, intoHalf(l, l.asU(l.source(i.dst)), parts[0], transfer.half));
}

function store(l: Lifter, i: Instruction, transfer: Transfer): void {
  refuseForms(i);
  scratchStore(l, i, transfer, offsetOf(l, i), l.exec());
}
