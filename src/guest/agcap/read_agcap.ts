/** Reads captures (docs/agcap.md): a zip archive whose manifest says what its entries are. Everything is checked before anything is given back. */
import { hex } from "../../errors.ts";
import { MalformedFileError, wordsOf } from "../loaders/file_format.ts";
import type { JsonNode } from "../loaders/json_node.ts";
import { parseJson } from "../loaders/json_parser.ts";
import {
  readAddressIn,
  readFrame,
  readPermissions,
  readQueue,
  readWindowRange,
  requireMapped,
} from "../loaders/program_checks.ts";
import { initialBytes } from "../map_program.ts";
import type { Expectation, LoadedProgram, ProgramMemory, ProgramSubmission } from "../program.ts";
import { ZipArchive } from "../zip/read_zip.ts";
import { Method } from "../zip/zip_format.ts";
import { AgcapEntries, readRange } from "./entries.ts";
import { checkSchema } from "./json_schema.ts";
import { readResults } from "./read_results.ts";
import { readShader } from "./read_shader.ts";
import { AGCAP_SCHEMA, AGCAP_SCHEMA_NAME, MANIFEST } from "./schema.ts";
import { queuesOf } from "./write_agcap.ts";

/** Largest manifest, in bytes. */
const MAX_MANIFEST_BYTES = 64 << 20;

/** Reads a capture's bytes; `file` is its path, for errors. A capture without submissions holds one shader, for listing: its program has only that. */
export function readAgcap(file: string, bytes: Uint8Array): LoadedProgram {
  const archive = new ZipArchive(file, bytes), entries = new AgcapEntries(archive);
  const manifest = archive.entries.get(MANIFEST);
  if (manifest === undefined) {
    throw new MalformedFileError("agcap.no-manifest", `a zip archive without ${MANIFEST} is no capture`, { file });
  }
  if (manifest.bytes > MAX_MANIFEST_BYTES) {
    throw new MalformedFileError(
      "agcap.manifest-size",
      `a manifest of ${manifest.bytes} bytes; up to ${MAX_MANIFEST_BYTES} are read`,
      { file, fileOffset: manifest.dataOffset },
    );
  }
  const root = parseJson(entries.pathOf(MANIFEST), archive.read(MANIFEST));
  const version = root.get("schema");
  if (version.text() !== AGCAP_SCHEMA_NAME) {
    version.fail(`${JSON.stringify(version.text().slice(0, 40))}: only ${AGCAP_SCHEMA_NAME} is known`, "agcap.version");
  }
  checkSchema(root, AGCAP_SCHEMA);
  const memory = readMemory(root.get("memory"), entries);
  const program: LoadedProgram = {
    name: root.get("name").text(),
    sourceFile: file,
    target: root.get("target").text() as LoadedProgram["target"],
    memory,
    submissions: root.get("submissions").items().map((node) => readSubmission(node, memory, entries)),
    expectations: root.get("expect").items().map((node) => readExpectation(node, memory, entries)),
    untouched: root.get("untouched").items().map((node) => readRange(node, memory)),
    frame: root.optional("frame") && readFrame(root.get("frame"), memory),
    shaders: [],
    notes: texts(root.get("notes")),
  };
  program.shaders = root.get("shaders").items().map((node) => readShader(node, program, entries));
  const missing = root.optional("missing"), results = root.optional("results");
  if (missing !== undefined) program.missing = texts(missing);
  if (results !== undefined) program.recorded = readResults(results, memory, entries);
  checkQueues(root.get("queues"), program);
  entries.finish();
  if (program.submissions.length === 0 && !isLoneShader(program) && !program.missing?.length) {
    root.get("submissions").fail("without submissions, a capture holds one shader and no memory", "agcap.empty");
  }
  return program;
}

/** True when a capture holds a shader and nothing that could run. */
export function isLoneShader(program: LoadedProgram): boolean {
  return program.submissions.length === 0 && program.memory.length === 0 && program.shaders.length === 1 &&
    !program.missing?.length;
}

function texts(list: JsonNode): string[] {
  return list.items().map((node) => node.text());
}

function readMemory(list: JsonNode, entries: AgcapEntries): ProgramMemory[] {
  const windows: ProgramMemory[] = [];
  for (const node of list.items()) {
    const { base, bytes } = readWindowRange(node, windows);
    let end = 0;
    const pieces = node.get("contents").items().map((piece) => {
      const offset = piece.get("offset").integer(0, bytes - 1), length = piece.get("bytes").integer(1, bytes);
      if (offset < end) piece.fail(`starts before ${hex(end)}, where the piece before it ends`, "agcap.overlap");
      end = offset + length;
      if (end > bytes) piece.fail(`ends at ${hex(end)}, the window at ${hex(bytes)}`, "agcap.range");
      return { offset, length };
    });
    const data = entries.readPieces(node, pieces.map(({ length }) => length));
    windows.push({
      name: node.get("name").text(),
      base,
      bytes,
      permissions: readPermissions(node.get("permissions")),
      contents: pieces.map(({ offset }, i) => ({ offset, data: data[i] })),
    });
  }
  return windows;
}

function readSubmission(node: JsonNode, memory: readonly ProgramMemory[], entries: AgcapEntries): ProgramSubmission {
  const queue = readQueue(node.get("queue")), dwords = node.get("dwords").integer(0, 1 << 26);
  const name = node.get("entry"), words = wordsOf(entries.read(name, 4 * dwords));
  const submission: ProgramSubmission = { queue, words };
  const label = node.optional("label"), addressNode = node.optional("address");
  if (label !== undefined) submission.label = label.text();
  if (addressNode !== undefined) {
    const address = readAddressIn(addressNode, 4);
    requireMapped(addressNode, address, 4 * dwords, memory);
    // The words are given twice then; nobody could say which of two different texts was meant.
    const there = wordsOf(initialBytes({ memory }, address, 4 * dwords));
    const differs = words.findIndex((word, i) => word !== there[i]);
    if (differs >= 0) {
      addressNode.fail(
        `memory holds ${hex(there[differs], 8)} at ${hex(address + BigInt(4 * differs))}, the submission ${
          hex(words[differs], 8)
        }`,
        "agcap.submission-memory",
      );
    }
    submission.address = address;
  }
  const { method, dataOffset } = entries.archive.entries.get(name.text())!;
  if (method === Method.Stored) submission.fileOffset = dataOffset;
  return submission;
}

function readExpectation(node: JsonNode, memory: readonly ProgramMemory[], entries: AgcapEntries): Expectation {
  const { address, bytes, reason } = readRange(node, memory), source = node.get("data");
  const data = source.get("in").text() === "entry"
    ? entries.read(source.get("entry"), source.get("bytes").integer(1, bytes))
    : Uint8Array.from(source.get("hex").text().match(/../g)!, (digits) => parseInt(digits, 16));
  if (bytes % data.length !== 0) {
    source.fail(`${data.length} bytes cannot be repeated to ${bytes}`, "agcap.expectation-size");
  }
  return { address, data, bytes, reason };
}

function checkQueues(node: JsonNode, program: LoadedProgram): void {
  const listed = node.items().map(readQueue), used = queuesOf(program);
  if (listed.length !== used.length || listed.some((queue, i) => queue !== used[i])) {
    node.fail(`the submissions use queues ${used.map((queue) => hex(queue)).join(", ") || "none"}`, "agcap.queues");
  }
}
