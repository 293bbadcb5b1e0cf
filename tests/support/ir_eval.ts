/**
 * A plain evaluator of the recompiler's IR: runs the lanes of each wave in lockstep, the waves of a workgroup in turns between barriers.
 * Written to be obviously right, not fast. It shares no code with the passes or the emitter. It traps where a program breaks the IR's rules:
 * an exchange or a barrier that not all lanes reach, a scalar condition on which lanes disagree, a value used before it exists.
 */
import type { Ir } from "../../src/recompiler/ir/ir.ts";
import { findStructure, type Structure } from "./ir_structure.ts";
import { AtomicKind, IfKind, InputKind, MemoryWidth, Op, OPS, Type } from "../../src/recompiler/ir/ops.ts";
import * as scalar from "./ir_eval_scalar.ts";

/** A value of one lane: Bool is boolean; U32 and F32 are the bits as an unsigned number; U64 and F64 the bits as bigint; vectors are lists of U32. */
export type LaneValue = boolean | number | bigint | number[];

/** A failing guest memory access. */
export interface EvalFault {
  address: bigint;
  bytes: number;
  pc: number;
  write: boolean;
}

/** Guest memory: windows of bytes. */
export class EvalMemory {
  private readonly windows: { base: bigint; bytes: Uint8Array }[] = [];

  /** Maps `bytes` at a guest address (the array is used, not copied). */
  map(base: bigint, bytes: Uint8Array): void {
    this.windows.push({ base: BigInt.asUintN(64, base), bytes });
  }

  /** Maps the bytes of 32-bit words and returns the same words as a view. */
  mapWords(base: bigint, words: Uint32Array | readonly number[]): Uint32Array {
    const copy = Uint32Array.from(words);
    this.map(base, new Uint8Array(copy.buffer));
    return copy;
  }

  /** A memory with the same windows and contents, for itself. */
  copy(): EvalMemory {
    const result = new EvalMemory();
    for (const { base, bytes } of this.windows) result.map(base, bytes.slice());
    return result;
  }

  /** Takes over the contents of another memory's windows. */
  take(other: EvalMemory): void {
    for (const { base, bytes } of this.windows) bytes.set(other.at(base, bytes.length)!);
  }

  /** All bytes, window after window. */
  contents(): [bigint, number[]][] {
    return this.windows.map(({ base, bytes }) => [base, [...bytes]]);
  }

  /** Bytes at an address, or undefined when any of them is unmapped. */
  at(address: bigint, bytes: number): Uint8Array | undefined {
    for (const window of this.windows) {
      const offset = address - window.base;
      if (offset >= 0n && offset + BigInt(bytes) <= BigInt(window.bytes.length)) {
        return window.bytes.subarray(Number(offset), Number(offset) + bytes);
      }
    }
    return undefined;
  }
}

/** What a run needs. */
export interface EvalOptions {
  waveSize: 32 | 64;
  workgroupSize: readonly [number, number, number];
  workgroupId?: readonly [number, number, number];
  userData?: ArrayLike<number>;
  /** Thread limit of the whole dispatch in each axis; lanes beyond it are inactive. */
  threadLimit?: readonly [number, number, number];
  memory?: EvalMemory;
  ldsBytes?: number;
  /** Bytes from the start of scratch memory to that of a wave of the workgroup. */
  scratchOffset?: (wave: number) => number;
  /** Operations times waves before the run is given up; default 5 million. */
  maxSteps?: number;
}

/** What a run did. */
export interface EvalResult {
  faults: EvalFault[];
  lds: Uint8Array;
  /** Operations executed, summed over waves. */
  steps: number;
  /** Values of one operation (by id) in each lane of the workgroup, as last computed. */
  value(id: number, lane: number): LaneValue | undefined;
}

/** Runs one workgroup. @throws Error on a broken rule, a deadlock or too many steps. */
export function evaluateWorkgroup(ir: Ir, options: EvalOptions): EvalResult {
  const group = new Group(ir, options);
  group.run();
  return {
    faults: group.faults,
    lds: group.lds,
    steps: group.steps,
    value: (id, lane) => group.waves[Math.floor(lane / options.waveSize)].values[id]?.[lane % options.waveSize],
  };
}

class Group {
  readonly structure: Structure;
  readonly waves: Wave[] = [];
  readonly faults: EvalFault[] = [];
  /** What each wave says in a vote of the workgroup. */
  readonly votes = new Map<Wave, boolean>();
  readonly lds: Uint8Array;
  readonly memory: EvalMemory;
  steps = 0;
  readonly maxSteps: number;

  constructor(readonly ir: Ir, readonly options: EvalOptions) {
    this.structure = findStructure(ir);
    this.lds = new Uint8Array(options.ldsBytes ?? 0);
    this.memory = options.memory ?? new EvalMemory();
    this.maxSteps = options.maxSteps ?? 5_000_000;
    const [x, y, z] = options.workgroupSize;
    // A program that tells lanes from threads runs on whole waves.
    const wholeWaves = asksForThread(ir);
    for (let first = 0; first < x * y * z; first += options.waveSize) {
      this.waves.push(
        new Wave(this, first, wholeWaves ? options.waveSize : Math.min(options.waveSize, x * y * z - first)),
      );
    }
  }

  run(): void {
    const running = this.waves.map((wave) => wave.start());
    for (;;) {
      const stops = running.map((wave) => wave.next());
      const waiting = stops.filter((stop) => !stop.done);
      if (waiting.length === 0) return;
      // Barriers of the guest only count: waves that have ended are not waited for, and any barrier goes with any.
      const places = new Set(waiting.map((stop) => stop.value as number));
      if ([...places].every((i) => this.ir.op[i] === Op.Barrier && this.ir.a[i] === 0)) continue;
      if (waiting.length !== stops.length) throw new Error("some waves wait at a barrier, others have ended");
      if (places.size !== 1) throw new Error(`waves wait at different barriers: operations ${[...places].join(", ")}`);
    }
  }
}

/** Edges taken out of a loop's body, by lane. */
interface LoopEdges {
  loop: number;
  continued: boolean[];
  broke: boolean[];
  edge: number[];
}

class Wave {
  /** values[id][lane] */
  readonly values: LaneValue[][] = [];
  private readonly loops: LoopEdges[] = [];

  constructor(private readonly group: Group, private readonly first: number, private readonly lanes: number) {
    const { ir } = group;
    for (let id = 0; id < ir.length; id++) {
      if (ir.op[id] === Op.Const) this.values[id] = Array(lanes).fill(constant(ir, id));
    }
  }

  *start(): Generator<number, void> {
    const all = Array<boolean>(this.lanes).fill(true);
    yield* this.body(0, this.group.ir.length, all);
  }

  /** Runs operations [from, to) for the lanes of `mask`; returns the lanes that fall through. */
  private *body(from: number, to: number, mask: boolean[]): Generator<number, boolean[]> {
    const { ir, structure } = this.group;
    let i = from;
    while (i < to) {
      if (++this.group.steps > this.group.maxSteps) throw new Error("too many steps");
      switch (ir.op[i]) {
        case Op.If: {
          const middle = structure.middle[i], end = structure.end[i];
          const condition = mask.map((on, lane) => on && this.bool(ir.a[i], lane));
          if (ir.b[i] === IfKind.Scalar || ir.b[i] === IfKind.Wave) {
            const count = condition.filter((c) => c).length;
            if (count !== 0 && count !== mask.filter((m) => m).length) {
              throw this.broken(i, "lanes disagree on a uniform condition");
            }
          }
          const otherwise = mask.map((on, lane) => on && !condition[lane]);
          let thenEnds = condition, elseEnds = otherwise;
          if (condition.includes(true)) thenEnds = yield* this.body(i + 1, middle, condition);
          if (middle !== end && otherwise.includes(true)) elseEnds = yield* this.body(middle + 1, end, otherwise);
          mask = mask.map((_, lane) => thenEnds[lane] || elseEnds[lane]);
          i = this.phis(end + 1, Op.Phi, mask, (phi, lane) => thenEnds[lane] ? ir.a[phi] : ir.b[phi]);
          break;
        }
        case Op.Loop:
          mask = yield* this.loop(i, mask);
          i = structure.end[i] + 1;
          while (ir.op[i] === Op.BreakPhi || ir.op[i] === Op.Const) i++;
          break;
        case Op.Break:
        case Op.Continue: {
          const edges = this.loops.at(-1)!;
          if (edges.loop !== structure.middle[i]) throw this.broken(i, "leaves a loop that is not the innermost");
          mask.forEach((on, lane) => {
            if (!on) return;
            (ir.op[i] === Op.Break ? edges.broke : edges.continued)[lane] = true;
            edges.edge[lane] = structure.end[i];
          });
          return mask.map(() => false);
        }
        case Op.Barrier:
          if (mask.includes(true)) {
            if (mask.includes(false)) throw this.broken(i, "barrier that not all lanes reach");
            yield i;
          }
          i++;
          break;
        case Op.AnyGroup:
          if (mask.includes(true)) yield* this.voteGroup(i, mask);
          i++;
          break;
        case Op.Nop:
        case Op.Fence:
        case Op.Const:
        case Op.End:
          i++;
          break;
        default:
          if (mask.includes(true)) this.simple(i, mask);
          i++;
      }
    }
    return mask;
  }

  /** A vote of the workgroup: all waves say what they have, then all look at what was said. */
  private *voteGroup(i: number, mask: boolean[]): Generator<number, void> {
    const { ir, votes } = this.group;
    if (mask.includes(false)) throw this.broken(i, "exchange that not all lanes reach");
    votes.set(this, mask.some((_, lane) => this.bool(ir.a[i], lane)));
    yield i;
    const result = [...votes.values()].includes(true);
    yield i;
    mask.forEach((_, lane) => this.set(i, lane, result));
  }

  private *loop(loop: number, entering: boolean[]): Generator<number, boolean[]> {
    const { ir, structure } = this.group;
    const cont = structure.middle[loop], end = structure.end[loop];
    const none = () => entering.map(() => false);
    const edges: LoopEdges = { loop, continued: none(), broke: none(), edge: entering.map(() => 0) };
    this.loops.push(edges);
    let mask = entering;
    let column = ir.a;
    while (mask.includes(true)) {
      const bodyStart = this.phis(loop + 1, Op.LoopPhi, mask, (phi) => column[phi]);
      column = ir.b;
      edges.continued = none();
      const fell = yield* this.body(bodyStart, cont, mask);
      const edge = fell.map((on, lane) => on ? structure.continues[loop] : edges.edge[lane]);
      mask = fell.map((on, lane) => on || edges.continued[lane]);
      const contStart = this.phis(cont + 1, Op.ContPhi, mask, (phi, lane) => ir.pool[ir.a[phi] + edge[lane]]);
      if (contStart !== end) throw this.broken(contStart, "only ContPhi may stand between LoopCont and EndLoop");
    }
    this.loops.pop();
    this.phis(end + 1, Op.BreakPhi, edges.broke, (phi, lane) => ir.pool[ir.a[phi] + edges.edge[lane]]);
    return edges.broke;
  }

  /** Gives all phis from `i` on their new values at once; returns the first operation behind them. */
  private phis(i: number, op: number, mask: boolean[], source: (phi: number, lane: number) => number): number {
    const { ir } = this.group;
    const fresh: [number, number, LaneValue][] = [];
    for (; i < ir.length; i++) {
      if (ir.op[i] === Op.Const || ir.op[i] === Op.Nop) continue;
      if (ir.op[i] !== op) break;
      mask.forEach((on, lane) => {
        if (on) fresh.push([i, lane, this.get(source(i, lane), lane)]);
      });
    }
    for (const [phi, lane, value] of fresh) this.set(phi, lane, value);
    return i;
  }

  private simple(i: number, mask: boolean[]): void {
    const { ir } = this.group;
    if (OPS[ir.op[i]].exchange) {
      if (mask.includes(false)) throw this.broken(i, "exchange that not all lanes reach");
      const results = mask.map((_, lane) => this.exchange(i, lane));
      results.forEach((value, lane) => this.set(i, lane, value));
      return;
    }
    mask.forEach((on, lane) => {
      if (!on) return;
      const result = this.one(i, lane);
      if (result !== undefined) this.set(i, lane, result);
    });
  }

  private exchange(i: number, lane: number): LaneValue {
    const { ir } = this.group;
    const all = [...Array(this.lanes).keys()];
    const ballot = (from: number) =>
      all.reduce(
        (bits, l) => l >= from && l < from + 32 && this.bool(ir.a[i], l) ? bits | (1 << (l - from)) : bits,
        0,
      ) >>> 0;
    const fromLane = (other: number) => other < this.lanes ? this.get(ir.a[i], other) : 0;
    switch (ir.op[i]) {
      case Op.Any:
        return all.some((l) => this.bool(ir.a[i], l));
      case Op.BallotLo:
        return ballot(0);
      case Op.BallotHi:
        return ballot(32);
      case Op.ReadLane:
      case Op.Shuffle:
        return fromLane(this.u32(ir.b[i], lane) & (this.group.options.waveSize - 1));
      case Op.ReadFirstLane:
        return fromLane(Math.max(all.findIndex((l) => this.bool(ir.b[i], l)), 0));
      default:
        throw this.broken(i, "unknown exchange");
    }
  }

  private one(i: number, lane: number): LaneValue | undefined {
    const { ir } = this.group;
    const a = ir.a[i], b = ir.b[i], c = ir.c[i], d = ir.d[i];
    switch (ir.op[i]) {
      case Op.Input:
        return this.input(a, b, lane);
      case Op.Undef:
        return ir.type[i] === Type.Bool
          ? false
          : ir.type[i] === Type.U64 || ir.type[i] === Type.F64
          ? 0n
          : ir.type[i] >= Type.V2
          ? [0, 0, 0, 0].slice(0, ir.type[i] - Type.V2 + 2)
          : 0;
      case Op.Select:
        return this.bool(a, lane) ? this.get(b, lane) : this.get(c, lane);
      case Op.Vec:
        return [a, b, c, d].slice(0, ir.type[i] - Type.V2 + 2).map((part) => this.u32(part, lane));
      case Op.Extract:
        return (this.get(a, lane) as number[])[b];
      case Op.Load:
        return this.bool(b, lane) ? this.load(i, this.get(a, lane) as bigint, c) : zeros(c & MemoryWidth.BytesMask);
      case Op.Store:
        if (this.bool(b, lane)) this.store(i, this.get(a, lane) as bigint, this.get(c, lane), d);
        return undefined;
      case Op.Atomic:
        return this.atomic(
          d,
          this.bool(b, lane),
          this.get(c, lane),
          (bytes) => this.guest(i, this.get(a, lane) as bigint, bytes, true),
        );
      case Op.LdsLoad:
        return this.bool(b, lane) ? this.ldsLoad(this.u32(a, lane), c) : zeros(c & MemoryWidth.BytesMask);
      case Op.LdsStore:
        if (this.bool(b, lane)) this.ldsStore(this.u32(a, lane), this.get(c, lane), d);
        return undefined;
      case Op.LdsAtomic:
        return this.atomic(
          d,
          this.bool(b, lane),
          this.get(c, lane),
          (bytes) => this.ldsBytes(this.u32(a, lane), bytes),
        );
      default: {
        const compute = scalar.OPERATIONS[OPS[ir.op[i]].name];
        if (compute === undefined) throw this.broken(i, `the evaluator does not know ${OPS[ir.op[i]].name}`);
        const kinds = OPS[ir.op[i]].operands;
        const columns = [a, b, c, d].slice(0, kinds.length);
        const operands = columns.map((id, k) => kinds[k] === "v" ? this.get(id, lane) : id);
        return compute(operands as never[]);
      }
    }
  }

  private input(kind: number, index: number, lane: number): LaneValue {
    const { workgroupSize: [x, y], workgroupId = [0, 0, 0], userData = [], threadLimit, workgroupSize, waveSize } =
      this.group.options;
    const flat = this.first + lane;
    const local = [flat % x, Math.floor(flat / x) % y, Math.floor(flat / (x * y))];
    switch (kind) {
      case InputKind.UserData:
        return (userData[index] ?? 0) >>> 0;
      case InputKind.WorkgroupId:
        return workgroupId[index];
      case InputKind.LocalId:
        return local[index];
      case InputKind.LocalIndex:
        return flat;
      case InputKind.LaneId:
        return flat % waveSize;
      case InputKind.ThreadActive:
        return flat < workgroupSize.reduce((product, size) => product * size) && (threadLimit === undefined ||
          local.every((id, axis) => workgroupId[axis] * workgroupSize[axis] + id < threadLimit[axis]));
      case InputKind.WaveId:
        return Math.floor(flat / waveSize);
      case InputKind.ScratchOffset:
        return this.group.options.scratchOffset!(Math.floor(flat / waveSize));
      default:
        throw new Error(`unknown input ${kind}`);
    }
  }

  private guest(i: number, address: bigint, bytes: number, write: boolean): Uint8Array | undefined {
    const found = this.group.memory.at(address, bytes);
    if (found === undefined) this.group.faults.push({ address, bytes, pc: this.group.ir.pc[i], write });
    return found;
  }

  private load(i: number, address: bigint, width: number): LaneValue {
    const bytes = width & MemoryWidth.BytesMask;
    return fromBytes(this.guest(i, address, bytes, false) ?? new Uint8Array(bytes), width);
  }

  private store(i: number, address: bigint, value: LaneValue, width: number): void {
    const target = this.guest(i, address, width & MemoryWidth.BytesMask, true);
    if (target !== undefined) toBytes(target, value);
  }

  /** LDS access out of range reads 0 and writes nothing, dword by dword. */
  private ldsBytes(address: number, bytes: number): Uint8Array | undefined {
    return address + bytes <= this.group.lds.length ? this.group.lds.subarray(address, address + bytes) : undefined;
  }

  private ldsLoad(address: number, width: number): LaneValue {
    const bytes = width & MemoryWidth.BytesMask;
    const copy = new Uint8Array(bytes);
    const step = Math.min(bytes, 4);
    for (let k = 0; k < bytes; k += step) copy.set(this.ldsBytes(address + k, step) ?? new Uint8Array(step), k);
    return fromBytes(copy, width);
  }

  private ldsStore(address: number, value: LaneValue, width: number): void {
    const bytes = width & MemoryWidth.BytesMask;
    const step = Math.min(bytes, 4);
    const parts = typeof value === "number" ? [value] : value as number[];
    for (let k = 0; k < bytes; k += step) {
      const target = this.ldsBytes(address + k, step);
      if (target !== undefined) toBytes(target, parts[k / step]);
    }
  }

  private atomic(
    kind: number,
    active: boolean,
    data: LaneValue,
    target: (bytes: number) => Uint8Array | undefined,
  ): LaneValue {
    const wide = (kind & AtomicKind.Wide) !== 0;
    const zero = wide ? [0, 0] : 0;
    if (!active) return zero;
    const memory = target(wide ? 8 : 4);
    if (memory === undefined) return zero;
    const words = new Uint32Array(memory.slice().buffer);
    const old = wide ? scalar.join(words[0], words[1]) : BigInt(words[0]);
    const parts = typeof data === "number" ? [data] : data as number[];
    const operand = wide ? scalar.join(parts[0], parts[1]) : BigInt(parts[0]);
    const compare = wide ? scalar.join(parts[2] ?? 0, parts[3] ?? 0) : BigInt(parts[1] ?? 0);
    const fresh = scalar.atomic(kind, wide ? 64 : 32, old, operand, compare);
    toBytes(memory, wide ? [Number(fresh & 0xffffffffn), Number(fresh >> 32n)] : Number(fresh));
    return wide ? [words[0], words[1]] : words[0];
  }

  private get(id: number, lane: number): LaneValue {
    const value = this.values[id]?.[lane];
    if (value === undefined) throw new Error(`value %${id} is used in lane ${lane} before it exists`);
    return value;
  }

  private bool(id: number, lane: number): boolean {
    const value = this.get(id, lane);
    if (typeof value !== "boolean") throw new Error(`value %${id} is no Bool`);
    return value;
  }

  private u32(id: number, lane: number): number {
    const value = this.get(id, lane);
    if (typeof value !== "number") throw new Error(`value %${id} is no U32`);
    return value;
  }

  private set(id: number, lane: number, value: LaneValue): void {
    const type = this.group.ir.type[id];
    const fits = type === Type.Bool
      ? typeof value === "boolean"
      : type === Type.U32 || type === Type.F32
      ? typeof value === "number" && value >= 0 && value <= 0xffffffff && Number.isInteger(value)
      : type === Type.U64 || type === Type.F64
      ? typeof value === "bigint"
      : Array.isArray(value) && value.length === type - Type.V2 + 2;
    if (!fits) throw this.broken(id, `result ${String(value)} does not have the operation's type`);
    (this.values[id] ??= [])[lane] = value;
  }

  private broken(i: number, why: string): Error {
    const { ir } = this.group;
    return new Error(`operation ${i} (${OPS[ir.op[i]].name}, pc 0x${ir.pc[i].toString(16)}): ${why}`);
  }
}

function asksForThread(ir: Ir): boolean {
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Input && ir.a[i] === InputKind.ThreadActive) return true;
  return false;
}

function constant(ir: Ir, id: number): LaneValue {
  switch (ir.type[id]) {
    case Type.Bool:
      return ir.a[id] !== 0;
    case Type.U32:
    case Type.F32:
      return ir.a[id] >>> 0;
    default:
      return scalar.join(ir.a[id] >>> 0, ir.b[id] >>> 0);
  }
}

function zeros(bytes: number): LaneValue {
  return bytes <= 4 ? 0 : Array(bytes / 4).fill(0);
}

function fromBytes(bytes: Uint8Array, width: number): LaneValue {
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

function toBytes(target: Uint8Array, value: LaneValue): void {
  const words = typeof value === "number" ? [value] : value as number[];
  for (let k = 0; k < target.length; k++) target[k] = words[k >> 2] >>> ((k & 3) * 8);
}
