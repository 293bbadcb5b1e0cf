import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { MemoryWidth, Type } from "../../../src/recompiler/ir/ops.ts";
import { join } from "./scalar.ts";

/** A value of one lane: Bool is boolean; U32 and F32 are the bits as an unsigned number; U64 and F64 the bits as bigint; vectors are lists of U32. */
export type LaneValue = boolean | number | bigint | number[];

/** Whether a value is one of a type (Type). */
export function hasType(value: LaneValue, type: number): boolean {
  switch (type) {
    case Type.Bool:
      return typeof value === "boolean";
    case Type.U32:
    case Type.F32:
      return typeof value === "number" && value >= 0 && value <= 0xffffffff && Number.isInteger(value);
    case Type.U64:
    case Type.F64:
      return typeof value === "bigint";
    default:
      return Array.isArray(value) && value.length === type - Type.V2 + 2;
  }
}

/** The zero of a type (Type). */
export function zeroOf(type: number): LaneValue {
  switch (type) {
    case Type.Bool:
      return false;
    case Type.U32:
    case Type.F32:
      return 0;
    case Type.U64:
    case Type.F64:
      return 0n;
    default:
      return Array(type - Type.V2 + 2).fill(0);
  }
}

/** The value of a Const. */
export function constant(ir: Ir, id: number): LaneValue {
  switch (ir.type[id]) {
    case Type.Bool:
      return ir.a[id] !== 0;
    case Type.U32:
    case Type.F32:
      return ir.a[id] >>> 0;
    default:
      return join(ir.a[id] >>> 0, ir.b[id] >>> 0);
  }
}

/** What an access of so many bytes gives that reads nothing. */
export function zeros(bytes: number): LaneValue {
  return bytes <= 4 ? 0 : Array(bytes / 4).fill(0);
}

/** The value that bytes in memory are to a load of a width (MemoryWidth). */
export function fromBytes(bytes: Uint8Array, width: number): LaneValue {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const signed = (width & MemoryWidth.Signed) !== 0;
  switch (bytes.length) {
    case 1:
      return signed ? view.getInt8(0) >>> 0 : view.getUint8(0);
    case 2:
      return signed ? view.getInt16(0, true) >>> 0 : view.getUint16(0, true);
    case 4:
      return view.getUint32(0, true);
    default:
      return Array.from({ length: bytes.length / 4 }, (_, k) => view.getUint32(k * 4, true));
  }
}

/** Writes a value to memory; the width is that of the target. */
export function toBytes(target: Uint8Array, value: LaneValue): void {
  const words = typeof value === "number" ? [value] : value as number[];
  for (let k = 0; k < target.length; k++) target[k] = words[k >> 2] >>> ((k & 3) * 8);
}
