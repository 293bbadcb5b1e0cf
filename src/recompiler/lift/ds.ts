/** LDS instructions (AMD RDNA2 ISA, section 12.12). Addresses are bytes; what is out of range reads 0 and writes nothing. GDS: see gds.ts. */
import type { Instruction } from "../../rdna/instruction.ts";
import type { Opcode } from "../../rdna/table.ts";
import { AtomicKind, Op, Type } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { gdsAtomic, gdsLoad, gdsStore, isGds } from "./gds.ts";
import {
  fromHalf,
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

/** DS atomics by the middle of their name; cmpst has its operands the other way round than the buffer instructions. */
const ATOMICS: Readonly<Record<string, number>> = {
  add: AtomicKind.Add,
  sub: AtomicKind.Sub,
  inc: AtomicKind.Inc,
  dec: AtomicKind.Dec,
  min_i: AtomicKind.SMin,
  max_i: AtomicKind.SMax,
  min_u: AtomicKind.UMin,
  max_u: AtomicKind.UMax,
  and: AtomicKind.And,
  or: AtomicKind.Or,
  xor: AtomicKind.Xor,
  wrxchg: AtomicKind.Swap,
  cmpst: AtomicKind.CmpSwap,
};

/** Adds the handlers of this class. */
export function defineLds(define: Define): void {
  for (const opcode of opcodesNamed("ds_")) {
    if (opcode.memory === undefined || opcode.words.has("wave")) continue;
    if (opcode.words.has("load")) {
      const transfer = transferOf(opcode);
      define(
        opcode.name,
        opcode.words.has("two") ? (l, i) => loadTwo(l, i, transfer, opcode) : (l, i) => load(l, i, transfer),
      );
    } else if (opcode.words.has("store")) {
      const transfer = transferOf(opcode);
      define(
        opcode.name,
        opcode.words.has("two") ? (l, i) => storeTwo(l, i, transfer, opcode) : (l, i) => store(l, i, transfer),
      );
    } else {
      const match = /^ds_([a-z]+)_(?:rtn_)?([uib])(32|64)$/.exec(opcode.name);
      if (match === null) continue;
      const kind = ATOMICS[match[1]] ?? ATOMICS[`${match[1]}_${match[2]}`];
      if (kind !== undefined) define(opcode.name, (l, i) => atomic(l, i, kind, match[3] === "64"));
    }
  }
}

function addressOf(l: Lifter, i: Instruction, offset: number): number {
  refuseForms(i, { gds: true });
  return l.addConstant(l.asU(l.source(i.addr)), offset);
}

/** Byte offsets of the two elements of read2, write2 and their st64 forms. */
function twoOffsets(i: Instruction, transfer: Transfer, opcode: Opcode): [number, number] {
  const unit = transfer.bytes * (opcode.words.has("st64") ? 64 : 1);
  return [(i.imm & 0xff) * unit, ((i.imm >> 8) & 0xff) * unit];
}

function loadAt(l: Lifter, i: Instruction, address: number, { dwords, width }: Transfer): number[] {
  if (isGds(i)) return gdsLoad(l, address, dwords, width, l.exec());
  return splitDwords(l, l.ir.append(Op.LdsLoad, vectorType(dwords), address, l.exec(), width), dwords);
}

function load(l: Lifter, i: Instruction, transfer: Transfer): void {
  const loaded = loadAt(l, i, addressOf(l, i, i.imm & 0xffff), transfer);
  if (transfer.half === "none") l.setVectors(i.dst, loaded);
  else l.setVector(i.dst, intoHalf(l, l.asU(l.source(i.dst)), loaded[0], transfer.half));
}

function loadTwo(l: Lifter, i: Instruction, transfer: Transfer, opcode: Opcode): void {
  const loaded = twoOffsets(i, transfer, opcode).map((offset) => loadAt(l, i, addressOf(l, i, offset), transfer));
  l.setVectors(i.dst, loaded.flat());
}

function storeAt(l: Lifter, i: Instruction, address: number, data: number, { dwords, width, half }: Transfer): void {
  if (isGds(i)) {
    const values = vectorDwords(l, data, dwords).map((value) => fromHalf(l, value, half));
    return gdsStore(l, address, values, width, l.exec());
  }
  l.ir.emit(Op.LdsStore, address, l.exec(), fromHalf(l, joinDwords(l, vectorDwords(l, data, dwords)), half), width);
}

function store(l: Lifter, i: Instruction, transfer: Transfer): void {
  storeAt(l, i, addressOf(l, i, i.imm & 0xffff), i.data, transfer);
}

function storeTwo(l: Lifter, i: Instruction, transfer: Transfer, opcode: Opcode): void {
  const [first, second] = twoOffsets(i, transfer, opcode);
  storeAt(l, i, addressOf(l, i, first), i.data, transfer);
  storeAt(l, i, addressOf(l, i, second), i.data1, transfer);
}

function atomic(l: Lifter, i: Instruction, kind: number, wide: boolean): void {
  const address = addressOf(l, i, i.imm & 0xffff);
  const dwords = wide ? 2 : 1;
  // ds_cmpst: data0 is what memory is compared with, data1 what is written.
  const data = kind === AtomicKind.CmpSwap
    ? [...vectorDwords(l, i.data1, dwords), ...vectorDwords(l, i.data, dwords)]
    : vectorDwords(l, i.data, dwords);
  const flags = kind | (wide ? AtomicKind.Wide : 0);
  const old = isGds(i)
    ? gdsAtomic(l, address, data, kind, dwords, l.exec())
    : l.ir.append(Op.LdsAtomic, wide ? Type.V2 : Type.U32, address, l.exec(), joinDwords(l, data), flags);
  if (i.dst >= 0) l.setVectors(i.dst, splitDwords(l, old, dwords));
}
