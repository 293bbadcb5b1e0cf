/**
 * Numbers of the SPIR-V binary form (Khronos SPIR-V specification 1.6, section 3 "Binary Form", and the registered extensions). Only what
 * the corpus tool looks at is listed.
 *
 * @module
 */

/** First word of a module. */
export const MAGIC = 0x07230203;

/** Words of the header: magic, version, generator, bound, schema. */
export const HEADER_WORDS = 5;

/** Opcodes. */
export const Op = {
  Source: 3,
  SourceExtension: 4,
  Name: 5,
  MemberName: 6,
  String: 7,
  Line: 8,
  Extension: 10,
  ExtInstImport: 11,
  ExtInst: 12,
  MemoryModel: 14,
  EntryPoint: 15,
  ExecutionMode: 16,
  Capability: 17,
  TypeBool: 20,
  TypeInt: 21,
  TypeFloat: 22,
  TypeVector: 23,
  TypeMatrix: 24,
  TypeImage: 25,
  TypeSampler: 26,
  TypeSampledImage: 27,
  TypeArray: 28,
  TypeRuntimeArray: 29,
  TypeStruct: 30,
  TypePointer: 32,
  ConstantTrue: 41,
  ConstantFalse: 42,
  Constant: 43,
  ConstantComposite: 44,
  SpecConstantTrue: 48,
  SpecConstantFalse: 49,
  SpecConstant: 50,
  SpecConstantComposite: 51,
  SpecConstantOp: 52,
  Function: 54,
  FunctionEnd: 56,
  Variable: 59,
  Decorate: 71,
  MemberDecorate: 72,
  DecorationGroup: 73,
  GroupDecorate: 74,
  GroupMemberDecorate: 75,
  FNegate: 127,
  IAdd: 128,
  FAdd: 129,
  ISub: 130,
  FSub: 131,
  IMul: 132,
  FMul: 133,
  UDiv: 134,
  FDiv: 136,
  UMod: 137,
  FRem: 140,
  FMod: 141,
  VectorTimesScalar: 142,
  MatrixTimesScalar: 143,
  VectorTimesMatrix: 144,
  MatrixTimesVector: 145,
  MatrixTimesMatrix: 146,
  OuterProduct: 147,
  Dot: 148,
  ShiftRightLogical: 194,
  ShiftLeftLogical: 196,
  BitwiseOr: 197,
  BitwiseXor: 198,
  BitwiseAnd: 199,
  NoLine: 317,
  ModuleProcessed: 330,
  ExecutionModeId: 331,
  DecorateId: 332,
  GroupNonUniformFirst: 333,
  GroupNonUniformLast: 366,
  DecorateString: 5632,
  MemberDecorateString: 5633,
} as const;

/** Decorations. */
export const Decoration = {
  SpecId: 1,
  BufferBlock: 3,
  RowMajor: 4,
  ArrayStride: 6,
  MatrixStride: 7,
  BuiltIn: 11,
  Binding: 33,
  DescriptorSet: 34,
  Offset: 35,
  NoContraction: 42,
} as const;

/** Built-in variables and constants. */
export const BuiltIn = { WorkgroupSize: 25 } as const;

/** Storage classes. */
export const StorageClass = {
  UniformConstant: 0,
  Uniform: 2,
  Workgroup: 4,
  PushConstant: 9,
  StorageBuffer: 12,
} as const;

/** Execution models. */
export const ExecutionModel = { GLCompute: 5 } as const;

/** Execution modes. */
export const ExecutionMode = {
  LocalSize: 17,
  LocalSizeId: 38,
  DenormPreserve: 4459,
  DenormFlushToZero: 4460,
  SignedZeroInfNanPreserve: 4461,
} as const;

/** Image dimensions that are no plain image. */
export const Dim = { Buffer: 5, SubpassData: 6 } as const;

/** GLSL.std.450 instructions. */
export const Glsl = { Fma: 50 } as const;

/** Capabilities that the tool adds or asks for. */
export const Capability = {
  DenormPreserve: 4464,
  SignedZeroInfNanPreserve: 4466,
  FloatControls2: 6029,
} as const;

const CAPABILITY_NAMES: Readonly<Record<number, string>> = {
  0: "Matrix",
  1: "Shader",
  9: "Float16",
  10: "Float64",
  11: "Int64",
  12: "Int64Atomics",
  22: "Int16",
  25: "ImageGatherExtended",
  27: "StorageImageMultisample",
  28: "UniformBufferArrayDynamicIndexing",
  29: "SampledImageArrayDynamicIndexing",
  30: "StorageBufferArrayDynamicIndexing",
  31: "StorageImageArrayDynamicIndexing",
  39: "Int8",
  43: "Sampled1D",
  44: "Image1D",
  46: "SampledBuffer",
  47: "ImageBuffer",
  49: "StorageImageExtendedFormats",
  50: "ImageQuery",
  55: "StorageImageReadWithoutFormat",
  56: "StorageImageWriteWithoutFormat",
  61: "GroupNonUniform",
  62: "GroupNonUniformVote",
  63: "GroupNonUniformArithmetic",
  64: "GroupNonUniformBallot",
  65: "GroupNonUniformShuffle",
  66: "GroupNonUniformShuffleRelative",
  67: "GroupNonUniformClustered",
  68: "GroupNonUniformQuad",
  4423: "SubgroupBallotKHR",
  4428: "WorkgroupMemoryExplicitLayoutKHR",
  4429: "WorkgroupMemoryExplicitLayout8BitAccessKHR",
  4430: "WorkgroupMemoryExplicitLayout16BitAccessKHR",
  4433: "StorageBuffer16BitAccess",
  4434: "UniformAndStorageBuffer16BitAccess",
  4435: "StoragePushConstant16",
  4448: "StorageBuffer8BitAccess",
  4449: "UniformAndStorageBuffer8BitAccess",
  4450: "StoragePushConstant8",
  4464: "DenormPreserve",
  4465: "DenormFlushToZero",
  4466: "SignedZeroInfNanPreserve",
  4467: "RoundingModeRTE",
  4468: "RoundingModeRTZ",
  5116: "BFloat16TypeKHR",
  5117: "BFloat16DotProductKHR",
  5118: "BFloat16CooperativeMatrixKHR",
  5301: "ShaderNonUniform",
  5302: "RuntimeDescriptorArray",
  5345: "VulkanMemoryModel",
  5346: "VulkanMemoryModelDeviceScope",
  5347: "PhysicalStorageBufferAddresses",
  5357: "CooperativeMatrixNV",
  5430: "CooperativeMatrixReductionsNV",
  5431: "CooperativeMatrixConversionsNV",
  5432: "CooperativeMatrixPerElementOperationsNV",
  5433: "CooperativeMatrixTensorAddressingNV",
  5434: "CooperativeMatrixBlockLoadsNV",
  5439: "TensorAddressingNV",
  6016: "DotProductInputAll",
  6017: "DotProductInput4x8Bit",
  6018: "DotProductInput4x8BitPacked",
  6019: "DotProduct",
  6022: "CooperativeMatrixKHR",
  6029: "FloatControls2",
  6912: "DotProductFloat16AccFloat32VALVE",
};

/** Name of a capability; its number when it is not in the table. */
export function capabilityName(capability: number): string {
  return CAPABILITY_NAMES[capability] ?? `capability ${capability}`;
}
