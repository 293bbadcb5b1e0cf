import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { InputKind, MemoryWidth, Op, OPS, Type } from "../../../src/recompiler/ir/ops.ts";
import type { EvalOptions } from "../ir_eval.ts";
import { atomicBytes, type WorkgroupMemory } from "./memory.ts";
import * as scalar from "./scalar.ts";
import { constant, hasType, type LaneValue, zeroOf, zeros } from "./values.ts";

/** What lanes know of their workgroup. */
export interface LanesOf {
  readonly ir: Ir;
  readonly options: EvalOptions;
  readonly memory: WorkgroupMemory;
}

/** The values of a wave's lanes, and what one operation computes in one of them. */
export class WaveLanes {
  /** values[id][lane] */
  readonly values: LaneValue[][] = [];

  /** `first`: the workgroup's number of the wave's first thread; `count`: how many lanes there are. */
  constructor(private readonly group: LanesOf, private readonly first: number, readonly count: number) {
    const { ir } = group;
    for (let id = 0; id < ir.length; id++) {
      if (ir.op[id] === Op.Const) this.values[id] = Array(count).fill(constant(ir, id));
    }
  }

  /** The value of an operation in a lane. @throws Error where it has none yet. */
  get(id: number, lane: number): LaneValue {
    const value = this.values[id]?.[lane];
    if (value === undefined) throw new Error(`value %${id} is used in lane ${lane} before it exists`);
    return value;
  }

  bool(id: number, lane: number): boolean {
    const value = this.get(id, lane);
    if (typeof value !== "boolean") throw new Error(`value %${id} is no Bool`);
    return value;
  }

  u32(id: number, lane: number): number {
    const value = this.get(id, lane);
    if (typeof value !== "number") throw new Error(`value %${id} is no U32`);
    return value;
  }

  /** Gives an operation its value in a lane. @throws Error where that is not of its type. */
  set(id: number, lane: number, value: LaneValue): void {
    if (!hasType(value, this.group.ir.type[id])) {
      throw this.broken(id, `result ${String(value)} does not have the operation's type`);
    }
    (this.values[id] ??= [])[lane] = value;
  }

  private address(id: number, lane: number): bigint {
    return this.get(id, lane) as bigint;
  }

  /** What an operation without control flow and exchanges computes in a lane, and does to memory; undefined: nothing. */
  one(i: number, lane: number): LaneValue | undefined {
    const { ir, memory } = this.group;
    const a = ir.a[i], b = ir.b[i], c = ir.c[i], d = ir.d[i];
    switch (ir.op[i]) {
      case Op.Input:
        return this.input(a, b, lane);
      case Op.Undef:
        return zeroOf(ir.type[i]);
      case Op.Select:
        return this.bool(a, lane) ? this.get(b, lane) : this.get(c, lane);
      case Op.Vec:
        return [a, b, c, d].slice(0, ir.type[i] - Type.V2 + 2).map((part) => this.u32(part, lane));
      case Op.Extract:
        return (this.get(a, lane) as number[])[b];
      case Op.Load:
        return this.bool(b, lane) ? memory.load(this.address(a, lane), c, ir.pc[i]) : zeros(c & MemoryWidth.BytesMask);
      case Op.Store:
        if (this.bool(b, lane)) memory.store(this.address(a, lane), this.get(c, lane), d, ir.pc[i]);
        return undefined;
      case Op.Atomic:
        return this.bool(b, lane)
          ? memory.atomic(this.address(a, lane), d, this.get(c, lane), ir.pc[i])
          : zeros(atomicBytes(d));
      case Op.LdsLoad:
        return this.bool(b, lane) ? memory.ldsLoad(this.u32(a, lane), c) : zeros(c & MemoryWidth.BytesMask);
      case Op.LdsStore:
        if (this.bool(b, lane)) memory.ldsStore(this.u32(a, lane), this.get(c, lane), d);
        return undefined;
      case Op.LdsAtomic:
        return this.bool(b, lane) ? memory.ldsAtomic(this.u32(a, lane), d, this.get(c, lane)) : zeros(atomicBytes(d));
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

  /** What an exchange gives to a lane; all lanes are there. */
  exchange(i: number, lane: number): LaneValue {
    const { ir } = this.group;
    const all = [...Array(this.count).keys()];
    const ballot = (from: number) =>
      all.reduce(
        (bits, l) => l >= from && l < from + 32 && this.bool(ir.a[i], l) ? bits | (1 << (l - from)) : bits,
        0,
      ) >>> 0;
    const fromLane = (other: number) => other < this.count ? this.get(ir.a[i], other) : 0;
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

  /** An error that names the operation. */
  broken(i: number, why: string): Error {
    const { ir } = this.group;
    return new Error(`operation ${i} (${OPS[ir.op[i]].name}, pc 0x${ir.pc[i].toString(16)}): ${why}`);
  }
}
