/**
 * AGC shader records: the header that describes one compiled shader, its register lists and its tables.
 *
 * Layout, 0x60 bytes, little-endian (facts published in OpenAGC's include/agc_shader.h and confirmed by records in captures): 00 magic, 04 version,
 * 08 user_data*, 10 code*, 18 cx_registers*, 20 sh_registers*, 28 specials*, 30 input_semantics*, 38 output_semantics*, 40 header_size,
 * 44 shader_size, 48 embedded constant buffer size (16-byte units), 4c target, 50 number of input semantics, 54 u16 scratch dwords per thread,
 * 56 u16 number of output semantics, 58 u16 size of specials, 5a u8 type, 5b u8 context registers, 5c u8 SH registers.
 *
 * Its pointers come in three forms: offsets in the file (OpenAGC's `.sb` files), self-relative (records as a console tool wrote them: address of
 * the field + stored value), absolute (after `createShader` has rewritten them). A stored 0 is a null pointer in all three.
 */
import type { ShaderStage } from "../shader_source.ts";

/** First word of every record. */
export const AGC_MAGIC = 0x34333231;
/** The only version that is known. */
export const AGC_VERSION = 0x18;
/** Bytes of the record's header. */
export const AGC_HEADER_BYTES = 0x60;

/** Stages by record type. */
export const AGC_STAGES: readonly ShaderStage[] = [
  "compute",
  "pixel",
  "geometry",
  "hull",
  "geometry-front",
  "hull-front",
  "geometry-back",
  "hull-back",
  "fetch",
];

/** Byte offsets of the header's pointers. */
export const AgcPointer = {
  UserData: 0x08,
  Code: 0x10,
  CxRegisters: 0x18,
  ShRegisters: 0x20,
  Specials: 0x28,
  InputSemantics: 0x30,
  OutputSemantics: 0x38,
} as const;

/** How the pointers of a record are stored. */
export type PointerForm = "file-offset" | "self-relative" | "absolute";

/** Where a record lies: a file, or guest memory. Both report what is wrong with their own place. */
export interface RecordSource {
  /** The bytes of a range, checked; `what` names it for the error. */
  bytes(address: bigint, length: number, what: string): Uint8Array;
  /** Throws an InvalidInputError (or the file's kind of it) that names `address`. */
  fail(address: bigint, reason: string): never;
}

/** A value for a register. `offset` counts dwords in the register's bank. */
export interface RegisterWrite {
  /** Dword offset in the bank. */
  offset: number;
  /** 32-bit value. */
  value: number;
  /** Where the entry is stored: file offset or guest address. */
  address: bigint;
}

/** An input or output of a stage. */
export interface AgcSemantic {
  /** The stored word. */
  word: number;
  /** Number that both sides of an interface name. */
  semantic: number;
  /** VGPR of a vertex input, parameter slot of an output or an interpolant. */
  hardwareMapping: number;
  /** Components. */
  sizeInElements: number;
  /** Which halves are f16: bit 0 the lower, bit 1 the upper. */
  isF16: number;
  /** Of the provoking vertex. */
  flat: boolean;
  /** Without perspective. */
  linear: boolean;
  /** Read as it is, without interpolation. */
  custom: boolean;
  /** From a buffer that the shader names itself. */
  staticVertexBuffer: boolean;
  /** With a format that the shader names itself. */
  staticAttribute: boolean;
  /** Which constant an input without an output reads. */
  defaultValue: number;
  /** The same of the upper half. */
  defaultValueHigh: number;
}

/** Draw state that the shader needs. */
export interface AgcSpecials {
  /** GE_CNTL. */
  geControl: RegisterWrite;
  /** VGT_SHADER_STAGES_EN. */
  shaderStagesEnable: RegisterWrite;
  /** Bits for the dispatch initiator. */
  dispatchModifier: number;
  /** User SGPRs that the draw fills. */
  userDataRange: [start: number, end: number];
  /** Bits for the draw packet. */
  drawModifier: bigint;
  /** VGT_GS_OUT_PRIM_TYPE. */
  gsOutPrimitiveType: RegisterWrite;
  /** GE_USER_VGPR_EN. */
  geUserVgprEnable: RegisterWrite;
}

/** Which resources sit where in the user data. */
export interface AgcUserData {
  /** User-SGPR index by resource type; 0xFFFF stands for absent. */
  directResourceOffsets: number[];
  /** Per kind: dword offset (bits 14:0) and size (bit 15) of each descriptor. */
  sharpResourceOffsets: [number[], number[], number[], number[]];
  /** Dwords of user data behind a pointer. */
  extendedUserDataDwords: number;
  /** Dwords of the shader resource table. */
  shaderResourceTableDwords: number;
}

/** A user-SGPR register whose value the binder must supply. */
export interface AgcPlaceholder {
  /** What belongs there. */
  kind:
    | "vertex-buffer-table"
    | "next-stage-pc"
    | "descriptor-set"
    | "ring-low"
    | "ring-high"
    | "tessellation-constants";
  /** Register (dword offset in the SH bank). */
  register: number;
  /** Descriptor set, for `descriptor-set`. */
  set?: number;
  /** Where the register entry is stored. */
  address: bigint;
}

/** A parsed record. Addresses are file offsets for files, guest addresses otherwise. */
export interface AgcShaderRecord {
  /** Where the header starts. */
  address: bigint;
  /** Record type 0..8; {@linkcode AGC_STAGES} names it. */
  type: number;
  /** Its stage. */
  stage: ShaderStage;
  /** Where the code starts. */
  codeAddress: bigint;
  /** Bytes of the header with its tables; 0 when the record does not say. */
  headerBytes: number;
  /** Bytes of the code; 0 when the record does not say. */
  shaderBytes: number;
  /** Bytes of constants that belong to the code. */
  embeddedConstantBytes: number;
  /** Number of the target, as stored. */
  target: number;
  /** Scratch memory of a thread, in dwords. */
  scratchDwordsPerThread: number;
  /** Bytes of the specials. */
  specialsBytes: number;
  /** Context registers that the shader needs. */
  cxRegisters: RegisterWrite[];
  /** SH registers that the shader needs. */
  shRegisters: RegisterWrite[];
  /** Input semantics. */
  inputs: AgcSemantic[];
  /** Output semantics. */
  outputs: AgcSemantic[];
  /** Draw state, if the record has any. */
  specials?: AgcSpecials;
  /** Where resources are in the user data, if the record says. */
  userData?: AgcUserData;
  /** User data that the binder must supply. */
  placeholders: AgcPlaceholder[];
}

const PLACEHOLDERS: readonly [value: number, kind: AgcPlaceholder["kind"]][] = [
  [0x56424450, "vertex-buffer-table"],
  [0x4E585450, "next-stage-pc"],
  [0x524E474C, "ring-low"],
  [0x524E4748, "ring-high"],
  [0x54434F4C, "tessellation-constants"],
];
/** Upper half of a descriptor-set placeholder; the set's number is the lower half. */
const DESCRIPTOR_SET_PLACEHOLDER = 0x4453;

/** SH registers that hold user data, per stage: base, and the SGPR of the first one (AMD register headers: SPI_SHADER_USER_DATA_*, COMPUTE_USER_DATA_*). */
export const USER_DATA_BANKS: Readonly<
  Partial<Record<ShaderStage, { register: number; count: number; firstSgpr: number }>>
> = {
  "compute": { register: 0x240, count: 16, firstSgpr: 0 },
  "pixel": { register: 0x00C, count: 32, firstSgpr: 0 },
  "geometry": { register: 0x08C, count: 32, firstSgpr: 8 },
  "geometry-front": { register: 0x08C, count: 32, firstSgpr: 8 },
  "geometry-back": { register: 0x08C, count: 32, firstSgpr: 8 },
  "hull": { register: 0x10C, count: 32, firstSgpr: 8 },
  "hull-front": { register: 0x10C, count: 32, firstSgpr: 8 },
  "hull-back": { register: 0x10C, count: 32, firstSgpr: 8 },
};

/** Registers that hold the merged stages' ring pointer (s0, s1). */
const RING_REGISTERS: readonly number[] = [0x082, 0x083, 0x102, 0x103];

/** Reads and checks the record whose header is at `address`. */
export function readAgcRecord(source: RecordSource, address: bigint, form: PointerForm): AgcShaderRecord {
  const header = viewOf(source.bytes(address, AGC_HEADER_BYTES, "the record's header"));
  const magic = header.getUint32(0x00, true), version = header.getUint32(0x04, true), type = header.getUint8(0x5A);
  if (magic !== AGC_MAGIC) source.fail(address, `a shader record starts with 0x34333231, not 0x${magic.toString(16)}`);
  if (version !== AGC_VERSION) source.fail(address + 4n, `shader record version ${version}; only 24 is known`);
  if (type >= AGC_STAGES.length) source.fail(address + 0x5An, `shader type ${type}; types are 0 to 8`);

  const pointer = (field: number): bigint =>
    resolvePointer(header.getBigUint64(field, true), address + BigInt(field), form);
  const table = (field: number, count: number, what: string): bigint => {
    const target = pointer(field);
    if (count > 0 && target === 0n) {
      source.fail(address + BigInt(field), `the record has ${count} ${what}, but no table of them`);
    }
    return target;
  };
  const registers = (field: number, count: number, what: string): RegisterWrite[] => {
    const target = table(field, count, what);
    if (count === 0) return [];
    const view = viewOf(source.bytes(target, 8 * count, what));
    return Array.from({ length: count }, (_, i) => readRegister(view, 8 * i, target));
  };
  const semantics = (field: number, count: number, what: string): AgcSemantic[] => {
    const target = table(field, count, what);
    if (count === 0) return [];
    const view = viewOf(source.bytes(target, 4 * count, what));
    return Array.from({ length: count }, (_, i) => splitSemantic(view.getUint32(4 * i, true)));
  };

  const codeAddress = pointer(AgcPointer.Code);
  if (codeAddress === 0n) source.fail(address + BigInt(AgcPointer.Code), "the record has no code");
  const inputCount = header.getUint32(0x50, true);
  // A semantic is a byte's worth of names per stage; larger counts are damage, and would only cost time.
  if (inputCount > 256) source.fail(address + 0x50n, `${inputCount} input semantics; at most 256 make sense`);
  const shRegisters = registers(AgcPointer.ShRegisters, header.getUint8(0x5C), "SH registers");
  const stage = AGC_STAGES[type];
  const specials = pointer(AgcPointer.Specials), userData = pointer(AgcPointer.UserData);
  return {
    address,
    type,
    stage,
    codeAddress,
    headerBytes: header.getUint32(0x40, true),
    shaderBytes: header.getUint32(0x44, true),
    embeddedConstantBytes: 16 * header.getUint32(0x48, true),
    target: header.getUint32(0x4C, true),
    scratchDwordsPerThread: header.getUint16(0x54, true),
    specialsBytes: header.getUint16(0x58, true),
    cxRegisters: registers(AgcPointer.CxRegisters, header.getUint8(0x5B), "context registers"),
    shRegisters,
    inputs: semantics(AgcPointer.InputSemantics, inputCount, "input semantics"),
    outputs: semantics(AgcPointer.OutputSemantics, header.getUint16(0x56, true), "output semantics"),
    specials: specials === 0n ? undefined : readSpecials(source, specials),
    userData: userData === 0n ? undefined : readUserData(source, userData, form),
    placeholders: shRegisters.flatMap((register) => placeholderOf(stage, register) ?? []),
  };
}

/** Resolves one stored pointer; 0n stays null. */
export function resolvePointer(stored: bigint, field: bigint, form: PointerForm): bigint {
  if (stored === 0n) return 0n;
  return form === "self-relative" ? BigInt.asUintN(64, field + stored) : stored;
}

/** Splits a semantic word into its fields. */
export function splitSemantic(word: number): AgcSemantic {
  const bit = (at: number) => (word >>> at & 1) === 1;
  return {
    word,
    semantic: word & 0xFF,
    hardwareMapping: word >>> 8 & 0xFF,
    sizeInElements: word >>> 16 & 0xF,
    isF16: word >>> 20 & 3,
    flat: bit(22),
    linear: bit(23),
    custom: bit(24),
    staticVertexBuffer: bit(25),
    staticAttribute: bit(26),
    defaultValue: word >>> 28 & 3,
    defaultValueHigh: word >>> 30 & 3,
  };
}

/** The SGPR that a user-data register loads, or undefined when the register is no user data of the stage. */
export function userSgprOf(stage: ShaderStage, register: number): number | undefined {
  if (stage !== "compute" && stage !== "pixel" && RING_REGISTERS.includes(register)) return register & 1;
  const bank = USER_DATA_BANKS[stage];
  if (bank === undefined || register < bank.register || register >= bank.register + bank.count) return undefined;
  return bank.firstSgpr + register - bank.register;
}

function placeholderOf(stage: ShaderStage, register: RegisterWrite): AgcPlaceholder | undefined {
  // Only user data can be a placeholder: other registers may hold the same number by chance.
  if (userSgprOf(stage, register.offset) === undefined) return undefined;
  const { offset, value, address } = register;
  if (value >>> 16 === DESCRIPTOR_SET_PLACEHOLDER) {
    return { kind: "descriptor-set", register: offset, set: value & 0xFFFF, address };
  }
  const kind = PLACEHOLDERS.find(([number]) => number === value)?.[1];
  return kind === undefined ? undefined : { kind, register: offset, address };
}

function readSpecials(source: RecordSource, address: bigint): AgcSpecials {
  const view = viewOf(source.bytes(address, 0x30, "the specials"));
  return {
    geControl: readRegister(view, 0x00, address),
    shaderStagesEnable: readRegister(view, 0x08, address),
    dispatchModifier: view.getUint32(0x10, true),
    userDataRange: [view.getUint16(0x14, true), view.getUint16(0x16, true)],
    drawModifier: view.getBigUint64(0x18, true),
    gsOutPrimitiveType: readRegister(view, 0x20, address),
    geUserVgprEnable: readRegister(view, 0x28, address),
  };
}

/** Byte offsets of the five pointers in the user-data block, and of the counts that belong to them. */
export const USER_DATA_POINTERS: readonly { pointer: number; count: number }[] = [
  { pointer: 0x00, count: 0x2C },
  { pointer: 0x08, count: 0x2E },
  { pointer: 0x10, count: 0x30 },
  { pointer: 0x18, count: 0x32 },
  { pointer: 0x20, count: 0x34 },
];
/** Bytes of the user-data block. */
const USER_DATA_BYTES = 0x38;

function readUserData(source: RecordSource, address: bigint, form: PointerForm): AgcUserData {
  const view = viewOf(source.bytes(address, USER_DATA_BYTES, "the user-data block"));
  const lists = USER_DATA_POINTERS.map(({ pointer, count }) => {
    const target = resolvePointer(view.getBigUint64(pointer, true), address + BigInt(pointer), form);
    const length = view.getUint16(count, true);
    if (length === 0) return [];
    if (target === 0n) {
      source.fail(address + BigInt(pointer), `the user-data block has ${length} resources, but no table of them`);
    }
    const entries = viewOf(source.bytes(target, 2 * length, "a user-data table"));
    return Array.from({ length }, (_, i) => entries.getUint16(2 * i, true));
  });
  return {
    directResourceOffsets: lists[0],
    sharpResourceOffsets: [lists[1], lists[2], lists[3], lists[4]],
    extendedUserDataDwords: view.getUint16(0x28, true),
    shaderResourceTableDwords: view.getUint16(0x2A, true),
  };
}

function readRegister(view: DataView, at: number, base: bigint): RegisterWrite {
  return { offset: view.getUint32(at, true), value: view.getUint32(at + 4, true), address: base + BigInt(at) };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
