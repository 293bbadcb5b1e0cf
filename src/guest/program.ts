/**
 * What every loader produces and the driver runs: memory windows with contents, command streams, and what is known about the results.
 * Plain data; nothing here depends on the format it came from.
 */
import type { Target } from "../rdna/target.ts";
import type { RecordedResults } from "./recorded_results.ts";
import type { ShaderSource } from "./shader_source.ts";

export type { Target };

/** A whole guest program. */
export interface Program {
  /** Short name for people and for file names of results. */
  name: string;
  /** The file it was read from, if any. */
  sourceFile?: string;
  /** Instruction set of all machine code in it. */
  target: Target;
  /** The memory it needs. Windows do not overlap. */
  memory: ProgramMemory[];
  /** What the guest submits, in order. */
  submissions: ProgramSubmission[];
  /** Bytes that must be in memory when everything has run. */
  expectations: Expectation[];
  /** Ranges that must still hold their initial contents when everything has run. */
  untouched: UntouchedRange[];
  /** A picture in memory worth writing to a file. */
  frame?: Frame;
  /** What a reader of the results should know: contents that were not captured, values that were derived, assumptions. */
  notes: string[];
}

/** A program with what its file says of its shaders. */
export interface LoadedProgram extends Program {
  /** Shaders that the loader knows by name. The command streams stay the authority: this is for listing, and for preparing ahead of use. */
  shaders: ProgramShader[];
  /** What a run needs and the file does not carry. With any, the program can be listed and disassembled, but a run of it is refused. */
  missing?: string[];
  /** What the file holds beside the program, one line each, for people. */
  listing?: string[];
  /** What a run gave, when the file says. */
  recorded?: RecordedResults;
}

/** One window of guest memory. */
export interface ProgramMemory {
  /** Name for messages. */
  name: string;
  /** First guest address: canonical, unsigned 64-bit, a multiple of 4 KiB. */
  base: bigint;
  /** Size in bytes, a multiple of 4 KiB. */
  bytes: number;
  /** Bits of `Permission`. */
  permissions: number;
  /** Initial contents; everything else is zero. Pieces do not overlap. */
  contents: MemoryPiece[];
}

/** Initial bytes of a part of a window. */
export interface MemoryPiece {
  /** Byte offset from the window's base. */
  offset: number;
  /** The bytes. */
  data: Uint8Array;
}

/** One command buffer that the guest submits to a queue. */
export interface ProgramSubmission {
  /** 0 is the graphics queue (DCB), 0x20..0x57 are compute queues (ACB). */
  queue: number;
  /** The PM4 words. */
  words: Uint32Array;
  /** Byte offset of the first word in the source file, where the file holds them as bytes. */
  fileOffset?: number;
  /** Guest address of the words, when they lie in guest memory. */
  address?: bigint;
  /** Name for messages. */
  label?: string;
}

/** What must be in memory at the end. */
export interface Expectation {
  /** First guest address. */
  address: bigint;
  /** Expected bytes; repeated to fill `bytes` when that is larger. */
  data: Uint8Array;
  /** Bytes to compare. A multiple of `data.length`. */
  bytes: number;
  /** Why: where the value is known from. */
  reason: string;
}

/** A range that nothing may change. */
export interface UntouchedRange {
  /** First guest address. */
  address: bigint;
  /** Bytes. */
  bytes: number;
  /** Why nothing may change it. */
  reason: string;
}

/** A picture in guest memory. */
export interface Frame {
  /** Guest address of the first pixel. */
  address: bigint;
  /** Pixels. */
  width: number;
  /** Pixels. */
  height: number;
  /** Bytes from one row to the next; for a tiled picture, of the padded width. */
  pitchBytes: number;
  /** Order of the four bytes of a pixel. */
  format: "rgba8" | "bgra8";
  /** `linear`: rows in order. `64KB_R_X`: the console's tiled colour targets (swizzle mode 27, 4 bytes per pixel, 128x128 pixels per 64 KiB block). */
  tiling: "linear" | "64KB_R_X";
}

/** A shader and, where it is known, the guest address of its code. */
export interface ProgramShader {
  name: string;
  /** Guest address of the first instruction. */
  address?: bigint;
  source: ShaderSource;
}
