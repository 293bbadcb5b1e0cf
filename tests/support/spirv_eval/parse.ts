/**
 * Reads a SPIR-V module into types, constants, variables, functions and blocks (Khronos SPIR-V specification 1.5, sections 2.3 and 2.4), for the
 * evaluator. Anything that the evaluator does not know is an error.
 *
 * @module
 */
import { CODE_NAMES, OPERANDS } from "./names.ts";
import { poison, type ScalarOperation } from "./scalars.ts";

/** A type. */
export type SpirvType =
  | { kind: "void" }
  | { kind: "bool" }
  | { kind: "int"; bits: number }
  | { kind: "float"; bits: number }
  | { kind: "vector"; element: SpirvType; count: number }
  | { kind: "array"; element: SpirvType; count: number; stride: number }
  | { kind: "struct"; members: SpirvType[]; offsets: number[]; builtIns?: ReadonlyMap<number, number> }
  | { kind: "pointer"; storage: number; to: SpirvType }
  | { kind: "function"; result: SpirvType };

/**
 * A value: bits of scalars up to 32 bits (booleans 0 and 1) are numbers, of 64 bits bigints (device addresses too), composites are arrays, pointers into
 * variables are {@linkcode Place}s.
 */
export type Value = number | bigint | Value[] | Place;

/** A pointer into a variable: an element of an array of cells. */
export interface Place {
  cells: Value[];
  index: number;
}

/** One instruction of a function. */
export interface SpirvInstruction {
  opcode: number;
  name: string;
  /** Type of the result; void without one. */
  type: SpirvType;
  /** Id of the result, or 0. */
  result: number;
  /** Operand words after type and result. */
  operands: number[];
  /** Index of its first word in the module. */
  word: number;
  /** The operation of its types, once it is known. */
  operation?: ScalarOperation;
}

/** A block: the phis, the rest, and where structured control flow meets. */
export interface SpirvBlock {
  label: number;
  phis: SpirvInstruction[];
  body: SpirvInstruction[];
  terminator: SpirvInstruction;
  /** Label of the merge block, or 0. */
  merge: number;
  /** Label of the continue target, or 0. */
  continueTarget: number;
  /** Place in the structured order, which is that of the function's blocks. */
  order: number;
}

/** A function. */
export interface SpirvFunction {
  id: number;
  parameters: number[];
  /** In structured order. */
  blocks: SpirvBlock[];
  byLabel: Map<number, SpirvBlock>;
}

/** A variable outside of functions. */
export interface SpirvVariable {
  id: number;
  storage: number;
  type: SpirvType;
  /** Id of the constant that it begins with, or 0. */
  initial: number;
  builtIn: number | undefined;
  /** Of inputs and outputs of graphics stages. */
  location: number | undefined;
  /** Decorations without literals: how an input is interpolated. */
  decorations: ReadonlySet<number>;
}

/** A module. */
export interface SpirvModule {
  bound: number;
  localSize: [number, number, number];
  capabilities: Set<number>;
  /** Execution modes of the entry point: mode and literals. */
  modes: Map<number, number[]>;
  constants: Map<number, Value>;
  /** Ids of OpUndef outside of functions, with their types. */
  undefs: Map<number, SpirvType>;
  /** Types of all results. */
  resultTypes: Map<number, SpirvType>;
  variables: SpirvVariable[];
  functions: Map<number, SpirvFunction>;
  main: SpirvFunction;
}

const VOID: SpirvType = { kind: "void" };
const LOCAL_SIZE = 17, BUILT_IN = 11, ARRAY_STRIDE = 6, OFFSET = 35, LOCATION = 30;
/** What says nothing to the evaluator. */
const IGNORED = ["OpSource", "OpSourceExtension", "OpName", "OpMemberName", "OpExtension"];

/** Parses a module. @throws Error for what it does not know */
export function parseSpirv(words: Uint32Array): SpirvModule {
  if (words[0] !== 0x07230203) throw new Error("no SPIR-V");
  return new Parser(words).parse();
}

class Parser {
  readonly #types = new Map<number, SpirvType>();
  readonly #builtIns = new Map<number, number>();
  readonly #strides = new Map<number, number>();
  readonly #locations = new Map<number, number>();
  readonly #decorations = new Map<number, Set<number>>();
  readonly #memberBuiltIns = new Map<number, Map<number, number>>();
  readonly #offsets = new Map<number, number[]>();
  readonly #module: SpirvModule;
  #mainId = 0;
  #function: SpirvFunction | undefined;
  #block: SpirvBlock | undefined;

  constructor(private readonly words: Uint32Array) {
    this.#module = {
      bound: words[3],
      localSize: [1, 1, 1],
      capabilities: new Set(),
      modes: new Map(),
      constants: new Map(),
      undefs: new Map(),
      resultTypes: new Map(),
      variables: [],
      functions: new Map(),
      main: undefined as never,
    };
  }

  parse(): SpirvModule {
    const { words } = this;
    for (let at = 5; at < words.length;) {
      const size = words[at] >>> 16;
      if (size === 0 || at + size > words.length) throw new Error(`word ${at}: an instruction of ${size} words`);
      this.#instruction(at, size);
      at += size;
    }
    const main = this.#module.functions.get(this.#mainId);
    if (main === undefined) throw new Error("no entry point");
    this.#module.main = main;
    for (const each of this.#module.functions.values()) orderBlocks(each);
    return this.#module;
  }

  #instruction(at: number, size: number): void {
    const opcode = this.words[at] & 0xffff, name = CODE_NAMES.get(opcode);
    if (name === undefined) throw new Error(`word ${at}: the evaluator does not know opcode ${opcode}`);
    const form = OPERANDS.get(opcode)!;
    let first = at + 1;
    const typeId = form.startsWith("t") ? this.words[first++] : 0;
    const result = form.replace("t", "").startsWith("r") ? this.words[first++] : 0;
    const operands = Array.from(this.words.subarray(first, at + size));
    const type = typeId === 0 ? VOID : this.#type(typeId);
    if (typeId !== 0) this.#module.resultTypes.set(result, type);
    const instruction = { opcode, name, type, result, operands, word: at };
    if (this.#function === undefined) this.#global(instruction);
    else this.#local(instruction);
  }

  #type(id: number): SpirvType {
    const type = this.#types.get(id);
    if (type === undefined) throw new Error(`id ${id} is no type`);
    return type;
  }

  #constant(id: number): Value {
    const value = this.#module.constants.get(id);
    if (value === undefined) throw new Error(`id ${id} is no constant`);
    return value;
  }

  #global(i: SpirvInstruction): void {
    const { operands: o, result, type } = i, module = this.#module;
    const define = (defined: SpirvType) => this.#types.set(result, defined);
    switch (i.name) {
      case "OpCapability":
        return void module.capabilities.add(o[0]);
      case "OpEntryPoint":
        return void (this.#mainId = o[1]);
      case "OpExecutionMode":
        if (o[1] === LOCAL_SIZE) module.localSize = [o[2], o[3], o[4]];
        return void module.modes.set(o[1], o.slice(2));
      case "OpDecorate":
        if (o[1] === BUILT_IN) this.#builtIns.set(o[0], o[2]);
        if (o[1] === LOCATION) this.#locations.set(o[0], o[2]);
        if (o.length === 2) this.#decorations.getOrInsertComputed(o[0], () => new Set()).add(o[1]);
        if (o[1] === ARRAY_STRIDE) this.#strides.set(o[0], o[2]);
        return;
      case "OpMemberDecorate":
        if (o[2] === BUILT_IN) this.#memberBuiltIns.getOrInsertComputed(o[0], () => new Map()).set(o[1], o[3]);
        if (o[2] === OFFSET) this.#offsets.getOrInsertComputed(o[0], () => [])[o[1]] = o[3];
        return;
      case "OpTypeVoid":
        return void define(VOID);
      case "OpTypeBool":
        return void define({ kind: "bool" });
      case "OpTypeInt":
        return void define({ kind: "int", bits: o[0] });
      case "OpTypeFloat":
        return void define({ kind: "float", bits: o[0] });
      case "OpTypeVector":
        return void define({ kind: "vector", element: this.#type(o[0]), count: o[1] });
      case "OpTypeArray": {
        const count = Number(this.#constant(o[1])), stride = this.#strides.get(result) ?? 0;
        return void define({ kind: "array", element: this.#type(o[0]), count, stride });
      }
      case "OpTypeStruct":
        define({
          kind: "struct",
          members: o.map((id) => this.#type(id)),
          offsets: this.#offsets.get(result) ?? [],
          builtIns: this.#memberBuiltIns.get(result),
        });
        return;
      case "OpTypePointer":
        return void define({ kind: "pointer", storage: o[0], to: this.#type(o[1]) });
      case "OpTypeFunction":
        return void define({ kind: "function", result: this.#type(o[0]) });
      case "OpConstantTrue":
        return void module.constants.set(result, 1);
      case "OpConstantFalse":
        return void module.constants.set(result, 0);
      case "OpConstant":
        return void module.constants.set(result, o.length === 2 ? BigInt(o[1]) << 32n | BigInt(o[0]) : o[0]);
      case "OpConstantComposite":
        return void module.constants.set(result, o.map((id) => this.#constant(id)));
      case "OpConstantNull":
        return void module.constants.set(result, zeroOf(type));
      case "OpUndef":
        return void module.undefs.set(result, type);
      case "OpVariable": {
        if (type.kind !== "pointer") throw new Error(`variable ${result} has no pointer type`);
        const builtIn = this.#builtIns.get(result);
        const location = this.#locations.get(result), decorations = this.#decorations.get(result) ?? new Set();
        const [storage, initial = 0] = o;
        return void module.variables.push({
          id: result,
          storage,
          type: type.to,
          initial,
          builtIn,
          location,
          decorations,
        });
      }
      case "OpFunction":
        this.#function = { id: result, parameters: [], blocks: [], byLabel: new Map() };
        return void module.functions.set(result, this.#function);
      case "OpExtInstImport":
      case "OpMemoryModel":
      case "OpDecorationGroup":
      case "OpGroupDecorate":
        return;
      default:
        if (IGNORED.includes(i.name)) return;
        throw new Error(`word ${i.word}: ${i.name} outside of a function`);
    }
  }

  #local(i: SpirvInstruction): void {
    const body = this.#function!;
    switch (i.name) {
      case "OpFunctionParameter":
        return void body.parameters.push(i.result);
      case "OpFunctionEnd":
        return void (this.#function = undefined);
      case "OpLabel":
        this.#block = {
          label: i.result,
          phis: [],
          body: [],
          terminator: undefined as never,
          merge: 0,
          continueTarget: 0,
          order: -1,
        };
        body.blocks.push(this.#block);
        return void body.byLabel.set(i.result, this.#block);
    }
    const block = this.#block;
    if (block === undefined) throw new Error(`word ${i.word}: ${i.name} outside of a block`);
    switch (i.name) {
      case "OpVariable": {
        if (i.type.kind !== "pointer") throw new Error(`variable ${i.result} has no pointer type`);
        // Functions of compilers are not called twice, so that a variable of one is one of the invocation.
        const rest = { builtIn: undefined, location: undefined, decorations: new Set<number>() };
        const [storage, initial = 0] = i.operands;
        return void this.#module.variables.push({ id: i.result, storage, type: i.type.to, initial, ...rest });
      }
      case "OpPhi":
        return void block.phis.push(i);
      case "OpLoopMerge":
        return void ([block.merge, block.continueTarget] = i.operands);
      case "OpSelectionMerge":
        return void (block.merge = i.operands[0]);
      case "OpBranch":
      case "OpBranchConditional":
      case "OpReturn":
      case "OpReturnValue":
      case "OpKill":
      case "OpUnreachable":
        block.terminator = i;
        return void (this.#block = undefined);
      default:
        return void block.body.push(i);
    }
  }
}

/** Labels that a block leads to. */
export function successors({ terminator: { name, operands } }: SpirvBlock): number[] {
  return name === "OpBranch" ? [operands[0]] : name === "OpBranchConditional" ? [operands[1], operands[2]] : [];
}

/**
 * Sorts blocks so that a construct is contiguous and stands before its merge block: a search from the entry that follows merge block and continue target
 * first, in reverse postorder. Lanes at the lowest block go first, so they wait for each other where constructs end.
 */
function orderBlocks(f: SpirvFunction): void {
  const order: SpirvBlock[] = [], seen = new Set<SpirvBlock>();
  const visit = (label: number) => {
    const block = f.byLabel.get(label);
    if (block === undefined) throw new Error(`no block ${label}`);
    if (seen.has(block)) return;
    seen.add(block);
    for (const next of [block.merge, block.continueTarget, ...successors(block).reverse()]) if (next !== 0) visit(next);
    order.push(block);
  };
  visit(f.blocks[0].label);
  f.blocks = order.reverse();
  f.blocks.forEach((block, index) => block.order = index);
}

/** Something that nobody expects, of a type: what has never been written. */
export function poisonOf(type: SpirvType): Value {
  return map(type, poison);
}

/** Zero of a type. */
export function zeroOf(type: SpirvType): Value {
  return map(type, (width) => width === 64 ? 0n : 0);
}

function map(type: SpirvType, f: (width: number) => number | bigint): Value {
  switch (type.kind) {
    case "bool":
      return f(1);
    case "int":
    case "float":
      return f(type.bits);
    case "vector":
    case "array":
      return Array.from({ length: type.count }, () => map(type.element, f));
    case "struct":
      return type.members.map((member) => map(member, f));
    default:
      throw new Error(`no value of a ${type.kind}`);
  }
}
