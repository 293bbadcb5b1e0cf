import { Access, Context } from "../abi.ts";
import { AtomicKind, InputKind, MemoryWidth, Op, Type } from "../ir/ops.ts";
import { BUFFER_SHIFT, bufferOf, type ResolvedBuffer, type Resources } from "../resources/plan.ts";
import { accessWord } from "./access_word.ts";
import { accessOf } from "./addresses.ts";
import { wantsFloat } from "./arithmetic.ts";
import { Code, MemoryOperand, Storage } from "./codes.ts";
import type { Emitter } from "./emitter.ts";
import { PUSH_MEMBERS, T } from "./module.ts";
import { type BufferAccessForm, bufferAtomic, bufferLoad, bufferStore, mayFail } from "./runtime/buffers.ts";
import { memoryBytes } from "./usage.ts";

/** The resolved area would be larger than it may be: the program must resolve for itself. */
export class TooManyResources extends Error {}

/** A place that nobody asks for. */
const ABSENT = -1;

/** A buffer while the module is emitted: which of the area's U64 it has, and the ids of what was read. */
interface Buffer {
  access: number;
  alignment: number;
  base: number;
  extent: number;
  guest: number;
  baseId: number;
  limitId: number;
  extentId: number;
  guestId: number;
}

/** What the module gets from its host beside push constants: reads it in the entry block, and emits the accesses to resolved buffers. */
export class Resolved {
  /** Vectors of two offsets that only say where accesses go: nothing to emit. */
  readonly places = new Set<number>();
  /** Some accesses go to guest addresses. */
  otherMemory = false;
  private readonly buffers = new Map<number, Buffer>();
  /** Byte offset of the U64 part, and size of all. */
  private readonly wideOffset: number;
  private readonly bytes: number;
  /** Plan's number of each number in the area. */
  private readonly values: number[] = [];
  private writesElsewhere = false;

  /** Reads everything. */
  constructor(private readonly e: Emitter) {
    this.scan();
    const dwords = this.values.length + this.buffers.size;
    let wide = 0;
    for (const buffer of this.buffers.values()) {
      buffer.base = wide++;
      if (buffer.extent !== ABSENT) buffer.extent = wide++;
      if (buffer.guest !== ABSENT) buffer.guest = wide++;
    }
    this.wideOffset = Math.ceil(dwords / 4) * 16;
    this.bytes = this.wideOffset + wide * 8;
    if (this.bytes > Context.ResolvedBytes) throw new TooManyResources();
    if (this.bytes === 0) return;
    const read = new AreaReader(e, dwords, wide, this.wideOffset);
    const numbers = read.dwords();
    this.values.forEach((number, k) => e.inputs.setResolved(number, numbers[k]));
    let next = this.values.length;
    for (const buffer of this.buffers.values()) {
      buffer.limitId = numbers[next++];
      buffer.baseId = read.wide(buffer.base);
      if (buffer.extent !== ABSENT) buffer.extentId = read.wide(buffer.extent);
      if (buffer.guest !== ABSENT) buffer.guestId = read.wide(buffer.guest);
    }
  }

  /** What the host must do; undefined: nothing. */
  resources(): Resources | undefined {
    const { e } = this;
    const plan = e.plan;
    if (plan === undefined || this.bytes === 0) return undefined;
    const place = (index: number) => index === ABSENT ? ABSENT : this.wideOffset + index * 8;
    const buffers = [...this.buffers].map((
      [number, { access, alignment, base, extent, guest }],
      k,
    ): ResolvedBuffer => ({
      ...plan.buffers[number],
      base: place(base),
      limit: (this.values.length + k) * 4,
      extent: place(extent),
      guest: place(guest),
      access,
      alignment,
    }));
    return {
      tape: plan.tape(),
      values: Int32Array.from(this.values, (number) => plan.values[number]),
      wideOffset: this.wideOffset,
      bytes: this.bytes,
      buffers,
      writesElsewhere: this.writesElsewhere,
    };
  }

  /** Emits a load. */
  load(i: number): void {
    const { e } = this;
    const { ir, body } = e;
    const form = this.form(i);
    const type = form.float ? (ir.type[i] === Type.U32 ? T.F32 : T.F32x2 + ir.type[i] - Type.V2) : ir.type[i];
    e.ids[i] = body.call(bufferLoad(e.functions, form), type as T, this.operands(i, form));
    e.floatForm[i] = form.float ? 1 : 0;
  }

  /** Emits a store. */
  store(i: number): void {
    const { e } = this;
    const form = this.form(i), value = e.ir.c[i];
    const id = form.float ? e.ids[value] : e.use(value);
    e.body.call(bufferStore(e.functions, form), T.Void, [...this.operands(i, form), id]);
  }

  /** Emits an atomic operation with its operands, of the type that the kind has. */
  atomic(i: number, operands: readonly number[]): void {
    const { e } = this;
    const form = this.form(i), kind = e.ir.d[i] & ((1 << BUFFER_SHIFT) - 1);
    const id = bufferAtomic(e.functions, kind, operands.length, form);
    const wide = (kind & AtomicKind.Wide) !== 0;
    e.ids[i] = e.body.call(id, wide ? T.V2 : T.U32, [...this.operands(i, form), ...operands]);
  }

  /** Finds out what is used. */
  private scan(): void {
    const { ir, usage } = this.e;
    const used = new Set<number>();
    const placeUses = new Map<number, number>();
    for (let i = 1; i < ir.length; i++) {
      const op = ir.op[i];
      if (op === Op.Input && ir.a[i] === InputKind.Resolved && usage.uses[i] > 0) used.add(ir.b[i]);
      if (op !== Op.Load && op !== Op.Store && op !== Op.Atomic) continue;
      const number = bufferOf(op === Op.Load ? ir.c[i] : ir.d[i]);
      if (number < 0) {
        this.otherMemory = true;
        if (op !== Op.Load) this.writesElsewhere = true;
        continue;
      }
      const place = ir.a[i];
      if (ir.type[place] === Type.V2 && ir.op[place] === Op.Vec) placeUses.set(place, (placeUses.get(place) ?? 0) + 1);
      let buffer = this.buffers.get(number);
      if (buffer === undefined) {
        const ids = { baseId: 0, limitId: 0, extentId: 0, guestId: 0 };
        buffer = { access: 0, alignment: 1, base: ABSENT, extent: ABSENT, guest: ABSENT, ...ids };
        this.buffers.set(number, buffer);
      }
      const bytes = memoryBytes(ir, i), form = this.form(i);
      buffer.access |= accessOf(op);
      buffer.alignment = Math.max(buffer.alignment, op === Op.Atomic ? bytes : Math.min(bytes, 4));
      if (form.added) buffer.extent = 0;
      if (mayFail(form)) buffer.guest = 0;
    }
    for (const number of [...used].sort((a, b) => a - b)) this.values.push(number);
    for (const [place, count] of placeUses) if (usage.uses[place] === count) this.places.add(place);
  }

  private form(i: number): BufferAccessForm {
    const { e } = this;
    const { ir, request } = e;
    const op = ir.op[i], immediate = op === Op.Load ? ir.c[i] : ir.d[i];
    const bytes = memoryBytes(ir, i);
    const needed = op === Op.Atomic ? bytes : Math.min(bytes, 4);
    const composed = op === Op.Load && request.unalignedLoads === true && !this.isAligned(ir.a[i], needed);
    const alignment = composed || this.isAligned(ir.a[i], needed) ? 1 : needed;
    const added = ir.type[ir.a[i]] === Type.V2;
    const speculative = op === Op.Load && (immediate & MemoryWidth.Speculative) !== 0 && !added && alignment === 1;
    const float = op === Op.Load ? wantsFloat(e, i) : op === Op.Store && e.floatForm[ir.c[i]] !== 0;
    return {
      bytes,
      shared: e.isShared(i),
      float,
      signed: op === Op.Load && bytes < 4 && (immediate & MemoryWidth.Signed) !== 0,
      predicated: !e.isConstant(ir.b[i], 1) && !speculative,
      added,
      alignment,
      native: bytes === 1 ? request.device.storage8 : request.device.storage16,
      composed,
    };
  }

  private isAligned(place: number, alignment: number): boolean {
    const { ir, facts } = this.e;
    const bits = Math.log2(alignment);
    if (ir.type[place] === Type.U32) return facts.zeros[place] >= bits;
    return ir.op[place] === Op.Vec && facts.zeros[ir.a[place]] >= bits && facts.zeros[ir.b[place]] >= bits;
  }

  /** Operands of the call, in the order of runtime/buffers.ts. */
  private operands(i: number, form: BufferAccessForm): number[] {
    const { e } = this;
    const { ir, body } = e;
    const op = ir.op[i], immediate = op === Op.Load ? ir.c[i] : ir.d[i];
    const buffer = this.buffers.get(bufferOf(immediate))!;
    const place = ir.a[i];
    let offset: number, added = 0;
    if (!form.added) offset = e.use(place);
    else if (ir.op[place] === Op.Vec) [offset, added] = [e.use(ir.a[place]), e.use(ir.b[place])];
    else [offset, added] = [0, 1].map((k) => body.extract(T.U32, e.use(place), k));
    const operands = [buffer.baseId, buffer.limitId, offset];
    if (form.predicated) operands.push(e.use(ir.b[i]));
    if (form.added) operands.push(buffer.extentId, added);
    if (mayFail(form)) {
      // What failed before must be on record first.
      if (e.faults.declared) e.faults.report();
      const bytes = op === Op.Store ? Math.min(form.bytes, 4) : form.bytes;
      const needed = form.composed ? 1 : op === Op.Atomic ? bytes : Math.min(bytes, 4);
      const access = op === Op.Atomic ? Access.Read | Access.Write : accessOf(op);
      operands.push(buffer.guestId, accessWord(e, i, bytes, access, form.alignment > 1 ? needed : 1));
    }
    return operands;
  }
}

/** Reads the resolved area: `struct { uvec4 numbers[]; uint64_t wide[]; }` at its device address. */
class AreaReader {
  private readonly pointer: number;
  private readonly numbersMember: number;
  private readonly wideMember: number;

  constructor(private readonly e: Emitter, private readonly count: number, wide: number, wideOffset: number) {
    const { body, module } = e;
    const members: { type: number; offset: number }[] = [];
    this.numbersMember = 0;
    if (count > 0) members.push({ type: module.strided(T.V4, Math.ceil(count / 4), 16), offset: Context.Resolved });
    this.wideMember = members.length;
    if (wide > 0) members.push({ type: module.strided(T.U64, wide, 8), offset: Context.Resolved + wideOffset });
    const struct = module.block(members);
    this.pointer = module.bound++;
    body.words.put4(
      Code.ConvertUToPtr,
      module.pointerTo(Storage.PhysicalStorageBuffer, struct),
      this.pointer,
      body.push(PUSH_MEMBERS.context),
    );
  }

  /** All numbers, each a U32 id. */
  dwords(): number[] {
    const { body } = this.e;
    const ids: number[] = [];
    for (let first = 0; first < this.count; first += 4) {
      const here = Math.min(4, this.count - first);
      if (here === 1) {
        ids.push(this.read(T.U32, [this.numbersMember, first / 4, 0], 4));
        continue;
      }
      const quad = this.read(T.V4, [this.numbersMember, first / 4], 16);
      for (let k = 0; k < here; k++) ids.push(body.extract(T.U32, quad, k));
    }
    return ids;
  }

  /** A 64-bit number by its index. */
  wide(index: number): number {
    return this.read(T.U64, [this.wideMember, index], 8);
  }

  private read(type: T, path: readonly number[], alignment: number): number {
    const { body, module } = this.e;
    const chain = module.bound++;
    const pointer = module.pointer(Storage.PhysicalStorageBuffer, type);
    body.words.put(Code.AccessChain, [pointer, chain, this.pointer, ...path.map((index) => module.u32(index))]);
    const id = module.bound++;
    body.words.put6(Code.Load, module.type(type), id, chain, MemoryOperand.Aligned, alignment);
    return id;
  }
}
