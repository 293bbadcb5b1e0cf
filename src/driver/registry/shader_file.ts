/**
 * Shader records of `.sb` files in guest memory: the tables as the file has them, the code where its alignment wants it.
 *
 * @module
 */
import type { ErrorPlace } from "../../errors.ts";
import { createShader } from "../../guest/agc_shader.ts";
import {
  AGC_HEADER_BYTES,
  AgcPointer,
  type AgcShaderRecord,
  USER_DATA_POINTERS,
} from "../../guest/loaders/agc_record.ts";
import { readInputFile } from "../../guest/loaders/file_format.ts";
import { type AgcShaderSource, loadSb } from "../../guest/loaders/sb.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";

/** Code begins at multiples of it. */
const CODE_ALIGNMENT = 256;

/**
 * The record of a `.sb` file, without guest memory: its addresses are file offsets.
 *
 * @throws UsageError for a missing file, InvalidInputError for one that is no shader record.
 *
 * @example How many inputs a pixel shader has
 * ```ts no-assert
 * import { readShaderFile } from "@anyagc/anyagc";
 *
 * console.log(readShaderFile("triangle_frag.sb").inputs.length);
 * ```
 */
export function readShaderFile(path: string): AgcShaderRecord {
  return loadSb(path, readInputFile(path)).abi.record;
}

/** Reads a file with its code. @throws as {@linkcode readShaderFile} */
export function loadShaderFile(path: string): AgcShaderSource & { readonly bytes: Uint8Array<ArrayBuffer> } {
  const bytes = readInputFile(path);
  return { ...loadSb(path, bytes), bytes };
}

/** Bytes that {@linkcode placeShader} takes for a file, at most. */
export function placedBytes(source: { readonly bytes: Uint8Array; readonly code: Uint32Array }): number {
  return codeOffset(source.bytes.length) + source.code.byteLength;
}

/** From the record to the code in memory. */
function codeOffset(fileBytes: number): number {
  return Math.ceil(fileBytes / CODE_ALIGNMENT) * CODE_ALIGNMENT;
}

/** A file in memory: what belongs to which guest address. */
export class PlacedFile {
  readonly #file: string;
  readonly #at: bigint;
  readonly #bytes: number;
  readonly #codeBytes: number;
  readonly #codeFileOffset: number | undefined;

  /** @param at where {@linkcode placeShader} put the record */
  constructor(at: bigint, { file, bytes, code, codeFileOffset }: ReturnType<typeof loadShaderFile>) {
    this.#file = file;
    this.#at = at;
    this.#bytes = bytes.length;
    this.#codeBytes = code.byteLength;
    this.#codeFileOffset = codeFileOffset;
  }

  /** Where something went wrong: the file, the offset in it and the guest address, as far as the error tells. */
  placeOf({ guestAddress, pc }: ErrorPlace): ErrorPlace {
    const codeAt = codeOffset(this.#bytes), code = this.#at + BigInt(codeAt);
    const address = guestAddress ?? code + BigInt(pc ?? 0), offset = Number(BigInt.asIntN(64, address - this.#at));
    const place = { file: this.#file, guestAddress: address };
    if (offset >= 0 && offset < this.#bytes) return { ...place, fileOffset: offset };
    const inCode = this.#codeFileOffset !== undefined && offset >= codeAt && offset < codeAt + this.#codeBytes;
    return inCode ? { ...place, fileOffset: this.#codeFileOffset! + offset - codeAt } : place;
  }
}

/**
 * Puts a file's record and code into memory and creates the shader, as the guest's loader would.
 *
 * @param at where the record goes, a multiple of 256
 * @throws InvalidInputError for a record that createShader refuses
 */
export function placeShader(
  memory: GuestMemory,
  at: bigint,
  { bytes, code }: Pick<ReturnType<typeof loadShaderFile>, "bytes" | "code">,
): AgcShaderRecord {
  const relative = bytes.slice(), view = new DataView(relative.buffer);
  // From offsets in the file to offsets from the pointer itself, which createShader resolves.
  const turn = (field: number) => {
    const target = view.getBigUint64(field, true);
    if (target !== 0n) view.setBigUint64(field, BigInt.asUintN(64, target - BigInt(field)), true);
    return Number(target);
  };
  let userData = 0;
  for (const field of Object.values(AgcPointer)) {
    const target = turn(field);
    if (field === AgcPointer.UserData) userData = target;
  }
  if (userData >= AGC_HEADER_BYTES) { for (const { pointer } of USER_DATA_POINTERS) turn(userData + pointer); }
  memory.write(at, relative);
  const codeAt = at + BigInt(codeOffset(bytes.length));
  memory.write(codeAt, new Uint8Array(code.buffer, code.byteOffset, code.byteLength));
  return createShader(memory, at, codeAt);
}
