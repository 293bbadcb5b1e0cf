import type { LoadedProgram } from "../program.ts";
import type { DescriptorBinding, ShaderSource } from "../shader_source.ts";

/** Something that a shader works on. */
export type LaunchResource =
  /** Bytes; read them back after the run at the place that the launch reports. */
  | { kind: "buffer"; data: ArrayBufferView }
  /** A linear 2D image of one level. */
  | {
    kind: "image";
    /** Pixels. */
    width: number;
    height: number;
    /** Unified format number of the descriptor (56 is 8_8_8_8 UNORM; reference: AMD RDNA2 ISA, image formats). */
    format: number;
    /** Bytes of a pixel in that format. */
    texelBytes: number;
    /** Rows without padding; zeros when left out. */
    data?: ArrayBufferView;
    /** Channel selectors, descriptor word 3 bits 11:0; 0xFAC is R, G, B, A. */
    dstSel?: number;
    /** The four sampler words, for combined bindings; nearest and clamped when left out. */
    sampler?: readonly number[];
  }
  /** Sampler words. */
  | { kind: "sampler"; words: readonly number[] }
  /** Descriptor words as they are. */
  | { kind: "descriptor"; words: readonly number[] }
  /** Bytes of a by-value kernel argument. */
  | { kind: "value"; data: ArrayBufferView };

/** A push-constant dword, or the address of a resource (two dwords, low first). */
export type PushConstant = number | { addressOf: string };

/** One compute launch. */
export interface LaunchRequest {
  shader: ShaderSource;
  /** Size of the dispatch in the unit of `gridUnit`. */
  grid: readonly [number, number, number];
  /** `groups` (default), or `threads`: the last workgroups may be partial. */
  gridUnit?: "groups" | "threads";
  /** Threads of a workgroup; needed where the shader does not know (LLVM, AGC records), and refused where it disagrees. */
  workgroupSize?: readonly [number, number, number];
  /** Lanes of a wave; needed where the shader does not know. AGC compute records default to 32, which is what their compiler emits. */
  waveSize?: 32 | 64;
  /** Queue of the submission; 0 by default. */
  queue?: number;
  /**
   * Resources by key. ACO and AGC: the binding's name or `SET.BINDING`, with `[i]` behind it for element i of an array. LLVM: the argument's index.
   * AGC code without descriptors: any key, named by `pushConstants`.
   */
  resources: Readonly<Record<string, LaunchResource>>;
  /** Push-constant dwords in order. */
  pushConstants?: readonly PushConstant[];
  /** AGC records do not describe their descriptor sets: where each binding lies. */
  bindings?: readonly DescriptorBinding[];
}

/** Where a resource was put. */
export interface PlacedResource {
  address: bigint;
  /** Bytes, padding of image rows included. */
  bytes: number;
  /** Bytes from one image row to the next. */
  pitchBytes?: number;
}

/** A launch, ready to run. */
export interface Launch {
  program: LoadedProgram;
  /** Where the resources are, by the key of the request. */
  resources: ReadonlyMap<string, PlacedResource>;
  /** Guest address of the first instruction. */
  codeAddress: bigint;
  /** The end marker: this word becomes this value when everything before it is done. */
  marker: { address: bigint; value: number };
}
