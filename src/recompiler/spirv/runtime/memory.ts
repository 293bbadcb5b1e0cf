import { Access } from "../../abi.ts";
import { AtomicKind } from "../../ir/ops.ts";
import type { Body } from "../body.ts";
import { Capability, Code, Scope, Semantics } from "../codes.ts";
import { T } from "../module.ts";
import { writeAtomic } from "./atomic.ts";
import type { RuntimeFunctions } from "./functions.ts";
import { inFirstWindow, isInFirstWindow, locate } from "./windows.ts";

/**
 * Loads, stores and atomics of guest memory. Each function takes the guest address (U64), an {@linkcode accessInfo} word (U32), for predicated
 * variants the predicate (Bool), and the data; loads and atomics return the value.
 *
 * Alignment: loads of any width work at any address, like the console's in unaligned access mode. A store of a dword or more whose address is not a
 * multiple of 4, a 2-byte store at an odd address and an atomic that is not aligned to its size are faults (FaultReason.Unaligned).
 */

/** What tells load and store functions apart. */
export interface AccessForm {
  /** 1, 2, 4, 8, 12 or 16. */
  bytes: number;
  /** Extend a 1- or 2-byte load with its sign. */
  signed?: boolean;
  /** The value is F32, or a vector of F32. */
  float?: boolean;
  /** Must see what other workgroups write. */
  volatile?: boolean;
  /** The function has a predicate. */
  predicated: boolean;
  /** The address is known to be a multiple of 4 (of `bytes` below 4). */
  aligned?: boolean;
}

/** Type of the value of an access. */
export function valueType(bytes: number, float: boolean): T {
  if (bytes <= 4) return float ? T.F32 : T.U32;
  const words = bytes / 4;
  return (float ? T.F32x2 + words - 2 : T.V2 + words - 2) as T;
}

function formName(kind: string, form: AccessForm): string {
  const { bytes, signed, float, volatile, predicated, aligned } = form;
  return `${kind}${bytes}${signed ? "s" : ""}${float ? "f" : ""}${volatile ? "v" : ""}${predicated ? "p" : ""}${
    aligned ? "a" : ""
  }`;
}

function parameterTypes(form: AccessForm, ...data: T[]): T[] {
  return [T.U64, T.U32, ...(form.predicated ? [T.Bool] : []), ...data];
}

/** Condition of the fast path, and the predicate as an operand. */
function fastPath(
  functions: RuntimeFunctions,
  body: Body,
  form: AccessForm,
  alignment: number,
  write: boolean,
): [condition: number, active: number] {
  const [address] = body.parameters;
  const inside = isInFirstWindow(functions, body, address, alignment, write);
  if (!form.predicated) return [inside, functions.module.constant(T.Bool, 1)];
  const active = body.parameters[2];
  return [body.op2(Code.LogicalAnd, T.Bool, active, inside), active];
}

/** Id of the function that loads. */
export function loadFunction(functions: RuntimeFunctions, form: AccessForm): number {
  const { bytes, float = false, volatile = false } = form;
  const type = valueType(bytes, float);
  return functions.get(formName("load", form), type, parameterTypes(form), (body) => {
    const [address, info] = body.parameters;
    const native = bytes >= 4 || isNative(functions, bytes);
    const alignment = !native || form.aligned ? 1 : Math.min(bytes, 4);
    const [fast, active] = fastPath(functions, body, form, alignment, false);
    const value = body.choose(type, fast, () => {
      const device = inFirstWindow(functions, body, address);
      if (bytes >= 4) return body.loadAt(type, device, 4, volatile);
      if (native) {
        const narrow = body.loadAt(bytes === 1 ? T.U8 : T.U16, device, bytes, volatile);
        return body.op1(form.signed ? Code.SConvert : Code.UConvert, T.U32, narrow);
      }
      return extend(body, form, composeDword(functions, body, device, bytes, volatile));
    }, () => {
      const bits = body.call(slowLoad(functions, bytes, volatile), valueType(bytes, false), [address, info, active]);
      if (bytes < 4) return extend(body, form, bits);
      return float ? body.op1(Code.Bitcast, type, bits) : bits;
    });
    body.returnValue(value);
  });
}

/** Bytes above the low `bytes` of a dword are replaced by zeros or the sign. */
function extend(body: Body, form: AccessForm, dword: number): number {
  const { module } = body;
  const extract = form.signed ? Code.BitFieldSExtract : Code.BitFieldUExtract;
  return body.op3(extract, T.U32, dword, module.u32(0), module.u32(form.bytes * 8));
}

/** The load of anything that the fast path does not take. Narrow loads leave bits above their width undefined. */
function slowLoad(functions: RuntimeFunctions, bytes: number, volatile: boolean): number {
  const type = valueType(bytes, false);
  return functions.get(`slowLoad${bytes}${volatile ? "v" : ""}`, type, [T.U64, T.U32, T.Bool], (body) => {
    const { module } = body;
    const [address, info, active] = body.parameters;
    const device = body.call(locate(functions), T.U64, [address, info, active]);
    const good = body.op2(Code.INotEqual, T.Bool, device, module.u64(0));
    const value = body.choose(type, good, () => {
      if (bytes <= 4) return composeDword(functions, body, device, bytes, volatile);
      const parts: number[] = [];
      for (let offset = 0; offset < bytes; offset += 4) {
        const at = offset === 0 ? device : body.op2(Code.IAdd, T.U64, device, module.u64(offset));
        parts.push(composeDword(functions, body, at, 4, volatile));
      }
      return body.ops(Code.CompositeConstruct, type, parts);
    }, () => module.zero(type));
    body.returnValue(value);
  }, true);
}

/**
 * The dword at any device address, of which only the low `bytes` bytes are needed: from the two aligned dwords around it, which are the same one when
 * the needed bytes lie in one. Neither reaches into another page than the needed bytes.
 */
function composeDword(
  functions: RuntimeFunctions,
  caller: Body,
  device: number,
  bytes: number,
  volatile: boolean,
): number {
  const id = functions.get(`dword${bytes}${volatile ? "v" : ""}`, T.U32, [T.U64], (body) => {
    const { module } = body;
    const [address] = body.parameters;
    const mask = module.constant64(T.U64, ~3, ~0);
    const aligned = (value: number) => body.op2(Code.BitwiseAnd, T.U64, value, mask);
    const last = body.op2(Code.IAdd, T.U64, address, module.u64(bytes - 1));
    const low = body.loadAt(T.U32, aligned(address), 4, volatile);
    const high = body.loadAt(T.U32, aligned(last), 4, volatile);
    const byte = body.op2(Code.BitwiseAnd, T.U32, body.op1(Code.UConvert, T.U32, address), module.u32(3));
    const shift = body.op2(Code.ShiftLeftLogical, T.U32, byte, module.u32(3));
    // Left by 32 - shift in two steps, so that an aligned address shifts everything out.
    const rest = body.op2(Code.BitwiseXor, T.U32, shift, module.u32(31));
    const doubled = body.op2(Code.ShiftLeftLogical, T.U32, high, module.u32(1));
    const upper = body.op2(Code.ShiftLeftLogical, T.U32, doubled, rest);
    const lower = body.op2(Code.ShiftRightLogical, T.U32, low, shift);
    body.returnValue(body.op2(Code.BitwiseOr, T.U32, lower, upper));
  }, true);
  return caller.call(id, T.U32, [device]);
}

/** Whether the device loads and stores integers of 1 or 2 bytes. */
function isNative(functions: RuntimeFunctions, bytes: number): boolean {
  return bytes === 1 ? functions.device.storage8 : functions.device.storage16;
}

/** Id of the function that stores. */
export function storeFunction(functions: RuntimeFunctions, form: AccessForm): number {
  const { bytes, float = false, volatile = false } = form;
  const type = valueType(bytes, float);
  return functions.get(formName("store", form), T.Void, parameterTypes(form, type), (body) => {
    const [address, info] = body.parameters;
    const value = body.parameters[form.predicated ? 3 : 2];
    const alignment = form.aligned ? 1 : Math.min(bytes, 4);
    const [fast, active] = fastPath(functions, body, form, alignment, true);
    body.choose(T.Void, fast, () => {
      storeAtDevice(functions, body, inFirstWindow(functions, body, address), type, value, bytes, volatile);
      return 0;
    }, () => {
      const plain = valueType(bytes, false);
      const bits = float ? body.op1(Code.Bitcast, plain, value) : value;
      return body.call(slowStore(functions, bytes, volatile), T.Void, [address, info, active, bits]);
    });
    body.return();
  });
}

function slowStore(functions: RuntimeFunctions, bytes: number, volatile: boolean): number {
  const type = valueType(bytes, false);
  return functions.get(`slowStore${bytes}${volatile ? "v" : ""}`, T.Void, [T.U64, T.U32, T.Bool, type], (body) => {
    const { module } = body;
    const [address, info, active, value] = body.parameters;
    const device = body.call(locate(functions), T.U64, [address, info, active]);
    body.when(body.op2(Code.INotEqual, T.Bool, device, module.u64(0)), () => {
      storeAtDevice(functions, body, device, type, value, bytes, volatile);
    });
    body.return();
  }, true);
}

function storeAtDevice(
  functions: RuntimeFunctions,
  body: Body,
  device: number,
  type: T,
  value: number,
  bytes: number,
  volatile: boolean,
): void {
  const { module } = body;
  if (bytes >= 4) body.storeAt(type, device, value, 4, volatile);
  else if (isNative(functions, bytes)) {
    const narrow = bytes === 1 ? T.U8 : T.U16;
    body.storeAt(narrow, device, body.op1(Code.UConvert, narrow, value), bytes, volatile);
  } else {
    // Other lanes may write the rest of the dword at the same time, so its bytes are changed atomically.
    const dword = body.pointerAt(T.U32, body.op2(Code.BitwiseAnd, T.U64, device, module.constant64(T.U64, ~3, ~0)));
    const byte = body.op2(Code.BitwiseAnd, T.U32, body.op1(Code.UConvert, T.U32, device), module.u32(3));
    const shift = body.op2(Code.ShiftLeftLogical, T.U32, byte, module.u32(3));
    const field = module.u32(bytes === 1 ? 0xff : 0xffff);
    const mask = body.op2(Code.ShiftLeftLogical, T.U32, field, shift);
    const placed = body.op2(
      Code.ShiftLeftLogical,
      T.U32,
      body.op2(Code.BitwiseAnd, T.U32, value, field),
      shift,
    );
    const scope = module.u32(Scope.Device), relaxed = module.u32(Semantics.None);
    body.ops(Code.AtomicAnd, T.U32, [dword, scope, relaxed, body.op1(Code.Not, T.U32, mask)]);
    body.ops(Code.AtomicOr, T.U32, [dword, scope, relaxed, placed]);
  }
}

/**
 * Id of the function that does an atomic operation (`kind` as in the IR, with its Wide bit). Data is U32, V2 when wide; compare-swap takes the compare
 * value after it. Returns the old value, zero when the access is inactive or failed.
 */
export function atomicFunction(functions: RuntimeFunctions, kind: number, predicated: boolean): number {
  const wide = (kind & AtomicKind.Wide) !== 0;
  const compares = (kind & AtomicKind.Mask) === AtomicKind.CmpSwap;
  const outer = wide ? T.V2 : T.U32, inner = wide ? T.U64 : T.U32;
  const form: AccessForm = { bytes: wide ? 8 : 4, predicated };
  const parameters = parameterTypes(form, outer, ...(compares ? [outer] : []));
  if (wide) functions.module.capability(Capability.Int64Atomics);
  return functions.get(`${formName("atomic", form)}.${kind}`, outer, parameters, (body) => {
    const { module } = body;
    const [address, info] = body.parameters;
    const [fast, active] = fastPath(functions, body, form, form.bytes, true);
    const device = body.choose(
      T.U64,
      fast,
      () => inFirstWindow(functions, body, address),
      () => body.call(locate(functions), T.U64, [address, info, active]),
    );
    const good = body.op2(Code.INotEqual, T.Bool, device, module.u64(0));
    const old = body.choose(outer, good, () => {
      const pointer = body.pointerAt(inner, device);
      const data = body.parameters.slice(predicated ? 3 : 2).map((value) =>
        wide ? body.op1(Code.Bitcast, T.U64, value) : value
      );
      const result = writeAtomic(body, kind & AtomicKind.Mask, inner, pointer, Scope.Device, data);
      return wide ? body.op1(Code.Bitcast, T.V2, result) : result;
    }, () => module.zero(outer));
    body.returnValue(old);
  });
}

/** Permission that an access needs. */
export const LOAD_ACCESS = Access.Read;
/** Stores need the write permission. */
export const STORE_ACCESS = Access.Write;
/** Atomics read and write. */
export const ATOMIC_ACCESS = Access.Read | Access.Write;
