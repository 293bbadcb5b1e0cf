/**
 * What the compiler and the process that runs RADV say to each other: one JSON object a line, each answered before the next is sent.
 *
 * @module
 */
import type { DescriptorType } from "../spirv/reflect.ts";

/** One pipeline to create. */
export interface CompileJob {
  /** SPIR-V file. */
  readonly spirv: string;
  readonly entryPoint: string;
  readonly waveSize: 32 | 64;
  /** Bindings of sets 0 to the last one that is used. */
  readonly sets: readonly (readonly JobBinding[])[];
  readonly pushConstantBytes: number;
  readonly specialization: readonly JobConstant[];
}

/** One graphics pipeline to create, of a vertex and a fragment stage. */
export interface GraphicsJob {
  /** SPIR-V files. */
  readonly vertex: string;
  readonly fragment: string;
  /** As of {@linkcode CompileJob}, for both stages. */
  readonly sets: readonly (readonly JobBinding[])[];
  readonly pushConstantBytes: number;
  /** VkFormats of the colour attachments, and of the vertex attributes by location. */
  readonly targetFormats: readonly number[];
  readonly attributeFormats: readonly number[];
  readonly samples: number;
  /** Points instead of triangles. */
  readonly points: boolean;
}

/** A binding of a set layout. */
export interface JobBinding {
  readonly binding: number;
  readonly type: DescriptorType;
  readonly count: number;
}

/** Value of a specialization constant. */
export interface JobConstant {
  readonly id: number;
  /** Bytes of the value: 4 for a Boolean. */
  readonly bytes: number;
  /** Raw bits, 0x-prefixed. */
  readonly value: string;
}

/** What the process sends when it is ready for jobs. */
export interface Ready {
  readonly ready: true;
  readonly device: string;
  readonly driver: string;
}

/** The process cannot work at all. */
export interface Unusable {
  readonly unusable: { readonly code: string; readonly message: string };
}

/** Answer to a job. */
export type CompileReply =
  /** vkGetPipelineCacheData, base64. */
  | { readonly cacheData: string }
  /** An error that RADV or the tool reported. */
  | { readonly failed: { readonly code: string; readonly message: string } };

/** Starts each message of RADV's compiler on the error stream. */
export const MESSAGE_PREFIX = "radv-message: ";
