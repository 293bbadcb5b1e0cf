/**
 * Reads the vertex and fragment stages of a graphics pipeline out of RADV's pipeline cache: see cache_data.ts, whose offsets are of the same structures
 * (`struct radv_shader_info`, `struct ac_shader_config` of Mesa 22.3.6).
 *
 * @module
 */
import { InvalidInputError } from "../../../src/errors.ts";
import { BINARY, ENTRY, MESA_VERSION, STAGES, type UserData, userDataOf } from "./cache_data.ts";

/** Stage numbers (gl_shader_stage). */
const VERTEX = 0, FRAGMENT = 4;

/** Byte offsets in a binary, of what compute stages do not have. */
const INFO = {
  spiPsInputEna: 36,
  spiPsInputAddr: 40,
  isNgg: 192,
  isNggPassthrough: 193,
  hasNggCulling: 194,
  paramOffsets: 212,
  clipDistances: 276,
  cullDistances: 277,
  paramExports: 278,
  writesPointSize: 280,
  writesLayer: 281,
  writesViewport: 283,
  posExports: 292,
  usesSampleShading: 704,
  writesMemory: 706,
  writesZ: 707,
  writesStencil: 708,
  writesSampleMask: 709,
  primIdInput: 711,
  inputMask: 716,
  flatMask: 724,
  interpolants: 736,
  canDiscard: 744,
  earlyTests: 745,
  depthLayout: 760,
} as const;

/** User data of vertex and fragment stages by its number in `enum radv_ud_index`. */
const USER_DATA: Readonly<Record<number, string>> = {
  0: "ring_offsets",
  1: "push_constants_ptr",
  2: "inline_push_constants",
  3: "indirect_descriptor_sets_ptr",
  7: "ngg_culling_settings",
  8: "ngg_viewport",
  11: "vertex_buffers_ptr",
  12: "base_vertex_draw_id_start_instance",
};

/** First of the slots that shaders name locations of (VARYING_SLOT_VAR0), and the one of the primitive's number. */
const SLOT_VAR0 = 32, SLOT_PRIMITIVE_ID = 14;

/** A stage as RADV would upload it. */
export interface StageBinary {
  readonly code: Uint8Array;
  readonly execBytes: number;
  readonly waveSize: number;
  readonly numSgprs: number;
  readonly numVgprs: number;
  readonly ldsBytes: number;
  readonly floatMode: number;
  readonly scratchBytesPerWave: number;
  readonly rsrc: readonly [number, number];
  readonly userData: readonly UserData[];
  readonly inlinePushMask: bigint;
  readonly setsUsed: number;
}

/** A vertex stage. */
export interface VertexBinary extends StageBinary {
  readonly ngg: boolean;
  readonly passthrough: boolean;
  readonly culling: boolean;
  /** Parameter of each slot; 255: none, others above 31 are constants. */
  readonly paramOffsets: readonly number[];
  readonly params: number;
  readonly positions: number;
  readonly clipMask: number;
  readonly cullMask: number;
  readonly pointSize: boolean;
  readonly layer: boolean;
  readonly viewport: boolean;
}

/** A fragment stage. */
export interface FragmentBinary extends StageBinary {
  readonly inputEna: number;
  readonly inputAddr: number;
  /** Slots that the attributes come from, in order, and whether each is flat. */
  readonly inputs: readonly { readonly slot: number; readonly flat: boolean }[];
  readonly sampleShading: boolean;
  readonly writesMemory: boolean;
  readonly writesZ: boolean;
  readonly writesStencil: boolean;
  readonly writesSampleMask: boolean;
  readonly canDiscard: boolean;
  readonly earlyTests: boolean;
  /** Conservative depth: 0 none, 1 any, 2 greater, 3 less, 4 unchanged (enum gl_frag_depth_layout). */
  readonly depthLayout: number;
}

/**
 * The stages of a pipeline cache that holds exactly one graphics pipeline.
 *
 * @throws {InvalidInputError} `radv.cache-data` when it is not what Mesa 22.3.6 writes for a vertex and a fragment stage
 */
export function readGraphicsBinaries(data: Uint8Array): { vertex: VertexBinary; fragment: FragmentBinary } {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const fail = (what: string, at: number): never => {
    throw new InvalidInputError("radv.cache-data", `the pipeline cache is not what ${MESA_VERSION} writes: ${what}`, {
      fileOffset: at,
    });
  };
  const entry = view.getUint32(0, true);
  if (entry !== 32 || data.length < entry + ENTRY.bytes) fail("its header or entry", 0);
  const sizes = Array.from({ length: STAGES }, (_, i) => view.getUint32(entry + ENTRY.binarySizes + 4 * i, true));
  if (sizes.some((size, i) => (size !== 0) !== (i === VERTEX || i === FRAGMENT))) {
    fail(`stages of ${sizes} bytes`, entry);
  }
  const starts = new Map<number, number>();
  let at = entry + ENTRY.bytes;
  sizes.forEach((size, stage) => {
    if (size !== 0) starts.set(stage, at);
    at += size;
  });
  if (at > data.length) fail("an entry that is cut off", at);
  const reader = (stage: number) => {
    const start = starts.get(stage)!;
    const u32 = (offset: number) => view.getUint32(start + offset, true);
    if (u32(BINARY.stage) !== stage || u32(BINARY.totalBytes) !== sizes[stage]) {
      fail(`a binary of stage ${stage}`, start);
    }
    return {
      start,
      u32,
      u8: (offset: number) => view.getUint8(start + offset),
      i8: (offset: number) => view.getInt8(start + offset),
    };
  };
  const common = ({ start, u32, u8, i8 }: ReturnType<typeof reader>): StageBinary => {
    const codeBytes = u32(BINARY.codeBytes), code = start + BINARY.data + u32(BINARY.statisticsBytes);
    if (code + codeBytes > data.length) fail("code that is cut off", code);
    return {
      code: data.slice(code, code + codeBytes),
      execBytes: u32(BINARY.execBytes),
      waveSize: u8(BINARY.waveSize),
      numSgprs: u32(BINARY.numSgprs),
      numVgprs: u32(BINARY.numVgprs),
      ldsBytes: u32(BINARY.ldsBlocks) * 512,
      floatMode: u32(BINARY.floatMode),
      scratchBytesPerWave: u32(BINARY.scratchBytesPerWave),
      rsrc: [u32(BINARY.rsrc1), u32(BINARY.rsrc2)],
      userData: userDataOf(i8, u8, USER_DATA),
      inlinePushMask: view.getBigUint64(start + BINARY.inlinePushMask, true),
      setsUsed: u32(BINARY.setsUsed),
    };
  };
  const v = reader(VERTEX), f = reader(FRAGMENT);
  const flag = ({ u8, start }: ReturnType<typeof reader>, offset: number) => {
    const value = u8(offset);
    return value <= 1 ? value === 1 : fail(`a truth value of ${value}`, start + offset);
  };
  const inputMask = f.u32(INFO.inputMask), flatMask = f.u32(INFO.flatMask);
  const inputs = [
    ...(flag(f, INFO.primIdInput) ? [{ slot: SLOT_PRIMITIVE_ID, flat: true }] : []),
    ...Array.from({ length: 32 }, (_, i) => i).filter((i) => inputMask >>> i & 1).map((i) => ({
      slot: SLOT_VAR0 + i,
      flat: (flatMask >>> i & 1) === 1,
    })),
  ];
  if (inputs.length !== f.u32(INFO.interpolants)) fail(`${f.u32(INFO.interpolants)} attributes`, f.start);
  return {
    vertex: {
      ...common(v),
      ngg: flag(v, INFO.isNgg),
      passthrough: flag(v, INFO.isNggPassthrough),
      culling: flag(v, INFO.hasNggCulling),
      paramOffsets: Array.from({ length: 64 }, (_, slot) => v.u8(INFO.paramOffsets + slot)),
      params: v.u8(INFO.paramExports),
      positions: v.u32(INFO.posExports),
      clipMask: v.u8(INFO.clipDistances),
      cullMask: v.u8(INFO.cullDistances),
      pointSize: flag(v, INFO.writesPointSize),
      layer: flag(v, INFO.writesLayer),
      viewport: flag(v, INFO.writesViewport),
    },
    fragment: {
      ...common(f),
      inputEna: f.u32(INFO.spiPsInputEna),
      inputAddr: f.u32(INFO.spiPsInputAddr),
      inputs,
      sampleShading: flag(f, INFO.usesSampleShading),
      writesMemory: flag(f, INFO.writesMemory),
      writesZ: flag(f, INFO.writesZ),
      writesStencil: flag(f, INFO.writesStencil),
      writesSampleMask: flag(f, INFO.writesSampleMask),
      canDiscard: flag(f, INFO.canDiscard),
      earlyTests: flag(f, INFO.earlyTests),
      depthLayout: f.u8(INFO.depthLayout),
    },
  };
}
