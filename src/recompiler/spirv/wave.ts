import { Op } from "../ir/ops.ts";
import { SUBGROUP_BARRIER } from "../passes/pack/shape.ts";
import { Uniformity } from "../passes/uniformity.ts";
import type { Body } from "./body.ts";
import { wantsFloat } from "./arithmetic.ts";
import { Code, Glsl, Scope, Semantics, Storage } from "./codes.ts";
import type { Emitter, HandlerTable } from "./emitter.ts";
import type { ExchangePlan } from "./exchange_plan.ts";
import { threads } from "./inputs.ts";
import { writeBarrier } from "./memory.ts";
import { T } from "./module.ts";

/**
 * The spanned form: lanes of a guest wave exchange values through workgroup memory and barriers, so the host's subgroups may have any width and
 * any order. A value exchange writes one slot per lane, waits, and reads another lane's slot. A vote ors each lane's bit into a word per 32 lanes.
 *
 * Slots come in several sets, so that most exchanges need one barrier: a set is written again only when a barrier lies between its last read and that
 * write, and a vote's words must be zero before. What is known of the sets is tracked while emitting; where control flow meets it is forgotten.
 */

/** Sets of slots for values: the set of an exchange is free again at the barrier of the next. */
const VALUE_SETS = 2;
/** Sets of words for votes: one in use, one being cleared, one clear. */
const VOTE_SETS = 3;

/** What is known of a set of vote words. */
const Vote = {
  /** Zero, and everybody knows. */
  Clear: 0,
  /** Zeroed since the last barrier. */
  Zeroed: 1,
  /** Used, and read by all before the last barrier: it may be zeroed. */
  Used: 2,
  /** Perhaps still being read. */
  Busy: 3,
} as const;

/** What is known of all slots at a place in the program. */
export interface ExchangeState {
  readonly votes: readonly number[];
  readonly reading: readonly boolean[];
}

/** The module's exchange: emits it, and knows its slots. */
export class LaneExchange {
  private readonly waves: number;
  private readonly votes: number[] = new Array(VOTE_SETS).fill(Vote.Used);
  /** Whether a set of value slots may still be being read. */
  private readonly reading: boolean[] = new Array(VALUE_SETS).fill(false);
  private valueSlots = 0;
  private voteSlots = 0;
  /** The last vote: condition, block, set and results (0: not read yet). */
  private last = { condition: 0, block: 0, set: 0, words: [0, 0] };

  constructor(protected readonly e: Emitter, readonly plan: ExchangePlan) {
    this.waves = Math.ceil(threads(e) / e.request.waveSize);
    if (e.packed !== undefined) return; // which asks for them by its inputs
    // Ids that exchanges use anywhere must be made in the first block.
    e.inputs.localIndex();
    e.inputs.laneId();
    e.inputs.waveId();
  }

  /** Workgroup memory of the slots that were used, in bytes. */
  get sharedBytes(): number {
    return (this.valueSlots !== 0 ? VALUE_SETS * this.slotsPerSet * 4 : 0) +
      (this.voteSlots !== 0 ? VOTE_SETS * this.waves * 2 * 4 : 0);
  }

  private get slotsPerSet(): number {
    return this.waves * this.e.request.waveSize;
  }

  /** Forgets what is known of the slots: control flow comes here from elsewhere as well. */
  forget(): void {
    this.votes.fill(Vote.Busy);
    this.reading.fill(true);
    this.last.block = 0;
  }

  /** What is known here, to come back to. */
  save(): ExchangeState {
    return { votes: [...this.votes], reading: [...this.reading] };
  }

  /** Goes back to what was known at another place. */
  restore({ votes, reading }: ExchangeState): void {
    for (let set = 0; set < VOTE_SETS; set++) this.votes[set] = votes[set];
    for (let set = 0; set < VALUE_SETS; set++) this.reading[set] = reading[set];
    this.last.block = 0;
  }

  /** A barrier has been emitted. */
  passBarrier(): void {
    this.reading.fill(false);
    if (this.last.words[0] === 0) this.last.block = 0;
    for (let set = 0; set < VOTE_SETS; set++) {
      if (this.votes[set] === Vote.Zeroed) this.votes[set] = Vote.Clear;
      else if (this.votes[set] === Vote.Busy) this.votes[set] = Vote.Used;
    }
  }

  /** The wave's ballot of a condition: ids of the words of lanes 0..31 and 32..63 (the latter a constant 0 for 32 lanes). */
  vote(condition: number): [number, number] {
    const { body } = this.e;
    if (this.last.condition === condition && this.last.block === body.block) {
      return this.last.words[0] === 0 ? this.readVote(this.last.set, condition) : this.last.words as [number, number];
    }
    const set = this.clearVoteSet();
    this.castVote(set, condition);
    this.barrier();
    return this.readVote(set, condition);
  }

  /** Whether a condition holds in any lane of the workgroup. */
  voteGroup(condition: number): number {
    const { body, module } = this.e;
    const set = this.clearVoteSet();
    this.castBits(set, 0, body.select(T.U32, condition, module.u32(1), module.u32(0)));
    this.barrier();
    const word = body.load(T.U32, this.slot(this.voteWords, set * this.waves * 2, 0));
    this.votes[set] = Vote.Busy;
    return body.op2(Code.INotEqual, T.Bool, word, module.u32(0));
  }

  /** Whether a condition holds in any lane of the wave: a Bool. */
  any(condition: number): number {
    const { body } = this.e;
    if (this.last.condition === condition && this.last.block === body.block) {
      return this.notZero(body, this.vote(condition));
    }
    const set = this.clearVoteSet();
    this.castVote(set, condition);
    this.barrier();
    this.votes[set] = Vote.Busy;
    this.last = { condition, block: body.block, set, words: [0, 0] };
    return this.callFunction(`anyVote${set}`, T.Bool, [], [], (inner, wave) => {
      inner.returnValue(this.notZero(inner, this.voteWordsOf(inner, set, wave)));
    });
  }

  protected notZero(body: Body, [low, high]: readonly [number, number]): number {
    const bits = this.e.request.waveSize === 32 ? low : body.op2(Code.BitwiseOr, T.U32, low, high);
    return body.op2(Code.INotEqual, T.Bool, bits, this.e.module.u32(0));
  }

  /**
   * Calls a function of slots, which is written when it is first called. It gets the wave's number behind its operands where there are several waves.
   * There is no barrier in it, so that the entry point shows where its barriers are.
   */
  private callFunction(
    name: string,
    result: T,
    types: readonly T[],
    operands: readonly number[],
    write: (body: Body, wave: number) => void,
  ): number {
    const { body, functions, inputs } = this.e;
    const several = this.waves > 1;
    const id = functions.get(name, result, several ? [...types, T.U32] : types, (inner) => {
      write(inner, several ? inner.parameters[types.length] : 0);
    });
    return body.call(id, result, several ? [...operands, inputs.waveId()] : operands);
  }

  /** Value of `value`, of type U32 or F32, in lane `lane` (an id; only its low bits count) of the wave. */
  readLane(value: number, lane: number, type: T = T.U32): number {
    const set = this.publish(value, type);
    this.barrier();
    return this.readSlot(set, lane, type);
  }

  /** Value of `value` in the lane with that number: where exchanges are those of a subgroup. */
  broadcast(value: number, lane: number, type: T = T.U32): number {
    return this.readLane(value, this.e.module.u32(lane), type);
  }

  /** Value in the lowest active lane, of lane 0 when none is active. */
  readFirstLane(value: number, active: number): number {
    const { e } = this;
    const votes = this.clearVoteSet();
    const set = this.publish(value);
    this.castVote(votes, active);
    this.barrier();
    this.votes[votes] = Vote.Busy;
    this.last = { condition: active, block: e.body.block, set: votes, words: [0, 0] };
    this.reading[set] = true;
    return this.callFunction(`firstLane${votes}.${set}`, T.U32, [], [], (body, wave) => {
      const [low, high] = this.voteWordsOf(body, votes, wave);
      body.returnValue(this.slotOf(body, set, this.lowestLane(body, low, high), wave));
    });
  }

  /** Number of the lowest lane of a ballot, 0 when it is empty. */
  protected lowestLane(body: Body, low: number, high: number): number {
    const { module, request } = this.e;
    const first = (word: number) => body.glsl1(Glsl.FindILsb, T.U32, word);
    const zero = module.u32(0);
    // FindILsb of 0 is -1.
    if (request.waveSize === 32) return body.glsl(Glsl.SMax, T.U32, [first(low), zero]);
    const inHigh = body.glsl(Glsl.SMax, T.U32, [body.op2(Code.IAdd, T.U32, first(high), module.u32(32)), zero]);
    const highEmpty = body.op2(Code.IEqual, T.Bool, high, zero);
    const lowEmpty = body.op2(Code.IEqual, T.Bool, low, zero);
    return body.select(T.U32, lowEmpty, body.select(T.U32, highEmpty, zero, inHigh), first(low));
  }

  /** A condition that all invocations of the workgroup take from its first one. */
  agree(condition: number): number {
    const { body, module } = this.e;
    const number = body.select(T.U32, condition, module.u32(1), module.u32(0));
    const set = this.publish(number);
    this.barrier();
    const word = body.load(T.U32, this.slot(this.values, set * this.slotsPerSet, 0));
    this.reading[set] = true;
    return body.op2(Code.INotEqual, T.Bool, word, module.u32(0));
  }

  private barrier(): void {
    writeBarrier(this.e, Uniformity.Workgroup);
    this.passBarrier();
  }

  private get values(): number {
    return this.valueSlots ||= this.e.module.sharedArray(VALUE_SETS * this.slotsPerSet);
  }

  private get voteWords(): number {
    return this.voteSlots ||= this.e.module.sharedArray(VOTE_SETS * this.waves * 2);
  }

  /** Pointer to slot `constant + index` of an array; `index` is an id, or 0 for none. */
  private slot(array: number, constant: number, index: number, body: Body = this.e.body): number {
    const { module } = this.e;
    let at = index;
    if (index === 0) at = module.u32(constant);
    else if (constant !== 0) at = body.op2(Code.IAdd, T.U32, index, module.u32(constant));
    return body.element(Storage.Workgroup, T.U32, array, at);
  }

  /** First slot of this wave, `stride` slots a wave: an id, or 0 when there is one wave. */
  private waveBase(stride: number, body: Body = this.e.body, wave = 0): number {
    const { inputs, module } = this.e;
    if (this.waves === 1) return 0;
    return body.op2(Code.IMul, T.U32, wave || inputs.waveId(), module.u32(stride));
  }

  /** Writes each lane's value to its slot, in a set that nobody reads, and returns the set. */
  private publish(value: number, type: T = T.U32): number {
    let set = this.reading.indexOf(false);
    if (set < 0) {
      this.barrier();
      set = 0;
    }
    const { body, inputs, functions } = this.e;
    const write = (inner: Body, index: number, bits: number) =>
      inner.words.put3(Code.Store, this.slot(this.values, set * this.slotsPerSet, index, inner), bits);
    if (type === T.U32) write(body, inputs.localIndex(), value);
    else {
      const id = functions.get(`publishFloat${set}`, T.Void, [T.F32, T.U32], (inner) => {
        const [float, index] = inner.parameters;
        write(inner, index, inner.op1(Code.Bitcast, T.U32, float));
        inner.return();
      });
      body.call(id, T.Void, [value, inputs.localIndex()]);
    }
    return set;
  }

  private readSlot(set: number, lane: number, type: T): number {
    this.reading[set] = true;
    return this.callFunction(`slot${set}${type === T.U32 ? "" : "f"}`, type, [T.U32], [lane], (body, wave) => {
      const bits = this.slotOf(body, set, body.parameters[0], wave);
      body.returnValue(type === T.U32 ? bits : body.op1(Code.Bitcast, type, bits));
    });
  }

  /** Value of a lane in a set of slots. */
  private slotOf(body: Body, set: number, lane: number, wave: number): number {
    const { e } = this;
    const { module } = e;
    const { waveSize } = e.request;
    let index = body.op2(Code.BitwiseAnd, T.U32, lane, module.u32(waveSize - 1));
    const base = this.waveBase(waveSize, body, wave);
    if (base !== 0) index = body.op2(Code.IAdd, T.U32, base, index);
    let value = body.load(T.U32, this.slot(this.values, set * this.slotsPerSet, index, body));
    const count = threads(e);
    if (count % waveSize !== 0) {
      // Lanes of the last wave that do not exist read as 0.
      const exists = body.op2(Code.ULessThan, T.Bool, index, module.u32(count));
      value = body.select(T.U32, exists, value, module.u32(0));
    }
    return value;
  }

  /** A set of vote words that is zero. */
  private clearVoteSet(): number {
    let set = this.votes.indexOf(Vote.Clear);
    if (set >= 0) return set;
    if (!this.votes.includes(Vote.Used) && !this.votes.includes(Vote.Zeroed)) this.barrier();
    this.zeroUsedVotes();
    this.barrier();
    set = this.votes.indexOf(Vote.Clear);
    return set;
  }

  private zeroUsedVotes(): void {
    for (const set of this.usedVotes()) this.zeroVotes(this.e.body, set);
  }

  /** Sets that may be zeroed; from now on they are. */
  private usedVotes(): number[] {
    const sets: number[] = [];
    for (let set = 0; set < VOTE_SETS; set++) {
      if (this.votes[set] !== Vote.Used) continue;
      sets.push(set);
      this.votes[set] = Vote.Zeroed;
    }
    return sets;
  }

  /** Every lane zeroes the wave's words. */
  private zeroVotes(body: Body, set: number, wave = 0): void {
    const { module, request } = this.e;
    const base = this.waveBase(2, body, wave);
    for (let word = 0; word < request.waveSize / 32; word++) {
      const pointer = this.slot(this.voteWords, set * this.waves * 2 + word, base, body);
      body.words.put3(Code.Store, pointer, module.u32(0));
    }
  }

  private castVote(set: number, condition: number): void {
    this.votes[set] = Vote.Busy;
    // What others have read before the last barrier is zeroed before the coming one.
    const used = this.usedVotes();
    const name = `vote${[set, ...used].join(".")}`;
    this.callFunction(name, T.Void, [T.Bool, T.U32], [condition, this.e.inputs.laneId()], (body, wave) => {
      this.addVote(body, set, body.parameters[0], body.parameters[1], wave);
      for (const other of used) this.zeroVotes(body, other, wave);
      body.return();
    });
  }

  /** Ors the lane's bit into the wave's words. */
  private addVote(body: Body, set: number, condition: number, lane: number, wave: number): void {
    const { module, request } = this.e;
    const bit = body.op2(
      Code.ShiftLeftLogical,
      T.U32,
      module.u32(1),
      request.waveSize === 32 ? lane : body.op2(Code.BitwiseAnd, T.U32, lane, module.u32(31)),
    );
    const mine = body.select(T.U32, condition, bit, module.u32(0));
    let index = this.waveBase(2, body, wave);
    if (request.waveSize === 64) {
      const half = body.op2(Code.ShiftRightLogical, T.U32, lane, module.u32(5));
      index = index === 0 ? half : body.op2(Code.IAdd, T.U32, index, half);
    }
    this.addBits(body, set, index, mine);
  }

  /** Ors bits into word `index` (an id, 0: the first) of a set. */
  private castBits(set: number, index: number, bits: number): void {
    this.addBits(this.e.body, set, index, bits);
    this.votes[set] = Vote.Busy;
    // What others have read before the last barrier is zeroed before the coming one.
    this.zeroUsedVotes();
  }

  private addBits(body: Body, set: number, index: number, bits: number): void {
    const { module } = this.e;
    const pointer = this.slot(this.voteWords, set * this.waves * 2, index, body);
    body.ops(Code.AtomicOr, T.U32, [pointer, module.u32(Scope.Workgroup), module.u32(Semantics.None), bits]);
  }

  private readVote(set: number, condition: number): [number, number] {
    const { body } = this.e;
    const words = this.voteWordsOf(body, set, 0);
    this.votes[set] = Vote.Busy;
    this.last = { condition, block: body.block, set, words };
    return words;
  }

  private voteWordsOf(body: Body, set: number, wave: number): [number, number] {
    const { module, request } = this.e;
    const base = this.waveBase(2, body, wave);
    const first = set * this.waves * 2;
    const low = body.load(T.U32, this.slot(this.voteWords, first, base, body));
    if (request.waveSize === 32) return [low, module.u32(0)];
    return [low, body.load(T.U32, this.slot(this.voteWords, first + 1, base, body))];
  }
}

function exchange(e: Emitter, i: number): LaneExchange {
  if (e.exchange === undefined) {
    throw e.refuse(i, "lane-exchange", "the program observes the wave; a module without lane exchange cannot hold it");
  }
  return e.exchange;
}

function any(e: Emitter, i: number): void {
  e.ids[i] = exchange(e, i).any(e.use(e.ir.a[i]));
}

function anyGroup(e: Emitter, i: number): void {
  e.ids[i] = exchange(e, i).voteGroup(e.use(e.ir.a[i]));
}

function ballot(half: 0 | 1) {
  return (e: Emitter, i: number) => {
    e.ids[i] = exchange(e, i).vote(e.use(e.ir.a[i]))[half];
  };
}

function readLane(e: Emitter, i: number): void {
  const { ir } = e;
  const value = ir.a[i], lane = ir.b[i];
  const float = wantsFloat(e, i) && e.floatForm[value] !== 0;
  const type = float ? T.F32 : T.U32, id = float ? e.ids[value] : e.use(value);
  e.floatForm[i] = float ? 1 : 0;
  e.ids[i] = e.packed !== undefined && ir.op[lane] === Op.Const
    ? exchange(e, i).broadcast(id, ir.a[lane], type)
    : exchange(e, i).readLane(id, e.use(lane), type);
}

function readFirstLane(e: Emitter, i: number): void {
  const { ir, module } = e;
  const lanes = exchange(e, i), value = e.use(ir.a[i]);
  e.ids[i] = e.isConstant(ir.b[i], 1)
    ? lanes.readLane(value, module.u32(0))
    : lanes.readFirstLane(value, e.use(ir.b[i]));
}

/** A barrier of the guest, or one that was added for the wave's lockstep on LDS; the exchange takes note of it. */
function barrier(e: Emitter, i: number): void {
  const device = e.ir.b[i] !== 0;
  if (e.ir.a[i] === SUBGROUP_BARRIER) return writeBarrier(e, Uniformity.Wave, Scope.Subgroup, device);
  writeBarrier(e, Uniformity.Workgroup, Scope.Workgroup, device);
  e.exchange?.passBarrier();
}

/** Handlers of this file. */
export const WAVE: HandlerTable = {
  Any: any,
  AnyGroup: anyGroup,
  BallotLo: ballot(0),
  BallotHi: ballot(1),
  ReadLane: readLane,
  ReadFirstLane: readFirstLane,
  Shuffle: readLane,
  Barrier: barrier,
};
