/**
 * Addresses of buffer instructions from a V# (AMD RDNA2 ISA, "Buffer addressing"). The descriptor's words are values of the program: they may be
 * constants or come from memory at run time.
 *
 * V#: word 0 and 1[15:0] base, 1[29:16] STRIDE, 1[31] SWIZZLE_ENABLE, word 2 NUM_RECORDS, 3[22:21] INDEX_STRIDE (8, 16, 32, 64), 3[23]
 * ADD_TID_ENABLE, 3[29:28] OOB_SELECT (Mesa, ac_descriptors.c):
 * 0 out of range if index >= NUM_RECORDS or offset >= STRIDE, 1 if index >= NUM_RECORDS, 2 if NUM_RECORDS is 0,
 * 3 if offset >= NUM_RECORDS (with SWIZZLE_ENABLE: if the swizzled offset is).
 * `offset` is the vector offset plus the instruction's; the scalar offset is added to the address only (LLVM, llvm.amdgcn.raw.buffer.load).
 */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { FaultReason, nowhere } from "../abi.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import { add64, extend64 } from "./memory.ts";
import { refuse } from "./refusal.ts";

/**
 * High half of the address that an access gets whose V# asks at run time for what is only implemented for constant descriptors (ADD_TID_ENABLE, or
 * SWIZZLE_ENABLE with an index and without ADD_TID_ENABLE): it is reported instead of going to a wrong place.
 */
const UNSUPPORTED_BUFFER_HIGH = nowhere(FaultReason.BufferDescriptor);

const RAW = 3;

/** Where an access goes. */
export interface BufferAccess {
  /** Records are interleaved: what follows an element's first dword is not documented to be at the next address, nor anywhere else. */
  swizzled: boolean;
  /** U64 address of the element's byte `at`. */
  address(at: number): number;
  /** Bool: whether the dword at byte `at` of the element is in range. */
  inRange(at: number): number;
}

/** The 48-bit base of a V#, sign-extended. */
export function baseAddress(l: Lifter, word0: number, word1: number, ok = 0): number {
  const { ir } = l;
  const high = ir.op[word1] === Op.Const ? l.u((ir.a[word1] << 16) >> 16) : ir.emit(Op.SBfe, word1, l.u(0), l.u(16));
  return l.pack([word0, ok === 0 ? high : l.select(ok, high, l.u(UNSUPPORTED_BUFFER_HIGH))]);
}

/**
 * The address computation of a MUBUF or MTBUF instruction.
 *
 * @param bytes of an element, at most: more than a dword cannot be interleaved
 */
export function bufferAccess(l: Lifter, i: Instruction, bytes: number): BufferAccess {
  const { ir } = l;
  // Compilers that keep private memory by a V# in user data set both bits there; elsewhere the longer code would be for nothing.
  if (l.request.scratch && [1, 3].some((k) => ir.op[l.scalar(i.srsrc + k)] !== Op.Const)) {
    return privateAccess(l, i, bytes);
  }
  const [word0, word1, records, word3] = [0, 1, 2, 3].map((k) => l.scalar(i.srsrc + k));
  const known = (id: number) => ir.op[id] === Op.Const ? ir.a[id] : undefined;
  const bits1 = known(word1), bits3 = known(word3);
  const hasIndex = (i.flags & Flag.Idxen) !== 0;
  const addTid = bits3 === undefined ? false : (bits3 & (1 << 23)) !== 0;
  // Without an index, swizzling changes nothing: ACO's descriptors of constant data have the upper bits of a sign-extended program counter in word 1.
  const swizzled = bits1 === undefined ? addTid : bits1 < 0 && (hasIndex || addTid);

  let unsupported = 0;
  if (bits3 === undefined) unsupported = ir.emit(Op.And, word3, l.u(1 << 23));
  if (bits1 === undefined && hasIndex && !addTid) {
    const swizzle = ir.emit(Op.And, word1, l.u(0x80000000));
    unsupported = unsupported === 0 ? swizzle : ir.emit(Op.Or, unsupported, swizzle);
  }
  const ok = unsupported === 0 ? 0 : ir.emit(Op.IEq, unsupported, l.u(0));

  const stride = bits1 === undefined ? ir.emit(Op.UBfe, word1, l.u(16), l.u(14)) : l.u((bits1 >>> 16) & 0x3fff);
  let index = hasIndex ? l.asU(l.source(i.addr)) : 0;
  if (addTid) index = index === 0 ? l.lane : ir.emit(Op.IAdd, index, l.lane);
  const vectorOffset = i.flags & Flag.Offen ? l.asU(l.source(i.addr + (hasIndex ? 1 : 0))) : l.u(0);
  const offset = l.addConstant(vectorOffset, i.imm);

  const base = baseAddress(l, word0, word1, ok);
  const scalarOffset = l.scalar(i.soffset);
  const start = known(scalarOffset) === 0 ? base : ir.emit(Op.IAdd64, base, extend64(l, scalarOffset));

  if (swizzled) {
    if (bits3 === undefined) {
      return refuse("SWIZZLE_ENABLE in a V# whose word 3 is not known when the program is recompiled");
    }
    const log = 3 + ((bits3 >>> 21) & 3);
    const isRow = !hasIndex && l.request.waveSize <= 1 << log;
    // Private memory of compilers: the lanes' dwords, whose descriptor comes from user data.
    const swizzles = bits1 === undefined ? ir.emit(Op.INe, ir.emit(Op.And, word1, l.u(0x80000000)), l.u(0)) : l.true;
    const interleaved = (here: number) => swizzledOffset(l, isRow ? 0 : index, here, stride, l.u(log));
    const place = (here: number) => {
      const linear = () => ir.emit(Op.IAdd64, ir.emit(Op.UMulWide, index, stride), extend64(l, here));
      return swizzles === l.true ? interleaved(here) : l.select(swizzles, interleaved(here), linear());
    };
    const raw = (here: number) =>
      swizzles === l.true ? interleaved(here) : l.select(swizzles, interleaved(here), extend64(l, here));
    return {
      swizzled,
      address: (at) => ir.emit(Op.IAdd64, start, place(l.addConstant(offset, at))),
      inRange: (at) => {
        const here = l.addConstant(offset, at);
        if (((bits3 >>> 28) & 3) === RAW) {
          return ir.emit(Op.Ult64, raw(here), extend64(l, records));
        }
        return rangeCheck(l, word3, bits3, index, here, stride, records);
      },
    };
  }
  const element = index === 0
    ? ir.emit(Op.IAdd64, start, extend64(l, offset))
    : ir.emit(Op.IAdd64, ir.emit(Op.IAdd64, start, ir.emit(Op.UMulWide, index, stride)), extend64(l, offset));
  return {
    swizzled,
    address: (at) => add64(l, element, at),
    inRange: (at) => {
      const here = l.addConstant(offset, at);
      return rangeCheck(l, word3, bits3, index, here, stride, records);
    },
  };
}

/** An access by a V# that says at run time whether records are interleaved and lanes are added to the index. */
function privateAccess(l: Lifter, i: Instruction, bytes: number): BufferAccess {
  const { ir } = l;
  const [word0, word1, records, word3] = [0, 1, 2, 3].map((k) => l.scalar(i.srsrc + k));
  const bit = (word: number, k: number) => ir.emit(Op.INe, ir.emit(Op.And, word, l.u(2 ** k)), l.u(0));
  const hasIndex = (i.flags & Flag.Idxen) !== 0;
  const addTid = bit(word3, 23);
  const swizzles = hasIndex ? bit(word1, 31) : l.and(bit(word1, 31), addTid);
  const stride = ir.emit(Op.UBfe, word1, l.u(16), l.u(14));
  const lane = l.select(addTid, l.lane, l.u(0));
  const index = hasIndex ? ir.emit(Op.IAdd, l.asU(l.source(i.addr)), lane) : lane;
  const vectorOffset = i.flags & Flag.Offen ? l.asU(l.source(i.addr + (hasIndex ? 1 : 0))) : l.u(0);
  const offset = l.addConstant(vectorOffset, i.imm);
  // What is more than a dword is linear, or nowhere.
  const ok = bytes > 4 ? l.not(swizzles) : 0;
  const start = ir.emit(Op.IAdd64, baseAddress(l, word0, word1, ok), extend64(l, l.scalar(i.soffset)));
  const log = ir.emit(Op.IAdd, ir.emit(Op.UBfe, word3, l.u(21), l.u(2)), l.u(3));
  const linear = (here: number) => ir.emit(Op.IAdd64, ir.emit(Op.UMulWide, index, stride), extend64(l, here));
  const place = (here: number) =>
    bytes > 4 ? linear(here) : l.select(swizzles, swizzledOffset(l, index, here, stride, log), linear(here));
  const outOfBounds = ir.emit(Op.UBfe, word3, l.u(28), l.u(2));
  return {
    swizzled: false,
    address: (at) => ir.emit(Op.IAdd64, start, place(l.addConstant(offset, at))),
    inRange: (at) => {
      const here = l.addConstant(offset, at);
      const byRecords = rangeCheck(l, word3, undefined, index, here, stride, records);
      if (bytes > 4) return byRecords;
      // Raw buffers are checked by the place in the buffer.
      const interleaved = ir.emit(Op.Ult64, swizzledOffset(l, index, here, stride, log), extend64(l, records));
      return l.select(l.and(swizzles, ir.emit(Op.IEq, outOfBounds, l.u(RAW))), interleaved, byRecords);
    },
  };
}

/**
 * Elements of 4 bytes; groups of 2^log records are interleaved element by element. U64.
 *
 * @param index of the record; 0: the lane's number, which is in the first group
 * @param log a U32
 */
function swizzledOffset(l: Lifter, index: number, offset: number, stride: number, log: number): number {
  const { ir } = l;
  let row = extend64(l, ir.op[offset] === Op.Const ? l.u(ir.a[offset] & ~3) : ir.emit(Op.And, offset, l.u(~3)));
  let inGroup = l.lane;
  if (index !== 0) {
    inGroup = ir.emit(Op.And, index, ir.emit(Op.ISub, ir.emit(Op.Shl, l.u(1), log), l.u(1)));
    row = ir.emit(Op.IAdd64, ir.emit(Op.UMulWide, ir.emit(Op.Shr, index, log), stride), row);
  }
  const column = ir.emit(Op.IAdd, ir.emit(Op.Shl, inGroup, l.u(2)), ir.emit(Op.And, offset, l.u(3)));
  return ir.emit(Op.IAdd64, ir.emit(Op.Shl64, row, log), extend64(l, column));
}

function rangeCheck(
  l: Lifter,
  word3: number,
  bits3: number | undefined,
  index: number,
  offset: number,
  stride: number,
  records: number,
): number {
  const { ir } = l;
  const indexOk = () => index === 0 ? ir.emit(Op.INe, records, l.u(0)) : ir.emit(Op.ULt, index, records);
  if (bits3 !== undefined) {
    switch ((bits3 >>> 28) & 3) {
      case 0:
        return l.and(indexOk(), ir.emit(Op.ULt, offset, stride));
      case 1:
        return indexOk();
      case 2:
        return ir.emit(Op.INe, records, l.u(0));
      default:
        return ir.emit(Op.ULt, offset, records);
    }
  }
  // One comparison with a limit that is the same for all lanes: NUM_RECORDS, STRIDE, everything, or nothing.
  const select = ir.emit(Op.UBfe, word3, l.u(28), l.u(2));
  const isRaw = ir.emit(Op.IEq, select, l.u(RAW));
  const structured = l.select(ir.emit(Op.IEq, select, l.u(0)), stride, l.u(-1));
  if (index === 0) {
    const limit = l.select(isRaw, records, l.select(ir.emit(Op.IEq, records, l.u(0)), l.u(0), structured));
    return ir.emit(Op.ULt, offset, limit);
  }
  const recordsOk = l.select(
    ir.emit(Op.IEq, select, l.u(2)),
    ir.emit(Op.INe, records, l.u(0)),
    ir.emit(Op.ULt, index, records),
  );
  return l.and(l.or(isRaw, recordsOk), ir.emit(Op.ULt, offset, l.select(isRaw, records, structured)));
}
