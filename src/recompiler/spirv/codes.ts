/**
 * Numbers of the SPIR-V binary form that the emitter uses (Khronos SPIR-V specification 1.5, section 3 "Binary Form"; GLSL.std.450 extended
 * instruction set). Only what is used is listed. {@linkcode OPERANDS} says of each instruction what its words are, for the verifier.
 */

/** Opcodes with their operand words: see {@linkcode OPERANDS}. */
const INSTRUCTIONS = {
  Undef: [1, "tr"],
  Extension: [10, "l*"],
  ExtInstImport: [11, "rl*"],
  ExtInst: [12, "trili*"],
  MemoryModel: [14, "ll"],
  EntryPoint: [15, "lil*"],
  ExecutionMode: [16, "ill*"],
  Capability: [17, "l"],
  TypeVoid: [19, "r"],
  TypeBool: [20, "r"],
  TypeInt: [21, "rll"],
  TypeFloat: [22, "rl"],
  TypeVector: [23, "ril"],
  TypeArray: [28, "rii"],
  TypeStruct: [30, "ri*"],
  TypePointer: [32, "rli"],
  TypeFunction: [33, "rii*"],
  ConstantTrue: [41, "tr"],
  ConstantFalse: [42, "tr"],
  Constant: [43, "trll*"],
  ConstantComposite: [44, "tri*"],
  ConstantNull: [46, "tr"],
  Function: [54, "trli"],
  FunctionParameter: [55, "tr"],
  FunctionEnd: [56, ""],
  FunctionCall: [57, "trii*"],
  Variable: [59, "trli*"],
  Load: [61, "tril*"],
  Store: [62, "iil*"],
  AccessChain: [65, "trii*"],
  Decorate: [71, "ill*"],
  MemberDecorate: [72, "illl*"],
  DecorationGroup: [73, "r"],
  GroupDecorate: [74, "ii*"],
  CompositeConstruct: [80, "tri*"],
  CompositeExtract: [81, "tril*"],
  ConvertFToU: [109, "tri"],
  ConvertFToS: [110, "tri"],
  ConvertSToF: [111, "tri"],
  ConvertUToF: [112, "tri"],
  UConvert: [113, "tri"],
  SConvert: [114, "tri"],
  FConvert: [115, "tri"],
  ConvertUToPtr: [120, "tri"],
  Bitcast: [124, "tri"],
  FNegate: [127, "tri"],
  IAdd: [128, "trii"],
  FAdd: [129, "trii"],
  ISub: [130, "trii"],
  FSub: [131, "trii"],
  IMul: [132, "trii"],
  UDiv: [134, "trii"],
  UMod: [137, "trii"],
  FMul: [133, "trii"],
  FDiv: [136, "trii"],
  UMulExtended: [151, "trii"],
  SMulExtended: [152, "trii"],
  IsNan: [156, "tri"],
  LogicalNotEqual: [165, "trii"],
  LogicalOr: [166, "trii"],
  LogicalAnd: [167, "trii"],
  LogicalNot: [168, "tri"],
  Select: [169, "triii"],
  IEqual: [170, "trii"],
  INotEqual: [171, "trii"],
  UGreaterThanEqual: [174, "trii"],
  ULessThan: [176, "trii"],
  SLessThan: [177, "trii"],
  ULessThanEqual: [178, "trii"],
  SLessThanEqual: [179, "trii"],
  FOrdEqual: [180, "trii"],
  FUnordEqual: [181, "trii"],
  FOrdNotEqual: [182, "trii"],
  FUnordNotEqual: [183, "trii"],
  FOrdLessThan: [184, "trii"],
  FUnordLessThan: [185, "trii"],
  FOrdGreaterThan: [186, "trii"],
  FOrdLessThanEqual: [188, "trii"],
  FUnordLessThanEqual: [189, "trii"],
  FOrdGreaterThanEqual: [190, "trii"],
  ShiftRightLogical: [194, "trii"],
  ShiftRightArithmetic: [195, "trii"],
  ShiftLeftLogical: [196, "trii"],
  BitwiseOr: [197, "trii"],
  BitwiseXor: [198, "trii"],
  BitwiseAnd: [199, "trii"],
  Not: [200, "tri"],
  BitFieldInsert: [201, "triiii"],
  BitFieldSExtract: [202, "triii"],
  BitFieldUExtract: [203, "triii"],
  BitReverse: [204, "tri"],
  BitCount: [205, "tri"],
  ControlBarrier: [224, "iii"],
  MemoryBarrier: [225, "ii"],
  AtomicLoad: [227, "triii"],
  AtomicStore: [228, "iiii"],
  AtomicExchange: [229, "triiii"],
  AtomicCompareExchange: [230, "triiiiii"],
  AtomicIAdd: [234, "triiii"],
  AtomicISub: [235, "triiii"],
  AtomicSMin: [236, "triiii"],
  AtomicUMin: [237, "triiii"],
  AtomicSMax: [238, "triiii"],
  AtomicUMax: [239, "triiii"],
  AtomicAnd: [240, "triiii"],
  AtomicOr: [241, "triiii"],
  AtomicXor: [242, "triiii"],
  Phi: [245, "trii*"],
  LoopMerge: [246, "iil"],
  SelectionMerge: [247, "il"],
  Label: [248, "r"],
  Branch: [249, "i"],
  BranchConditional: [250, "iii"],
  GroupNonUniformBroadcast: [337, "triii"],
  GroupNonUniformBallot: [339, "trii"],
  GroupNonUniformShuffle: [345, "triii"],
  GroupNonUniformQuadBroadcast: [365, "triii"],
  GroupNonUniformQuadSwap: [366, "triii"],
  Kill: [252, ""],
  Return: [253, ""],
  ReturnValue: [254, "i"],
  Unreachable: [255, ""],
} as const satisfies Record<string, readonly [number, string]>;

/** Opcode numbers by name (without the "Op" of the specification). */
export const Code: { readonly [Name in keyof typeof INSTRUCTIONS]: number } = Object.fromEntries(
  Object.entries(INSTRUCTIONS).map(([name, [code]]) => [name, code]),
) as never;

/**
 * Operand words by opcode: t = type id, r = result id, i = id, l = literal; a last `*` repeats the letter before it zero or more times
 * in place of that letter.
 */
export const OPERANDS: ReadonlyMap<number, string> = new Map(Object.values(INSTRUCTIONS));

/** Names by opcode, for messages. */
export const CODE_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(INSTRUCTIONS).map(([name, [code]]) => [code, "Op" + name]),
);

/** Instructions of GLSL.std.450. */
export const Glsl = {
  RoundEven: 2,
  Trunc: 3,
  FAbs: 4,
  Floor: 8,
  Ceil: 9,
  Sin: 13,
  Cos: 14,
  Exp2: 29,
  Log2: 30,
  Sqrt: 31,
  InverseSqrt: 32,
  UMin: 38,
  SMin: 39,
  UMax: 41,
  SMax: 42,
  Fma: 50,
  PackHalf2x16: 58,
  UnpackSnorm2x16: 60,
  UnpackUnorm2x16: 61,
  UnpackHalf2x16: 62,
  FindILsb: 73,
  FindSMsb: 74,
  FindUMsb: 75,
  NMin: 79,
  NMax: 80,
  NClamp: 81,
  InterpolateAtCentroid: 76,
  InterpolateAtSample: 77,
  InterpolateAtOffset: 78,
} as const;

/** Capabilities. */
export const Capability = {
  Shader: 1,
  Float16: 9,
  Float64: 10,
  Int64: 11,
  Int64Atomics: 12,
  StorageBuffer16BitAccess: 4433,
  StorageBuffer8BitAccess: 4448,
  ClipDistance: 32,
  CullDistance: 33,
  SampleRateShading: 35,
  InterpolationFunction: 52,
  GroupNonUniform: 61,
  GroupNonUniformQuad: 68,
  ShaderLayer: 69,
  ShaderViewportIndex: 70,
  StencilExport: 5013,
  FragmentBarycentric: 5284,
  GroupNonUniformBallot: 64,
  GroupNonUniformShuffle: 65,
  DenormPreserve: 4464,
  DenormFlushToZero: 4465,
  SignedZeroInfNanPreserve: 4466,
  RoundingModeRTE: 4467,
  PhysicalStorageBufferAddresses: 5347,
} as const;

/** Execution modes. */
export const Mode = {
  OriginUpperLeft: 7,
  EarlyFragmentTests: 9,
  DepthReplacing: 12,
  DepthGreater: 14,
  DepthLess: 15,
  StencilRefReplacing: 5027,
  LocalSize: 17,
  DenormPreserve: 4459,
  DenormFlushToZero: 4460,
  SignedZeroInfNanPreserve: 4461,
  RoundingModeRTE: 4462,
} as const;

/** Storage classes. */
export const Storage = {
  Input: 1,
  Output: 3,
  Workgroup: 4,
  Private: 6,
  PushConstant: 9,
  PhysicalStorageBuffer: 5349,
} as const;

/** Decorations. */
export const Decoration = {
  Block: 2,
  ArrayStride: 6,
  BuiltIn: 11,
  NoPerspective: 13,
  Flat: 14,
  Centroid: 16,
  Sample: 17,
  Location: 30,
  Offset: 35,
  NoContraction: 42,
  PerVertex: 5285,
} as const;

/** Built-in variables. */
export const BuiltIn = {
  Position: 0,
  PointSize: 1,
  ClipDistance: 3,
  CullDistance: 4,
  Layer: 9,
  ViewportIndex: 10,
  FragCoord: 15,
  FrontFacing: 17,
  SampleId: 18,
  SampleMask: 20,
  FragDepth: 22,
  HelperInvocation: 23,
  VertexIndex: 42,
  InstanceIndex: 43,
  FragStencilRef: 5014,
  BaryCoord: 5286,
  BaryCoordNoPersp: 5287,
  NumWorkgroups: 24,
  WorkgroupId: 26,
  LocalInvocationId: 27,
  GlobalInvocationId: 28,
  LocalInvocationIndex: 29,
  SubgroupId: 40,
  SubgroupLocalInvocationId: 41,
} as const;

/** Scopes. */
export const Scope = { Device: 1, Workgroup: 2, Subgroup: 3 } as const;

/** Memory semantics bits. */
export const Semantics = { None: 0, AcquireRelease: 0x8, UniformMemory: 0x40, WorkgroupMemory: 0x100 } as const;

/** Loop control bits. */
export const LoopControl = { Unroll: 1 } as const;

/** Memory operand bits of loads and stores. */
export const MemoryOperand = { Volatile: 1, Aligned: 2 } as const;

/** Function control bits. */
export const FunctionControl = { None: 0, DontInline: 2 } as const;
