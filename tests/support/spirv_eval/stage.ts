/**
 * Invocations of vertex, fragment, geometry and tessellation evaluation modules: inputs that the caller gives, outputs that it gets. Four fragments in a row are a quad; quads come to subgroups
 * in random order.
 *
 * @module
 */
import type { Random } from "../random.ts";
import { type DeviceMemory, read } from "./memory.ts";
import { type Place, poisonOf, type SpirvModule, type SpirvVariable, type Value, zeroOf } from "./parse.ts";
import { type Host, Subgroup } from "./subgroup.ts";
import type { Flushing } from "./workgroup.ts";

/** How a variable, or an instruction, wants to have an input. */
export interface Interpolation {
  readonly flat: boolean;
  readonly linear: boolean;
  readonly place: "center" | "centroid" | "sample" | "offset";
  /** The sample's number, or the offset from the centre, where an instruction says it. */
  readonly operand?: Value;
}

/** What a module runs with. */
export interface EvaluatedStage {
  module: SpirvModule;
  memory: DeviceMemory;
  /** The bytes of the push constants. */
  push: DataView;
  /** Invocations: fragments of whole quads, helpers included, or vertices. */
  count: number;
  subgroupSize: number;
  random: Random;
  /** A built-in input: its value as the evaluator has it. Lane numbers are the evaluator's own. */
  builtIn(invocation: number, builtIn: number): Value | undefined;
  /** The value of an input variable that is neither a built-in nor has four components at a location: arrays of what a primitive's vertices have. */
  input?(invocation: number, variable: SpirvVariable): Value | undefined;
  /** Four components of the input at a location. */
  attribute?(invocation: number, location: number, how: Interpolation): number[];
  /** Whether an invocation of a fragment module is there for its quad only. */
  isHelper?(invocation: number): boolean;
  /** What the device flushes where the module declares nothing. */
  flushes32?: Flushing;
}

/** What an invocation has left. */
export interface StageOutput {
  readonly discarded: boolean;
  /** By location. */
  readonly locations: ReadonlyMap<number, Value>;
  /** By number of the built-in. */
  readonly builtIns: ReadonlyMap<number, Value>;
  /** Of a geometry shader: its strips, and what each of their vertices has. */
  readonly strips: readonly (readonly Pick<StageOutput, "locations" | "builtIns">[])[];
}

const INPUT = 1, OUTPUT = 3, PRIVATE = 6, FUNCTION = 7, PUSH_CONSTANT = 9;
const SUBGROUP_LANE = 41;
const FLAT = 14, LINEAR = 13, CENTROID = 16, SAMPLE = 17;
const QUAD = 4, DENORM_FLUSH_TO_ZERO = 4460;

/** Runs all invocations. @throws Error for what would be undefined on a device */
export function evaluateStage(stage: EvaluatedStage): StageOutput[] {
  return new StageHost(stage).run();
}

class StageHost implements Host {
  steps = 0;
  readonly memory: DeviceMemory;
  readonly flushes32: Flushing;
  private readonly subgroups: Subgroup[] = [];
  private readonly variables = new Map<number, Place[]>();
  private readonly discarded = new Set<number>();
  private readonly strips: Pick<StageOutput, "locations" | "builtIns">[][][];

  constructor(private readonly stage: EvaluatedStage) {
    const { module, memory, count, subgroupSize, random } = stage;
    this.memory = memory;
    this.strips = Array.from({ length: count }, () => [[]]);
    this.flushes32 = module.modes.get(DENORM_FLUSH_TO_ZERO)?.[0] === 32 ? "all" : stage.flushes32 ?? "none";
    const quads = Array.from({ length: Math.ceil(count / QUAD) }, (_, quad) => quad);
    for (let n = quads.length - 1; n > 0; n--) {
      const other = random.below(n + 1);
      [quads[n], quads[other]] = [quads[other], quads[n]];
    }
    const order = quads.flatMap((quad) => [0, 1, 2, 3].map((k) => quad * QUAD + k)).filter((n) => n < count);
    const lane: number[] = [];
    order.forEach((invocation, place) => lane[invocation] = place % subgroupSize);
    for (const variable of module.variables) this.makeVariable(variable, lane);
    for (let at = 0; at < count; at += subgroupSize) {
      this.subgroups.push(new Subgroup(module, this, order.slice(at, at + subgroupSize)));
    }
  }

  run(): StageOutput[] {
    const { random, count } = this.stage;
    const running = [...this.subgroups];
    while (running.length > 0) {
      const n = random.below(running.length);
      if (running[n].run(1 + random.below(60)) === "end") running.splice(n, 1);
      if (this.steps > 10_000_000) throw new Error("a stage has not ended after ten million instructions");
    }
    return Array.from({ length: count }, (_, invocation) => ({
      discarded: this.discarded.has(invocation),
      ...this.outputs(invocation),
      strips: this.strips[invocation].filter(({ length }) => length > 0),
    }));
  }

  /** What an invocation's output variables hold. */
  private outputs(invocation: number): Pick<StageOutput, "locations" | "builtIns"> {
    const locations = new Map<number, Value>(), builtIns = new Map<number, Value>();
    for (const { id, storage, location, builtIn, type } of this.stage.module.variables) {
      if (storage !== OUTPUT) continue;
      const [value] = this.variables.get(id)![invocation].cells;
      if (location !== undefined) locations.set(location, value);
      else if (builtIn !== undefined) builtIns.set(builtIn, value);
      else if (type.kind === "struct") {
        type.builtIns?.forEach((number, n) => builtIns.set(number, (value as Value[])[n]));
      }
    }
    return { locations, builtIns };
  }

  emitVertex(invocation: number): void {
    this.strips[invocation].at(-1)!.push(structuredClone(this.outputs(invocation)));
  }

  endPrimitive(invocation: number): void {
    this.strips[invocation].push([]);
  }

  shared(id: number, invocation: number): Value | undefined {
    const { constants, undefs } = this.stage.module;
    const constant = constants.get(id);
    if (constant !== undefined) return constant;
    const undef = undefs.get(id);
    return undef !== undefined ? poisonOf(undef) : this.variables.get(id)?.[invocation];
  }

  interpolate(variable: number, invocation: number, place: Interpolation["place"], operand?: Value): Value {
    const found = this.stage.module.variables.find(({ id }) => id === variable);
    if (found?.location === undefined) throw new Error(`id ${variable} is no input at a location`);
    const { decorations } = found;
    const how = { flat: decorations.has(FLAT), linear: decorations.has(LINEAR), place, operand };
    return this.stage.attribute!(invocation, found.location, how);
  }

  isHelper(invocation: number): boolean {
    return this.stage.isHelper?.(invocation) === true;
  }

  discard(invocation: number): void {
    this.discarded.add(invocation);
  }

  private makeVariable(variable: SpirvVariable, lane: number[]): void {
    const { id, storage, type, initial, builtIn, location, decorations } = variable;
    const { module, push, count } = this.stage;
    const make = (value: (invocation: number) => Value) =>
      this.variables.set(
        id,
        Array.from({ length: count }, (_, invocation) => ({ cells: [value(invocation)], index: 0 })),
      );
    switch (storage) {
      case INPUT:
        return void make((invocation) =>
          this.stage.input?.(invocation, variable) ??
            this.input(invocation, lane, builtIn, location, decorations, type)
        );
      case OUTPUT:
        return void make(() => poisonOf(type));
      case PUSH_CONSTANT:
        return void make(() => read(push, 0, type));
      case PRIVATE:
      case FUNCTION:
        return void make(() => {
          const value = initial === 0 ? undefined : module.constants.get(initial);
          return value === undefined ? poisonOf(type) : structuredClone(value);
        });
      default:
        throw new Error(`a variable of storage class ${storage}`);
    }
  }

  private input(
    invocation: number,
    lane: readonly number[],
    builtIn: number | undefined,
    location: number | undefined,
    decorations: ReadonlySet<number>,
    type: SpirvVariable["type"],
  ): Value {
    if (builtIn === SUBGROUP_LANE) return lane[invocation];
    if (builtIn !== undefined) {
      const value = this.stage.builtIn(invocation, builtIn);
      if (value === undefined) throw new Error(`built-in ${builtIn}`);
      return value;
    }
    if (location === undefined) return zeroOf(type);
    if (this.stage.attribute === undefined) throw new Error(`the input at location ${location}`);
    const place = decorations.has(SAMPLE) ? "sample" : decorations.has(CENTROID) ? "centroid" : "center";
    const how = { flat: decorations.has(FLAT), linear: decorations.has(LINEAR), place } as const;
    const four = this.stage.attribute(invocation, location, how);
    return type.kind === "vector" ? four.slice(0, type.count) : four[0];
  }
}
