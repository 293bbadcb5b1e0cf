import { AtomicKind } from "../../ir/ops.ts";
import type { Body } from "../body.ts";
import { Code, Glsl } from "../codes.ts";
import { recordFault } from "../faults.ts";
import { T } from "../module.ts";
import type { RuntimeFunctions } from "./functions.ts";
import { atomicFunction, narrowLoad, narrowStore, unalignedDword, valueType } from "./memory.ts";
import { loadDwordsAt, storeDwordsAt } from "./shared.ts";

/**
 * Accesses to buffers that the host has resolved: a device address, and the offset from which on everything is out of range. The host guarantees that all
 * of the buffer may be accessed as the program does it, and that 32 bytes behind it can be read; so a load needs no branch: it reads at the limit at most,
 * and what lies there becomes zero.
 */

/** What is known of an access when the program is recompiled. */
export interface BufferAccessForm {
  readonly bytes: number;
  /** It sees or shows what other workgroups do (`Emitter.isShared`). */
  readonly shared: boolean;
  /** The value is a F32 or a vector of them. */
  readonly float: boolean;
  /** Loads of 1 or 2 bytes: sign-extended. */
  readonly signed: boolean;
  /** There is a Bool whether the access takes place. */
  readonly predicated: boolean;
  /** There is a second offset, which is not range-checked: the access may leave the buffer, even its window. */
  readonly added: boolean;
  /** The offset must be a multiple of this, and is not known to be; 1: nothing to check. */
  readonly alignment: number;
  /** The device accesses integers of 1 or 2 bytes. */
  readonly native: boolean;
  /** Loads at addresses of any alignment, from aligned dwords. */
  readonly composed: boolean;
}

/** Whether an access may fail, and so needs what a fault says. */
export function mayFail({ added, alignment }: BufferAccessForm): boolean {
  return added || alignment > 1;
}

/** Parameters that all accesses have: base, limit, offset; then what the form asks for. */
function parameterTypes(form: BufferAccessForm): T[] {
  const types: T[] = [T.U64, T.U32, T.U32];
  if (form.predicated) types.push(T.Bool);
  if (form.added) types.push(T.U64, T.U32);
  // The guest's base address, for the record.
  if (mayFail(form)) types.push(T.U64, T.U32);
  return types;
}

interface Place {
  readonly base: number;
  readonly limit: number;
  readonly offset: number;
  readonly active: number;
  readonly extent: number;
  readonly added: number;
  readonly guest: number;
  readonly info: number;
  /** What follows. */
  readonly rest: readonly number[];
}

function takeParameters(body: Body, form: BufferAccessForm): Place {
  let next = 0;
  const take = () => body.parameters[next++];
  const base = take(), limit = take(), offset = take();
  const active = form.predicated ? take() : 0;
  const extent = form.added ? take() : 0, added = form.added ? take() : 0;
  const guest = mayFail(form) ? take() : 0, info = mayFail(form) ? take() : 0;
  return { base, limit, offset, active, extent, added, guest, info, rest: body.parameters.slice(next) };
}

function keyOf(form: BufferAccessForm): string {
  const flags = [form.shared, form.float, form.signed, form.predicated, form.added, form.native, form.composed];
  return `${form.bytes}.${form.alignment}.${flags.map(Number).join("")}`;
}

/** Id of the load function of a form. */
export function bufferLoad(functions: RuntimeFunctions, form: BufferAccessForm): number {
  const type = valueType(form.bytes, form.float);
  return functions.get(`bufferLoad${keyOf(form)}`, type, parameterTypes(form), (body) => {
    const place = takeParameters(body, form);
    const { limit, base } = place;
    const offset = checkedOffset(functions, body, place, form, form.bytes);
    const at = body.glsl(Glsl.UMin, T.U32, [offset, limit]);
    let address = body.op2(Code.IAdd, T.U64, base, body.op1(Code.UConvert, T.U64, at));
    if (form.added) address = body.op2(Code.IAdd, T.U64, address, addedIfInRange(body, place, offset));
    const value = loadValue(functions, body, address, form);
    if (form.bytes <= 4) {
      const inRange = body.op2(Code.ULessThan, T.Bool, offset, limit);
      body.returnValue(body.select(type, inRange, value, body.module.zero(type)));
      return;
    }
    const dwords = form.bytes / 4;
    const offsets = Array.from({ length: dwords }, (_, k) => plus(body, at, 4 * k));
    const vector = (T.V2 + dwords - 2) as T, bools = [T.Bool2, T.Bool3, T.Bool4][dwords - 2];
    const all = body.ops(Code.CompositeConstruct, vector, offsets);
    const limits = body.ops(Code.CompositeConstruct, vector, new Array(dwords).fill(limit));
    const inRange = body.op2(Code.ULessThan, bools, all, limits);
    body.returnValue(body.select(type, inRange, value, body.module.zero(type)));
  });
}

/** Id of the store function of a form; the value is the last parameter. */
export function bufferStore(functions: RuntimeFunctions, form: BufferAccessForm): number {
  const type = valueType(form.bytes, form.float);
  return functions.get(`bufferStore${keyOf(form)}`, T.Void, [...parameterTypes(form), type], (body) => {
    const { module } = body;
    const place = takeParameters(body, form);
    const { limit, rest: [value] } = place;
    if (form.bytes <= 4) {
      storePiece(functions, body, place, form, place.offset, form.alignment, () => value);
      body.return();
      return;
    }
    // Wholly in range, as is usual: one store; else dword by dword, out of line: with all of that inlined a driver took six times as long.
    const rest = module.u32(form.bytes - 4);
    const end = body.op2(Code.ISub, T.U32, body.glsl(Glsl.UMax, T.U32, [limit, rest]), rest);
    let whole = body.op2(Code.ULessThan, T.Bool, place.offset, end);
    if (form.alignment > 1) {
      whole = body.op2(Code.LogicalAnd, T.Bool, whole, isAligned(body, place, place.offset, form.alignment));
    }
    if (form.added) whole = body.op2(Code.LogicalAnd, T.Bool, whole, fits(body, place, place.offset, form.bytes));
    const store = () =>
      body.choose(T.Void, whole, () => {
        storeValue(functions, body, addressOf(body, place, form, place.offset), value, form);
        return 0;
      }, () => {
        const others = body.parameters.filter((id) => !form.predicated || id !== place.active);
        body.call(storeDwords(functions, { ...form, predicated: false }), T.Void, others);
        return 0;
      });
    if (form.predicated) body.when(place.active, store);
    else store();
    body.return();
  });
}

/** Id of the function that stores a value of several dwords one by one. */
function storeDwords(functions: RuntimeFunctions, form: BufferAccessForm): number {
  const type = valueType(form.bytes, form.float), dwordType = form.float ? T.F32 : T.U32;
  return functions.get(`storeDwords${keyOf(form)}`, T.Void, [...parameterTypes(form), type], (body) => {
    const place = takeParameters(body, form), [value] = place.rest, piece = { ...form, bytes: 4 };
    for (let k = 0; k < form.bytes / 4; k++) {
      // Offsets wrap, as the hardware's do.
      const offset = plus(body, place.offset, 4 * k);
      storePiece(functions, body, place, piece, offset, form.alignment, () => body.extract(dwordType, value, k));
    }
    body.return();
  }, true);
}

/** Stores up to a dword, if it is to be stored; notes the fault. */
function storePiece(
  functions: RuntimeFunctions,
  body: Body,
  place: Place,
  form: BufferAccessForm,
  offset: number,
  alignment: number,
  value: () => number,
): void {
  let wanted = body.op2(Code.ULessThan, T.Bool, offset, place.limit);
  if (form.predicated) wanted = body.op2(Code.LogicalAnd, T.Bool, wanted, place.active);
  body.when(wanted, () => {
    const store = () => {
      storeValue(functions, body, addressOf(body, place, form, offset), value(), form);
      return 0;
    };
    if (!mayFail(form)) return void store();
    let good = alignment > 1 ? isAligned(body, place, offset, alignment) : 0;
    if (form.added) {
      const inside = fits(body, place, offset, form.bytes);
      good = good === 0 ? inside : body.op2(Code.LogicalAnd, T.Bool, good, inside);
    }
    body.choose(T.Void, good, store, () => {
      recordAt(functions, body, place, form, offset);
      return 0;
    });
  });
}

/** Id of the atomic function of a kind and form; the operands are the last parameters. */
export function bufferAtomic(
  functions: RuntimeFunctions,
  kind: number,
  operands: number,
  form: BufferAccessForm,
): number {
  const wide = (kind & AtomicKind.Wide) !== 0;
  const type = wide ? T.V2 : T.U32;
  const parameters = [...parameterTypes(form), ...new Array<T>(operands).fill(type)];
  return functions.get(`bufferAtomic${kind}.${keyOf(form)}`, type, parameters, (body) => {
    const place = takeParameters(body, form);
    const { limit } = place;
    const offset = checkedOffset(functions, body, place, form, form.bytes);
    let good = body.op2(Code.ULessThan, T.Bool, offset, limit);
    if (wide) {
      const second = body.op2(Code.ULessThan, T.Bool, plus(body, offset, 4), limit);
      good = body.op2(Code.LogicalAnd, T.Bool, good, second);
    }
    const address = addressOf(body, place, form, offset);
    body.returnValue(body.call(atomicFunction(functions, kind), type, [good, address, ...place.rest]));
  });
}

/** Device address of a place. */
function addressOf(body: Body, { base, added }: Place, form: BufferAccessForm, offset: number): number {
  const address = body.op2(Code.IAdd, T.U64, base, body.op1(Code.UConvert, T.U64, offset));
  return form.added ? body.op2(Code.IAdd, T.U64, address, body.op1(Code.UConvert, T.U64, added)) : address;
}

/** The offset; where the access does not take place or fails, one that is out of range. Notes the fault. */
function checkedOffset(
  functions: RuntimeFunctions,
  body: Body,
  place: Place,
  form: BufferAccessForm,
  bytes: number,
): number {
  const { limit } = place;
  let { offset } = place;
  if (form.predicated) offset = body.select(T.U32, place.active, offset, limit);
  if (!mayFail(form)) return offset;
  let good = form.alignment > 1 ? isAligned(body, place, offset, form.alignment) : 0;
  if (form.added) {
    const inside = fits(body, place, offset, bytes);
    good = good === 0 ? inside : body.op2(Code.LogicalAnd, T.Bool, good, inside);
  }
  const inRange = body.op2(Code.ULessThan, T.Bool, offset, limit);
  const bad = body.op2(Code.LogicalAnd, T.Bool, inRange, body.op1(Code.LogicalNot, T.Bool, good));
  body.when(bad, () => recordAt(functions, body, place, form, offset));
  return body.select(T.U32, good, offset, limit);
}

/** Whether the address is a multiple of `alignment`; the base is. */
function isAligned(body: Body, { added, extent }: Place, offset: number, alignment: number): number {
  const { module } = body;
  const sum = extent !== 0 ? body.op2(Code.IAdd, T.U32, offset, added) : offset;
  const low = body.op2(Code.BitwiseAnd, T.U32, sum, module.u32(alignment - 1));
  return body.op2(Code.IEqual, T.Bool, low, module.u32(0));
}

/** Writes the fault record. */
function recordAt(functions: RuntimeFunctions, body: Body, place: Place, form: BufferAccessForm, offset: number): void {
  const address = addressOf(body, { ...place, base: place.guest }, form, offset);
  body.call(recordFault(functions), T.Void, [address, place.info]);
}

/** Whether the bytes at both offsets are in the window. */
function fits(body: Body, { extent, added }: Place, offset: number, bytes: number): number {
  const { module } = body;
  const sum = body.op2(
    Code.IAdd,
    T.U64,
    body.op1(Code.UConvert, T.U64, offset),
    body.op1(Code.UConvert, T.U64, added),
  );
  const end = bytes === 1 ? extent : body.op2(Code.ISub, T.U64, extent, module.u64(bytes - 1));
  return body.op2(Code.ULessThan, T.Bool, sum, end);
}

/** The second offset; 0 where the first is out of range, since the sum might be anywhere. */
function addedIfInRange(body: Body, { added, limit }: Place, offset: number): number {
  const inRange = body.op2(Code.ULessThan, T.Bool, offset, limit);
  return body.op1(Code.UConvert, T.U64, body.select(T.U32, inRange, added, body.module.u32(0)));
}

function loadValue(functions: RuntimeFunctions, body: Body, address: number, form: BufferAccessForm): number {
  const { module } = body;
  const { bytes, shared, float } = form;
  const type = valueType(bytes, float);
  if (bytes >= 4) return loadDwordsAt(functions, body, type, address, form);
  if (!form.composed && !shared && form.native) {
    const narrow = body.loadAt(bytes === 1 ? T.U8 : T.U16, address, bytes);
    return body.op1(form.signed ? Code.SConvert : Code.UConvert, T.U32, narrow);
  }
  const id = form.composed ? unalignedDword(functions, bytes, shared) : narrowLoad(functions, shared);
  const extract = form.signed ? Code.BitFieldSExtract : Code.BitFieldUExtract;
  const dword = body.call(id, T.U32, [address]);
  return body.op3(extract, T.U32, dword, module.u32(0), module.u32(bytes * 8));
}

function storeValue(
  functions: RuntimeFunctions,
  body: Body,
  address: number,
  value: number,
  { bytes, shared, native, float }: BufferAccessForm,
): void {
  if (bytes >= 4) {
    const type = valueType(bytes, float);
    storeDwordsAt(functions, body, type, address, value, shared);
  } else if (native) {
    const type = bytes === 1 ? T.U8 : T.U16;
    body.storeAt(type, address, body.op1(Code.UConvert, type, value), bytes, shared);
  } else body.call(narrowStore(functions, bytes), T.Void, [address, value]);
}

function plus(body: Body, offset: number, constant: number): number {
  return constant === 0 ? offset : body.op2(Code.IAdd, T.U32, offset, body.module.u32(constant));
}
