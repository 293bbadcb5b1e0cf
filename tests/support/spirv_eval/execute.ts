/**
 * What instructions do to the lanes that execute them together.
 *
 * @module
 */
import { f16Bits, f16Value, f32Bits, f32Value, fusedBits } from "./bits.ts";
import type { Place, SpirvInstruction, SpirvType, Value } from "./parse.ts";
import { type Bits, GLSL_OPERATIONS, poison, SCALAR_OPERATIONS, widthOf, wrap } from "./scalars.ts";
import type { Subgroup } from "./subgroup.ts";
import { byteSize } from "./memory.ts";

/** Executes an instruction for lanes. */
export type Step = (s: Subgroup, i: SpirvInstruction, lanes: readonly number[]) => void;

const WORKGROUP = 4, PHYSICAL = 5349, ALIGNED = 2;
const MIX = 46, FMA = 50, PACK_HALF = 58, UNPACK_HALF = 62;

/** A step whose lanes do not see each other. */
function each(f: (s: Subgroup, i: SpirvInstruction, lane: number) => Value): Step {
  return (s, i, lanes) => {
    const out = s.out(i.result);
    for (const lane of lanes) out[lane] = f(s, i, lane);
  };
}

/** Applies an operation to scalars, or to the elements of vectors. */
function elementwise(type: SpirvType, operands: Value[], f: (...bits: never[]) => Bits): Value {
  if (type.kind !== "vector") return f(...operands as never[]);
  return Array.from(
    { length: type.count },
    (_, n) => f(...operands.map((v) => Array.isArray(v) ? v[n] : v) as never[]),
  );
}

function typeOf(s: Subgroup, id: number): SpirvType {
  const type = s.module.resultTypes.get(id);
  if (type === undefined) throw new Error(`id ${id} has no type`);
  return type;
}

/** Instructions of GLSL.std.450 that flush nothing by themselves: floor, ceiling and those on integers. */
const FLOOR = 8, CEILING = 9;
const FLUSHING_GLSL: ReadonlySet<number> = new Set([2, 3, 4, 13, 14, 29, 30, 31, 32, FMA, 79, 80, 81]);

/**
 * Whether an instruction of GLSL.std.450 flushes f32 denormals. Floor and ceiling may do either: they do what the recompiler must not rely on, keep
 * denormals where all others flush them (as on NVIDIA), and flush them where sums do not.
 */
function glslFlushes(s: Subgroup, number: number): boolean {
  const { flushes32 } = s.group;
  if (flushes32 === "none") return false;
  if (number === FLOOR || number === CEILING) return flushes32 === "all but sums";
  return FLUSHING_GLSL.has(number);
}

function scalarStep(name: string): Step {
  const make = SCALAR_OPERATIONS[name];
  const isFloat = /^OpF|^OpConvertFTo/.test(name), isSum = ["OpFAdd", "OpFSub", "OpFMul"].includes(name);
  return (s, i, lanes) => {
    const from = name === "OpConvertUToPtr" ? 64 : widthOf(typeOf(s, i.operands[0]));
    const f = i.operation ??= make(widthOf(i.type), from), out = s.out(i.result);
    if (isFloat && s.group.flushes32 !== "none" && !(isSum && s.group.flushes32 === "all but sums")) {
      for (const lane of lanes) {
        const operands = i.operands.map((id) => from === 32 ? flush(s.value(id, lane)) : s.value(id, lane));
        const result = elementwise(i.type, operands, f);
        out[lane] = i.type.kind === "float" && i.type.bits === 32 ? flush(result) : result;
      }
      return;
    }
    const [a, b] = i.operands;
    if (i.type.kind === "vector" || i.operands.length > 2) {
      for (const lane of lanes) out[lane] = elementwise(i.type, i.operands.map((id) => s.value(id, lane)), f);
    } else if (b === undefined) { for (const lane of lanes) out[lane] = f(s.value(a, lane) as never); }
    else for (const lane of lanes) out[lane] = f(s.value(a, lane) as never, s.value(b, lane) as never);
  };
}

/** A denormal f32 as a zero of its sign. */
function flush(value: Value): Value {
  if (Array.isArray(value)) return value.map(flush);
  const bits = value as number;
  return (bits & 0x7f80_0000) === 0 ? (bits & 0x8000_0000) >>> 0 : bits;
}

const glsl = each((s, i, lane) => {
  const [, number, ...ids] = i.operands;
  const place = INTERPOLATE[number];
  if (place !== undefined) {
    const operand = ids.length > 1 ? s.value(ids[1], lane) : undefined;
    if (s.group.interpolate === undefined) throw new Error("no inputs to interpolate");
    return s.group.interpolate(ids[0], s.invocations[lane], place, operand);
  }
  const width = widthOf(i.type), flushes = width === 32 && i.type.kind !== "int" && glslFlushes(s, number);
  const operands = ids.map((id) => flushes ? flush(s.value(id, lane)) : s.value(id, lane));
  const result = glslResult(s, i, number, ids, operands, width);
  return flushes ? flush(result) : result;
});

function glslResult(
  s: Subgroup,
  i: SpirvInstruction,
  number: number,
  ids: readonly number[],
  operands: Value[],
  width: number,
): Value {
  if (number === PACK_HALF) {
    const [x, y] = operands[0] as number[];
    return (f16Bits(f32Value(x)) | f16Bits(f32Value(y)) << 16) >>> 0;
  }
  if (number === UNPACK_HALF) {
    const bits = operands[0] as number;
    return [f32Bits(f16Value(bits & 0xffff)), f32Bits(f16Value(bits >>> 16))];
  }
  if (number === UNPACK_UNORM) {
    const bits = operands[0] as number;
    return [f32Bits((bits & 0xffff) / 65535), f32Bits((bits >>> 16) / 65535)];
  }
  if (number === UNPACK_SNORM) {
    const bits = operands[0] as number;
    return [bits << 16 >> 16, bits >> 16].map((part) => f32Bits(Math.max(part / 32767, -1)));
  }
  if (number === MIX) {
    return elementwise(i.type, operands, (x: number, y: number, a: number) => {
      const by = f32Value(a), rest = Math.fround(f32Value(x) * Math.fround(1 - by));
      return f32Bits(rest + Math.fround(f32Value(y) * by));
    });
  }
  if (number === FMA) return elementwise(i.type, operands, (a: Bits, b: Bits, c: Bits) => fusedBits(a, b, c, width));
  const make = GLSL_OPERATIONS.get(number);
  if (make === undefined) throw new Error(`GLSL.std.450 instruction ${number} cannot be evaluated`);
  return elementwise(i.type, operands, make(width, widthOf(typeOf(s, ids[0]))));
}

/** Instructions of GLSL.std.450 on inputs of pixels, and those that take 16-bit numbers apart. */
const INTERPOLATE: Readonly<Record<number, "centroid" | "sample" | "offset">> = {
  76: "centroid",
  77: "sample",
  78: "offset",
};
const UNPACK_SNORM = 60, UNPACK_UNORM = 61;

const multiplyExtended = (signed: boolean) =>
  each((s, i, lane) => {
    const [a, b] = i.operands.map((id) => BigInt(s.value(id, lane) as number));
    const product = signed ? BigInt.asIntN(32, a) * BigInt.asIntN(32, b) : a * b;
    return [Number(BigInt.asUintN(32, product)), Number(BigInt.asUintN(32, product >> 32n))];
  });

/** The same bits as another type: elements of vectors are in order, the first one lowest. */
function bitcast(value: Value, from: SpirvType, to: SpirvType): Value {
  let bits = 0n, at = 0;
  const width = from.kind === "pointer" ? 64 : widthOf(from);
  for (const element of Array.isArray(value) ? value : [value]) {
    bits |= BigInt(element as Bits) << BigInt(at);
    at += width;
  }
  if (to.kind === "pointer") return bits;
  const size = widthOf(to);
  const cut = (n: number) => {
    const part = BigInt.asUintN(size, bits >> BigInt(n * size));
    return size === 64 ? part : Number(part);
  };
  return to.kind === "vector" ? Array.from({ length: to.count }, (_, n) => cut(n)) : cut(0);
}

const copy = (value: Value): Value => Array.isArray(value) ? value.map(copy) : value;

/** Helper invocations write no memory, and an atomic gives them anything (Vulkan specification, "Helper Invocations"). */
function isHelper(s: Subgroup, lane: number): boolean {
  return s.group.isHelper?.(s.invocations[lane]) === true;
}

function pointee(s: Subgroup, id: number): { physical: boolean; shared: boolean; type: SpirvType } {
  const type = typeOf(s, id);
  if (type.kind !== "pointer") throw new Error(`id ${id} is no pointer`);
  return { physical: type.storage === PHYSICAL, shared: type.storage === WORKGROUP, type: type.to };
}

/** An access to workgroup memory of a lane, now. */
function accessOf(s: Subgroup, lane: number) {
  return {
    invocation: s.invocations[lane],
    subgroup: s,
    workgroupBarriers: s.group.barriers ?? 0,
    subgroupBarriers: s.barriers,
  };
}

/** Alignment of an access: what its Aligned operand says, which accesses by device address must have. */
function alignment(operands: readonly number[], word: number): number {
  const [mask = 0, bytes] = operands;
  if ((mask & ALIGNED) === 0) throw new Error(`word ${word}: an access by device address without alignment`);
  return bytes;
}

const load = each((s, i, lane) => {
  const [pointer, ...access] = i.operands, { physical, shared, type } = pointee(s, pointer);
  const at = s.value(pointer, lane);
  if (physical) {
    s.group.races?.loadMemory(at as bigint, byteSize(type), accessOf(s, lane), i.word);
    return s.group.memory.load(at as bigint, type, alignment(access, i.word), s.invocations[lane]);
  }
  const { cells, index } = at as Place;
  if (!(index in cells)) throw new Error(`word ${i.word}: element ${index} of ${cells.length} is loaded`);
  if (shared) s.group.races?.load(cells, index, accessOf(s, lane), i.word);
  return copy(cells[index]);
});

const store: Step = (s, i, lanes) => {
  const [pointer, object, ...access] = i.operands, { physical, shared, type } = pointee(s, pointer);
  for (const lane of lanes) {
    const at = s.value(pointer, lane), value = s.value(object, lane);
    if (physical && isHelper(s, lane)) continue;
    if (physical) {
      s.group.races?.storeMemory(at as bigint, byteSize(type), accessOf(s, lane), i.word);
      s.group.memory.store(at as bigint, type, value, alignment(access, i.word), s.invocations[lane]);
    } else {
      const { cells, index } = at as Place;
      if (!(index in cells)) throw new Error(`word ${i.word}: element ${index} of ${cells.length} is stored`);
      if (shared) s.group.races?.store(cells, index, value, accessOf(s, lane), i.word);
      cells[index] = copy(value);
    }
  }
};

const accessChain = each((s, i, lane) => {
  const [base, ...indices] = i.operands, { physical, type } = pointee(s, base);
  let at = s.value(base, lane), inner = type;
  for (const id of indices) {
    const n = Number(s.value(id, lane));
    if (physical) at = at as bigint + BigInt(offsetOf(inner, n));
    else {
      const { cells, index } = at as Place;
      at = { cells: cells[index] as Value[], index: n };
    }
    inner = inner.kind === "struct" ? inner.members[n] : (inner as { element: SpirvType }).element;
  }
  return at;
});

function offsetOf(type: SpirvType, index: number): number {
  if (type.kind === "struct") return type.offsets[index];
  if (type.kind === "array") return index * type.stride;
  if (type.kind === "vector") return index * byteSize(type.element);
  throw new Error(`a ${type.kind} has no elements`);
}

/** An atomic operation: `f` gives the new value from the old one and the operands. */
const atomic = (f: (old: Bits, operands: Bits[], width: number) => Bits): Step => (s, i, lanes) => {
  const pointer = i.operands[0], { physical, type } = pointee(s, pointer), width = widthOf(type), bytes = width / 8;
  const isExchange = i.name === "OpAtomicCompareExchange";
  const ids = i.operands.slice(isExchange ? 4 : 3);
  const out = s.out(i.result);
  for (const lane of lanes) {
    const at = s.value(pointer, lane), operands = ids.map((id) => s.value(id, lane) as Bits);
    if (physical && isHelper(s, lane)) out[lane] = poison(width);
    else if (physical) {
      s.group.races?.forgetMemory(at as bigint, bytes);
      if (i.name === "OpAtomicLoad") {
        out[lane] = s.group.memory.load(at as bigint, type, bytes, s.invocations[lane], true) as Bits;
        continue;
      }
      out[lane] = s.group.memory.update(at as bigint, type, (old) => f(old as Bits, operands, width)) as Bits;
    } else {
      const { cells, index } = at as Place;
      if (!(index in cells)) throw new Error(`word ${i.word}: an atomic at element ${index} of ${cells.length}`);
      s.group.races?.forget(cells, index);
      out[lane] = cells[index];
      cells[index] = f(cells[index] as Bits, operands, width);
    }
  }
};
const atomicStore: Step = (s, { operands: [pointer, , , object] }, lanes) => {
  const { physical, type } = pointee(s, pointer);
  if (!physical) throw new Error("an atomic store that is not by device address");
  for (const lane of lanes) {
    if (isHelper(s, lane)) continue;
    const at = s.value(pointer, lane) as bigint;
    s.group.races?.forgetMemory(at, byteSize(type));
    s.group.memory.store(at, type, s.value(object, lane), byteSize(type), s.invocations[lane]);
  }
};
const choose = (f: (a: bigint, b: bigint) => boolean) => (old: Bits, [value]: Bits[], width: number) =>
  f(BigInt.asIntN(width, BigInt(value)), BigInt.asIntN(width, BigInt(old))) ? value : old;
const chooseUnsigned = (f: (a: Bits, b: Bits) => boolean) => (old: Bits, [value]: Bits[]) =>
  f(value, old) ? value : old;
const combine = (f: (a: bigint, b: bigint) => bigint) => (old: Bits, [value]: Bits[], width: number) =>
  wrap(f(BigInt(old), BigInt(value)), width);

/** A step of the whole subgroup: `f` gets the values of the lanes that execute it. */
const together =
  (f: (s: Subgroup, i: SpirvInstruction, lanes: readonly number[], lane: number) => Value): Step => (s, i, lanes) => {
    const results = lanes.map((lane) => f(s, i, lanes, lane)), out = s.out(i.result);
    lanes.forEach((lane, n) => out[lane] = results[n]);
  };

/** Steps by name of the instruction; calls, barriers and terminators are the subgroup's own. */
export const EXECUTE: ReadonlyMap<string, Step> = new Map<string, Step>([
  ...Object.keys(SCALAR_OPERATIONS).map((name): [string, Step] => [name, scalarStep(name)]),
  ["OpExtInst", glsl],
  ["OpUMulExtended", multiplyExtended(false)],
  ["OpSMulExtended", multiplyExtended(true)],
  [
    "OpSelect",
    each((s, { operands: [condition, a, b] }, lane) => {
      const chosen = s.value(condition, lane), x = s.value(a, lane), y = s.value(b, lane);
      if (!Array.isArray(chosen)) return chosen === 1 ? x : y;
      return chosen.map((one, n) => (one === 1 ? x as Value[] : y as Value[])[n]);
    }),
  ],
  ["OpBitcast", each((s, i, lane) => bitcast(s.value(i.operands[0], lane), typeOf(s, i.operands[0]), i.type))],
  ["OpCompositeConstruct", each((s, i, lane) => i.operands.flatMap((id) => s.value(id, lane)))],
  [
    "OpCompositeExtract",
    each((s, { operands: [id, ...path] }, lane) => path.reduce((value, n) => (value as Value[])[n], s.value(id, lane))),
  ],
  [
    "OpCompositeInsert",
    each((s, { operands: [object, composite, ...path] }, lane) => {
      const result = copy(s.value(composite, lane));
      let inner = result as Value[];
      for (const n of path.slice(0, -1)) inner = inner[n] as Value[];
      inner[path[path.length - 1]] = copy(s.value(object, lane));
      return result;
    }),
  ],
  [
    "OpVectorShuffle",
    each((s, { operands: [a, b, ...parts] }, lane) => {
      const all = [...s.value(a, lane) as Value[], ...s.value(b, lane) as Value[]];
      return parts.map((n) => all[n]);
    }),
  ],
  ["OpCopyObject", each((s, { operands: [a] }, lane) => s.value(a, lane))],
  ["OpCopyLogical", each((s, { operands: [a] }, lane) => copy(s.value(a, lane)))],
  [
    "OpVectorTimesScalar",
    each((s, { operands: [a, b] }, lane) => {
      const by = f32Value(s.value(b, lane) as number);
      return (s.value(a, lane) as number[]).map((x) => f32Bits(f32Value(x) * by));
    }),
  ],
  ["OpEmitVertex", (s, _, lanes) => lanes.forEach((lane) => s.group.emitVertex!(s.invocations[lane]))],
  ["OpEndPrimitive", (s, _, lanes) => lanes.forEach((lane) => s.group.endPrimitive!(s.invocations[lane]))],
  ["OpLoad", load],
  ["OpStore", store],
  ["OpAccessChain", accessChain],
  [
    "OpUndef",
    each((_, i) =>
      i.type.kind === "vector" ? new Array(i.type.count).fill(poison(widthOf(i.type))) : poison(widthOf(i.type))
    ),
  ],
  ["OpAtomicLoad", atomic((old) => old)],
  ["OpAtomicStore", atomicStore],
  ["OpAtomicExchange", atomic((_, [value]) => value)],
  ["OpAtomicCompareExchange", atomic((old, [value, comparator]) => old === comparator ? value : old)],
  ["OpAtomicIAdd", atomic(combine((a, b) => a + b))],
  ["OpAtomicISub", atomic(combine((a, b) => a - b))],
  ["OpAtomicAnd", atomic(combine((a, b) => a & b))],
  ["OpAtomicOr", atomic(combine((a, b) => a | b))],
  ["OpAtomicXor", atomic(combine((a, b) => a ^ b))],
  ["OpAtomicSMin", atomic(choose((a, b) => a < b))],
  ["OpAtomicSMax", atomic(choose((a, b) => a > b))],
  ["OpAtomicUMin", atomic(chooseUnsigned((a, b) => a < b))],
  ["OpAtomicUMax", atomic(chooseUnsigned((a, b) => a > b))],
  ["OpGroupNonUniformElect", together((_s, _i, lanes, lane) => lane === lanes[0] ? 1 : 0)],
  ["OpGroupNonUniformAny", together((s, i, lanes) => lanes.some((l) => s.value(i.operands[1], l) === 1) ? 1 : 0)],
  ["OpGroupNonUniformAll", together((s, i, lanes) => lanes.every((l) => s.value(i.operands[1], l) === 1) ? 1 : 0)],
  [
    "OpGroupNonUniformBallot",
    together((s, i, lanes) => {
      const words = [0, 0, 0, 0];
      for (const l of lanes) if (s.value(i.operands[1], l) === 1) words[l >> 5] = (words[l >> 5] | 1 << (l & 31)) >>> 0;
      return words;
    }),
  ],
  ["OpGroupNonUniformBroadcast", together((s, i, lanes, lane) => fromLane(s, i, lanes, lane))],
  ["OpGroupNonUniformBroadcastFirst", together((s, i, lanes) => s.value(i.operands[1], lanes[0]))],
  ["OpGroupNonUniformShuffle", together((s, i, lanes, lane) => fromLane(s, i, lanes, lane))],
  [
    "OpGroupNonUniformQuadBroadcast",
    together((s, i, lanes, lane) => fromQuad(s, i, lanes, lane & ~3 | s.value(i.operands[2], lane) as number)),
  ],
  [
    "OpGroupNonUniformQuadSwap",
    together((s, i, lanes, lane) => fromQuad(s, i, lanes, lane ^ (s.value(i.operands[2], lane) as number) + 1)),
  ],
  [
    "OpGroupNonUniformBitwiseOr",
    together((s, i, lanes) => lanes.reduce((bits, l) => (bits | s.value(i.operands[2], l) as number) >>> 0, 0)),
  ],
]);

/** The value of another lane of the quad, which must be there. */
function fromQuad(s: Subgroup, i: SpirvInstruction, lanes: readonly number[], source: number): Value {
  if (!lanes.includes(source)) throw new Error(`word ${i.word}: a quad operation that not all of a quad come to`);
  return s.value(i.operands[1], source);
}

/** The value of another lane; undefined where that lane does not execute the instruction. */
function fromLane(s: Subgroup, i: SpirvInstruction, lanes: readonly number[], lane: number): Value {
  const source = Number(s.value(i.operands[2], lane));
  return lanes.includes(source) ? s.value(i.operands[1], source) : poison(widthOf(i.type));
}
