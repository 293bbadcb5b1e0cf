/**
 * Formatted buffer instructions, MUBUF and MTBUF (AMD RDNA2 ISA, sections 8.1, 12.13, 12.14). The format is the instruction's or the V#'s; an element is
 * in range as a whole or not at all.
 *
 * Where the V#'s word 3 is a constant of the program, format and selectors decide the code. Where it is not, they are dispatched on when the program
 * runs; what is refused by name of constants (reserved numbers, the fourth component of three) then gives the access an address that is none, so that it is
 * reported as a fault.
 */
import { type Format, formatOf } from "../../rdna/formats.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import type { Opcode } from "../../rdna/table.ts";
import { FaultReason, nowhere } from "../abi.ts";
import { Op } from "../ir/ops.ts";
import { bufferAccess } from "./buffer_address.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { packElement } from "./formats/pack.ts";
import { holdsFloats, packRuntime, type RuntimeFormat, runtimeFormat, unpackRuntime } from "./formats/runtime.ts";
import { fromD16, selectComponent, storedComponents, toD16 } from "./formats/selectors.ts";
import { unpackElement } from "./formats/unpack.ts";
import {
  coherence,
  constant64,
  joinDwords,
  opcodesNamed,
  refuseForms,
  splitDwords,
  vectorType,
  writeStatus,
} from "./memory.ts";
import { refuse } from "./refusal.ts";
import { isToLds, storeToLds } from "./to_lds.ts";

type Half = "none" | "low" | "high";

/** Adds the handlers of this class. */
export function defineFormattedBuffer(define: Define): void {
  for (const opcode of [...opcodesNamed("buffer_"), ...opcodesNamed("tbuffer_")]) {
    const { name, words, formatCount: count } = opcode;
    if (count === 0) continue;
    const half = words.has("d16hi") ? "high" : words.has("d16") ? "low" : "none";
    define(name, words.has("load") ? (l, i) => load(l, i, opcode, half) : (l, i) => store(l, i, opcode, half));
  }
}

/** Sizes of elements in bytes. */
const SIZES = [1, 2, 4, 8, 12, 16];

/** An access with what its V# says. */
interface Access {
  /** Constant word 3, undefined when it is a value. */
  readonly bits: number | undefined;
  readonly word3: number;
  readonly isLinear: boolean;
  address(): number;
  /** Bool: whether the dword at a byte offset is in range. */
  inRange(at: number): number;
}

/** Bytes of the largest format. */
const MOST_BYTES = 16;

function accessOf(l: Lifter, i: Instruction): Access {
  const word3 = l.scalar(i.srsrc + 3);
  const { address, inRange, swizzled } = bufferAccess(l, i, MOST_BYTES);
  return {
    bits: l.ir.op[word3] === Op.Const ? l.ir.a[word3] : undefined,
    word3,
    isLinear: !swizzled,
    address: () => address(0),
    inRange,
  };
}

/** The format of an access where it is known: the instruction's for typed buffers, else the V#'s. */
function knownFormat(i: Instruction, opcode: Opcode, { bits }: Access): Format | undefined {
  const number = opcode.name.startsWith("t") ? i.mode : bits === undefined ? undefined : (bits >>> 12) & 0x7f;
  if (number === undefined) return undefined;
  return formatOf(number) ?? refuse(`the data format ${number} is reserved or not supported`);
}

/** Whether all dwords of an element are in range. */
function isWhole(l: Lifter, access: Access, bytes: number): number {
  let whole = access.inRange(0);
  for (let at = 4; at < bytes; at += 4) whole = l.and(whole, access.inRange(at));
  return whole;
}

function requireLinear({ isLinear }: Access, bytes: number): void {
  if (!isLinear && bytes > 4) refuse("more than a dword from a swizzled buffer");
}

// --- loads ---

function load(l: Lifter, i: Instruction, opcode: Opcode, half: Half): void {
  refuseForms(i, { lds: true, status: true });
  const count = opcode.formatCount;
  const access = accessOf(l, i);
  const format = knownFormat(i, opcode, access);
  if (format === undefined) return loadRuntime(l, i, count, half, access);
  requireLinear(access, format.bytes);
  const selectors = access.bits;
  const active = l.and(l.exec(), isWhole(l, access, format.bytes));
  const address = selectors === undefined
    ? checkedAddress(l, access, selectorsGood(l, access.word3, count, l.u(componentsOf(format))))
    : access.address();
  const dwords = Math.max(1, format.bytes / 4);
  const loaded = l.ir.append(Op.Load, vectorType(dwords), address, active, format.bytes | coherence(i));
  const components = unpackElement(l, format, splitDwords(l, loaded, dwords));
  const values = Array.from({ length: count }, (_, c) => {
    if (selectors !== undefined) return selectComponent(l, format, selectors, c, components);
    const all = [0, 1, 2, 3].map((k) => components[k % components.length]);
    return selectRuntime(l, access.word3, c, all, l.u(format.isFloat ? 0x3f800000 : 1));
  });
  write(l, i, values, half, (value) => toD16(l, format.isFloat, value));
}

function componentsOf({ kind, bits }: Format): number {
  return kind === "shared" ? 3 : bits.length;
}

function loadRuntime(l: Lifter, i: Instruction, count: number, half: Half, access: Access): void {
  const { ir } = l;
  const { word3 } = access;
  const format = runtimeFormat(l, ir.emit(Op.UBfe, word3, l.u(12), l.u(7)));
  const address = checkedAddress(l, access, l.and(format.exists, selectorsGood(l, word3, count, format.present)));
  const active = l.and(l.exec(), wholeRuntime(l, access, format));
  const dwords = [0, 1, 2, 3].map(() => l.u(0));
  for (const bytes of SIZES) {
    const here = l.and(active, ir.emit(Op.IEq, format.bytes, l.u(bytes)));
    const size = Math.max(1, bytes / 4);
    const loaded = ir.append(Op.Load, vectorType(size), address, here, bytes | coherence(i));
    // Inactive loads give zeros.
    splitDwords(l, loaded, size).forEach((part, k) => dwords[k] = ir.emit(Op.Or, dwords[k], part));
  }
  const components = unpackRuntime(l, format, dwords, 4);
  const floats = holdsFloats(l, format);
  const one = l.select(floats, l.u(0x3f800000), l.u(1));
  const values = Array.from({ length: count }, (_, c) => selectRuntime(l, word3, c, components, one));
  write(
    l,
    i,
    values,
    half,
    (value) => l.select(floats, toD16(l, true, value), toD16(l, false, value)),
  );
}

/** Writes components to registers: one each, packed pairs (an unpaired last one leaves the high half zero), or the high half of the first. */
function write(l: Lifter, i: Instruction, values: readonly number[], half: Half, narrow: (value: number) => number) {
  const { ir } = l;
  if (isToLds(i)) {
    if (half !== "none") refuse("the form that loads 16 bits into LDS");
    return storeToLds(l, i, l.asU(values[0]));
  }
  writeStatus(l, i, half === "none" ? values.length : (values.length + 1) >> 1);
  if (half === "none") return l.setVectors(i.dst, values);
  const halves = values.map(narrow);
  if (half === "high") return l.setVector(i.dst, ir.emit(Op.BitInsert, l.asU(l.source(i.dst)), halves[0], 16, 16));
  for (let c = 0; c < halves.length; c += 2) {
    const high = halves[c + 1];
    l.setVector(
      i.dst + c / 2,
      high === undefined ? halves[c] : ir.emit(Op.Or, halves[c], ir.emit(Op.Shl, high, l.u(16))),
    );
  }
}

// --- stores ---

/** The components to store: 32-bit registers, packed halves, or the high half of the first register. */
function readData(l: Lifter, i: Instruction, count: number, half: Half, widen: (value: number) => number): number[] {
  return Array.from({ length: count }, (_, c) => {
    if (half === "none") return l.asU(l.source(i.data + c));
    const register = l.asU(l.source(i.data + (c >> 1)));
    return widen(l.ir.emit(Op.UBfe, register, l.u(half === "high" || c % 2 === 1 ? 16 : 0), l.u(16)));
  });
}

function store(l: Lifter, i: Instruction, opcode: Opcode, half: Half): void {
  refuseForms(i);
  const { ir } = l;
  const access = accessOf(l, i);
  const format = knownFormat(i, opcode, access);
  if (format === undefined) return storeRuntime(l, i, opcode.formatCount, half, access);
  requireLinear(access, format.bytes);
  const data = readData(l, i, opcode.formatCount, half, (value) => fromD16(l, format, value));
  const components = access.bits === undefined
    ? storedRuntime(l, access.word3, data)
    : storedComponents(l, access.bits, data);
  const value = joinDwords(l, packElement(l, format, components));
  const active = l.and(l.exec(), isWhole(l, access, format.bytes));
  ir.emit(Op.Store, access.address(), active, value, format.bytes | coherence(i));
}

function storeRuntime(l: Lifter, i: Instruction, count: number, half: Half, access: Access): void {
  const { ir } = l;
  const format = runtimeFormat(l, ir.emit(Op.UBfe, access.word3, l.u(12), l.u(7)));
  const address = checkedAddress(l, access, format.exists);
  const signed = ir.emit(Op.INe, ir.emit(Op.And, format.kind, l.u(1)), l.u(0));
  const floats = holdsFloats(l, format);
  const widen = (value: number) => {
    const integer = l.select(
      signed,
      fromD16(l, { isFloat: false, kind: "sint" }, value),
      fromD16(l, { isFloat: false, kind: "uint" }, value),
    );
    return l.select(floats, fromD16(l, { isFloat: true, kind: "float" }, value), integer);
  };
  const components = storedRuntime(l, access.word3, readData(l, i, count, half, widen));
  const dwords = packRuntime(l, format, components);
  const active = l.and(l.exec(), wholeRuntime(l, access, format));
  for (const bytes of SIZES) {
    const here = l.and(active, ir.emit(Op.IEq, format.bytes, l.u(bytes)));
    ir.emit(
      Op.Store,
      address,
      here,
      joinDwords(l, dwords.slice(0, Math.max(1, bytes / 4))),
      bytes | coherence(i),
    );
  }
}

// --- what is known only at run time ---

/** Whether all dwords of an element are in range, whose size is a value. */
function wholeRuntime(l: Lifter, access: Access, { bytes }: RuntimeFormat): number {
  let whole = access.inRange(0);
  for (const at of [4, 8, 12]) {
    whole = l.and(whole, l.or(l.ir.emit(Op.ULe, bytes, l.u(at)), access.inRange(at)));
  }
  return whole;
}

/** The access's address, or one that is none where `good` is false. */
function checkedAddress(l: Lifter, access: Access, good: number): number {
  return l.select(good, access.address(), constant64(l, BigInt(nowhere(FaultReason.BufferFormat)) << 32n));
}

function selectorAt(l: Lifter, word3: number, c: number): number {
  return l.ir.emit(Op.UBfe, word3, l.u(c * 3), l.u(3));
}

/** Whether the first `count` selectors are not reserved, and none is the fourth component of three. */
function selectorsGood(l: Lifter, word3: number, count: number, present: number): number {
  const { ir } = l;
  const hasThree = ir.emit(Op.IEq, present, l.u(3));
  let good = l.true;
  for (let c = 0; c < count; c++) {
    const selector = selectorAt(l, word3, c);
    const isReserved = ir.emit(Op.IEq, ir.emit(Op.And, selector, l.u(6)), l.u(2));
    const isMissing = l.and(hasThree, ir.emit(Op.IEq, selector, l.u(7)));
    good = l.and(good, l.not(l.or(isReserved, isMissing)));
  }
  return good;
}

/** What selector `c` gives of four components. */
function selectRuntime(l: Lifter, word3: number, c: number, components: readonly number[], one: number): number {
  const { ir } = l;
  const selector = selectorAt(l, word3, c);
  let value = l.select(ir.emit(Op.IEq, selector, l.u(1)), one, l.u(0));
  components.forEach((component, k) => {
    value = l.select(ir.emit(Op.IEq, selector, l.u(4 + k)), component, value);
  });
  return value;
}

/** The components of a format from register data: each is the first register whose selector names it, zero when there is none. */
function storedRuntime(l: Lifter, word3: number, data: readonly number[]): number[] {
  const { ir } = l;
  return [0, 1, 2, 3].map((k) => {
    let value = l.u(0);
    for (let c = data.length - 1; c >= 0; c--) {
      value = l.select(ir.emit(Op.IEq, selectorAt(l, word3, c), l.u(4 + k)), data[c], value);
    }
    return value;
  });
}
