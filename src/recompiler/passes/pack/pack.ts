import { Ir } from "../../ir/ir.ts";
import { IfKind, InputKind, Op, OPS, Type } from "../../ir/ops.ts";
import { VALUE_OPERANDS } from "../../spirv/usage.ts";
import { PackedLanes } from "./lanes.ts";
import { LaneModeRefusal, type PackShape, SLOT_SHIFT, SUBGROUP_BARRIER } from "./shape.ts";
import { decidingLoads, findVarying } from "./varying.ts";

/** What the packed form needs to know. */
export interface PackOptions extends PackShape {
  /** Lanes of the guest wave: `width * slots`. */
  readonly waveSize: number;
  /** Operations before which lanes of the wave must have done their LDS accesses (lds_hazards.ts). */
  readonly barrierBefore: ReadonlySet<number>;
  /** For refusals. */
  readonly codeAddress: bigint;
}

/**
 * The packed form of a program: one host subgroup is one guest wave, and every invocation computes `slots` guest lanes.
 *
 * In: a simplified program before the regions pass, so that all control flow is the wave's, and lanes are predicated by what the lift made of EXEC (each
 * access has its own condition, vector results are selections). Out: a program of one invocation.
 *
 * - A value that is the same in all lanes (varying.ts) is computed once; all others once per slot. Accesses keep their predicates, slot by slot, so what
 *   lanes do to one place happens in the order of the slots. An atomic operation is each lane's own, whatever its operands.
 * - Control flow stays as it is. Its conditions are the same in the whole subgroup: they come from exchanges, from what is uniform, and from loads that one
 *   invocation does for all where others may write the memory.
 * - Exchanges become those of the subgroup between slots (lanes.ts).
 * - Barriers of the guest stay, once. Where lanes of the wave pass data through LDS without one, the subgroup waits ({@linkcode SUBGROUP_BARRIER}).
 *
 * @throws LaneModeRefusal where single lanes decide about a branch, which the lift never makes
 */
export function pack(ir: Ir, options: PackOptions): Ir {
  return new Packer(ir, options).run();
}

class Packer {
  readonly #out: Ir;
  readonly #lanes: PackedLanes;
  readonly #varying: Uint8Array;
  readonly #deciding: Uint8Array;
  /** New value of each old one, by slot; of one that does not vary the first counts for all. */
  readonly #to: Int32Array;
  readonly #slots: number;
  readonly #loopPhis: number[] = [];

  constructor(private readonly ir: Ir, private readonly options: PackOptions) {
    this.#slots = options.slots;
    this.#out = new Ir(ir.length * 2);
    this.#lanes = new PackedLanes(this.#out, options, options.waveSize);
    this.#varying = findVarying(ir);
    this.#deciding = decidingLoads(ir, this.#varying);
    this.#to = new Int32Array(ir.length * this.#slots);
  }

  run(): Ir {
    const { ir } = this;
    const out = this.#out;
    for (let i = 1; i < ir.length; i++) if (ir.op[i] === Op.Const) this.#all(i, out.copyConstant(ir, i));
    // Numbers that exchanges are made with, before any phi.
    for (const number of [0, 1, -1]) out.constU(number);
    for (let i = 1; i < ir.length; i++) {
      const op = ir.op[i];
      if (op === Op.Const || op === Op.Nop) continue;
      out.currentPc = ir.pc[i];
      const behindBarrier = this.options.barrierBefore.has(i);
      if (behindBarrier) out.emit(Op.Barrier, SUBGROUP_BARRIER, op === Op.Fence ? ir.b[i] : 0);
      if (op === Op.Fence && (behindBarrier || ir.b[i] === 0)) continue;
      if (OPS[op].exchange) this.#exchange(i);
      else if (OPS[op].structure) this.#structure(i);
      else if (op === Op.Input) this.#input(i);
      else this.#operation(i);
    }
    for (const phi of this.#loopPhis) {
      for (let k = 0; k < this.#copies(phi); k++) {
        out.b[this.#to[phi * this.#slots + k]] = ir.b[phi] === 0 ? 0 : this.#use(ir.b[phi], k);
      }
    }
    return out;
  }

  /** The new value of an old one in a slot. */
  #use(value: number, slot: number): number {
    return this.#to[value * this.#slots + (this.#varying[value] !== 0 ? slot : 0)];
  }

  #values(value: number): number[] {
    return Array.from({ length: this.#slots }, (_, k) => this.#use(value, k));
  }

  /** An old value is this one in all slots. */
  #all(value: number, id: number): void {
    this.#to[value * this.#slots] = id;
  }

  #each(value: number, ids: readonly number[]): void {
    ids.forEach((id, k) => this.#to[value * this.#slots + k] = id);
  }

  #copies(i: number): number {
    return this.#varying[i] !== 0 ? this.#slots : 1;
  }

  #structure(i: number): void {
    const { ir } = this;
    const out = this.#out;
    if (ir.op[i] !== Op.If) {
      out.emit(ir.op[i]);
      return;
    }
    if (this.#varying[ir.a[i]] !== 0 || ir.b[i] === IfKind.Lane) {
      throw new LaneModeRefusal("recompiler.packed", "a branch that each lane decides for itself", {
        pc: ir.pc[i],
        guestAddress: BigInt.asUintN(64, this.options.codeAddress + BigInt(ir.pc[i])),
      });
    }
    out.emit(Op.If, this.#use(ir.a[i], 0), ir.b[i]);
  }

  #input(i: number): void {
    const { ir } = this;
    const out = this.#out;
    for (let k = 0; k < this.#copies(i); k++) {
      const b = ir.a[i] === InputKind.UserData ? ir.b[i] : ir.b[i] | k << SLOT_SHIFT;
      this.#to[i * this.#slots + k] = out.append(Op.Input, ir.type[i] as Type, ir.a[i], b);
    }
  }

  /** Everything else: pure operations, phis, accesses, the guest's barriers. */
  #operation(i: number): void {
    const { ir } = this;
    const op = ir.op[i];
    for (let k = 0; k < this.#copies(i); k++) this.#to[i * this.#slots + k] = this.#copy(i, k);
    if (op === Op.LoopPhi) this.#loopPhis.push(i);
    if (this.#deciding[i] !== 0) this.#all(i, this.#fromFirst(this.#to[i * this.#slots]));
  }

  #copy(i: number, slot: number): number {
    const { ir } = this;
    const out = this.#out;
    const op = ir.op[i], type = ir.type[i] as Type, operands = VALUE_OPERANDS[op];
    if ((operands & 16) !== 0) {
      const values = Array.from({ length: ir.b[i] }, (_, k) => this.#use(ir.pool[ir.a[i] + k], slot));
      return out.append(op, type, out.pooled(values), values.length);
    }
    const operand = (k: number, value: number) =>
      (operands >> k & 1) !== 0 && value !== 0 ? this.#use(value, slot) : value;
    const b = op === Op.LoopPhi ? 0 : operand(1, ir.b[i]);
    return out.append(op, type, operand(0, ir.a[i]), b, operand(2, ir.c[i]), operand(3, ir.d[i]));
  }

  /** What the first invocation has for a value, a number or a vector of numbers. */
  #fromFirst(value: number): number {
    const out = this.#out, type = out.type[value] as Type, zero = out.constU(0);
    if (type === Type.U32) return out.emit(Op.ReadLane, value, zero);
    const parts = Array.from(
      { length: type - Type.V2 + 2 },
      (_, k) => out.emit(Op.ReadLane, out.emit(Op.Extract, value, k), zero),
    );
    return out.append(Op.Vec, type, parts[0], parts[1], parts[2] ?? 0, parts[3] ?? 0);
  }

  #exchange(i: number): void {
    const { ir } = this;
    const out = this.#out, lanes = this.#lanes;
    const a = ir.a[i], b = ir.b[i], varies = this.#varying[a] !== 0;
    switch (ir.op[i]) {
      case Op.AnyGroup:
        return this.#all(i, out.emit(Op.AnyGroup, varies ? lanes.some(this.#values(a)) : this.#use(a, 0)));
      case Op.Any:
        return this.#all(i, varies ? lanes.any(this.#values(a)) : this.#use(a, 0));
      case Op.BallotLo:
      case Op.BallotHi: {
        const half = ir.op[i] === Op.BallotLo ? 0 : 1;
        if (varies) return this.#all(i, lanes.ballot(this.#values(a), half));
        const none = out.constU(0), all = half === 1 && this.options.waveSize === 32 ? none : out.constU(-1);
        return this.#all(i, out.append(Op.Select, Type.U32, this.#use(a, 0), all, none));
      }
      case Op.ReadLane:
        return this.#all(i, varies ? lanes.read(this.#values(a), this.#use(b, 0)) : this.#use(a, 0));
      case Op.ReadFirstLane:
        if (!varies) return this.#all(i, this.#use(a, 0));
        if (this.#varying[b] === 0) return this.#all(i, lanes.read(this.#values(a), out.constU(0)));
        return this.#all(i, lanes.readFirst(this.#values(a), this.#values(b)));
      case Op.Shuffle:
        if (!varies) return this.#all(i, this.#use(a, 0));
        if (this.#varying[b] === 0) return this.#all(i, lanes.read(this.#values(a), this.#use(b, 0)));
        return this.#each(i, lanes.shuffle(this.#values(a), this.#values(b)));
      default:
        throw new Error(`${OPS[ir.op[i]].name} is no exchange of a wave`);
    }
  }
}
