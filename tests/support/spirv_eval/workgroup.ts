/**
 * Workgroups of compute modules: subgroups of any width, in random order, with barriers that must be met by all.
 *
 * @module
 */
import type { Random } from "../random.ts";
import { type DeviceMemory, read } from "./memory.ts";
import { type Place, poisonOf, type SpirvModule, type SpirvVariable, type Value } from "./parse.ts";
import { Races } from "./races.ts";
import { Subgroup } from "./subgroup.ts";
import { History, WeakMemory } from "./weak_memory.ts";

/** Which float instructions flush f32 denormals. Sums are additions, subtractions and multiplications. */
export type Flushing = "none" | "all" | "all but sums";

/** What a dispatch runs with. */
export interface EvaluatedDispatch {
  module: SpirvModule;
  memory: DeviceMemory;
  /** The bytes of the push constants. */
  push: DataView;
  /** Workgroups. */
  groups: readonly [number, number, number];
  /** Invocations of a subgroup. */
  subgroupSize: number;
  /** What the device flushes where RoundingModeRTE 32 is declared; it flushes everything where it is not. Absent: nothing, in either case. */
  flushesUnasked?: "all" | "all but sums";
  /** Decides the order of everything that has none, and which invocations make a subgroup. */
  random: Random;
  /** Instructions after which a workgroup counts as endless. */
  stepLimit?: number;
  /** A race in workgroup memory or buffers is an error. */
  races?: boolean;
  /** All workgroups at the same time, and stores and loads of buffers out of order where no barrier of Device scope is between them. */
  weak?: boolean;
}

/** Scope of memory that a barrier orders. */
const DEVICE = 1;
const STORAGE = { input: 1, workgroup: 4, private: 6, pushConstant: 9 };
const BUILT_IN = {
  numWorkgroups: 24,
  workgroupId: 26,
  localId: 27,
  globalId: 28,
  localIndex: 29,
  subgroupId: 40,
  subgroupLane: 41,
};
const DENORM_FLUSH_TO_ZERO = 4460, ROUNDING_MODE_RTE = 4462;
/** Instructions that a subgroup executes at most before another one may go on. */
const TURN = 40;

/** Runs all workgroups, in random order. @throws Error for what would be undefined on a device */
export function evaluateDispatch(dispatch: EvaluatedDispatch): void {
  const [x, y, z] = dispatch.groups, ids: [number, number, number][] = [];
  for (let n = 0; n < x * y * z; n++) ids.push([n % x, Math.floor(n / x) % y, Math.floor(n / (x * y))]);
  shuffle(ids, dispatch.random);
  if (dispatch.weak) evaluateTogether(dispatch, ids);
  else for (const id of ids) new Workgroup(dispatch, id).run();
}

/** All workgroups in turns, each with its own view of weak memory. */
function evaluateTogether(dispatch: EvaluatedDispatch, ids: readonly (readonly [number, number, number])[]): void {
  const { random, memory, module: { localSize: [x, y, z] } } = dispatch, history = new History(memory);
  const groups = ids.map((id) => {
    const view = new WeakMemory(history, x * y * z, random);
    return { view, group: new Workgroup({ ...dispatch, memory: view }, id) };
  });
  for (let running = groups; running.length > 0;) {
    const one = running[random.below(running.length)];
    if (!one.group.turn()) running = running.filter((each) => each !== one);
    // Stores of those that wait, or have ended, get to the others as well.
    if (random.below(8) === 0) { for (const { view } of groups) view.deliverOne(); }
  }
  for (const { view } of groups) view.deliverAll();
}

/** A workgroup while it runs. */
export class Workgroup {
  steps = 0;
  barriers = 0;
  readonly races: Races | undefined;
  readonly memory: DeviceMemory;
  /** Which float instructions take f32 denormals for zeros and make zeros of them. */
  readonly flushes32: Flushing;
  readonly #subgroups: Subgroup[];
  /** Place of each invocation in the row of all subgroups. */
  readonly #places: number[] = [];
  readonly #workgroupVariables = new Map<number, Place>();
  /** By id, then by invocation. */
  readonly #invocationVariables = new Map<number, Place[]>();

  constructor(private readonly dispatch: EvaluatedDispatch, id: readonly [number, number, number]) {
    const { module, memory, subgroupSize, random } = dispatch;
    this.memory = memory;
    this.races = dispatch.races ? new Races() : undefined;
    const declares = (mode: number) => module.modes.get(mode)?.[0] === 32;
    if (declares(DENORM_FLUSH_TO_ZERO)) this.flushes32 = "all";
    else if (!dispatch.flushesUnasked) this.flushes32 = "none";
    else this.flushes32 = declares(ROUNDING_MODE_RTE) ? dispatch.flushesUnasked : "all";
    const [x, y, z] = module.localSize, count = x * y * z;
    // Nothing in Vulkan ties invocations to places in subgroups, but that they are full where that is required.
    const invocations = shuffle(Array.from({ length: count }, (_, n) => n), random);
    invocations.forEach((invocation, place) => this.#places[invocation] = place);
    for (const variable of module.variables) this.#makeVariable(variable, id, count);
    this.#subgroups = [];
    for (let at = 0; at < count; at += subgroupSize) {
      this.#subgroups.push(new Subgroup(module, this, invocations.slice(at, at + subgroupSize)));
    }
  }

  /** Value of an id that is the same for all lanes, or a variable's pointer. */
  shared(id: number, invocation: number): Value | undefined {
    const { constants, undefs } = this.dispatch.module;
    const constant = constants.get(id);
    if (constant !== undefined) return constant;
    const undef = undefs.get(id);
    if (undef !== undefined) return poisonOf(undef);
    return this.#workgroupVariables.get(id) ?? this.#invocationVariables.get(id)?.[invocation];
  }

  /** Runs it to its end. */
  run(): void {
    while (this.turn());
  }

  /** Runs some subgroup for a while. False when all have ended. */
  turn(): boolean {
    const { random, stepLimit = 50_000_000 } = this.dispatch;
    const ready = this.#subgroups.filter(({ barrier, ended }) => barrier === undefined && !ended);
    if (ready.length === 0) {
      if (this.#subgroups.every(({ ended }) => ended)) return false;
      this.#release();
      return true;
    }
    ready[random.below(ready.length)].run(1 + random.below(TURN));
    if (this.steps > stepLimit) throw new Error(`a workgroup has not ended after ${this.steps} instructions`);
    return true;
  }

  /** Everybody is at a barrier, which must be the same one. */
  #release(): void {
    const [{ barrier }] = this.#subgroups;
    for (const subgroup of this.#subgroups) {
      if (subgroup.ended) throw new Error(`some invocations wait at a barrier that others do not come to`);
      if (subgroup.barrier !== barrier) {
        throw new Error(`invocations wait at different barriers: words ${barrier?.word}, ${subgroup.barrier?.word}`);
      }
    }
    const first = this.#subgroups[0];
    if (first.value(barrier!.operands[1], 0) === DEVICE) this.memory.fence(this.#places.map((_, n) => n));
    for (const subgroup of this.#subgroups) subgroup.barrier = undefined;
    this.barriers++;
  }

  #makeVariable({ id, storage, type, initial, builtIn }: SpirvVariable, group: readonly number[], count: number): void {
    const { module, push } = this.dispatch;
    const place = (value: Value): Place => ({ cells: [value], index: 0 });
    const perInvocation = (make: (n: number) => Value) =>
      this.#invocationVariables.set(id, Array.from({ length: count }, (_, n) => place(make(n))));
    if (storage === STORAGE.workgroup) {
      // Workgroup memory begins with anything.
      this.#workgroupVariables.set(id, place(poisonOf(type)));
    } else if (storage === STORAGE.pushConstant) this.#workgroupVariables.set(id, place(read(push, 0, type)));
    else if (storage === STORAGE.private) {
      const value = initial === 0 ? undefined : module.constants.get(initial);
      perInvocation(() => value === undefined ? poisonOf(type) : structuredClone(value));
    } else if (storage === STORAGE.input) perInvocation((n) => this.#input(builtIn, group, n));
    else throw new Error(`a variable of storage class ${storage}`);
  }

  #input(builtIn: number | undefined, group: readonly number[], n: number): Value {
    const [x, y, z] = this.dispatch.module.localSize, size = [x, y, z];
    const local = [n % x, Math.floor(n / x) % y, Math.floor(n / (x * y))];
    switch (builtIn) {
      case BUILT_IN.numWorkgroups:
        return [...this.dispatch.groups];
      case BUILT_IN.workgroupId:
        return [...group];
      case BUILT_IN.localId:
        return local;
      case BUILT_IN.globalId:
        return local.map((at, axis) => group[axis] * size[axis] + at);
      case BUILT_IN.localIndex:
        return n;
      case BUILT_IN.subgroupId:
        return Math.floor(this.#places[n] / this.dispatch.subgroupSize);
      case BUILT_IN.subgroupLane:
        return this.#places[n] % this.dispatch.subgroupSize;
      default:
        throw new Error(`built-in ${builtIn}`);
    }
  }
}

/** Puts a list in random order. */
function shuffle<T>(list: T[], random: Random): T[] {
  for (let n = list.length - 1; n > 0; n--) {
    const other = random.below(n + 1);
    [list[n], list[other]] = [list[other], list[n]];
  }
  return list;
}
