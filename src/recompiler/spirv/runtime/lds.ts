import { hasTwoOperands } from "../../ir/ops.ts";
import type { Body } from "../body.ts";
import { Code } from "../codes.ts";
import { T } from "../module.ts";
import type { RuntimeFunctions } from "./functions.ts";
import { type LdsCells, ldsCells } from "./lds_cells.ts";
import { valueType } from "./memory.ts";

/**
 * LDS: a workgroup array of dwords, and functions for the accesses that need a check. Addresses are bytes.
 *
 * Out of range, each dword of a load on its own reads 0, and each dword of a store is dropped (AMD RDNA2 ISA, "LDS": out-of-range addresses).
 * Loads and stores of 1 to 16 bytes work at any address, as in unaligned access mode (SH_MEM_CONFIG.ALIGNMENT_MODE, AMD RDNA2 ISA, "Memory
 * alignment"); a dword that crosses an aligned dword is written as two masked parts. An atomic whose address is not a multiple of its size is
 * a fault (FaultReason.Unaligned, with the LDS address).
 */

/** What tells LDS functions apart. */
export interface LdsForm {
  /** 1, 2, 4, 8, 12 or 16. */
  bytes: number;
  signed?: boolean;
  predicated: boolean;
  /** The address is known to be a multiple of 4 (of `bytes` below 4). */
  aligned: boolean;
  /** All bytes are known to be in range. */
  inRange?: boolean;
  /** The value is a F32 or a vector of them; dwords only. */
  float?: boolean;
  /** The last parameter is added to the address. What else is known of the address is known of the sum. */
  added?: boolean;
}

/** Name of the function of a form. */
export function formName(kind: string, form: LdsForm): string {
  const { bytes, signed, predicated, aligned, inRange, float, added } = form;
  const flags = [signed ? "s" : "", predicated ? "p" : "", aligned ? "a" : "", inRange ? "i" : "", float ? "f" : ""];
  return `${kind}${bytes}${flags.join("")}${added ? "+" : ""}`;
}

/** One checked piece of at most a dword. */
interface Piece {
  /** In range, and the predicate holds. */
  good: number;
  /** Index of the dword that holds the first byte. */
  index: number;
}

class LdsBody {
  readonly cells: LdsCells;
  readonly address: number;
  /** Index of the dword that holds the first byte of the access. */
  readonly firstIndex: number;

  constructor(
    readonly functions: RuntimeFunctions,
    readonly body: Body,
    readonly dwords: number,
    readonly form: LdsForm,
  ) {
    this.cells = ldsCells(functions, dwords);
    const [first] = body.parameters, last = body.parameters[body.parameters.length - 1];
    this.address = form.added ? body.op2(Code.IAdd, T.U32, first, last) : first;
    this.firstIndex = body.op2(Code.ShiftRightLogical, T.U32, this.address, this.u32(2));
  }

  u32(value: number): number {
    return this.body.module.u32(value);
  }

  /** The k-th dword of the access (for narrow accesses the only piece). */
  piece(k: number): Piece {
    const { body, dwords, form, address } = this;
    const index = k === 0 ? this.firstIndex : body.op2(Code.IAdd, T.U32, this.firstIndex, this.u32(k));
    const size = Math.min(form.bytes, 4);
    const last = dwords * 4 - 4 * k - size; // highest good address
    let good: number;
    if (form.inRange) return { good: form.predicated ? body.parameters[1] : body.module.constant(T.Bool, 1), index };
    if (form.aligned) good = body.op2(Code.ULessThan, T.Bool, index, this.u32(dwords));
    else if (last >= 0) good = body.op2(Code.ULessThanEqual, T.Bool, address, this.u32(last));
    else good = body.module.constant(T.Bool, 0);
    if (form.predicated) good = body.op2(Code.LogicalAnd, T.Bool, body.parameters[1], good);
    return { good, index };
  }

  /** Bit position of the first byte in its dword. */
  shift(): number {
    const byte = this.body.op2(Code.BitwiseAnd, T.U32, this.address, this.u32(3));
    return this.body.op2(Code.ShiftLeftLogical, T.U32, byte, this.u32(3));
  }

  /** The dword at `index`, or any other when it is not `good`. */
  read(piece: Piece, index: number): number {
    if (this.form.inRange && !this.form.predicated) return this.cells.load(this.body, index);
    const safe = this.body.select(T.U32, piece.good, index, this.u32(0));
    return this.cells.load(this.body, safe);
  }
}

/** Id of the function that loads: `(address[, active][, added]) -> value`. */
export function ldsLoadFunction(functions: RuntimeFunctions, dwords: number, form: LdsForm): number {
  const type = valueType(form.bytes, form.float === true), bits = valueType(form.bytes, false);
  return functions.get(formName("ldsLoad", form), type, parameters(form), (body) => {
    const lds = new LdsBody(functions, body, dwords, form);
    const { bytes } = form;
    const shift = !form.aligned || bytes < 4 ? lds.shift() : 0;
    const parts: number[] = [];
    for (let k = 0; k * 4 < bytes; k++) {
      const piece = lds.piece(k);
      let value = lds.read(piece, piece.index);
      if (!form.aligned && bytes > 1) {
        const offset = body.op2(Code.IAdd, T.U32, lds.address, lds.u32(k * 4 + Math.min(bytes, 4) - 1));
        const next = lds.read(piece, body.op2(Code.ShiftRightLogical, T.U32, offset, lds.u32(2)));
        const rest = body.op2(Code.BitwiseXor, T.U32, shift, lds.u32(31));
        const doubled = body.op2(Code.ShiftLeftLogical, T.U32, next, lds.u32(1));
        value = body.op2(
          Code.BitwiseOr,
          T.U32,
          body.op2(Code.ShiftRightLogical, T.U32, value, shift),
          body.op2(Code.ShiftLeftLogical, T.U32, doubled, rest),
        );
      }
      if (bytes < 4) {
        const extract = form.signed ? Code.BitFieldSExtract : Code.BitFieldUExtract;
        const from = !form.aligned && bytes > 1 ? lds.u32(0) : shift;
        value = body.op3(extract, T.U32, value, from, lds.u32(bytes * 8));
      }
      parts.push(form.inRange && !form.predicated ? value : body.select(T.U32, piece.good, value, lds.u32(0)));
    }
    const value = parts.length === 1 ? parts[0] : body.ops(Code.CompositeConstruct, bits, parts);
    body.returnValue(form.float === true ? body.op1(Code.Bitcast, type, value) : value);
  });
}

/** Id of the function that stores: `(address[, active], value[, added])`. */
export function ldsStoreFunction(functions: RuntimeFunctions, dwords: number, form: LdsForm): number {
  const type = valueType(form.bytes, form.float === true);
  return functions.get(formName("ldsStore", form), T.Void, parameters(form, type), (body) => {
    const lds = new LdsBody(functions, body, dwords, form);
    const { bytes } = form;
    const given = body.parameters[form.predicated ? 2 : 1];
    const value = form.float === true ? body.op1(Code.Bitcast, valueType(bytes, false), given) : given;
    for (let k = 0; k * 4 < bytes; k++) {
      const part = bytes <= 4 ? value : body.extract(T.U32, value, k);
      const piece = lds.piece(k);
      const condition = (write: () => void) =>
        form.inRange && !form.predicated ? write() : body.when(piece.good, write);
      condition(() => {
        if (form.aligned && bytes >= 4) {
          lds.cells.store(body, piece.index, part);
          return;
        }
        const masked = () => storeMasked(lds, piece.index, part, Math.min(bytes, 4));
        if (bytes < 4) return masked();
        const low = body.op2(Code.BitwiseAnd, T.U32, lds.address, lds.u32(3));
        const whole = body.op2(Code.IEqual, T.Bool, low, lds.u32(0));
        body.choose(T.Void, whole, () => {
          lds.cells.store(body, piece.index, part);
          return 0;
        }, () => {
          masked();
          return 0;
        });
      });
    }
    body.return();
  });
}

/** Writes 1, 2 or 4 bytes that need not fill dwords. The other bytes belong to other lanes, so the dwords are changed atomically. */
function storeMasked(lds: LdsBody, index: number, value: number, bytes: number): void {
  const { body } = lds;
  const shift = lds.shift();
  const field = bytes === 4 ? 0xffffffff : bytes === 2 ? 0xffff : 0xff;
  const place = (word: number) => body.op2(Code.ShiftLeftLogical, T.U64, body.op1(Code.UConvert, T.U64, word), shift);
  const mask = place(lds.u32(field));
  const bits = place(bytes === 4 ? value : body.op2(Code.BitwiseAnd, T.U32, value, lds.u32(field)));
  const change = (at: number, clear: number, set: number) => lds.cells.change(body, at, clear, set);
  change(index, body.op1(Code.UConvert, T.U32, mask), body.op1(Code.UConvert, T.U32, bits));
  if (bytes === 1 || lds.form.aligned) return; // never crosses
  const high = (wide: number) =>
    body.op1(Code.UConvert, T.U32, body.op2(Code.ShiftRightLogical, T.U64, wide, lds.u32(32)));
  const highMask = high(mask);
  body.when(body.op2(Code.INotEqual, T.Bool, highMask, lds.u32(0)), () => {
    change(body.op2(Code.IAdd, T.U32, index, lds.u32(1)), highMask, high(bits));
  });
}

/**
 * Id of `(good: Bool, index: U32, data: U32[, compare: U32]) -> U32`: a 32-bit atomic operation on the dword at an index. Gives 0 and does nothing unless
 * it is good.
 */
export function ldsAtomicFunction(functions: RuntimeFunctions, dwords: number, kind: number): number {
  const data = hasTwoOperands(kind) ? [T.U32, T.U32] : [T.U32];
  return functions.get(`ldsAtomic${kind}`, T.U32, [T.Bool, T.U32, ...data], (body) => {
    const [good, index, ...operands] = body.parameters;
    const cells = ldsCells(functions, dwords);
    const old = body.choose(
      T.U32,
      good,
      () => cells.atomic(body, kind, index, operands),
      () => body.module.u32(0),
    );
    body.returnValue(old);
  });
}

/** Id of `(good: Bool, index: U32, data: V2[, compare: V2]) -> V2`: the same with 64 bits, from an even index on. */
export function ldsWideAtomicFunction(functions: RuntimeFunctions, dwords: number, kind: number): number {
  const data = hasTwoOperands(kind) ? [T.V2, T.V2] : [T.V2];
  return functions.get(`ldsAtomic${kind}`, T.V2, [T.Bool, T.U32, ...data], (body) => {
    const [good, index, ...operands] = body.parameters;
    const cells = ldsCells(functions, dwords);
    const old = body.choose(
      T.V2,
      good,
      () => {
        const wide = operands.map((operand) => body.op1(Code.Bitcast, T.U64, operand));
        return body.op1(Code.Bitcast, T.V2, cells.atomic64(body, kind, index, wide));
      },
      () => body.module.zero(T.V2),
    );
    body.returnValue(old);
  });
}

function parameters(form: LdsForm, ...data: T[]): T[] {
  return [T.U32, ...(form.predicated ? [T.Bool] : []), ...data, ...(form.added ? [T.U32] : [])];
}
