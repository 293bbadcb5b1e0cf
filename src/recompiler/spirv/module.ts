import { Push, StagePush } from "../abi.ts";
import { BuiltIn, Capability, Code, Decoration, Mode, Storage } from "./codes.ts";
import { Words } from "./words.ts";

const MAGIC = 0x07230203;
const VERSION_1_5 = 0x00010500;
/** Words of "main" and "GLSL.std.450", zero-terminated, little endian (SPIR-V specification, "Literal"). */
const TEXT_MAIN = [0x6e69616d, 0];
const TEXT_GLSL = [0x4c534c47, 0x6474732e, 0x3035342e, 0];
/** Addressing model PhysicalStorageBuffer64. */
const PHYSICAL_STORAGE_BUFFER_64 = 5348;
/**
 * Memory model GLSL450, and not Vulkan: every access is then non-private without a word more, where the Vulkan model needs NonPrivatePointer
 * and scope ids on loads, stores and barriers that matter. A load that must see other workgroups' data is atomic (runtime/shared.ts).
 */
const GLSL450 = 1;
const GL_COMPUTE = 5;

/** Names of the types that a module may need; the value is an index into the module's cache of type ids. */
export const T = {
  Void: 0,
  Bool: 1,
  U32: 2,
  F32: 3,
  U64: 4,
  F64: 5,
  /** Vectors of U32. */
  V2: 6,
  V3: 7,
  V4: 8,
  U8: 9,
  U16: 10,
  /** Vectors of F32. */
  F32x2: 11,
  F32x3: 12,
  F32x4: 13,
  /** Vector of two U64. */
  U64x2: 14,
  F16: 15,
  F16x2: 16,
  Bool2: 17,
  Bool3: 18,
  Bool4: 19,
  /** Signed, for what the host wants to have signed: outputs. */
  I32: 20,
  I32x4: 21,
} as const;
/** One of the values of {@linkcode T}; the first nine are those of the IR's `Type`. */
export type T = typeof T[keyof typeof T];

/** Bits of {@linkcode T} scalar integers and floats; element type and count of vectors. */
const INTEGER_BITS: readonly (number | undefined)[] = [, , 32, , 64, , , , , 8, 16, , , , , , , , , , 32];
const VECTORS: readonly (readonly [T, number] | undefined)[] = [
  ...new Array(6),
  [T.U32, 2],
  [T.U32, 3],
  [T.U32, 4],
  ,
  ,
  [T.F32, 2],
  [T.F32, 3],
  [T.F32, 4],
  [T.U64, 2],
  ,
  [T.F16, 2],
  [T.Bool, 2],
  [T.Bool, 3],
  [T.Bool, 4],
  ,
  [T.I32, 4],
];
const TYPE_COUNT = 22;
/** Built-ins that are one number. */
const NUMBERS: ReadonlySet<number> = new Set([
  BuiltIn.LocalInvocationIndex,
  BuiltIn.SubgroupId,
  BuiltIn.SubgroupLocalInvocationId,
]);

/**
 * A SPIR-V module under construction: its sections in the order that the specification demands ("Logical layout of a module"), types and
 * constants without duplicates, and the id counter. Function bodies are written by {@linkcode Body} objects and handed in.
 */
export class Module {
  /** The next free id. */
  bound = 1;
  private readonly capabilities = new Set<number>();
  private readonly modes = new Words();
  private readonly decorations = new Words();
  private readonly globals = new Words(512);
  private readonly interfaces: number[] = [];
  private readonly functions: Words[] = [];
  private glslImport = 0;
  private readonly types = new Int32Array(TYPE_COUNT);
  private readonly pointers = new Map<number, number>();
  private readonly constants = new Map<number, number>();
  private readonly wideConstants = new Map<string, number>();
  private readonly undefs = new Int32Array(TYPE_COUNT);
  private readonly builtIns = new Map<number, number>();
  private readonly functionTypes = new Map<string, number>();
  private readonly pushMembers: { offset: number; type: T }[] = [];
  private pushVariableId = 0;
  /** Names of SPIR-V extensions that are needed. */
  private readonly extensions = new Set<string>();
  /** Whether loads may be atomic. Not where lanes may be helpers of pixels, which get nothing from atomic operations (Vulkan, "Helper Invocations"). */
  atomicLoads = true;
  /** Byte offset of this module's part in the push constants: stages of one pipeline have one block each. */
  pushBase = 0;
  /** Id of the entry point function. */
  readonly main = this.bound++;

  constructor() {
    this.capability(Capability.Shader);
    this.capability(Capability.PhysicalStorageBufferAddresses);
  }

  /** Declares a capability. */
  capability(capability: number): void {
    this.capabilities.add(capability);
  }

  /** Declares a SPIR-V extension. */
  extension(name: string): void {
    this.extensions.add(name);
  }

  /** Declares an execution mode of the entry point. */
  mode(mode: number, ...literals: number[]): void {
    this.modes.put(Code.ExecutionMode, [this.main, mode, ...literals]);
  }

  /** Decorates an id. */
  decorate(target: number, decoration: number, ...literals: number[]): void {
    this.decorations.put(Code.Decorate, [target, decoration, ...literals]);
  }

  /** Decorates many ids with one decoration without literals: one word an id when there are enough of them, else three. */
  decorateAll(targets: readonly number[], decoration: number): void {
    if (targets.length <= 3) {
      for (const target of targets) this.decorations.put3(Code.Decorate, target, decoration);
      return;
    }
    const group = this.bound++;
    this.decorations.put3(Code.Decorate, group, decoration);
    this.decorations.put2(Code.DecorationGroup, group);
    // An instruction has at most 65,535 words.
    for (let from = 0; from < targets.length; from += 65_000) {
      this.decorations.put(Code.GroupDecorate, [group, ...targets.slice(from, from + 65_000)]);
    }
  }

  /** Id of a type. */
  type(type: T): number {
    const known = this.types[type];
    return known !== 0 ? known : this.declareType(type);
  }

  /** Id of the pointer type to `type` in a storage class. */
  pointer(storage: number, type: T): number {
    return this.pointerTo(storage, this.type(type));
  }

  /** Id of the pointer type to a type given by id. */
  pointerTo(storage: number, typeId: number): number {
    const key = storage * 0x1_0000_0000 + typeId;
    let id = this.pointers.get(key);
    if (id === undefined) {
      id = this.bound++;
      this.globals.put4(Code.TypePointer, id, storage, typeId);
      this.pointers.set(key, id);
    }
    return id;
  }

  /** Id of an array type whose elements are `stride` bytes apart. */
  strided(element: T, count: number, stride: number): number {
    const key = `array:${element}:${count}:${stride}`;
    let id = this.functionTypes.get(key);
    if (id === undefined) {
      const typeId = this.type(element), length = this.u32(count);
      id = this.bound++;
      this.globals.put4(Code.TypeArray, id, typeId, length);
      this.decorate(id, Decoration.ArrayStride, stride);
      this.functionTypes.set(key, id);
    }
    return id;
  }

  /** Id of an array type without a layout. */
  array(element: T, count: number): number {
    const key = `plain:${element}:${count}`;
    let id = this.functionTypes.get(key);
    if (id === undefined) {
      const typeId = this.type(element), length = this.u32(count);
      id = this.bound++;
      this.globals.put4(Code.TypeArray, id, typeId, length);
      this.functionTypes.set(key, id);
    }
    return id;
  }

  /** Id of a new struct type for buffers: members by type id and byte offset. */
  block(members: readonly { readonly type: number; readonly offset: number }[]): number {
    const id = this.bound++;
    this.globals.put(Code.TypeStruct, [id, ...members.map(({ type }) => type)]);
    this.decorate(id, Decoration.Block);
    members.forEach(({ offset }, index) =>
      this.decorations.put(Code.MemberDecorate, [id, index, Decoration.Offset, offset])
    );
    return id;
  }

  /** Id of a struct type of two U32, which the multiplications with a high half give. */
  pairType(): number {
    let id = this.functionTypes.get("pair");
    if (id === undefined) {
      const word = this.type(T.U32);
      id = this.bound++;
      this.globals.put4(Code.TypeStruct, id, word, word);
      this.functionTypes.set("pair", id);
    }
    return id;
  }

  /** Id of a function type. */
  functionType(result: T, parameters: readonly T[]): number {
    const key = `${result}(${parameters.join()})`;
    let id = this.functionTypes.get(key);
    if (id === undefined) {
      const operands = [result, ...parameters].map((type) => this.type(type));
      id = this.bound++;
      this.globals.put(Code.TypeFunction, [id, ...operands]);
      this.functionTypes.set(key, id);
    }
    return id;
  }

  /** Id of the U32 constant. */
  u32(bits: number): number {
    return this.constant(T.U32, bits);
  }

  /** Id of a constant of a 32-bit type (the bits), or of Bool (0 or 1). */
  constant(type: T, bits: number): number {
    const key = (bits >>> 0) + type * 0x1_0000_0000;
    let id = this.constants.get(key);
    if (id === undefined) {
      const typeId = this.type(type);
      id = this.bound++;
      if (type === T.Bool) this.globals.put3(bits !== 0 ? Code.ConstantTrue : Code.ConstantFalse, typeId, id);
      else this.globals.put4(Code.Constant, typeId, id, bits);
      this.constants.set(key, id);
    }
    return id;
  }

  /** Id of a constant of a 64-bit type. */
  constant64(type: T, low: number, high: number): number {
    const key = `${type}:${low >>> 0}:${high >>> 0}`;
    let id = this.wideConstants.get(key);
    if (id === undefined) {
      const typeId = this.type(type);
      id = this.bound++;
      this.globals.put5(Code.Constant, typeId, id, low, high);
      this.wideConstants.set(key, id);
    }
    return id;
  }

  /** Id of the U64 constant of a small number. */
  u64(value: number): number {
    return this.constant64(T.U64, value, Math.floor(value / 0x1_0000_0000));
  }

  /** Id of an undefined value of a type. */
  undef(type: T): number {
    if (this.undefs[type] === 0) {
      const typeId = this.type(type);
      this.undefs[type] = this.bound++;
      this.globals.put3(Code.Undef, typeId, this.undefs[type]);
    }
    return this.undefs[type];
  }

  /** Id of a zero of a type (false for Bool). */
  zero(type: T): number {
    if (type === T.Bool || type === T.U32 || type === T.F32) return this.constant(type, 0);
    const key = `null:${type}`;
    let id = this.wideConstants.get(key);
    if (id === undefined) {
      const typeId = this.type(type);
      id = this.bound++;
      this.globals.put3(Code.ConstantNull, typeId, id);
      this.wideConstants.set(key, id);
    }
    return id;
  }

  /** A global variable, with a constant to begin with if one is given; returns its id. */
  variable(storage: number, typeId: number, initial = 0): number {
    const pointer = this.pointerTo(storage, typeId);
    const id = this.bound++;
    if (initial !== 0) this.globals.put5(Code.Variable, pointer, id, storage, initial);
    else this.globals.put4(Code.Variable, pointer, id, storage);
    this.interfaces.push(id);
    return id;
  }

  /** A workgroup array of U32 or another scalar type; returns the id of the variable. */
  sharedArray(length: number, element: T = T.U32): number {
    const word = this.type(element);
    const count = this.u32(length);
    const array = this.bound++;
    this.globals.put4(Code.TypeArray, array, word, count);
    return this.variable(Storage.Workgroup, array);
  }

  /** The input variable of a built-in: U32 for the flat index and a subgroup's numbers, else a vector of three. */
  builtIn(builtIn: number): number {
    let id = this.builtIns.get(builtIn);
    if (id === undefined) {
      id = this.variable(Storage.Input, this.type(NUMBERS.has(builtIn) ? T.U32 : T.V3));
      this.decorate(id, Decoration.BuiltIn, builtIn);
      this.builtIns.set(builtIn, id);
    }
    return id;
  }

  /** The push constant block. Only members that somebody asks for are declared. */
  get pushVariable(): number {
    return this.pushVariableId !== 0 ? this.pushVariableId : (this.pushVariableId = this.bound++);
  }

  /** Index in the push constant block of the member at a byte offset. */
  pushMember(offset: number, type: T): number {
    let index = this.pushMembers.findIndex((member) => member.offset === offset);
    if (index < 0) index = this.pushMembers.push({ offset, type }) - 1;
    return index;
  }

  /** Id of the imported GLSL.std.450 instruction set. */
  get glsl(): number {
    return this.glslImport !== 0 ? this.glslImport : (this.glslImport = this.bound++);
  }

  /** Adds a finished function. */
  addFunction(words: Words): void {
    this.functions.push(words);
  }

  /** Words of the finished functions. */
  get functionWords(): number {
    return this.functions.reduce((sum, words) => sum + words.length, 0);
  }

  /** Joins all sections into the module's words. `localSize` is the workgroup size. */
  finish(localSize: readonly [number, number, number]): Uint32Array {
    this.mode(Mode.LocalSize, ...localSize);
    return this.finishStage(GL_COMPUTE);
  }

  /** Joins all sections into the words of a module of any execution model. */
  finishStage(model: number): Uint32Array {
    this.finishPushConstants();
    const head = new Words(64);
    for (const capability of this.capabilities) head.put2(Code.Capability, capability);
    for (const name of this.extensions) head.put(Code.Extension, textWords(name));
    if (this.glslImport !== 0) head.put(Code.ExtInstImport, [this.glslImport, ...TEXT_GLSL]);
    head.put3(Code.MemoryModel, PHYSICAL_STORAGE_BUFFER_64, GLSL450);
    head.put(Code.EntryPoint, [model, this.main, ...TEXT_MAIN, ...this.interfaces]);
    const sections = [head, this.modes, this.decorations, this.globals, ...this.functions];
    const words = new Uint32Array(sections.reduce((sum, section) => sum + section.length, 5));
    words.set([MAGIC, VERSION_1_5, 0, this.bound, 0]);
    let at = 5;
    for (const section of sections) {
      words.set(section.data.subarray(0, section.length), at);
      at += section.length;
    }
    return words;
  }

  private finishPushConstants(): void {
    if (this.pushVariableId === 0) return;
    // Members of a block may stand in any order of offsets, so indices given out earlier stay valid.
    const members = this.pushMembers.map(({ type }) => this.type(type));
    const struct = this.bound++;
    this.globals.put(Code.TypeStruct, [struct, ...members]);
    this.decorate(struct, Decoration.Block);
    this.pushMembers.forEach(({ offset }, index) =>
      this.decorations.put(Code.MemberDecorate, [struct, index, Decoration.Offset, this.pushBase + offset])
    );
    const pointer = this.pointerTo(Storage.PushConstant, struct);
    this.globals.put4(Code.Variable, pointer, this.pushVariableId, Storage.PushConstant);
    this.interfaces.push(this.pushVariableId);
  }

  private declareType(type: T): number {
    const bits = INTEGER_BITS[type];
    const vector = VECTORS[type];
    if (type === T.U64) this.capability(Capability.Int64);
    if (type === T.F64) this.capability(Capability.Float64);
    if (type === T.F16) this.capability(Capability.Float16);
    if (type === T.U8) this.capability(Capability.StorageBuffer8BitAccess);
    if (type === T.U16) this.capability(Capability.StorageBuffer16BitAccess);
    if (vector !== undefined) {
      const element = this.type(vector[0]);
      const id = this.types[type] = this.bound++;
      this.globals.put4(Code.TypeVector, id, element, vector[1]);
      return id;
    }
    const id = this.types[type] = this.bound++;
    if (bits !== undefined) this.globals.put4(Code.TypeInt, id, bits, type === T.I32 ? 1 : 0);
    else if (type === T.Void) this.globals.put2(Code.TypeVoid, id);
    else if (type === T.Bool) this.globals.put2(Code.TypeBool, id);
    else this.globals.put3(Code.TypeFloat, id, type === T.F64 ? 64 : type === T.F16 ? 16 : 32);
    return id;
  }
}

/** Words of a text, zero-terminated, little endian. */
function textWords(text: string): number[] {
  const bytes = new Uint8Array(Math.floor(text.length / 4 + 1) * 4);
  bytes.set(new TextEncoder().encode(text));
  return [...new Uint32Array(bytes.buffer)];
}

/** Byte offset and type of the push constant members. */
export const PUSH_MEMBERS = {
  context: { offset: Push.Context, type: T.U64 },
  threadLimit: (axis: number) => ({ offset: Push.ThreadLimit + axis * 4, type: T.U32 }),
  scratchWaveBytes: { offset: Push.ScratchWaveBytes, type: T.U32 },
  /** Graphics stages: device address of the user data. */
  userDataAddress: { offset: StagePush.UserData, type: T.U64 },
  /** Four user data registers at a time. */
  userData: (quad: number) => ({ offset: Push.UserData + quad * 16, type: T.V4 }),
} as const;
