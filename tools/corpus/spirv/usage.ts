/**
 * What a module uses, in the terms of a summary: features that the recompiler must support, and operations whose results two devices need not
 * agree on to the last bit (Vulkan specification, "Precision and Operation of SPIR-V Instructions").
 *
 * @module
 */
import { Declarations } from "./declarations.ts";
import type { SpirvModule } from "./module.ts";
import { Op, StorageClass } from "./numbers.ts";
import { type Binding, capabilitiesOf, reflectBindings } from "./reflect.ts";

/** What a module uses. */
export interface ModuleUsage {
  /** Capabilities, as numbers. */
  readonly capabilities: readonly number[];
  /** Names of {@linkcode FEATURES} that hold. */
  readonly features: readonly string[];
  /** Operations that are not exact, by name; empty when every result is determined. */
  readonly inexact: readonly string[];
  /** Operations whose result is undefined for some operands, by name. */
  readonly partial: readonly string[];
}

/** What the features are judged by. */
interface Facts {
  readonly capabilities: ReadonlySet<number>;
  readonly opcodes: ReadonlySet<number>;
  readonly bindings: readonly Binding[];
  /** Storage classes of the module's variables. */
  readonly storage: ReadonlySet<number>;
  readonly specConstants: number;
}

const anyOf = (set: ReadonlySet<number>, first: number, last: number): boolean => {
  for (const value of set) if (value >= first && value <= last) return true;
  return false;
};
const image = (binding: Binding): boolean => /image|texel/.test(binding.type);

/** The features, in the order of the summary. */
export const FEATURES: Readonly<Record<string, (facts: Facts) => boolean>> = {
  "int8": ({ capabilities }) => capabilities.has(39),
  "int16": ({ capabilities }) => capabilities.has(22),
  "int64": ({ capabilities }) => capabilities.has(11),
  "float16": ({ capabilities }) => capabilities.has(9),
  "float64": ({ capabilities }) => capabilities.has(10),
  "8-bit storage": ({ capabilities }) => anyOf(capabilities, 4448, 4450),
  "16-bit storage": ({ capabilities }) => anyOf(capabilities, 4433, 4435),
  "shared memory": ({ storage }) => storage.has(StorageClass.Workgroup),
  "barrier": ({ opcodes }) => opcodes.has(224),
  "atomics": ({ opcodes }) => anyOf(opcodes, 227, 242),
  "subgroup operations": ({ opcodes }) => anyOf(opcodes, Op.GroupNonUniformFirst, Op.GroupNonUniformLast),
  "images": ({ bindings }) => bindings.some(image),
  "samplers": ({ bindings }) => bindings.some(({ type }) => /sampler/.test(type)),
  "uniform buffers": ({ bindings }) => bindings.some(({ type }) => type === "uniform_buffer"),
  "descriptor arrays": ({ bindings }) => bindings.some(({ count }) => count > 1),
  "buffer addresses": ({ capabilities }) => capabilities.has(5347),
  "push constants": ({ storage }) => storage.has(StorageClass.PushConstant),
  "specialization constants": ({ specConstants }) => specConstants > 0,
  "integer dot products": ({ opcodes }) => anyOf(opcodes, 4450, 4455),
  "mixed float dot products": ({ capabilities }) => anyOf(capabilities, 6912, 6915),
  "cooperative matrices": ({ capabilities }) => capabilities.has(6022) || capabilities.has(5357),
  "bfloat16 type": ({ capabilities }) => anyOf(capabilities, 5116, 5118),
};

/** Core instructions that are not exact. */
const INEXACT: Readonly<Record<number, string>> = {
  // A sum of products in any order, fused or not ("inherited from" it).
  144: "VectorTimesMatrix",
  145: "MatrixTimesVector",
  146: "MatrixTimesMatrix",
  148: "Dot",
  [Op.FDiv]: "FDiv",
  [Op.FRem]: "FRem",
  [Op.FMod]: "FMod",
  87: "ImageSampleImplicitLod",
  88: "ImageSampleExplicitLod",
  96: "ImageGather",
};

/** Instructions whose result is undefined for some operands: a number that the integer type cannot hold, a divisor that is zero. */
const PARTIAL: Readonly<Record<number, string>> = {
  109: "ConvertFToU",
  110: "ConvertFToS",
  134: "UDiv",
  135: "SDiv",
  137: "UMod",
  138: "SRem",
  139: "SMod",
};

/** Instructions of GLSL.std.450 that are not exact. Fma counts: it may be rounded once or twice. */
const INEXACT_GLSL: Readonly<Record<number, string>> = {
  11: "Radians",
  12: "Degrees",
  13: "Sin",
  14: "Cos",
  15: "Tan",
  16: "Asin",
  17: "Acos",
  18: "Atan",
  19: "Sinh",
  20: "Cosh",
  21: "Tanh",
  22: "Asinh",
  23: "Acosh",
  24: "Atanh",
  25: "Atan2",
  26: "Pow",
  27: "Exp",
  28: "Log",
  29: "Exp2",
  30: "Log2",
  31: "Sqrt",
  32: "InverseSqrt",
  33: "Determinant",
  34: "MatrixInverse",
  46: "FMix",
  49: "SmoothStep",
  50: "Fma",
  66: "Length",
  67: "Distance",
  68: "Cross",
  69: "Normalize",
  71: "Reflect",
  72: "Refract",
};

/** Reads what a module uses. */
export function usageOf(module: SpirvModule): ModuleUsage {
  const opcodes = new Set<number>(), inexact = new Set<string>(), partial = new Set<string>();
  let glsl = -1;
  for (const at of module.instructions()) {
    const opcode = module.opcode(at);
    opcodes.add(opcode);
    if (INEXACT[opcode] !== undefined) inexact.add(INEXACT[opcode]);
    if (PARTIAL[opcode] !== undefined) partial.add(PARTIAL[opcode]);
    if (opcode === Op.ExtInstImport && module.text(at, 2).text === "GLSL.std.450") glsl = module.operand(at, 1);
    if (opcode === Op.ExtInst && module.operand(at, 3) === glsl) {
      const name = INEXACT_GLSL[module.operand(at, 4)];
      if (name !== undefined) inexact.add(name);
    }
  }
  const declarations = new Declarations(module);
  const capabilities = capabilitiesOf(module);
  const facts: Facts = {
    capabilities: new Set(capabilities),
    opcodes,
    bindings: reflectBindings(declarations),
    storage: new Set(declarations.variables.map((at) => module.operand(at, 3))),
    specConstants: declarations.specConstants.length,
  };
  return {
    capabilities,
    features: Object.entries(FEATURES).filter(([, holds]) => holds(facts)).map(([name]) => name),
    inexact: [...inexact].sort(),
    partial: [...partial].sort(),
  };
}
