/**
 * A shader as its file describes it: machine code and the facts that a launch needs. Every shader loader gives this; `harness.ts` turns one into a Program.
 */
import type { Target } from "./program.ts";
import type { AgcShaderRecord } from "./loaders/agc_record.ts";

/** Hardware stage. Names follow the AGC shader types (front and back are the two halves of a merged stage). */
export type ShaderStage =
  | "compute"
  | "pixel"
  | "geometry"
  | "hull"
  | "geometry-front"
  | "hull-front"
  | "geometry-back"
  | "hull-back"
  | "fetch"
  | "vertex";

/** A run of user SGPRs with one meaning. */
export interface UserSgpr {
  /** Meaning, in the words of the source file (`descriptor_set_ptr`, `kernarg_segment_ptr`, ...). */
  name: string;
  /** First SGPR. */
  sgpr: number;
  /** SGPRs. */
  count: number;
  /** Descriptor set, for `descriptor_set_ptr`. */
  set?: number;
}

/** An SGPR that the hardware fills after the user SGPRs. */
export interface SystemSgpr {
  name: string;
  sgpr: number;
}

/** A shader resource of ACO code: a place in a descriptor set. */
export interface DescriptorBinding {
  set: number;
  binding: number;
  /** `storage_buffer`, `uniform_buffer`, `storage_image`, `combined_image_sampler`, ... */
  type: string;
  count: number;
  /** Byte offset of the first descriptor in its set. */
  offset: number;
  /** Bytes from one array element's descriptor to the next. */
  stride: number;
  /** Byte offset of the sampler in a combined image and sampler. */
  samplerOffset?: number;
  name: string;
}

/** An argument of an LLVM kernel: a place in the kernarg segment. */
export interface KernelArgument {
  /** Byte offset in the kernarg segment. */
  offset: number;
  /** Bytes. */
  size: number;
  /** `global_buffer` (a 64-bit pointer) or `by_value`. */
  kind: string;
  /** Type text of the source, for people. */
  type: string;
}

/** How the code finds its data. */
export type ShaderAbi =
  | {
    kind: "aco";
    bindings: DescriptorBinding[];
    /** Bit i set: push-constant dword i is in user SGPRs. */
    inlinePushMask: number;
    /** Bytes of push constants. */
    pushConstantBytes: number;
    /** Upper half that the code gives to its one-SGPR pointers. */
    address32Hi: number;
    /** Scratch bytes that one wave needs. */
    scratchBytesPerWave: number;
  }
  | {
    kind: "llvm";
    arguments: KernelArgument[];
    kernargBytes: number;
    /** Scratch bytes that one lane needs. */
    scratchBytesPerLane: number;
  }
  | {
    kind: "agc";
    record: AgcShaderRecord;
    /** The record's file, where it is one of its own; absent for records in guest memory. */
    recordFile?: Uint8Array;
  };

/** See the file comment. */
export interface ShaderSource {
  name: string;
  /** File of the code. */
  file: string;
  target: Target;
  stage: ShaderStage;
  /** The code with everything that follows it (constants are read relative to the program counter): load all of it, 256-byte aligned. */
  code: Uint32Array;
  /** Byte offset of the code in `file`; absent where the file holds it in another form. */
  codeFileOffset?: number;
  /** Bytes of `code` that are instructions. */
  execBytes: number;
  /** Lanes of a wave; absent when the record does not say (an AGC record leaves it to the dispatch). */
  waveSize?: 32 | 64;
  /** Threads of a workgroup; absent when the dispatch decides. */
  workgroupSize?: [number, number, number];
  userSgprs: UserSgpr[];
  /** User SGPRs, from SGPR 0 (or from the stage's base) on. */
  userSgprCount: number;
  systemSgprs: SystemSgpr[];
  /** PGM_RSRC1..3 of the stage as the compiler wrote them; absent where the file has none. */
  rsrc1?: number;
  rsrc2?: number;
  rsrc3?: number;
  /** Bytes of LDS of a workgroup (for pixel shaders, what the shader itself asks for); absent where the record's way of saying it is not known. */
  ldsBytes?: number;
  /**
   * Registers of a graphics stage that decide what the program is (dword offsets in the SH and the context bank), where the file lists them apart from an
   * AGC record.
   */
  stageRegisters?: { sh: readonly RegisterValue[]; context: readonly RegisterValue[] };
  abi: ShaderAbi;
}

/** A register's value. */
export interface RegisterValue {
  readonly offset: number;
  readonly value: number;
}
