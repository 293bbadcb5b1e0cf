import { type AgcShaderRecord, readAgcRecord, type RecordSource } from "../loaders/agc_record.ts";
import { loadCodeDescription } from "../loaders/code_json.ts";
import { MalformedFileError, wordsOf } from "../loaders/file_format.ts";
import type { JsonNode } from "../loaders/json_node.ts";
import { parseJson } from "../loaders/json_parser.ts";
import { readAddressIn } from "../loaders/program_checks.ts";
import { agcShaderSource, loadSb } from "../loaders/sb.ts";
import { initialBytes } from "../map_program.ts";
import type { LoadedProgram, ProgramShader } from "../program.ts";
import type { ShaderSource } from "../shader_source.ts";
import type { AgcapEntries } from "./entries.ts";

/** Reads one of a manifest's `shaders`; the manifest satisfies the schema. */
export function readShader(node: JsonNode, program: LoadedProgram, entries: AgcapEntries): ProgramShader {
  const name = node.get("name").text(), address = node.optional("address");
  const source = { ...readSource(node, program, entries), name };
  if (source.target !== program.target) {
    node.fail(`the shader is ${source.target} code, the program ${program.target}`, "agcap.target");
  }
  return { name, ...(address === undefined ? {} : { address: readAddressIn(address, 4) }), source };
}

function readSource(node: JsonNode, program: LoadedProgram, entries: AgcapEntries): ShaderSource {
  const form = node.get("form").text();
  if (form === "record") return readRecord(node.get("record"), program);
  const entry = node.get("entry"), path = entries.pathOf(entry.text()), bytes = entries.read(entry);
  if (form === "record-file") return loadSb(path, bytes);
  const description = node.get("describedBy");
  const root = parseJson(entries.pathOf(description.text()), entries.read(description));
  return loadCodeDescription(root, { file: path, bytes });
}

/** A record in the initial memory, whose pointers are absolute: what sceAgcCreateShader leaves. */
function readRecord(node: JsonNode, program: LoadedProgram): ShaderSource {
  const source: RecordSource = {
    bytes(address, length, what) {
      const inside = program.memory.some(({ base, bytes }) =>
        address >= base && address + BigInt(length) <= base + BigInt(bytes)
      );
      return inside
        ? initialBytes(program, address, length)
        : this.fail(address, `${what} is not inside one memory window`);
    },
    fail(address, reason): never {
      throw new MalformedFileError("file.record", `${node.path}: ${reason}`, {
        file: node.file,
        fileOffset: node.offset,
        guestAddress: address,
      });
    },
  };
  const record: AgcShaderRecord = readAgcRecord(source, readAddressIn(node, 4), "absolute");
  const { codeAddress, shaderBytes } = record;
  if (shaderBytes === 0 || shaderBytes % 4 !== 0) source.fail(record.address + 0x44n, `code of ${shaderBytes} bytes`);
  return agcShaderSource(record, wordsOf(source.bytes(codeAddress, shaderBytes, "the code")), "", node.file);
}
