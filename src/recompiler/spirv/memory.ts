import { AtomicKind, MemoryWidth, Op } from "../ir/ops.ts";
import { Code, Scope, Semantics, Storage } from "./codes.ts";
import { wantsFloat } from "./arithmetic.ts";
import type { Emitter, HandlerTable } from "./emitter.ts";
import { T } from "./module.ts";
import { isDirectAtomic, isFloatAtomic, writeAtomic } from "./runtime/atomic.ts";
import { ldsArray, ldsAtomicFunction, type LdsForm, ldsLoadFunction, ldsStoreFunction } from "./runtime/lds.ts";
import {
  type AccessForm,
  ATOMIC_ACCESS,
  atomicFunction,
  LOAD_ACCESS,
  loadFunction,
  STORE_ACCESS,
  storeFunction,
  valueType,
} from "./runtime/memory.ts";
import { accessInfo, MAX_ACCESS_PC } from "./runtime/windows.ts";

/** Guest memory and LDS. */

/** Id of the constant that tells a runtime function about the access of operation `i`. */
function info(e: Emitter, i: number, bytes: number, access: number, alignment: number): number {
  const pc = e.ir.pc[i];
  if (pc > MAX_ACCESS_PC) throw e.refuse(i, "program-size", "memory access behind 16 MiB of code");
  return e.module.u32(accessInfo(bytes, access, alignment, pc));
}

/** The predicate as call operands: none when it is always true. */
function predicate(e: Emitter, active: number): number[] {
  return e.isConstant(active, 1) ? [] : [e.use(active)];
}

function accessForm(e: Emitter, address: number, active: number, width: number): AccessForm {
  const bytes = width & MemoryWidth.BytesMask;
  return {
    bytes,
    signed: bytes < 4 && (width & MemoryWidth.Signed) !== 0,
    volatile: (width & MemoryWidth.Coherent) !== 0,
    predicated: !e.isConstant(active, 1),
    aligned: bytes === 1 || e.facts.zeros[address] >= (bytes === 2 ? 1 : 2),
  };
}

function load(e: Emitter, i: number): void {
  const { ir } = e;
  const [address, active, width] = [ir.a[i], ir.b[i], ir.c[i]];
  const form = accessForm(e, address, active, width);
  const float = wantsFloat(e, i);
  const word = info(e, i, form.bytes, LOAD_ACCESS, 1);
  const id = loadFunction(e.functions, { ...form, float });
  e.ids[i] = e.body.call(id, valueType(form.bytes, float), [e.use(address), word, ...predicate(e, active)]);
  e.floatForm[i] = float ? 1 : 0;
}

function store(e: Emitter, i: number): void {
  const { ir } = e;
  const [address, active, value, width] = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
  const form = accessForm(e, address, active, width & ~MemoryWidth.Signed);
  // Narrow stores take the integer.
  const float = e.floatForm[value] !== 0 && form.bytes >= 4;
  const word = info(e, i, form.bytes, STORE_ACCESS, Math.min(form.bytes, 4));
  const id = storeFunction(e.functions, { ...form, float });
  const data = float ? e.ids[value] : e.use(value);
  e.body.call(id, T.Void, [e.use(address), word, ...predicate(e, active), data]);
}

function atomic(e: Emitter, i: number): void {
  const { ir, body } = e;
  const [address, active, data, kind] = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
  const wide = (kind & AtomicKind.Wide) !== 0, base = kind & AtomicKind.Mask;
  checkAtomic(e, i, kind);
  if (wide && !e.request.device.bufferInt64Atomics) {
    throw e.refuse(i, "atomic64", "this device has no 64-bit atomics on buffers");
  }
  const operands = atomicOperands(e, data, base === AtomicKind.CmpSwap, wide);
  const word = info(e, i, wide ? 8 : 4, ATOMIC_ACCESS, wide ? 8 : 4);
  const id = atomicFunction(e.functions, kind, !e.isConstant(active, 1));
  const args = [e.use(address), word, ...predicate(e, active), ...operands];
  e.ids[i] = body.call(id, wide ? T.V2 : T.U32, args);
}

function checkAtomic(e: Emitter, i: number, kind: number): void {
  const base = kind & AtomicKind.Mask;
  if (base > AtomicKind.FAdd) throw e.refuse(i, "atomic", `unknown kind ${base}`);
  if ((kind & AtomicKind.Wide) !== 0 && isFloatAtomic(base)) throw e.refuse(i, "atomic", "64-bit float atomics");
}

/** Data, and for compare-swap the compare value: halves of a vector. */
function atomicOperands(e: Emitter, data: number, compares: boolean, wide: boolean): number[] {
  const { body } = e;
  const id = e.use(data);
  if (!compares) return [id];
  if (!wide) return [body.extract(T.U32, id, 0), body.extract(T.U32, id, 1)];
  const half = (from: number) =>
    body.op2(Code.CompositeConstruct, T.V2, body.extract(T.U32, id, from), body.extract(T.U32, id, from + 1));
  return [half(0), half(2)];
}

// --- LDS ---

/** What is known of an LDS access before the program runs. */
function ldsForm(e: Emitter, address: number, active: number, width: number): LdsForm & { inRange: boolean } {
  const bytes = width & MemoryWidth.BytesMask;
  const aligned = bytes === 1 || e.facts.zeros[address] >= (bytes === 2 ? 1 : 2);
  return {
    bytes,
    signed: bytes < 4 && (width & MemoryWidth.Signed) !== 0,
    predicated: !e.isConstant(active, 1),
    aligned,
    inRange: e.facts.upper[address] + bytes <= ldsDwords(e) * 4,
  };
}

/** Dwords of the LDS array. */
export function ldsDwords(e: Emitter): number {
  return Math.ceil(e.request.ldsBytes / 4);
}

/** Pointer to the k-th dword of an access that needs no check. */
function ldsPointer(e: Emitter, address: number, k: number): number {
  const { ir, body, module } = e;
  const array = ldsArray(e.functions, ldsDwords(e));
  let index: number;
  if (ir.op[address] === Op.Const) index = module.u32((ir.a[address] >>> 2) + k);
  else {
    const first = body.op2(Code.ShiftRightLogical, T.U32, e.use(address), module.u32(2));
    index = k === 0 ? first : body.op2(Code.IAdd, T.U32, first, module.u32(k));
  }
  return body.element(Storage.Workgroup, T.U32, array, index);
}

function ldsLoad(e: Emitter, i: number): void {
  const { ir, body, module } = e;
  const [address, active, width] = [ir.a[i], ir.b[i], ir.c[i]];
  const form = ldsForm(e, address, active, width);
  const type = ir.type[i] as T;
  if (ldsDwords(e) === 0) e.ids[i] = module.zero(type);
  else if (form.inRange && form.aligned && form.bytes >= 4) {
    // Reading what an inactive lane may not see harms nobody, but its value must be zero.
    const parts: number[] = [];
    for (let k = 0; k * 4 < form.bytes; k++) parts.push(body.load(T.U32, ldsPointer(e, address, k)));
    const value = parts.length === 1 ? parts[0] : body.ops(Code.CompositeConstruct, type, parts);
    e.ids[i] = form.predicated ? body.select(type, e.use(active), value, module.zero(type)) : value;
  } else {
    const id = ldsLoadFunction(e.functions, ldsDwords(e), form);
    e.ids[i] = body.call(id, type, [e.use(address), ...predicate(e, active)]);
  }
}

function ldsStore(e: Emitter, i: number): void {
  const { ir, body } = e;
  const [address, active, value, width] = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
  const form = ldsForm(e, address, active, width & ~MemoryWidth.Signed);
  if (ldsDwords(e) === 0) return;
  if (form.inRange && form.aligned && form.bytes >= 4 && !form.predicated) {
    for (let k = 0; k * 4 < form.bytes; k++) {
      const part = form.bytes === 4 ? e.use(value) : body.extract(T.U32, e.use(value), k);
      body.words.put3(Code.Store, ldsPointer(e, address, k), part);
    }
    return;
  }
  const id = ldsStoreFunction(e.functions, ldsDwords(e), form);
  body.call(id, T.Void, [e.use(address), ...predicate(e, active), e.use(value)]);
}

function ldsAtomic(e: Emitter, i: number): void {
  const { ir, body, module } = e;
  const [address, active, data, kind] = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
  const base = kind & AtomicKind.Mask;
  checkAtomic(e, i, kind);
  if ((kind & AtomicKind.Wide) !== 0) {
    wideLdsAtomic(e, i, base);
    return;
  }
  if (ldsDwords(e) === 0) {
    e.ids[i] = module.u32(0);
    return;
  }
  const form = ldsForm(e, address, active, 4);
  const operands = atomicOperands(e, data, base === AtomicKind.CmpSwap, false);
  if (form.inRange && form.aligned && !form.predicated && isDirectAtomic(base)) {
    e.ids[i] = writeAtomic(body, base, T.U32, ldsPointer(e, address, 0), Scope.Workgroup, operands);
    return;
  }
  const id = ldsAtomicFunction(e.functions, ldsDwords(e), base, { ...form, alignment: form.aligned ? 1 : 4 });
  const word = info(e, i, 4, ATOMIC_ACCESS, 4);
  e.ids[i] = body.call(id, T.U32, [e.use(address), word, ...predicate(e, active), ...operands]);
}

/**
 * 64-bit atomics on LDS. And, Or and Xor whose old value nobody wants are two 32-bit ones: each bit's changes commute, and a torn read would need a
 * reader that races with them. Everything else needs an LDS array of 64-bit elements that aliases the 32-bit one, which Vulkan lacks.
 */
function wideLdsAtomic(e: Emitter, i: number, base: number): void {
  const { ir, body, module } = e;
  const [address, active, data] = [ir.a[i], ir.b[i], ir.c[i]];
  const bitwise = base === AtomicKind.And || base === AtomicKind.Or || base === AtomicKind.Xor;
  if (!bitwise || e.usage.uses[i] !== 0) {
    throw e.refuse(i, "lds-atomic64", "64-bit LDS atomic other than and, or, xor without result");
  }
  e.ids[i] = module.zero(T.V2);
  if (ldsDwords(e) === 0) return;
  const word = info(e, i, 8, ATOMIC_ACCESS, 8);
  const first = e.use(address);
  const second = body.op2(Code.IAdd, T.U32, first, module.u32(4));
  const form = ldsForm(e, address, active, 4);
  const half = (at: number, predicates: number[], part: number, alignment: number) => {
    const variant = { ...form, predicated: predicates.length > 0, alignment };
    const id = ldsAtomicFunction(e.functions, ldsDwords(e), base, variant);
    body.call(id, T.U32, [at, word, ...predicates, body.extract(T.U32, e.use(data), part)]);
  };
  const predicates = predicate(e, active);
  const aligned = e.facts.zeros[address] >= 3;
  half(first, predicates, 0, aligned ? 1 : 8);
  if (!aligned) {
    const low = body.op2(Code.BitwiseAnd, T.U32, first, module.u32(7));
    const whole = body.op2(Code.IEqual, T.Bool, low, module.u32(0));
    predicates[0] = predicates.length > 0 ? body.op2(Code.LogicalAnd, T.Bool, predicates[0], whole) : whole;
  }
  half(second, predicates, 1, 1);
}

/** The execution barrier of s_barrier; it also orders LDS and buffer memory within the workgroup. */
export function writeBarrier(e: Emitter): void {
  const { module, body } = e;
  const scope = module.u32(Scope.Workgroup);
  const semantics = Semantics.AcquireRelease | Semantics.UniformMemory | Semantics.WorkgroupMemory;
  body.words.put4(Code.ControlBarrier, scope, scope, module.u32(semantics));
}

/** Handlers of this file. */
export const MEMORY: HandlerTable = {
  Load: load,
  Store: store,
  Atomic: atomic,
  LdsLoad: ldsLoad,
  LdsStore: ldsStore,
  LdsAtomic: ldsAtomic,
};
