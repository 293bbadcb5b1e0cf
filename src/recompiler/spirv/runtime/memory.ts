import { AtomicKind, hasTwoOperands } from "../../ir/ops.ts";
import type { Body } from "../body.ts";
import { Code, Scope, Semantics } from "../codes.ts";
import { T } from "../module.ts";
import { atomicType, writeAtomic } from "./atomic.ts";
import type { RuntimeFunctions } from "./functions.ts";
import { loadDword } from "./shared.ts";

/** Loads, stores and atomics at device addresses that are more than one instruction. */

/** Type of the value of an access. */
export function valueType(bytes: number, float: boolean): T {
  if (bytes <= 4) return float ? T.F32 : T.U32;
  const words = bytes / 4;
  return ((float ? T.F32x2 : T.V2) + words - 2) as T;
}

/** A device address rounded down to a dword, and the bit position of its byte there. */
function dwordAround(body: Body, address: number): { dword: number; shift: number } {
  const { module } = body;
  const dword = body.op2(Code.BitwiseAnd, T.U64, address, module.constant64(T.U64, ~3, ~0));
  const byte = body.op2(Code.BitwiseAnd, T.U32, body.op1(Code.UConvert, T.U32, address), module.u32(3));
  return { dword, shift: body.op2(Code.ShiftLeftLogical, T.U32, byte, module.u32(3)) };
}

/**
 * Id of `(address: U64) -> U32`: the dword at any device address, of which only the low `bytes` bytes are wanted (the others are anything). It comes from
 * the two aligned dwords around it, which are the same one when the wanted bytes lie in one; so nothing outside their pages is read.
 */
export function unalignedDword(functions: RuntimeFunctions, bytes: number, shared: boolean): number {
  return functions.get(`dword${bytes}${shared ? "v" : ""}`, T.U32, [T.U64], (body) => {
    const { module } = body;
    const [address] = body.parameters;
    const { dword, shift } = dwordAround(body, address);
    const low = loadDword(body, dword, shared);
    const last = body.op2(Code.IAdd, T.U64, address, module.u64(bytes - 1));
    const high = loadDword(body, dwordAround(body, last).dword, shared);
    // Left by 32 - shift in two steps, so that an aligned address shifts everything out.
    const rest = body.op2(Code.BitwiseXor, T.U32, shift, module.u32(31));
    const doubled = body.op2(Code.ShiftLeftLogical, T.U32, high, module.u32(1));
    const upper = body.op2(Code.ShiftLeftLogical, T.U32, doubled, rest);
    body.returnValue(
      body.op2(Code.BitwiseOr, T.U32, body.op2(Code.ShiftRightLogical, T.U32, low, shift), upper),
    );
  });
}

/** Id of `(address: U64) -> U32`: 1 byte, or 2 bytes at an even address, in the low bits, on devices that only load dwords. */
export function narrowLoad(functions: RuntimeFunctions, shared: boolean): number {
  return functions.get(`narrow${shared ? "v" : ""}`, T.U32, [T.U64], (body) => {
    const { dword, shift } = dwordAround(body, body.parameters[0]);
    body.returnValue(body.op2(Code.ShiftRightLogical, T.U32, loadDword(body, dword, shared), shift));
  });
}

/**
 * Id of `(address: U64, value: U32)`: stores 1 byte, or 2 bytes at an even address, on devices that only store dwords. Other lanes may write the rest
 * of the dword at the same time, so its bytes are changed atomically.
 */
export function narrowStore(functions: RuntimeFunctions, bytes: number): number {
  return functions.get(`narrowStore${bytes}`, T.Void, [T.U64, T.U32], (body) => {
    const { module } = body;
    const [address, value] = body.parameters;
    const { dword, shift } = dwordAround(body, address);
    const pointer = body.pointerAt(T.U32, dword);
    const field = module.u32(bytes === 1 ? 0xff : 0xffff);
    const mask = body.op2(Code.ShiftLeftLogical, T.U32, field, shift);
    const bits = body.op2(Code.BitwiseAnd, T.U32, value, field);
    const scope = module.u32(Scope.Device), relaxed = module.u32(Semantics.None);
    body.ops(Code.AtomicAnd, T.U32, [pointer, scope, relaxed, body.op1(Code.Not, T.U32, mask)]);
    body.ops(Code.AtomicOr, T.U32, [
      pointer,
      scope,
      relaxed,
      body.op2(Code.ShiftLeftLogical, T.U32, bits, shift),
    ]);
    body.return();
  });
}

/**
 * Id of `(good: Bool, address: U64, data[, compare]) -> old`: an atomic operation (`kind` as in the IR, with its Wide bit) at a device address. Data is
 * U32, V2 when wide. Gives 0 and does nothing unless it is good.
 */
export function atomicFunction(functions: RuntimeFunctions, kind: number): number {
  const wide = (kind & AtomicKind.Wide) !== 0;
  const outer = wide ? T.V2 : T.U32, inner = atomicType(kind);
  const data = hasTwoOperands(kind) ? [outer, outer] : [outer];
  return functions.get(`atomic${kind}`, outer, [T.Bool, T.U64, ...data], (body) => {
    const [good, address, ...operands] = body.parameters;
    const old = body.choose(outer, good, () => {
      const pointer = body.pointerAt(inner, address);
      const values = operands.map((value) => wide ? body.op1(Code.Bitcast, T.U64, value) : value);
      const result = writeAtomic(body, kind, pointer, Scope.Device, values, functions);
      return wide ? body.op1(Code.Bitcast, T.V2, result) : result;
    }, () => body.module.zero(outer));
    body.returnValue(old);
  });
}
