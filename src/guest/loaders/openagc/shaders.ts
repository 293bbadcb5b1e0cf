/** Shaders of an OpenAGC capture: what is recorded of them, and their code, where it can be had. */
import { hex } from "../../../errors.ts";
import { folderOf, readInputFile } from "../file_format.ts";
import { fnv1a64 } from "../golden_image.ts";
import { type AgcShaderSource, loadSb } from "../sb.ts";
import { type CaptureRecord, ObjectType, type OpenAgcCapture, RecordType } from "./capture_file.ts";
import type { ComputeUse } from "./compute_uses.ts";

/** Files beside a capture that are looked at, at most, and the largest. */
const MAX_FILES = 1000, MAX_SHADER_BYTES = 1 << 20;

/** A shader. */
export interface CapturedShader {
  /** For messages. */
  description: string;
  /** Its record and code, whole; undefined when they are not known. */
  bytes?: Uint8Array;
  source?: AgcShaderSource;
  /** Whether a dispatch may be one of it, by what is recorded of its pipelines and its registers. */
  fits(use: ComputeUse): boolean;
}

/** The shaders, in the order of the capture. */
export function capturedShaders({ file, records }: OpenAgcCapture, notes: string[]): CapturedShader[] {
  const bytes = new Map<bigint, CaptureRecord>(), pipelines = new Map<bigint, number[][]>();
  for (const record of records) {
    // The second half of a merged shader is kept in the listing only: nothing here draws.
    if (record.type === RecordType.ShaderBytes && record.u32(8) === 0) bytes.set(record.u64(0), record);
    if (record.type === RecordType.PipelineDesc && record.u32(8) === ObjectType.ComputePipeline) {
      const sizes = pipelines.get(record.u64(16)) ?? [];
      pipelines.set(record.u64(16), [...sizes, [record.u32(24), record.u32(28), record.u32(32)]]);
    }
  }
  const descriptions = records.filter(({ type }) => type === RecordType.ShaderDesc);
  const beside = new ShaderFiles(file);
  return descriptions.map((record) => {
    const id = record.u64(0), size = Number(record.u64(32)), hash = record.u64(40);
    const description = `shader ${id}, ${size} bytes, FNV-1a ${hex(hash, 16)}`;
    const sizes = pipelines.get(id) ?? [];
    const fitsSize = ({ threads }: ComputeUse) => sizes.some((each) => each.every((count, i) => count === threads[i]));
    const own = bytes.get(id);
    const found = own === undefined
      ? beside.find(size, hash)
      : { name: `${file}:shader-${id}.sb`, bytes: own.payload.slice(16) };
    if (found === undefined) {
      return {
        description: `${description}: its bytes were not recorded, and no file beside has that hash`,
        fits: fitsSize,
      };
    }
    if (own === undefined) notes.push(`${description}: read from ${found.name}, which has the recorded hash`);
    else if (found.bytes.length !== size || fnv1a64(found.bytes) !== hash) {
      own.fail(
        16,
        `${found.bytes.length} bytes with hash ${hex(fnv1a64(found.bytes), 16)}; recorded are ${description}`,
      );
    }
    const read = loadSb(found.name, found.bytes), source = own === undefined ? read : { ...read, name: `shader-${id}` };
    return {
      description,
      bytes: found.bytes,
      source,
      fits: (use) => fitsSize(use) && use.rsrc1 === source.rsrc1 && use.rsrc2 === source.rsrc2,
    };
  });
}

/** The `.sb` files in the capture's folder, read when they are first needed. */
class ShaderFiles {
  readonly #folder: string;
  #files: { name: string; bytes: number }[] | undefined;

  constructor(capture: string) {
    this.#folder = folderOf(capture);
  }

  /** The file of that size and hash. */
  find(size: number, hash: bigint): { name: string; bytes: Uint8Array } | undefined {
    for (const { name, bytes: length } of this.#list()) {
      if (length !== size) continue;
      const bytes = readInputFile(name);
      if (fnv1a64(bytes) !== hash) continue;
      return { name, bytes };
    }
    return undefined;
  }

  #list(): { name: string; bytes: number }[] {
    if (this.#files !== undefined) return this.#files;
    const names = [...Deno.readDirSync(this.#folder)].filter(({ name, isFile }) => isFile && name.endsWith(".sb"))
      .map(({ name }) => `${this.#folder}/${name}`).sort().slice(0, MAX_FILES);
    this.#files = names.map((name) => ({ name, bytes: Deno.statSync(name).size }))
      .filter(({ bytes }) => bytes <= MAX_SHADER_BYTES);
    return this.#files;
  }
}
