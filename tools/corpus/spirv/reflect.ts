/**
 * What a pipeline layout and a launch must know of a compute module: its bindings, push constants, specialization constants, workgroup size.
 * Meaning of the decorations: Vulkan specification, "Shader Resource Interface" and "Built-In Variables".
 *
 * @module
 */
import { InvalidInputError } from "../../../src/errors.ts";
import { Declarations, type Specialization } from "./declarations.ts";
import type { SpirvModule } from "./module.ts";
import { BuiltIn, Decoration, Dim, ExecutionMode, ExecutionModel, Op, StorageClass } from "./numbers.ts";

/** Type of a descriptor, in the words of the Vulkan specification, "Descriptor Types". */
export type DescriptorType =
  | "sampler"
  | "combined_image_sampler"
  | "sampled_image"
  | "storage_image"
  | "uniform_texel_buffer"
  | "storage_texel_buffer"
  | "uniform_buffer"
  | "storage_buffer";

/** A descriptor, or an array of them. */
export interface Binding {
  readonly set: number;
  readonly binding: number;
  readonly type: DescriptorType;
  /** Elements; 1 for what is no array. */
  readonly count: number;
  /** Bytes of a uniform block; 0 for everything else. */
  readonly blockBytes: number;
  /** Name of the variable, or of its block; empty when the module names neither. */
  readonly name: string;
}

/** A specialization constant. */
export interface SpecConstant {
  /** SpecId. */
  readonly id: number;
  readonly type: "bool" | "int" | "uint" | "float";
  /** Bits of a value; 1 for a Boolean. */
  readonly bits: number;
  /** Raw bits: the given value, or the module's default; see reflectSpecConstants for one that has several. */
  readonly value: bigint;
}

/** A compute module's interface. */
export interface ComputeInterface {
  readonly entryPoint: string;
  /** By set and binding number; variables that share a binding are one. */
  readonly bindings: readonly Binding[];
  /** Bytes of the push-constant block, a multiple of 4. */
  readonly pushConstantBytes: number;
  /** By SpecId. */
  readonly specConstants: readonly SpecConstant[];
  readonly workgroupSize: readonly [number, number, number];
}

/** Options of {@linkcode reflectCompute}. */
export interface ReflectOptions {
  /** Needed when the module has several compute entry points. */
  readonly entryPoint?: string;
  /** Values of specialization constants by SpecId, as raw bits; the module's defaults hold for the others. */
  readonly specialization?: Specialization;
}

/**
 * Reads the interface of a compute module.
 *
 * @throws {InvalidInputError} `spirv.entry-point`, `spirv.specialization`, `spirv.binding`, or what {@linkcode Declarations} throws
 */
export function reflectCompute(module: SpirvModule, options: ReflectOptions = {}): ComputeInterface {
  const { specialization = new Map() } = options;
  const declarations = new Declarations(module);
  const entry = chooseEntryPoint(module, options.entryPoint);
  const specConstants = reflectSpecConstants(declarations, specialization);
  declarations.specialize(new Map(specConstants.map(({ id, value }) => [id, value])));
  return {
    entryPoint: entry.name,
    bindings: reflectBindings(declarations),
    pushConstantBytes: pushConstantBytes(declarations),
    specConstants,
    workgroupSize: workgroupSize(declarations, entry.id),
  };
}

/** Capabilities that a module declares, as numbers. */
export function capabilitiesOf(module: SpirvModule): number[] {
  return [...module.instructions()].filter((at) => module.opcode(at) === Op.Capability).map((at) =>
    module.operand(at, 1)
  );
}

/** The module's resources, by set and binding number. */
export function reflectBindings(declarations: Declarations): Binding[] {
  const bindings = new Map<string, Binding>();
  for (const at of declarations.variables) {
    const found = bindingOf(declarations, at);
    if (found === undefined) continue;
    const key = `${found.set}.${found.binding}`, other = bindings.get(key);
    if (other !== undefined && other.type !== found.type) {
      declarations.module.fail(at, "spirv.binding", `binding ${key} is a ${other.type} and a ${found.type}`);
    }
    bindings.set(key, {
      ...found,
      count: Math.max(found.count, other?.count ?? 0),
      blockBytes: Math.max(found.blockBytes, other?.blockBytes ?? 0),
      name: other?.name || found.name,
    });
  }
  return [...bindings.values()].sort((a, b) => a.set - b.set || a.binding - b.binding);
}

function chooseEntryPoint(module: SpirvModule, wanted: string | undefined): { name: string; id: number } {
  const found = [...module.instructions()].filter((at) =>
    module.opcode(at) === Op.EntryPoint && module.operand(at, 1) === ExecutionModel.GLCompute
  ).map((at) => ({ id: module.operand(at, 2), name: module.text(at, 3).text }));
  const fitting = wanted === undefined ? found : found.filter(({ name }) => name === wanted);
  if (fitting.length === 1) return fitting[0];
  const names = found.map(({ name }) => name).join(", ") || "none";
  throw new InvalidInputError(
    "spirv.entry-point",
    wanted === undefined
      ? `one compute entry point is needed; the module has: ${names}`
      : `no compute entry point is named ${wanted}; the module has: ${names}`,
    { file: module.file },
  );
}

function bindingOf(declarations: Declarations, at: number): Binding | undefined {
  const { module } = declarations;
  const id = module.operand(at, 2), storage = module.operand(at, 3);
  const set = declarations.decoration(id, Decoration.DescriptorSet),
    binding = declarations.decoration(id, Decoration.Binding);
  if (set === undefined || binding === undefined) return undefined;
  let type = module.operand(declarations.definition(module.operand(at, 1), at), 3), count = 1;
  let definition = declarations.definition(type, at);
  while (module.opcode(definition) === Op.TypeArray) {
    count *= declarations.count(module.operand(definition, 3), definition);
    type = module.operand(definition, 2);
    definition = declarations.definition(type, definition);
  }
  if (module.opcode(definition) === Op.TypeRuntimeArray) {
    module.fail(at, "spirv.binding", `binding ${set}.${binding} is an array of descriptors without a size`);
  }
  const kind = descriptorType(declarations, storage, type, definition) ??
    module.fail(at, "spirv.binding", `binding ${set}.${binding} is a resource of a kind that is not read`);
  return {
    set,
    binding,
    type: kind,
    count,
    blockBytes: kind === "uniform_buffer" ? declarations.byteSize(type, at) : 0,
    name: declarations.name(id) || declarations.name(type),
  };
}

function descriptorType(
  declarations: Declarations,
  storage: number,
  type: number,
  definition: number,
): DescriptorType | undefined {
  const { module } = declarations;
  if (storage === StorageClass.StorageBuffer) return "storage_buffer";
  if (storage === StorageClass.Uniform) {
    return declarations.decoration(type, Decoration.BufferBlock) === undefined ? "uniform_buffer" : "storage_buffer";
  }
  if (storage !== StorageClass.UniformConstant) return undefined;
  switch (module.opcode(definition)) {
    case Op.TypeSampler:
      return "sampler";
    case Op.TypeSampledImage: {
      const image = declarations.definition(module.operand(definition, 2), definition);
      return module.operand(image, 3) === Dim.Buffer ? "uniform_texel_buffer" : "combined_image_sampler";
    }
    case Op.TypeImage: {
      // Operands: result, sampled type, dim, depth, arrayed, multisampled, sampled (1 with a sampler, 2 storage), format.
      const dim = module.operand(definition, 3), storageImage = module.operand(definition, 7) === 2;
      if (dim === Dim.Buffer) return storageImage ? "storage_texel_buffer" : "uniform_texel_buffer";
      if (dim === Dim.SubpassData) return undefined;
      return storageImage ? "storage_image" : "sampled_image";
    }
  }
  return undefined;
}

/** Bytes of the push-constant block, a multiple of 4. */
export function pushConstantBytes(declarations: Declarations): number {
  const { module } = declarations;
  const sizes = declarations.variables.filter((at) => module.operand(at, 3) === StorageClass.PushConstant).map((at) =>
    declarations.byteSize(module.operand(declarations.definition(module.operand(at, 1), at), 3), at)
  );
  return Math.ceil(Math.max(0, ...sizes) / 4) * 4;
}

/**
 * One entry for each SpecId. Without a given value the module's default holds. A SpecId may be declared several times with different defaults:
 * glslang writes a default of 1 for `local_size_x_id` beside the shader's own constant with the same number. A pipeline gives all of them one
 * value, so the defaults as written describe no real use; the largest of them is taken.
 */
function reflectSpecConstants(declarations: Declarations, specialization: Specialization): SpecConstant[] {
  const { module } = declarations;
  const constants = new Map<number, SpecConstant>();
  for (const at of declarations.specConstants) {
    const id = declarations.decoration(module.operand(at, 2), Decoration.SpecId);
    if (id === undefined) continue;
    const type = declarations.definition(module.operand(at, 1), at);
    const bits = declarations.scalarBits(module.operand(at, 1), at);
    const given = specialization.get(id), other = constants.get(id);
    if (given !== undefined && BigInt.asUintN(bits, given) !== given) {
      module.fail(at, "spirv.specialization", `${given} for specialization constant ${id} has more than ${bits} bits`);
    }
    if (other !== undefined && other.bits !== bits) {
      module.fail(at, "spirv.specialization", `specialization constant ${id} has ${other.bits} bits and ${bits} bits`);
    }
    const value = given ?? declarations.literal(at);
    if (other === undefined || value > other.value) {
      constants.set(id, { id, type: scalarName(module, type), bits, value });
    }
  }
  for (const id of specialization.keys()) {
    if (!constants.has(id)) {
      throw new InvalidInputError("spirv.specialization", `the module has no specialization constant ${id}`, {
        file: module.file,
      });
    }
  }
  return [...constants.values()].sort((a, b) => a.id - b.id);
}

function scalarName(module: SpirvModule, type: number): SpecConstant["type"] {
  switch (module.opcode(type)) {
    case Op.TypeBool:
      return "bool";
    case Op.TypeFloat:
      return "float";
    default:
      return module.operand(type, 3) === 0 ? "uint" : "int";
  }
}

/** A constant that is decorated WorkgroupSize wins over the execution modes (Vulkan specification, "WorkgroupSize"). */
function workgroupSize(declarations: Declarations, entry: number): [number, number, number] {
  const { module } = declarations;
  for (const [id, builtIn] of declarations.decorated(Decoration.BuiltIn)) {
    if (builtIn !== BuiltIn.WorkgroupSize) continue;
    const at = declarations.definition(id, 0);
    return sizes([3, 4, 5].map((operand) => declarations.count(module.operand(at, operand), at)));
  }
  for (const at of module.instructions()) {
    const opcode = module.opcode(at);
    if (opcode === Op.Function) break;
    if ((opcode !== Op.ExecutionMode && opcode !== Op.ExecutionModeId) || module.operand(at, 1) !== entry) continue;
    const operands = [3, 4, 5];
    if (module.operand(at, 2) === ExecutionMode.LocalSize) return sizes(operands.map((i) => module.operand(at, i)));
    if (module.operand(at, 2) === ExecutionMode.LocalSizeId) {
      return sizes(operands.map((i) => declarations.count(module.operand(at, i), at)));
    }
  }
  throw new InvalidInputError("spirv.workgroup-size", "the entry point has no workgroup size", { file: module.file });
}

function sizes([x, y, z]: number[]): [number, number, number] {
  return [x, y, z];
}
