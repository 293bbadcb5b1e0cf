import { ApertureOperand, APERTURES } from "../../rdna/apertures.ts";
import { Instruction, Operand } from "../../rdna/instruction.ts";
import { Ir } from "../ir/ir.ts";
import { InputKind, Op, Type } from "../ir/ops.ts";
import { ResourcePlan } from "../resources/plan.ts";
import { lacksLanes, type RecompileRequest, threadsOf } from "../request.ts";
import { FloatFacts } from "../ir/float_facts.ts";
import { FloatModes } from "./float_modes.ts";
import type { ImageNeed } from "./image_descriptor.ts";
import { refuse } from "./refusal.ts";
import type { GroupLayout } from "../stages/group.ts";
import { fillGroupRegisters } from "./stages/group.ts";
import { fillStageRegisters } from "./stages/registers.ts";
import { ScopedCache } from "./scoped_cache.ts";
import { Slot, SlotState } from "./slots.ts";
import { FIRST_FLOAT, INLINE_F32, INLINE_F64, LAST_FLOAT } from "../../rdna/inline_constants.ts";

/**
 * Inline constants 128..208 and 240..248 as 32-bit patterns (AMD RDNA2 ISA, "Scalar and vector operand codes"); undefined for other codes.
 */
function inlineConstant(operand: number): number | undefined {
  if (operand >= 128 && operand <= 192) return operand - 128;
  if (operand >= 193 && operand <= 208) return 192 - operand;
  if (operand >= FIRST_FLOAT && operand <= LAST_FLOAT) return INLINE_F32[operand - FIRST_FLOAT];
  return undefined;
}

/** A 64-bit scalar value as two U32 values. */
export type Pair = readonly [low: number, high: number];

/** How a 32-bit literal fills a 64-bit operand. */
export type LiteralExtension = "zero" | "sign" | "high";

/**
 * What the handlers of all instruction classes work with: the IR under construction and the register state, with access to operands and
 * destinations. Value ids are positive; 0 means "no value".
 */
export class Lifter {
  readonly ir: Ir;
  readonly state: SlotState;
  readonly wave64: boolean;
  readonly facts: FloatFacts;
  readonly modes: FloatModes;
  /** Values that are valid in the open scopes: casts by operand, masks by their halves. */
  readonly scoped = new ScopedCache();
  readonly true: number;
  readonly false: number;
  /** Lane number in the wave. */
  readonly lane: number;
  /** Wave 64: whether this lane is one of 32..63. */
  private readonly laneInHigh: number = 0;
  /** Lane number in its half of the mask. */
  private readonly laneBit: number;
  /** What the host computes; undefined where the program must compute everything itself. */
  readonly resources: ResourcePlan | undefined;
  /** Image instructions whose descriptors the request lacks. */
  readonly imageNeeds: ImageNeed[] = [];
  /** Whether the program asks where LDS and scratch memory lie in the flat address space. */
  knowsApertures = false;
  /** Counters that the program waits for to know what other workgroups have done (lift/fences.ts). */
  answerCounters = 0;
  /** Scalar loads that look at memory anew (lift/fences.ts). */
  loadsAnew: ReadonlySet<Instruction> = new Set();
  /** The instruction that is being lifted. */
  instruction: Instruction = new Instruction();
  /** DPP: source 0 of the instruction; 0 in all others. */
  dpp = 0;
  /** DPP: which lanes the instruction may write at all; {@linkcode true} in all others. */
  enabled: number;

  /** @param group where the registers and exports of a merged group are; absent: the program is none */
  constructor(readonly request: RecompileRequest, guards: number, readonly group?: GroupLayout) {
    const ir = this.ir = new Ir(4096);
    if (request.resolve) this.resources = ir.resources = new ResourcePlan(ir);
    this.state = new SlotState(guards);
    this.wave64 = request.waveSize === 64;
    this.facts = new FloatFacts(ir);
    this.true = ir.constB(true);
    this.false = ir.constB(false);
    this.enabled = this.true;
    this.lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
    if (this.wave64) {
      this.laneInHigh = ir.emit(Op.ULt, ir.constU(31), this.lane);
      this.laneBit = ir.emit(Op.And, this.lane, ir.constU(31));
    } else this.laneBit = this.lane;
    this.modes = new FloatModes(request, this);
    this.fillRegisters();
  }

  /** Everything starts as zero, except what the dispatcher loads. */
  private fillRegisters(): void {
    const { ir, request, state } = this;
    const zero = ir.constU(0);
    for (let r = 0; r < 128; r++) state.set(r, zero);
    state.set(Slot.Scc, this.false);
    state.set(Slot.FlatScratch, zero);
    state.set(Slot.FlatScratch + 1, zero);
    for (let r = 0; r < 256; r++) state.set(Slot.Vgpr0 + r, zero);
    for (let g = Slot.Guard0; g < state.values.length; g++) state.set(g, this.false);
    if (request.graphics !== undefined) return fillStageRegisters(this);
    if (this.group !== undefined) {
      fillGroupRegisters(this, this.group);
      return this.fillExec();
    }
    let next = 0;
    for (; next < request.userSgprCount; next++) this.setScalar(next, this.input(InputKind.UserData, next));
    request.workgroupIds.forEach((enabled, axis) => {
      if (enabled) this.setScalar(next++, this.input(InputKind.WorkgroupId, axis));
    });
    if (request.tgSize) this.setScalar(next++, this.threadgroupSize());
    if (request.scratch) this.setScalar(next++, this.input(InputKind.ScratchOffset, 0));
    const [, y, z] = request.workgroupSize;
    for (let axis = 0; axis < request.threadIdCount; axis++) {
      // In a row of threads x is the flat index, of which passes know more.
      const flat = axis === 0 && y * z === 1;
      state.set(Slot.Vgpr0 + axis, flat ? this.input(InputKind.LocalIndex, 0) : this.input(InputKind.LocalId, axis));
    }
    this.fillExec();
  }

  /**
   * TG_SIZE: waves of the workgroup (5:0), the wave's number in it (11:6), whether it is the first (31). AMD RDNA2 ISA, "SGPR initialization", has the
   * count and the first wave; the number is what Mesa's ACO reads as the subgroup's (aco_instruction_selection.cpp, load_subgroup_id).
   */
  private threadgroupSize(): number {
    const { ir, request } = this;
    const waves = Math.ceil(threadsOf(request) / request.waveSize);
    if (waves === 1) return ir.constU(0x8000_0001 | 0);
    const wave = ir.append(Op.Input, Type.U32, InputKind.WaveId);
    const first = ir.emit(Op.And, ir.emit(Op.IAdd, wave, ir.constU(-1)), ir.constU(0x8000_0000 | 0)); // only 0 - 1 has the bit
    const number = ir.emit(Op.Or, ir.emit(Op.Shl, wave, ir.constU(6)), ir.constU(waves));
    return ir.emit(Op.Or, number, first);
  }

  /** Waves are whole: lanes that the workgroup or the dispatch lacks are there as well, switched off; programs may switch them on. */
  private fillExec(): void {
    const { ir, request } = this;
    if (!request.partialThreads && !lacksLanes(request)) {
      this.setScalar(Operand.Exec, ir.constU(-1), this.true);
      if (this.wave64) this.setScalar(Operand.ExecHi, ir.constU(-1), this.true);
      return;
    }
    const active = ir.append(Op.Input, Type.Bool, InputKind.ThreadActive);
    this.setScalar(Operand.Exec, ir.emit(Op.BallotLo, active), active);
    if (this.wave64) this.setScalar(Operand.ExecHi, ir.emit(Op.BallotHi, active), active);
  }

  private input(kind: number, index: number): number {
    return this.ir.append(Op.Input, Type.U32, kind, index);
  }

  // --- types ---

  /** The value as U32. */
  asU(id: number): number {
    return this.cast(id, Type.U32, Op.BitcastU, Op.BitcastF);
  }

  /** The value as F32. */
  asF(id: number): number {
    return this.cast(id, Type.F32, Op.BitcastF, Op.BitcastU);
  }

  /** The value with the type of `like`, one of U32 and F32. */
  asLike(id: number, type: Type): number {
    return type === Type.F32 ? this.asF(id) : type === Type.U32 ? this.asU(id) : id;
  }

  private cast(id: number, type: Type, op: number, inverse: number): number {
    const { ir } = this;
    if (ir.type[id] === type) return id;
    if (ir.op[id] === Op.Const) return type === Type.U32 ? ir.constU(ir.a[id]) : ir.constF(ir.a[id]);
    if (ir.op[id] === inverse) return ir.a[id];
    return this.scoped.get(id) || this.scoped.set(id, ir.emit(op, id));
  }

  /** The U32 constant. */
  u(bits: number): number {
    return this.ir.constU(bits);
  }

  // --- scalar registers and operands ---

  /** A 32-bit scalar operand (any code below 256) as U32. */
  scalar(operand: number): number {
    if (operand < 128) {
      if (operand >= 108 && operand < 124) refuse("a trap handler register (TTMP) is read");
      if (operand === Operand.Null) return this.u(0);
      return this.asU(this.state.values[operand]);
    }
    const constant = inlineConstant(operand);
    if (constant !== undefined) return this.u(constant);
    switch (operand) {
      case Operand.Literal:
        return this.u(this.instruction.literal);
      case Operand.Scc:
        return this.boolToU(this.state.values[Slot.Scc]);
      case 251:
        return this.boolToU(this.ir.emit(Op.LNot, this.maskAny(Operand.Vcc)));
      case 252:
        return this.boolToU(this.ir.emit(Op.LNot, this.maskAny(Operand.Exec)));
      // As a 32-bit operand an aperture is the low half of its address.
      case ApertureOperand.SharedBase:
      case ApertureOperand.PrivateBase:
        return this.u(0);
      case ApertureOperand.SharedLimit:
      case ApertureOperand.PrivateLimit:
        return this.u(-1);
      default:
        return refuse(`operand code ${operand} (LDS_DIRECT, POPS_EXITING_WAVE_ID or a reserved code) is read`);
    }
  }

  /** A 64-bit scalar operand. Inline floats are f64 (LLVM's AMDGPU operand documentation). */
  scalarPair(operand: number, literal: LiteralExtension = "zero"): Pair {
    if (operand === Operand.Null) return [this.u(0), this.u(0)];
    if (operand < 128) return [this.scalar(operand), this.scalar(operand + 1)];
    if (operand === Operand.Literal) {
      const bits = this.instruction.literal;
      if (literal === "high") return [this.u(0), this.u(bits)];
      return [this.u(bits), this.u(literal === "sign" && (bits | 0) < 0 ? -1 : 0)];
    }
    if (operand >= FIRST_FLOAT && operand <= LAST_FLOAT) {
      const bits = INLINE_F64[operand - FIRST_FLOAT];
      return [this.u(Number(bits & 0xffff_ffffn)), this.u(Number(bits >> 32n))];
    }
    const constant = inlineConstant(operand);
    if (constant !== undefined) return [this.u(constant), this.u(constant < 0 ? -1 : 0)];
    if (operand >= ApertureOperand.SharedBase && operand <= ApertureOperand.PrivateLimit) {
      return [
        this.scalar(operand),
        this.u(operand < ApertureOperand.PrivateBase ? APERTURES.shared : APERTURES.private),
      ];
    }
    return [this.scalar(operand), this.u(0)];
  }

  /** 1 or 0. */
  boolToU(id: number): number {
    return this.select(id, this.u(1), this.u(0));
  }

  /**
   * Writes a scalar register.
   * @param shadow the Bool that is this lane's bit of the register, 0 if there is none at hand
   */
  setScalar(register: number, id: number, shadow = 0): void {
    if (register === Operand.Null) return;
    if (register >= 108 && register < 124) refuse("a trap handler register (TTMP) is written");
    if (register < 0 || register >= 128) refuse(`scalar destination ${register}`);
    const isExec = register === Operand.Exec || (register === Operand.ExecHi && this.wave64);
    if (isExec && shadow === 0) shadow = this.bitOf(this.asU(id));
    if (register === Operand.ExecHi && isExec && this.request.graphics !== undefined) {
      // One truth for both halves, each of which is looked at by its lanes only: what it says of a lane can then be found out (stages/merged_wave.ts).
      shadow = this.ofHalves(this.shadow(Operand.Exec), shadow);
      this.state.set(Slot.Shadow0 + Operand.Exec, shadow);
    }
    this.state.set(register, id);
    this.state.set(Slot.Shadow0 + register, shadow);
  }

  /** Writes a register pair. */
  setPair(register: number, pair: Pair, shadow = 0): void {
    if (register === Operand.Null) return;
    this.setScalar(register, pair[0], shadow);
    this.setScalar(register + 1, pair[1], shadow);
  }

  /** SCC as a Bool. */
  get scc(): number {
    return this.state.values[Slot.Scc];
  }

  set scc(id: number) {
    this.state.set(Slot.Scc, id);
  }

  // --- lane masks ---

  /** This lane's bit of a number that is (half of) a lane mask. */
  bitOf(id: number): number {
    const { ir } = this;
    if (ir.op[id] === Op.Const && (ir.a[id] === 0 || ir.a[id] === -1)) return ir.a[id] === 0 ? this.false : this.true;
    return ir.emit(Op.INe, ir.emit(Op.And, ir.emit(Op.Shr, id, this.laneBit), this.u(1)), this.u(0));
  }

  /** The shadow of a register, 0 if it has none. */
  shadow(register: number): number {
    return this.state.values[Slot.Shadow0 + register];
  }

  /** The shadow of a register, made from its number if need be. */
  shadowOrBit(register: number): number {
    return this.shadow(register) || this.bitOf(this.scalar(register));
  }

  /** The Bool of this lane in a mask operand: one register in wave 32, a pair in wave 64, or an inline constant. */
  mask(operand: number): number {
    if (operand >= 128 || operand === Operand.Null) {
      const [low, high] = this.wave64 ? this.scalarPair(operand) : [this.scalar(operand), 0];
      return this.ofHalves(this.bitOf(low), this.wave64 ? this.bitOf(high) : 0);
    }
    if (!this.wave64) return this.shadowOrBit(operand);
    if (operand % 2 !== 0) refuse(`the lane mask of a wave of 64 starts at the odd register ${operand}`);
    return this.ofHalves(this.shadowOrBit(operand), this.shadowOrBit(operand + 1));
  }

  /** One Bool from those of the halves of a mask: lanes 0..31 have theirs in the low one. */
  ofHalves(low: number, high: number): number {
    if (!this.wave64 || low === high) return low;
    const key = low * 0x200_0000 + high;
    return this.scoped.get(-key) || this.scoped.set(-key, this.select(this.laneInHigh, high, low));
  }

  /** Whether the instruction acts in this lane: EXEC's bit, less what DPP takes out; {@linkcode true} itself where it is known. */
  exec(): number {
    return this.and(this.mask(Operand.Exec), this.enabled);
  }

  /** Whether a mask register (pair) is not zero, as a Bool that all lanes agree on. */
  maskAny(register: number): number {
    const low = this.shadow(register), high = this.wave64 ? this.shadow(register + 1) : low;
    if (low !== 0 && high !== 0) {
      const mask = this.ofHalves(low, high);
      if (mask === this.true || mask === this.false) return mask;
      return this.ir.emit(Op.Any, mask);
    }
    return this.wave64
      ? this.pairNotZero([this.scalar(register), this.scalar(register + 1)])
      : this.ir.emit(Op.INe, this.scalar(register), this.u(0));
  }

  /** Whether a 64-bit number is not zero. */
  pairNotZero(pair: Pair): number {
    return this.ir.emit(Op.INe, this.ir.emit(Op.Or, pair[0], pair[1]), this.u(0));
  }

  /** Writes a Bool of the active lanes as a lane mask; inactive lanes' bits become 0. */
  setMask(register: number, id: number): void {
    if (register === Operand.Null) return;
    const bit = this.and(this.exec(), id);
    if (this.wave64 && register % 2 !== 0) {
      refuse(`a lane mask of a wave of 64 is written to the odd register ${register}`);
    }
    this.setScalar(register, this.ir.emit(Op.BallotLo, bit), bit);
    if (this.wave64) this.setScalar(register + 1, this.ir.emit(Op.BallotHi, bit), bit);
  }

  // --- booleans and selections, with the folds that keep the stream short ---

  /** a and b. */
  and(a: number, b: number): number {
    if (a === this.true || a === b || b === this.false) return b;
    if (b === this.true || a === this.false) return a;
    return this.ir.emit(Op.LAnd, a, b);
  }

  /** a or b. */
  or(a: number, b: number): number {
    if (a === this.false || a === b || b === this.true) return b;
    if (b === this.false || a === this.true) return a;
    return this.ir.emit(Op.LOr, a, b);
  }

  /** Either, not both. */
  xor(a: number, b: number): number {
    if (a === b) return this.false;
    if (a === this.false) return b;
    if (b === this.false) return a;
    if (a === this.true) return this.not(b);
    if (b === this.true) return this.not(a);
    return this.ir.emit(Op.LXor, a, b);
  }

  /** not a. */
  not(a: number): number {
    if (a === this.true) return this.false;
    if (a === this.false) return this.true;
    if (this.ir.op[a] === Op.LNot) return this.ir.a[a];
    return this.ir.emit(Op.LNot, a);
  }

  /** condition ? a : b, in the type of `a`. */
  select(condition: number, a: number, b: number): number {
    if (condition === this.true || a === b) return a;
    if (condition === this.false) return b;
    const type = this.ir.type[a] as Type;
    return this.ir.append(Op.Select, type, condition, a, this.asLike(b, type));
  }

  // --- vector registers ---

  /** A vector or scalar 32-bit source operand, as it is (U32 or F32). */
  source(operand: number): number {
    return operand >= Slot.Vgpr0 ? this.state.values[operand] : this.scalar(operand);
  }

  /** A vector or scalar 64-bit source operand. */
  sourcePair(operand: number, literal: LiteralExtension = "zero"): Pair {
    if (operand < Slot.Vgpr0) return this.scalarPair(operand, literal);
    return [this.asU(this.state.values[operand]), this.asU(this.state.values[operand + 1])];
  }

  /** Writes a vector register in the active lanes. */
  setVector(operand: number, id: number): void {
    const old = this.state.values[operand];
    this.state.set(operand, this.select(this.exec(), id, old));
  }

  /** Writes consecutive vector registers in the active lanes. */
  setVectors(operand: number, ids: readonly number[]): void {
    ids.forEach((id, i) => this.setVector(operand + i, id));
  }

  // --- 64-bit numbers ---

  /** U64 of a pair. */
  pack(pair: Pair): number {
    return this.ir.emit(Op.Pack64, pair[0], pair[1]);
  }

  /** Pair of a U64. */
  unpack(id: number): Pair {
    return [this.ir.emit(Op.Lo64, id), this.ir.emit(Op.Hi64, id)];
  }

  /** value + constant, folded. */
  addConstant(id: number, constant: number): number {
    if (constant === 0) return id;
    if (this.ir.op[id] === Op.Const) return this.u(this.ir.a[id] + constant);
    return this.ir.emit(Op.IAdd, id, this.u(constant));
  }
}
