/**
 * `.sb` files of OpenAGC's shader compiler: one AGC shader record whose pointers are file offsets, with the code behind it.
 *
 * What the record leaves open: the size of the code (it runs to the end of the file), the wave size of compute shaders, the workgroup size.
 *
 * User SGPRs of its compute shaders, read from the disassembly of the corpus (llvm-mc-19):
 * s[0:1] ring pointer (unused without scratch); then one SGPR per descriptor set, the low half of the set's address (the code makes the high half
 * 2); then the push-constant dwords in order; then, from the hardware, the enabled workgroup ids.
 *
 * | file | user SGPRs | system SGPRs | thread ids | workgroup |
 * |---|---|---|---|---|
 * | fill_color, fill_color_new | s[2:3] address of the words, s4 word count, s5 colour | s6 workgroup x | v0 | 64 |
 * | fill_color_native | s2 set 0 (V# at +0), s3 word count, s4 colour | s5 workgroup x | v0 | 64 |
 * | copy_consume_native | s2 set 0 (input V# at +0, output V# at +16), s3 word count | s4 workgroup x | v0 | 64 |
 * | render_consume_native | s2 set 0 (image T# at +0, output V# at +64) | s3, s4 workgroup x, y | v0, v1 | 8x8 |
 * | htile_rmw | s[2:3] address of the words, s4 word count, s5 value, s6 mask of the bits to write | s7 workgroup x | v0 | 64 |
 *
 * They are wave32 code: render_consume_native uses v0 to v7, and its RSRC1 asks for one granule of VGPRs, which is 8 in wave32 and 4 in wave64.
 */
import type { ShaderAbi, ShaderSource, ShaderStage, SystemSgpr, UserSgpr } from "../shader_source.ts";
import { type AgcShaderRecord, readAgcRecord, type RecordSource, userSgprOf } from "./agc_record.ts";
import { MalformedFileError, nameOf, wordsOf } from "./file_format.ts";

const S_CODE_END = 0xBF9F0000;

/** A shader with an AGC record. */
export type AgcShaderSource = ShaderSource & { abi: Extract<ShaderAbi, { kind: "agc" }> };

/** Reads a `.sb` file's bytes; `file` is its path, for errors. */
export function loadSb(file: string, bytes: Uint8Array): AgcShaderSource {
  const source = new FileRecordSource(file, bytes);
  const record = readAgcRecord(source, 0n, "file-offset");
  const code = Number(record.codeAddress);
  if (record.codeAddress < 0x60n || record.codeAddress >= BigInt(bytes.length)) {
    source.fail(0x10n, `code at ${code} is outside the file's ${bytes.length} bytes`);
  }
  const length = record.shaderBytes || bytes.length - code;
  if (code % 4 !== 0 || length % 4 !== 0) {
    source.fail(0x10n, `code at ${code}, ${length} bytes: must be whole 32-bit words`);
  }
  const words = wordsOf(source.bytes(record.codeAddress, length, "the code"));
  const shader = agcShaderSource(record, words, nameOf(file).replace(/\.sb$/, ""), file, code);
  return { ...shader, abi: { kind: "agc", record, recordFile: bytes } };
}

/** Describes the shader of a record whose code is at hand. */
export function agcShaderSource(
  record: AgcShaderRecord,
  code: Uint32Array,
  name: string,
  file: string,
  codeFileOffset?: number,
): AgcShaderSource {
  const [rsrc1, rsrc2, rsrc3] = RESOURCE_REGISTERS[record.stage] ?? [];
  const value = (register: number | undefined) =>
    record.shRegisters.findLast((each) => each.offset === register)?.value;
  const second = value(rsrc2);
  let end = code.length;
  while (end > 0 && code[end - 1] === S_CODE_END) end--;
  return {
    name,
    file,
    target: "gfx1013",
    stage: record.stage,
    code,
    codeFileOffset,
    execBytes: 4 * end,
    waveSize: waveSizeOf(record),
    workgroupSize: undefined,
    userSgprs: userSgprsOf(record),
    userSgprCount: second === undefined
      ? 0
      : (second >>> 1 & 0x1F) | (record.stage === "compute" ? 0 : second >>> 27 & 1) << 5,
    systemSgprs: record.stage === "compute" && second !== undefined ? systemSgprsOf(second) : [],
    rsrc1: value(rsrc1),
    rsrc2: second,
    rsrc3: value(rsrc3),
    ldsBytes: second === undefined ? undefined : ldsBytesOf(record.stage, second),
    abi: { kind: "agc", record },
  };
}

/** SH registers RSRC1, RSRC2, RSRC3 by stage. */
const RESOURCE_REGISTERS: Readonly<Partial<Record<ShaderStage, [number, number, number]>>> = {
  "compute": [0x212, 0x213, 0x228],
  "pixel": [0x00A, 0x00B, 0x007],
  "geometry": [0x08A, 0x08B, 0x087],
  "geometry-front": [0x08A, 0x08B, 0x087],
  "geometry-back": [0x08A, 0x08B, 0x087],
  "hull": [0x10A, 0x10B, 0x107],
  "hull-front": [0x10A, 0x10B, 0x107],
  "hull-back": [0x10A, 0x10B, 0x107],
};

/** LDS_SIZE counts 128 dwords (AMD register headers: COMPUTE_PGM_RSRC2 23:15, SPI_SHADER_PGM_RSRC2_GS 26:19). */
function ldsBytesOf(stage: ShaderStage, rsrc2: number): number | undefined {
  if (stage === "compute") return 512 * (rsrc2 >>> 15 & 0x1FF);
  if (stage.startsWith("geometry")) return 512 * (rsrc2 >>> 19 & 0xFF);
  return stage === "pixel" ? 0 : undefined;
}

/** SGPRs that the hardware fills behind the user SGPRs of a compute wave (COMPUTE_PGM_RSRC2 bits 7 to 10, in this order). */
function systemSgprsOf(rsrc2: number): SystemSgpr[] {
  let sgpr = rsrc2 >>> 1 & 0x1F;
  return ["workgroup_id_x", "workgroup_id_y", "workgroup_id_z", "workgroup_info"].flatMap((name, i) =>
    rsrc2 >>> 7 + i & 1 ? [{ name, sgpr: sgpr++ }] : []
  );
}

/** Pixel shaders say it in SPI_PS_IN_CONTROL (context 0x1b6 bit 15), vertex stages in VGT_SHADER_STAGES_EN (bit 22 GS, bit 21 HS). */
function waveSizeOf(record: AgcShaderRecord): 32 | 64 | undefined {
  if (record.stage === "pixel") {
    const control = record.cxRegisters.findLast((each) => each.offset === 0x1B6);
    return control === undefined ? undefined : control.value >>> 15 & 1 ? 32 : 64;
  }
  const stages = record.specials?.shaderStagesEnable;
  if (stages?.offset !== 0x2D5) return undefined;
  if (record.stage.startsWith("geometry")) return stages.value >>> 22 & 1 ? 32 : 64;
  return record.stage.startsWith("hull") ? stages.value >>> 21 & 1 ? 32 : 64 : undefined;
}

function userSgprsOf(record: AgcShaderRecord): UserSgpr[] {
  return record.placeholders.map(({ kind, register, set }) => {
    const sgpr = userSgprOf(record.stage, register)!;
    return kind === "descriptor-set"
      ? { name: "descriptor_set_ptr", sgpr, count: 1, set: set! }
      : { name: kind.replaceAll("-", "_"), sgpr, count: 1 };
  });
}

class FileRecordSource implements RecordSource {
  readonly #file: string;
  readonly #bytes: Uint8Array;

  constructor(file: string, bytes: Uint8Array) {
    this.#file = file;
    this.#bytes = bytes;
  }

  bytes(address: bigint, length: number, what: string): Uint8Array {
    const size = this.#bytes.length;
    if (address + BigInt(length) > BigInt(size)) {
      this.fail(
        address < BigInt(size) ? address : BigInt(size),
        `${what}: ${length} bytes from ${address} on leave the file's ${size} bytes`,
      );
    }
    return this.#bytes.subarray(Number(address), Number(address) + length);
  }

  fail(address: bigint, reason: string): never {
    throw new MalformedFileError("file.record", reason, { file: this.#file, fileOffset: Number(address) });
  }
}
