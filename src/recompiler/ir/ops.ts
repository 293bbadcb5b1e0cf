/**
 * The recompiler's intermediate representation: value types and operations as one data table.
 *
 * A program is one linear stream of operations in SSA form (see ir.ts). Structured control flow is part of the stream, so every pass is
 * a forward or backward scan. Values are what ONE lane sees: a scalar register's value is a value that all lanes of the wave agree on
 * where the wave is converged.
 */

/** Types of values. U32 and F32 are the same 32 bits with a different tag; `BitcastU` / `BitcastF` change the tag and nothing else. */
export const Type = { Void: 0, Bool: 1, U32: 2, F32: 3, U64: 4, F64: 5, V2: 6, V3: 7, V4: 8 } as const;
/** One of the values of {@linkcode Type}; V2..V4 are vectors of U32. */
export type Type = typeof Type[keyof typeof Type];
/** Names for dumps. */
export const TYPE_NAMES: readonly string[] = ["void", "bool", "u32", "f32", "u64", "f64", "v2", "v3", "v4"];

/** Inputs that a program can ask for, operand `a` of `Input`. Of those that differ from lane to lane, packed programs have one per slot (passes/pack/shape.ts). */
export const InputKind = {
  /** b = index of the user SGPR. U32 */
  UserData: 0,
  /** b = axis. U32 */
  WorkgroupId: 1,
  /** b = axis. U32 */
  LocalId: 2,
  /** Flat index of the invocation in its workgroup: x + y * sizeX + z * sizeX * sizeY. U32 */
  LocalIndex: 3,
  /** Lane number in the guest wave. U32 */
  LaneId: 4,
  /** Whether this lane exists and is inside the thread limits of a partial dispatch. Bool */
  ThreadActive: 5,
  /** Number of the guest wave within its workgroup. U32 */
  WaveId: 6,
  /** Bytes from the start of the dispatch's scratch memory to the wave's. U32 */
  ScratchOffset: 7,
  /** A number that the host computes before the dispatch; b = its number in the `ResourcePlan`. U32 */
  Resolved: 8,
  /** Pixel programs: what a VGPR holds at first. b = number of the input (`PsInput` of stages/state.ts) * 4 + its VGPR's number. F32 or U32 */
  PixelInput: 9,
  /** Pixel programs: the SGPR that M0 must hold where attributes are read. U32 */
  PrimitiveMask: 10,
  /** Pixel programs: this lane is a pixel of the primitive, and no helper. Bool */
  Live: 11,
  /** Vertex programs: b = 0 the vertex's index, 3 the instance's. U32 */
  VertexInput: 12,
  /** NGG programs: b = 2 gs_tg_info, 3 merged_wave_info (the SGPRs). U32 */
  MergedWave: 13,
  /** NGG programs: VGPR b of a primitive. U32 */
  PrimitiveInput: 14,
  /** A register of a graphics stage that the hardware does not load, or not with anything known: b = the register, VGPRs from 256 on. U32 */
  NotLoaded: 15,
  /** NGG programs: this lane has a primitive. Bool */
  PrimitiveThread: 16,
  /** NGG programs: this is the first wave of its group (b = 1: it is not). Bool */
  FirstWave: 17,
} as const;

/**
 * Operand kinds, one letter per operand a, b, c, d: v = value id, i = immediate number, p = offset into `Ir.pool`, n = count.
 * `result` "-" means that the result type is given by whoever appends the operation (bitwise phi-like operations).
 */
interface OpRow {
  readonly name: string;
  readonly result: Type | "-";
  readonly operands: string;
  /** Must not be removed, duplicated or moved across others of its kind. */
  readonly effect?: boolean;
  /** Part of the control structure. */
  readonly structure?: boolean;
  /** Reads other lanes: the wave must be converged here. */
  readonly exchange?: boolean;
  readonly commutes?: boolean;
}

const { Void, Bool, U32, F32, U64, F64 } = Type;
const row = (name: string, result: Type | "-", operands: string, more: Partial<OpRow> = {}): OpRow => ({
  name,
  result,
  operands,
  ...more,
});
const structure = (name: string, operands = ""): OpRow => row(name, Void, operands, { structure: true });

const ROWS = [
  row("Nop", Void, ""),
  // Constants are global: any position in the stream may use them, wherever they stand. a = the 32 bits; Bool: 0 or 1. U64/F64: a = low, b = high.
  row("Const", "-", "ii"),
  row("Undef", "-", ""),
  row("Input", "-", "ii"),

  // --- control structure (see ir.ts for the grammar) ---
  structure("If", "vi"), // a = Bool condition, b = IfKind
  structure("Else"),
  structure("EndIf"),
  row("Phi", "-", "vv"), // right after EndIf: a = value of the then arm, b = of the else arm
  structure("Loop", "i"), // a = 1: made of unrolled code (passes/reroll.ts), and best unrolled again
  row("LoopPhi", "-", "vv"), // right after Loop: a = initial value, b = value at the continue point
  structure("Break"),
  structure("Continue"),
  structure("LoopCont"),
  row("ContPhi", "-", "pn"), // right after LoopCont: one value per edge: every Continue in stream order, then the end of the body if it falls through
  structure("EndLoop"),
  row("BreakPhi", "-", "pn"), // right after EndLoop: one value per Break in stream order
  structure("End"),

  // --- 32-bit integer; shift amounts are already masked to 0..31 by whoever appends ---
  row("IAdd", U32, "vv", { commutes: true }),
  row("ISub", U32, "vv"),
  row("IMul", U32, "vv", { commutes: true }),
  row("UMulHi", U32, "vv", { commutes: true }),
  row("SMulHi", U32, "vv", { commutes: true }),
  row("And", U32, "vv", { commutes: true }),
  row("Or", U32, "vv", { commutes: true }),
  row("Xor", U32, "vv", { commutes: true }),
  row("Not", U32, "v"),
  row("Shl", U32, "vv"),
  row("Shr", U32, "vv"),
  row("Sar", U32, "vv"),
  row("UMin", U32, "vv", { commutes: true }),
  row("UMax", U32, "vv", { commutes: true }),
  row("SMin", U32, "vv", { commutes: true }),
  row("SMax", U32, "vv", { commutes: true }),
  row("UBfe", U32, "vvv"), // value, offset 0..31, count 0..32 with offset + count <= 32
  row("SBfe", U32, "vvv"),
  row("BitCount", U32, "v"),
  row("BitReverse", U32, "v"),
  row("FindLsb", U32, "v"), // -1 when the value is 0
  row("FindUMsb", U32, "v"), // bit number from the least significant bit, -1 when the value is 0
  row("FindSMsb", U32, "v"), // highest bit that differs from the sign, -1 for 0 and -1

  // --- comparisons ---
  row("IEq", Bool, "vv", { commutes: true }),
  row("INe", Bool, "vv", { commutes: true }),
  row("ULt", Bool, "vv"),
  row("ULe", Bool, "vv"),
  row("SLt", Bool, "vv"),
  row("SLe", Bool, "vv"),
  row("FOrdEq", Bool, "vv", { commutes: true }), // operands F32 or F64, both of one type
  row("FOrdNe", Bool, "vv", { commutes: true }),
  row("FOrdLt", Bool, "vv"),
  row("FOrdLe", Bool, "vv"),
  row("FUnordEq", Bool, "vv", { commutes: true }),
  row("FUnordNe", Bool, "vv", { commutes: true }),
  row("FUnordLt", Bool, "vv"),
  row("FUnordLe", Bool, "vv"),
  row("FIsNan", Bool, "v"),
  row("Ieq64", Bool, "vv", { commutes: true }),
  row("Ult64", Bool, "vv"),
  row("Slt64", Bool, "vv"),

  // --- booleans ---
  row("LAnd", Bool, "vv", { commutes: true }),
  row("LOr", Bool, "vv", { commutes: true }),
  row("LXor", Bool, "vv", { commutes: true }),
  row("LNot", Bool, "v"),
  row("Select", "-", "vvv"), // a = Bool, b = value if true, c = value if false; any type

  // --- 32-bit float. The operands' denormals are as they come: FlushDenorm is explicit where MODE asks for it and the device cannot. ---
  row("BitcastU", U32, "v"),
  row("BitcastF", F32, "v"),
  row("FAdd", F32, "vv", { commutes: true }),
  row("FSub", F32, "vv"),
  row("FMul", F32, "vv", { commutes: true }),
  row("FFma", F32, "vvv"),
  row("FMin", F32, "vv"), // IEEE 754-2008 minNum with -0 < +0; NaN operands give the other operand
  row("FMax", F32, "vv"),
  row("FNeg", F32, "v"),
  row("FAbs", F32, "v"),
  row("FFloor", F32, "v"),
  row("FCeil", F32, "v"),
  row("FTrunc", F32, "v"),
  row("FRndne", F32, "v"),
  row("FRcp", F32, "v"),
  row("FRsq", F32, "v"),
  row("FSqrt", F32, "v"),
  row("FExp2", F32, "v"),
  row("FLog2", F32, "v"),
  row("FSin", F32, "v"), // argument in revolutions
  row("FCos", F32, "v"),
  row("FlushDenorm", F32, "v"), // a denormal becomes a zero of the same sign
  row("CvtU2F", F32, "v"),
  row("CvtS2F", F32, "v"),
  row("CvtF2U", U32, "v"), // toward zero, clamped to 0..2^32-1, NaN gives 0
  row("CvtF2S", U32, "v"), // toward zero, clamped, NaN gives 0
  row("CvtF2H", U32, "v"), // to f16 bits, round to nearest even
  row("CvtF2HRtz", U32, "v"),
  row("CvtH2F", F32, "v"), // f16 bits in the low half
  row("FAddOdd", F32, "vv"), // a + b rounded to odd: an inexact sum has its last bit set, so that a later rounding to fewer bits is the only one
  row("FFmaOdd", F32, "vvv", { commutes: true }), // a * b + c rounded to odd
  row("FFmaScaled", F32, "vvvv"), // (a * b + c) * 2^d rounded once; d is U32 as a signed number, -64, 0 or 64

  // --- f16, bits in the halves of U32. c: 1 = the low halves, and the upper half of the result means nothing; 2 = both halves. Denormals count. ---
  row("HAdd", U32, "vvi", { commutes: true }),
  row("HMul", U32, "vvi", { commutes: true }),
  row("HFma", U32, "vvvi", { commutes: true }), // rounded once
  row("DotParts", U32, "vvvi", { commutes: true }), // c plus the products of the parts of a and b; d = bits of a part (4, 8 or 16), + 0x100: signed
  row("BitInsert", U32, "vvii"), // a with d bits from bit c on replaced by the low bits of b

  // --- 64-bit ---
  row("Pack64", U64, "vv"), // low, high
  row("Lo64", U32, "v"),
  row("Hi64", U32, "v"),
  row("IAdd64", U64, "vv", { commutes: true }),
  row("ISub64", U64, "vv"),
  row("IMul64", U64, "vv", { commutes: true }),
  row("UMulWide", U64, "vv", { commutes: true }), // 32 x 32 -> 64
  row("SMulWide", U64, "vv", { commutes: true }),
  row("Shl64", U64, "vv"), // the amount is U32, 0..63
  row("Shr64", U64, "vv"),
  row("Sar64", U64, "vv"),
  row("BitcastF64", F64, "v"),
  row("BitcastU64", U64, "v"),

  // --- f64. Rounded to nearest even; denormals count. ---
  row("FAdd64", F64, "vv", { commutes: true }),
  row("FMul64", F64, "vv", { commutes: true }),
  row("FFma64", F64, "vvv", { commutes: true }),
  row("FFmaScaled64", F64, "vvvv"), // (a * b + c) * 2^d rounded once; d is U32 as a signed number, -128, 0 or 128
  row("FMin64", F64, "vv"), // as FMin
  row("FMax64", F64, "vv"),
  row("FNeg64", F64, "v"),
  row("FAbs64", F64, "v"),
  row("FFloor64", F64, "v"),
  row("FCeil64", F64, "v"),
  row("FTrunc64", F64, "v"),
  row("FRndne64", F64, "v"),
  row("FRcp64", F64, "v"),
  row("FRsq64", F64, "v"),
  row("FSqrt64", F64, "v"),
  row("CvtF2D", F64, "v"), // F32 to F64
  row("CvtD2F", F32, "v"), // F64 to F32, to nearest even
  row("CvtU2D", F64, "v"),
  row("CvtS2D", F64, "v"),
  row("CvtD2U", U32, "v"), // toward zero, clamped, NaN gives 0
  row("CvtD2S", U32, "v"),

  // --- vectors of U32 ---
  row("Vec", "-", "vvvv"), // V2 uses a, b; V3 a, b, c
  row("Extract", U32, "vi"),

  // --- memory. Guest addresses are U64, LDS addresses U32 bytes. A Load, Store or Atomic of a buffer that the host resolves (see resources/plan.ts) has its
  // number in the immediate, and an offset instead of an address: U32 bytes, or a V2 of the offset that is range-checked and one that is added to it.
  // `active` is a Bool: an inactive access reads 0 / does nothing and never faults. ---
  row("Load", "-", "vvi"), // address, active, MemoryWidth; U32 for up to 4 bytes (narrow ones extended), V2..V4 beyond
  row("Store", Void, "vvvi", { effect: true }), // address, active, value, MemoryWidth
  row("Atomic", U32, "vvvi", { effect: true }), // address, active, data (V2 for kinds with two operands: compare-swap has data, compare), AtomicKind
  row("LdsLoad", "-", "vvi"),
  row("LdsStore", Void, "vvvi", { effect: true }),
  row("LdsAtomic", U32, "vvvi", { effect: true }),
  // a = 1: added for the lockstep of a wave, 2: the same where a host subgroup is the wave (passes/pack), 0: the program's own. b = DeviceOrder.
  row("Barrier", Void, "ii", { effect: true }),
  // What the wave has done to guest memory comes before what it accesses from here on. a = FenceKind, b = DeviceOrder; those that are neither hazards nor
  // for the device are gone after passes/memory_hazards.ts.
  row("Fence", Void, "ii", { effect: true }),

  // --- the wave ---
  row("Any", Bool, "v", { exchange: true }), // true if the value is true in any lane of the wave
  row("AnyGroup", Bool, "v", { exchange: true }), // true if the value is true in any lane of the workgroup
  row("BallotLo", U32, "v", { exchange: true }), // lanes 0..31
  row("BallotHi", U32, "v", { exchange: true }), // lanes 32..63
  row("ReadLane", U32, "vv", { exchange: true }), // value, lane number (uniform)
  row("ReadFirstLane", U32, "vv", { exchange: true }), // value, active: the lowest active lane, lane 0 when there is none
  row("Shuffle", U32, "vv", { exchange: true }), // value, lane number (per lane)

  // --- graphics stages. Attribute components are numbered attribute * 4 + component. ---
  row("QuadAny", Bool, "v", { exchange: true }), // true if the value is true in any lane of the quad
  row("QuadShuffle", U32, "vi", { exchange: true }), // value, lane of the quad (2 bits for each of its lanes, the first one's lowest)
  row("InterpolateP1", F32, "vvi"), // P0 + P10 * I: I, M0, component. Only InterpolateP2 reads it
  row("Interpolate", F32, "vvvi"), // the attribute at I and J: I, J, M0, component
  row("Parameter", F32, "vii"), // M0, component, 0 P10, 1 P20, 2 P0, 3 to 5 a vertex's own value
  row("Export", Void, "vvi", { effect: true }), // V4, where it is exported, target; only right before the End
  row("GsAllocate", Void, "v", { effect: true }), // NGG: M0 with which space is asked for; gone after stages/merged_wave.ts, as the next one
  row("GsPrimitive", Void, "vv", { effect: true }), // the primitive, where it is exported
  row("Valid", Void, "v", { effect: true }), // pixels that are not discarded. Only right before the End
] as const satisfies readonly OpRow[];

/** All rows; the index is the operation's number. */
export const OPS: readonly OpRow[] = ROWS;

/** Number of each operation by its name. */
export const Op: { readonly [Name in (typeof ROWS)[number]["name"]]: number } = Object.fromEntries(
  ROWS.map((r, i) => [r.name, i]),
) as never;

/** How an `If` came to be, operand `b`. */
export const IfKind = {
  /** Scalar condition: every lane of the wave takes the same arm. */
  Scalar: 0,
  /** Condition derived from EXEC or VCC as `Any(b)` of the wave (before the regions pass), skipping is an optimisation or a loop exit. */
  Wave: 1,
  /** Each lane follows its own condition. */
  Lane: 2,
  /** A structurizer guard. */
  Guard: 3,
} as const;

/** What a `Fence` waits for or looks at anew, operand `a`. */
export const FenceKind = {
  /** The caches of a workgroup are invalidated: all that was done before. */
  Caches: 0,
  /** Stores, and atomic operations without a result. */
  Stores: 1,
  /** Loads, and atomic operations with a result. */
  Results: 2,
  /** Caches that workgroups share are invalidated or written back: all that was done before. */
  SharedCaches: 3,
} as const;

/** How a `Fence` or `Barrier` orders guest memory for other workgroups (passes/device_order.ts), bits of operand `b`. */
export const DeviceOrder = {
  /** Others see what was stored before it, before they see what is done behind it. */
  Release: 1,
  /** What is loaded behind it is as new as what was seen before it. */
  Acquire: 2,
} as const;

/** Width of a memory access in bytes (1, 2, 4, 8, 12, 16), or-ed with modifiers. */
export const MemoryWidth = {
  BytesMask: 0x1f,
  /** Sign-extend a 1- or 2-byte load. */
  Signed: 0x20,
  /** Coherent with other workgroups (GLC/DLC). */
  Coherent: 0x40,
  /** Of a load: its value is only looked at where it is active, so that it may be anything elsewhere. */
  Speculative: 0x80,
} as const;

/** Atomic operations, low 5 bits of operand `d`. */
export const AtomicKind = {
  Swap: 0,
  CmpSwap: 1,
  Add: 2,
  Sub: 3,
  SMin: 4,
  UMin: 5,
  SMax: 6,
  UMax: 7,
  And: 8,
  Or: 9,
  Xor: 10,
  Inc: 11,
  Dec: 12,
  FMin: 13,
  FMax: 14,
  FAdd: 15,
  /** data - old. */
  RSub: 16,
  /** Data V2 (mask, bits): (old & ~mask) | bits. */
  MaskOr: 17,
  /** Data V2 (subtrahend, addend): old - subtrahend where that is not negative, else old + addend. */
  Wrap: 18,
  /** old - data, 0 where that is negative. */
  SubClamp: 19,
  /** Like CmpSwap, equal as floats are: -0 is 0, a NaN is equal to nothing. */
  FCmpSwap: 20,
  Mask: 0x1f,
  /** Or-ed in: a 64-bit operation (data V2, kinds with two operands V4; result V2). */
  Wide: 0x20,
  /** Or-ed in to FAdd: denormal operands are zeros of their sign, denormal results become such, both. */
  FlushInputs: 0x40,
  FlushResults: 0x80,
  Flush: 0xc0,
} as const;

/** Whether an atomic kind takes two operands, as a vector of both: what is written, and what it is compared or combined with. */
export function hasTwoOperands(kind: number): boolean {
  switch (kind & AtomicKind.Mask) {
    case AtomicKind.CmpSwap:
    case AtomicKind.FCmpSwap:
    case AtomicKind.MaskOr:
    case AtomicKind.Wrap:
      return true;
    default:
      return false;
  }
}
