import { AtomicKind, hasTwoOperands, MemoryWidth, Op } from "../ir/ops.ts";
import { bufferOf } from "../resources/plan.ts";
import { Capability, Code, Scope, Semantics } from "./codes.ts";
import { accessOf } from "./addresses.ts";
import { accessWord } from "./access_word.ts";
import { wantsFloat } from "./arithmetic.ts";
import type { Emitter, HandlerTable } from "./emitter.ts";
import { T } from "./module.ts";
import { LDS_ACCESS } from "./faults.ts";
import { isDirectAtomic, isFloatAtomic } from "./runtime/atomic.ts";
import {
  formName,
  ldsAtomicFunction,
  type LdsForm,
  ldsLoadFunction,
  ldsStoreFunction,
  ldsWideAtomicFunction,
} from "./runtime/lds.ts";
import { ldsCells } from "./runtime/lds_cells.ts";
import { type LdsCalls, MANY_ACCESSES, planLdsCalls } from "./lds_calls.ts";
import { atomicFunction, narrowLoad, narrowStore, unalignedDword, valueType } from "./runtime/memory.ts";
import { loadDwordsAt, storeDwordsAt } from "./runtime/shared.ts";

/**
 * Guest memory and LDS.
 *
 * Alignment in guest memory: a store of a dword or more whose address is not a multiple of 4, a 2-byte store at an odd address and an atomic that is
 * not aligned to its size are faults (FaultReason.Unaligned); so are such loads unless the request has `unalignedLoads`.
 */

/** What holds of the access of operation `i`. */
interface Checked {
  /** Bool id: the access is active and may be done. */
  readonly good: number;
  /** U64 id: device address if so. */
  readonly device: number;
}

/** Translates the address of operation `i`, checks it, and notes the fault. `alignment` as for {@linkcode Addresses.translate}. */
function check(e: Emitter, i: number, bytes: number, alignment: number): Checked {
  const { ir, body, module } = e;
  const active = ir.b[i], access = accessOf(ir.op[i]);
  if (e.isConstant(active, 0)) return { good: module.constant(T.Bool, 0), device: module.u64(0) };
  const address = e.use(ir.a[i]);
  const { good, device } = e.addresses!.translate(address, bytes, access, alignment);
  const word = accessWord(e, i, bytes, access, alignment);
  if (e.isConstant(active, 1)) {
    e.faults.add(good, address, word);
    return { good, device };
  }
  const condition = e.use(active);
  e.faults.add(body.select(T.Bool, condition, good, module.constant(T.Bool, 1)), address, word);
  return { good: body.op2(Code.LogicalAnd, T.Bool, condition, good), device };
}

/** Whether the address of an operation is known to be a multiple of `alignment`. */
function isAligned(e: Emitter, address: number, alignment: number): boolean {
  return e.facts.zeros[address] >= Math.log2(alignment);
}

function load(e: Emitter, i: number): void {
  const { ir, body, functions } = e;
  if (bufferOf(ir.c[i]) >= 0) return e.resolved!.load(i);
  const width = ir.c[i], bytes = width & MemoryWidth.BytesMask;
  const shared = e.isShared(i);
  const needed = Math.min(bytes, 4);
  const aligned = isAligned(e, ir.a[i], needed);
  const composed = !aligned && e.request.unalignedLoads === true;
  const { good, device } = check(e, i, bytes, aligned || composed ? 1 : needed);
  const address = body.select(T.U64, good, device, e.addresses!.zeroArea);
  if (bytes < 4) {
    e.ids[i] = narrowValue(e, address, width, composed, shared);
    return;
  }
  const float = !composed && wantsFloat(e, i);
  e.ids[i] = loadDwordsAt(functions, body, valueType(bytes, float), address, { shared, composed });
  e.floatForm[i] = float ? 1 : 0;
}

/** A load of 1 or 2 bytes, extended. */
function narrowValue(e: Emitter, address: number, width: number, composed: boolean, shared: boolean): number {
  const { body, module, functions } = e;
  const bytes = width & MemoryWidth.BytesMask;
  const signed = (width & MemoryWidth.Signed) !== 0;
  if (!composed && !shared && isNative(e, bytes)) {
    const narrow = body.loadAt(bytes === 1 ? T.U8 : T.U16, address, bytes);
    return body.op1(signed ? Code.SConvert : Code.UConvert, T.U32, narrow);
  }
  const id = composed ? unalignedDword(functions, bytes, shared) : narrowLoad(functions, shared);
  const dword = body.call(id, T.U32, [address]);
  const extract = signed ? Code.BitFieldSExtract : Code.BitFieldUExtract;
  return body.op3(extract, T.U32, dword, module.u32(0), module.u32(bytes * 8));
}

/** Whether the device loads and stores integers of 1 or 2 bytes. */
function isNative(e: Emitter, bytes: number): boolean {
  return bytes === 1 ? e.request.device.storage8 : e.request.device.storage16;
}

function store(e: Emitter, i: number): void {
  const { ir, body } = e;
  if (bufferOf(ir.d[i]) >= 0) return e.resolved!.store(i);
  const value = ir.c[i], width = ir.d[i], bytes = width & MemoryWidth.BytesMask;
  const shared = e.isShared(i);
  const needed = Math.min(bytes, 4);
  const { good, device } = check(e, i, bytes, isAligned(e, ir.a[i], needed) ? 1 : needed);
  const address = body.select(T.U64, good, device, e.addresses!.sinkArea);
  if (bytes >= 4) {
    const float = e.floatForm[value] !== 0, type = valueType(bytes, float), id = float ? e.ids[value] : e.use(value);
    storeDwordsAt(e.functions, body, type, address, id, shared);
  } else if (isNative(e, bytes)) {
    const type = bytes === 1 ? T.U8 : T.U16;
    body.storeAt(type, address, body.op1(Code.UConvert, type, e.use(value)), bytes, shared);
  } else body.call(narrowStore(e.functions, bytes), T.Void, [address, e.use(value)]);
}

function atomic(e: Emitter, i: number): void {
  const { ir, body, module, request } = e;
  const data = ir.c[i], kind = ir.d[i];
  const wide = (kind & AtomicKind.Wide) !== 0;
  checkAtomic(e, i, kind);
  if (wide && !request.device.bufferInt64Atomics) {
    throw e.refuse(i, "atomic64", "this device has no 64-bit atomics on buffers");
  }
  if (wide) module.capability(Capability.Int64Atomics);
  if (bufferOf(kind) >= 0) return e.resolved!.atomic(i, atomicOperands(e, data, hasTwoOperands(kind), wide));
  const bytes = wide ? 8 : 4;
  const { good, device } = check(e, i, bytes, isAligned(e, ir.a[i], bytes) ? 1 : bytes);
  const operands = atomicOperands(e, data, hasTwoOperands(kind), wide);
  e.ids[i] = body.call(atomicFunction(e.functions, kind), wide ? T.V2 : T.U32, [good, device, ...operands]);
}

function checkAtomic(e: Emitter, i: number, kind: number): void {
  const base = kind & AtomicKind.Mask;
  if (base > AtomicKind.FCmpSwap) throw e.refuse(i, "atomic", `unknown kind ${base}`);
  if ((kind & AtomicKind.Wide) === 0 || !isFloatAtomic(kind)) return;
  if (base === AtomicKind.FAdd) throw e.refuse(i, "atomic", "64-bit float addition");
  if (!e.request.device.float64) throw e.refuse(i, "float64", "this device has no f64");
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

/** Stands for a predicate that need not be looked at. */
const ALWAYS = 0;

/** The predicate as call operands: none when it is always true. */
function predicate(e: Emitter, active: number): number[] {
  return isPredicate(e, active) ? [e.use(active)] : [];
}

function isPredicate(e: Emitter, active: number): boolean {
  return active !== ALWAYS && !e.isConstant(active, 1);
}

/** What is known of an LDS access before the program runs. */
function ldsForm(e: Emitter, address: number, active: number, width: number): LdsForm & { inRange: boolean } {
  const bytes = width & MemoryWidth.BytesMask;
  const aligned = bytes === 1 || e.facts.zeros[address] >= (bytes === 2 ? 1 : 2);
  return {
    bytes,
    signed: bytes < 4 && (width & MemoryWidth.Signed) !== 0,
    predicated: isPredicate(e, active),
    aligned,
    inRange: e.facts.upper[address] + bytes <= ldsDwords(e) * 4,
  };
}

/** Dwords of the LDS array. */
export function ldsDwords(e: Emitter): number {
  return Math.ceil(e.request.ldsBytes / 4);
}

/** Index of the k-th dword of an access that needs no check. */
function ldsIndex(e: Emitter, address: number, k: number): number {
  const { ir, body, module } = e;
  if (ir.op[address] === Op.Const) return module.u32((ir.a[address] >>> 2) + k);
  const first = body.op2(Code.ShiftRightLogical, T.U32, e.use(address), module.u32(2));
  return k === 0 ? first : body.op2(Code.IAdd, T.U32, first, module.u32(k));
}

/** Whether a form occurs so often that a function of its own makes the module shorter. */
function isFrequent(e: Emitter, kind: "ldsLoad" | "ldsStore", form: LdsForm): boolean {
  return (ldsCallsOf(e).counts.get(formName(kind, form)) ?? 0) >= MANY_ACCESSES;
}

function ldsCallsOf(e: Emitter): LdsCalls {
  return e.ldsCalls ??= planLdsCalls(e, (i) => {
    const { ir } = e;
    return ir.op[i] === Op.LdsLoad
      ? formName("ldsLoad", { ...ldsForm(e, ir.a[i], activeOfLoad(e, i), ir.c[i]), float: wantsFloat(e, i) })
      : formName("ldsStore", {
        ...ldsForm(e, ir.a[i], ir.b[i], ir.d[i] & ~MemoryWidth.Signed),
        float: wantsFloat(e, ir.c[i]),
      });
  });
}

/** A sum; nothing where functions of LDS accesses add. */
function sum(e: Emitter, i: number): void {
  const { ir, usage: { present } } = e;
  const mayBePart = ir.op[ir.b[i]] === Op.Const && (present[Op.LdsLoad] !== 0 || present[Op.LdsStore] !== 0);
  if (mayBePart && ldsCallsOf(e).absorbed.has(i)) return;
  e.ids[i] = e.body.op2(Code.IAdd, T.U32, e.use(ir.a[i]), e.use(ir.b[i]));
}

/** Address of an LDS access that is a call, and what is added to it, as the call's first and last operands. */
function ldsAddress(e: Emitter, i: number): [address: number, added: number[]] {
  const { ir } = e, address = ir.a[i], calls = ldsCallsOf(e);
  if (!calls.added.has(i)) return [e.use(address), []];
  if (!calls.absorbed.has(address)) return [e.use(address), [e.module.u32(0)]];
  return [e.use(ir.a[address]), [e.use(ir.b[address])]];
}

/** Predicate of a load. Nothing can go wrong where one is not active; only its value would have to be 0. */
function activeOfLoad({ ir }: Emitter, i: number): number {
  return (ir.c[i] & MemoryWidth.Speculative) !== 0 ? ALWAYS : ir.b[i];
}

function ldsLoad(e: Emitter, i: number): void {
  const { ir, body, module } = e;
  const [address, width] = [ir.a[i], ir.c[i]];
  const active = activeOfLoad(e, i);
  const form = ldsForm(e, address, active, width);
  const type = ir.type[i] as T;
  const float = wantsFloat(e, i) && isFrequent(e, "ldsLoad", { ...form, float: true });
  const added = ldsCallsOf(e).added.has(i);
  const inPlace = form.inRange && form.aligned && form.bytes === 4 && !float && !added &&
    !isFrequent(e, "ldsLoad", form);
  if (ldsDwords(e) === 0) e.ids[i] = module.zero(type);
  else if (inPlace) {
    // Reading what an inactive lane may not see harms nobody, but its value must be zero.
    const value = ldsCells(e.functions, ldsDwords(e)).load(body, ldsIndex(e, address, 0));
    e.ids[i] = form.predicated ? body.select(type, e.use(active), value, module.zero(type)) : value;
  } else {
    const id = ldsLoadFunction(e.functions, ldsDwords(e), { ...form, float, added });
    const [base, offset] = ldsAddress(e, i);
    e.ids[i] = body.call(id, valueType(form.bytes, float), [base, ...predicate(e, active), ...offset]);
    e.floatForm[i] = float ? 1 : 0;
  }
}

function ldsStore(e: Emitter, i: number): void {
  const { ir, body } = e;
  const [address, active, value, width] = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
  const form = ldsForm(e, address, active, width & ~MemoryWidth.Signed);
  if (ldsDwords(e) === 0) return;
  const float = e.floatForm[value] !== 0 && isFrequent(e, "ldsStore", { ...form, float: true });
  const added = ldsCallsOf(e).added.has(i);
  const inPlace = form.inRange && form.aligned && form.bytes === 4 && !form.predicated && !added;
  if (inPlace && !float && !isFrequent(e, "ldsStore", form)) {
    ldsCells(e.functions, ldsDwords(e)).store(body, ldsIndex(e, address, 0), e.use(value));
    return;
  }
  const id = ldsStoreFunction(e.functions, ldsDwords(e), { ...form, float, added });
  const [base, offset] = ldsAddress(e, i);
  body.call(id, T.Void, [base, ...predicate(e, active), float ? e.ids[value] : e.use(value), ...offset]);
}

function ldsAtomic(e: Emitter, i: number): void {
  const { ir, body, module } = e;
  const [address, active, data, kind] = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
  checkAtomic(e, i, kind);
  if ((kind & AtomicKind.Wide) !== 0) {
    wideLdsAtomic(e, i, kind);
    return;
  }
  if (ldsDwords(e) === 0) {
    e.ids[i] = module.u32(0);
    return;
  }
  const form = ldsForm(e, address, active, 4);
  const operands = atomicOperands(e, data, hasTwoOperands(kind), false);
  if (form.inRange && form.aligned && !form.predicated && isDirectAtomic(kind)) {
    e.ids[i] = ldsCells(e.functions, ldsDwords(e)).atomic(body, kind, ldsIndex(e, address, 0), operands);
    return;
  }
  const { good, index } = checkLds(e, i, 4);
  e.ids[i] = body.call(ldsAtomicFunction(e.functions, ldsDwords(e), kind), T.U32, [good, index, ...operands]);
}

/** Checks range, predicate and alignment of an LDS atomic; notes the fault. Gives the condition, and the index of the first dword. */
function checkLds(e: Emitter, i: number, bytes: number): { good: number; index: number } {
  const { ir, body, module } = e;
  const address = e.use(ir.a[i]), active = ir.b[i];
  const yes = module.constant(T.Bool, 1);
  const index = body.op2(Code.ShiftRightLogical, T.U32, address, module.u32(2));
  const last = ldsDwords(e) - bytes / 4;
  let good = last < 0 ? module.constant(T.Bool, 0) : body.op2(Code.ULessThanEqual, T.Bool, index, module.u32(last));
  let condition = yes;
  if (!e.isConstant(active, 1)) {
    condition = e.use(active);
    good = body.op2(Code.LogicalAnd, T.Bool, condition, good);
  }
  if (!isAligned(e, ir.a[i], bytes)) {
    const low = body.op2(Code.BitwiseAnd, T.U32, address, module.u32(bytes - 1));
    const aligned = body.op2(Code.IEqual, T.Bool, low, module.u32(0));
    good = body.op2(Code.LogicalAnd, T.Bool, good, aligned);
    const fine = condition === yes ? aligned : body.select(T.Bool, condition, aligned, yes);
    e.faults.add(fine, body.op1(Code.UConvert, T.U64, address), accessWord(e, i, bytes, LDS_ACCESS, bytes));
  }
  return { good, index };
}

/**
 * Whether the program needs LDS in 64-bit elements (lds_cells.ts): for 64-bit atomics, except And, Or and Xor whose old value nobody wants. Those are two
 * 32-bit ones: each bit's changes commute, and a torn read would need a reader that races with them.
 */
export function needsWideLds(e: Emitter): boolean {
  const { ir, usage } = e;
  if (usage.present[Op.LdsAtomic] === 0) return false;
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.LdsAtomic || (ir.d[i] & AtomicKind.Wide) === 0) continue;
    if (isBitwise(ir.d[i]) && usage.uses[i] === 0) continue;
    if (e.request.device.sharedInt64Atomics) return true;
    throw e.refuse(i, "lds-atomic64", "this device has no 64-bit atomics on workgroup memory");
  }
  return false;
}

function isBitwise(kind: number): boolean {
  const base = kind & AtomicKind.Mask;
  return base === AtomicKind.And || base === AtomicKind.Or || base === AtomicKind.Xor;
}

function wideLdsAtomic(e: Emitter, i: number, kind: number): void {
  const { ir, body, module } = e;
  e.ids[i] = module.zero(T.V2);
  if (ldsDwords(e) === 0) return;
  const { good, index } = checkLds(e, i, 8);
  if (e.functions.wideLds) {
    const id = ldsWideAtomicFunction(e.functions, ldsDwords(e), kind);
    e.ids[i] = body.call(id, T.V2, [good, index, ...atomicOperands(e, ir.c[i], hasTwoOperands(kind), true)]);
    return;
  }
  const id = ldsAtomicFunction(e.functions, ldsDwords(e), kind & AtomicKind.Mask);
  for (let half = 0; half < 2; half++) {
    const at = half === 0 ? index : body.op2(Code.IAdd, T.U32, index, module.u32(1));
    body.call(id, T.U32, [good, at, body.extract(T.U32, e.use(ir.c[i]), half)]);
  }
}

/**
 * The execution barrier of s_barrier; it also orders LDS and buffer memory within the workgroup, or within a subgroup.
 *
 * @param need who must come to it as a whole, a {@linkcode Uniformity}
 * @param who a `Scope`
 * @param device buffer memory is ordered for all workgroups. A control barrier may have that scope of memory (Vulkan specification, "Validation Rules within
 * a Module": only its execution scope is limited to Workgroup and Subgroup); compilers of HLSL make AllMemoryBarrierWithGroupSync of it.
 */
export function writeBarrier(e: Emitter, need: number, who: number = Scope.Workgroup, device = false): void {
  const { module, body } = e;
  e.convergence?.needs.push(need);
  // What one subgroup waits for says little of what a driver makes of a wider scope there.
  const separate = device && who === Scope.Subgroup;
  if (separate) writeDeviceFence(e);
  const semantics = Semantics.AcquireRelease | Semantics.UniformMemory | Semantics.WorkgroupMemory;
  const memory = device && !separate ? Scope.Device : who;
  body.words.put4(Code.ControlBarrier, module.u32(who), module.u32(memory), module.u32(semantics));
}

/** Orders buffer memory for all workgroups, for each lane on its own: control flow around it need not be uniform. UniformMemory is buffers by address, too. */
function writeDeviceFence({ module, body }: Emitter): void {
  const semantics = Semantics.AcquireRelease | Semantics.UniformMemory;
  body.words.put3(Code.MemoryBarrier, module.u32(Scope.Device), module.u32(semantics));
}

/** A fence of the guest that other workgroups count on (passes/device_order.ts); all others are gone. */
function fence(e: Emitter, i: number): void {
  if (e.ir.b[i] !== 0) writeDeviceFence(e);
}

/** Handlers of this file. */
export const MEMORY: HandlerTable = {
  IAdd: sum,
  Load: load,
  Store: store,
  Atomic: atomic,
  Fence: fence,
  LdsLoad: ldsLoad,
  LdsStore: ldsStore,
  LdsAtomic: ldsAtomic,
};
