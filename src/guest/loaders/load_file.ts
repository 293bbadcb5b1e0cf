/** The one entry for input files: looks at the content, not at the name, and calls the loader of the format. */
import { RefusedError, UsageError } from "../../errors.ts";
import type { LoadedProgram } from "../program.ts";
import type { ShaderSource } from "../shader_source.ts";
import { isLoneShader, readAgcap } from "../agcap/read_agcap.ts";
import { isZip } from "../zip/read_zip.ts";
import { AGC_MAGIC } from "./agc_record.ts";
import { isCodeDescription, loadCodeDescription, partnerOf } from "./code_json.ts";
import { isFile, MalformedFileError, readInputFile } from "./file_format.ts";
import { type GoldenOptions, isGolden, loadGolden } from "./golden.ts";
import { parseJson } from "./json_parser.ts";
import { OPENAGC_MAGIC } from "./openagc/capture_file.ts";
import { loadOpenAgc } from "./openagc/load_openagc.ts";
import { isProgramJson, loadProgramJson } from "./program_json.ts";
import { loadSb } from "./sb.ts";

/** Formats of input files, by their names for people. */
export type FileFormat =
  | "capture"
  | "program description"
  | "golden capture"
  | "OpenAGC capture"
  | "AGC shader record"
  | "compiler output";

/** What a file turned out to be. */
export type LoadedFile =
  & { format: FileFormat }
  & ({ kind: "program"; program: LoadedProgram } | { kind: "shader"; shader: ShaderSource });

/** Formats for error messages. */
const KNOWN_FORMATS =
  "a program (anyagc.program/1 JSON), a capture (.agcap), a golden capture (JSON), an OpenAGC capture (.oagc), an AGC shader record (.sb), " +
  "machine code with its description (NAME.rdna.bin with NAME.json)";

/**
 * Reads a file of any known format. Missing and unknown files give a UsageError, malformed ones a MalformedFileError, formats that are known but not
 * read a RefusedError.
 */
export function loadFile(path: string, options: { golden?: GoldenOptions } = {}): LoadedFile {
  const bytes = readInputFile(path);
  const first = bytes.find((byte) => byte !== 0x20 && byte !== 0x0A && byte !== 0x0D && byte !== 0x09);
  if (bytes.length === 0) throw new MalformedFileError("file.empty", "the file is empty", { file: path });
  if (bytes.length >= 4 && new DataView(bytes.buffer).getUint32(0, true) === AGC_MAGIC) {
    return { format: "AGC shader record", kind: "shader", shader: loadSb(path, bytes) };
  }
  if (startsWith(bytes, OPENAGC_MAGIC)) {
    return { format: "OpenAGC capture", kind: "program", program: loadOpenAgc(path, bytes) };
  }
  if (isZip(bytes)) {
    const program = readAgcap(path, bytes), format = "capture";
    return isLoneShader(program)
      ? { format, kind: "shader", shader: program.shaders[0].source }
      : { format, kind: "program", program };
  }
  if (startsWith(bytes, "\x7FELF")) throw new RefusedError("file.elf", "ELF files are not read", { file: path });
  if (first === 0x7B) return loadJson(path, bytes, options);
  const partner = partnerOf(path);
  if (path.endsWith(".rdna.bin") && partner !== undefined && isFile(partner)) {
    return loadJson(partner, readInputFile(partner), options);
  }
  throw new UsageError("file.unknown-format", `no known format; known are ${KNOWN_FORMATS}`, { file: path });
}

function loadJson(path: string, bytes: Uint8Array, options: { golden?: GoldenOptions }): LoadedFile {
  const root = parseJson(path, bytes);
  if (isProgramJson(root)) {
    return { format: "program description", kind: "program", program: loadProgramJson(root) };
  }
  if (isGolden(root)) {
    return { format: "golden capture", kind: "program", program: loadGolden(root, options.golden) };
  }
  if (isCodeDescription(root)) {
    return { format: "compiler output", kind: "shader", shader: loadCodeDescription(root) };
  }
  return root.fail(`JSON of no known format; known are ${KNOWN_FORMATS}`, "file.unknown-format");
}

function startsWith(bytes: Uint8Array, text: string): boolean {
  return bytes.length >= text.length && [...text].every((letter, i) => bytes[i] === letter.charCodeAt(0));
}
