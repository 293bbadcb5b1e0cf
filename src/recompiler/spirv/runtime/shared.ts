import type { Body } from "../body.ts";
import { Capability, Code, Scope, Semantics } from "../codes.ts";
import { T } from "../module.ts";
import type { RuntimeFunctions } from "./functions.ts";
import { unalignedDword } from "./memory.ts";

/**
 * Loads and stores that see and show what other workgroups do. Loads are atomic and of Device scope, so that they are answered past all caches that are
 * not the whole device's: Volatile is not enough for that, NVIDIA's driver (580.159) answers such loads from the cache of a multiprocessor, behind whatever
 * barrier. Two dwords at a multiple of 8 are accessed together, as the console does, where the device has 64-bit atomics: programs pack a state and its
 * value into them, and order them by nothing else.
 */

/** Dwords of the value of an access: U32, F32 or a vector of them. */
function dwordsOf(type: T): number {
  if (type >= T.F32x2 && type <= T.F32x4) return 2 + type - T.F32x2;
  return type >= T.V2 && type <= T.V4 ? 2 + type - T.V2 : 1;
}

const isFloat = (type: T) => type === T.F32 || type >= T.F32x2 && type <= T.F32x4;

/** Whether the device accesses two dwords at once. Not in graphics stages, see `Module.atomicLoads`. */
function hasPairs({ module, device }: RuntimeFunctions): boolean {
  return module.atomicLoads && device.bufferInt64Atomics;
}

/** How a load is done. */
interface LoadForm {
  /** It sees what other workgroups do. */
  readonly shared: boolean;
  /** The address is a multiple of nothing: dwords are put together from those around them. */
  readonly composed: boolean;
}

/**
 * Loads a value of dwords (`type`: U32, F32 or vectors of them).
 *
 * @param address U64, a multiple of 4 unless `composed`
 */
export function loadDwordsAt(
  functions: RuntimeFunctions,
  body: Body,
  type: T,
  address: number,
  form: LoadForm,
): number {
  const { shared, composed } = form;
  const isAtomic = shared && functions.module.atomicLoads;
  if (!isAtomic && !composed) return body.loadAt(type, address, 4, shared);
  const dwords = dwordsOf(type), parts: number[] = [];
  while (parts.length < dwords) {
    const at = addressOf(body, address, parts.length);
    if (shared && hasPairs(functions) && dwords - parts.length >= 2) {
      const pair = body.call(pairLoad(functions, composed), T.V2, [at]);
      parts.push(body.extract(T.U32, pair, 0), body.extract(T.U32, pair, 1));
    } else parts.push(oneDword(functions, body, at, form));
  }
  const whole = dwords === 1 ? parts[0] : body.ops(Code.CompositeConstruct, (T.V2 + dwords - 2) as T, parts);
  return isFloat(type) ? body.op1(Code.Bitcast, type, whole) : whole;
}

function oneDword(functions: RuntimeFunctions, body: Body, address: number, { shared, composed }: LoadForm): number {
  return composed
    ? body.call(unalignedDword(functions, 4, shared), T.U32, [address])
    : loadDword(body, address, shared);
}

/** Loads a dword at a multiple of 4. */
export function loadDword(body: Body, address: number, shared: boolean): number {
  return shared && body.module.atomicLoads ? atomicLoad(body, T.U32, address) : body.loadAt(T.U32, address, 4, shared);
}

function atomicLoad(body: Body, type: T, address: number): number {
  const { module } = body, pointer = body.pointerAt(type, address);
  return body.ops(Code.AtomicLoad, type, [pointer, module.u32(Scope.Device), module.u32(Semantics.None)]);
}

/**
 * Stores a value of dwords (`type`: U32, F32 or vectors of them) at a multiple of 4.
 *
 * @param shared it shows others what this workgroup does
 */
export function storeDwordsAt(
  functions: RuntimeFunctions,
  body: Body,
  type: T,
  address: number,
  value: number,
  shared: boolean,
): void {
  const dwords = dwordsOf(type);
  if (!shared || dwords === 1 || !hasPairs(functions)) return body.storeAt(type, address, value, 4, shared);
  const bits = isFloat(type) ? body.op1(Code.Bitcast, (T.V2 + dwords - 2) as T, value) : value;
  for (let k = 0; k < dwords; k += 2) {
    const at = addressOf(body, address, k);
    if (k + 1 === dwords) return body.storeAt(T.U32, at, body.extract(T.U32, bits, k), 4, true);
    const pair = dwords === 2
      ? bits
      : body.ops(Code.CompositeConstruct, T.V2, [k, k + 1].map((part) => body.extract(T.U32, bits, part)));
    body.call(pairStore(functions), T.Void, [at, pair]);
  }
}

/** Id of `(address: U64) -> V2`: both dwords at once at a multiple of 8. */
function pairLoad(functions: RuntimeFunctions, composed: boolean): number {
  return functions.get(`pair${composed ? "c" : ""}`, T.V2, [T.U64], (body) => {
    const [address] = body.parameters;
    body.module.capability(Capability.Int64Atomics);
    const form = { shared: true, composed };
    body.returnValue(body.choose(T.V2, isPair(body, address), () => {
      return body.op1(Code.Bitcast, T.V2, atomicLoad(body, T.U64, address));
    }, () => {
      const parts = [0, 1].map((k) => oneDword(functions, body, addressOf(body, address, k), form));
      return body.ops(Code.CompositeConstruct, T.V2, parts);
    }));
  });
}

/** Id of `(address: U64, value: V2)`: both dwords at once at a multiple of 8. */
function pairStore(functions: RuntimeFunctions): number {
  return functions.get("pairStore", T.Void, [T.U64, T.V2], (body) => {
    const [address, value] = body.parameters, { module } = body;
    module.capability(Capability.Int64Atomics);
    body.choose(T.Void, isPair(body, address), () => {
      const pointer = body.pointerAt(T.U64, address), both = body.op1(Code.Bitcast, T.U64, value);
      body.words.put5(Code.AtomicStore, pointer, module.u32(Scope.Device), module.u32(Semantics.None), both);
      return 0;
    }, () => {
      body.storeAt(T.V2, address, value, 4, true);
      return 0;
    });
    body.return();
  });
}

function isPair(body: Body, address: number): number {
  const { module } = body;
  const low = body.op2(Code.BitwiseAnd, T.U32, body.op1(Code.UConvert, T.U32, address), module.u32(7));
  return body.op2(Code.IEqual, T.Bool, low, module.u32(0));
}

function addressOf(body: Body, address: number, dword: number): number {
  return dword === 0 ? address : body.op2(Code.IAdd, T.U64, address, body.module.u64(4 * dword));
}
