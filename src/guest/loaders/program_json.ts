/**
 * Hand-written guest programs: schema `anyagc.program/1`, described for authors in docs/program-json.md. Reading is strict: whatever is not
 * understood, or does not fit together, is an error that names its place in the file.
 */
import { hex } from "../../errors.ts";
import type {
  Expectation,
  LoadedProgram,
  MemoryPiece,
  ProgramMemory,
  ProgramSubmission,
  Target,
  UntouchedRange,
} from "../program.ts";
import { bytesOf, folderOf, nameOf, readInputFile, wordsOf } from "./file_format.ts";
import type { JsonNode } from "./json_node.ts";
import {
  MAX_BYTES,
  MAX_SUBMISSION_WORDS,
  readAddressIn,
  readFrame,
  readPermissions,
  readQueue,
  readWindowRange,
  refuseOverlap,
  requireMapped,
} from "./program_checks.ts";

/** Value of `schema`. */
const PROGRAM_SCHEMA = "anyagc.program/1";

/** Ways to give bytes. */
const DATA_KEYS = ["file", "hex", "words", "floats"] as const;

/** True when the document says that it is such a program (of any version). */
export function isProgramJson(root: JsonNode): boolean {
  const schema = root.isObject ? root.optional("schema")?.value : undefined;
  return typeof schema === "string" && schema.startsWith("anyagc.program/");
}

/** Reads a program. Files that it names are looked up in its own folder. */
export function loadProgramJson(root: JsonNode): LoadedProgram {
  root.onlyKeys(["schema", "name", "target", "notes", "memory", "submissions", "expect", "untouched", "frame"]);
  const schema = root.get("schema");
  if (schema.text() !== PROGRAM_SCHEMA) schema.fail(`only ${PROGRAM_SCHEMA} is known`);
  const memory = readMemory(root.get("memory"));
  const frame = root.optional("frame");
  return {
    name: root.optional("name")?.text() ?? nameOf(root.file).replace(/\.json$/, ""),
    sourceFile: root.file,
    target: root.optional("target")?.oneOf<Target>("gfx1013", "gfx1030") ?? "gfx1013",
    memory,
    submissions: root.get("submissions").items(1).map((node) => readSubmission(node, memory)),
    expectations: root.optional("expect")?.items().map((node) => readExpectation(node, memory)) ?? [],
    untouched: root.optional("untouched")?.items().map((node) => readUntouched(node, memory)) ?? [],
    frame: frame === undefined ? undefined : readFrame(frame, memory),
    shaders: [],
    notes: root.optional("notes")?.items().map((node) => node.text()) ?? [],
  };
}

function readMemory(list: JsonNode): ProgramMemory[] {
  const windows: ProgramMemory[] = [];
  for (const node of list.items()) {
    node.onlyKeys(["name", "base", "bytes", "permissions", "contents"]);
    const { base, bytes } = readWindowRange(node, windows);
    const contents = node.optional("contents")?.items().map((piece) => readPiece(piece, bytes)) ?? [];
    refuseOverlap(node.optional("contents"), contents);
    windows.push({
      name: node.optional("name")?.text() ?? `window ${node.key}`,
      base,
      bytes,
      permissions: readPermissions(node.optional("permissions")),
      contents: contents.toSorted((a, b) => a.offset - b.offset),
    });
  }
  return windows;
}

function readPiece(node: JsonNode, windowBytes: number): MemoryPiece {
  node.onlyKeys(["offset", "repeat", ...DATA_KEYS]);
  const offset = node.get("offset").integer(0, windowBytes - 1);
  const repeat = node.optional("repeat")?.integer(1, MAX_BYTES) ?? 1;
  const data = readData(node);
  const bytes = data.length * repeat;
  if (bytes === 0) node.fail("the contents are empty");
  if (offset + bytes > windowBytes) {
    node.fail(`the contents end at ${hex(offset + bytes)}, the window at ${hex(windowBytes)}`);
  }
  if (repeat === 1) return { offset, data };
  const all = new Uint8Array(bytes);
  for (let at = 0; at < bytes; at += data.length) all.set(data, at);
  return { offset, data: all };
}

function readSubmission(node: JsonNode, memory: readonly ProgramMemory[]): ProgramSubmission {
  node.onlyKeys(["queue", "label", "words", "file", "address", "dwords"]);
  const queue = readQueue(node.get("queue"));
  const label = node.optional("label")?.text();
  const given = ["words", "file", "address"].filter((key) => node.optional(key) !== undefined);
  if (given.length !== 1) node.fail("exactly one of words, file, address is expected");
  const dwords = node.optional("dwords");
  if (given[0] !== "address") {
    dwords?.fail("belongs to address only");
    const file = node.optional("file");
    if (file === undefined) return { queue, label, words: limited(node.get("words"), node.get("words").words()) };
    const bytes = readFileData(file);
    if (bytes.length % 4 !== 0) file.fail(`${bytes.length} bytes are no whole words`);
    return { queue, label, words: limited(file, wordsOf(bytes)) };
  }
  const address = readAddressIn(node.get("address"), 4), count = node.get("dwords").integer(1, MAX_SUBMISSION_WORDS);
  const window = requireMapped(node.get("address"), address, 4 * count, memory);
  const bytes = new Uint8Array(4 * count), start = Number(address - window.base);
  for (const { offset, data } of window.contents) {
    const from = Math.max(offset, start), to = Math.min(offset + data.length, start + bytes.length);
    if (from < to) bytes.set(data.subarray(from - offset, to - offset), from - start);
  }
  return { queue, label, address, words: wordsOf(bytes) };
}

function limited<T extends Uint32Array>(node: JsonNode, words: T): T {
  if (words.length > MAX_SUBMISSION_WORDS) {
    node.fail(`${words.length} words; a command buffer has up to ${MAX_SUBMISSION_WORDS}`);
  }
  return words;
}

function readExpectation(node: JsonNode, memory: readonly ProgramMemory[]): Expectation {
  node.onlyKeys(["address", "reason", "repeat", ...DATA_KEYS]);
  const address = readAddressIn(node.get("address"), 1), data = readData(node);
  const bytes = data.length * (node.optional("repeat")?.integer(1, MAX_BYTES) ?? 1);
  if (bytes === 0) node.fail("nothing to compare");
  requireMapped(node.get("address"), address, bytes, memory);
  return { address, data, bytes, reason: node.get("reason").text() };
}

function readUntouched(node: JsonNode, memory: readonly ProgramMemory[]): UntouchedRange {
  node.onlyKeys(["address", "bytes", "reason"]);
  const address = readAddressIn(node.get("address"), 1), bytes = node.get("bytes").integer(1, MAX_BYTES);
  requireMapped(node.get("address"), address, bytes, memory);
  return { address, bytes, reason: node.get("reason").text() };
}

/** The bytes that one of the {@linkcode DATA_KEYS} gives. */
function readData(node: JsonNode): Uint8Array<ArrayBuffer> {
  const given = DATA_KEYS.filter((key) => node.optional(key) !== undefined);
  if (given.length !== 1) node.fail(`exactly one of ${DATA_KEYS.join(", ")} is expected`);
  const value = node.get(given[0]);
  switch (given[0]) {
    case "file":
      return readFileData(value);
    case "hex":
      return readHex(value);
    case "words":
      return bytesOf(value.words());
    case "floats":
      return bytesOf(
        new Uint32Array(
          Float32Array.from(
            value.items(),
            (item) => typeof item.value === "number" ? item.value : item.fail("a number is expected"),
          ).buffer,
        ),
      );
  }
}

function readHex(node: JsonNode): Uint8Array<ArrayBuffer> {
  const digits = node.text().replace(/\s+/g, "");
  if (!/^([0-9a-fA-F]{2})*$/.test(digits)) node.fail("bytes of two hexadecimal digits each are expected");
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) => parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

/** Reads a file beside the document. Names that lead out of its folder are refused, also by way of symbolic links. */
function readFileData(node: JsonNode): Uint8Array<ArrayBuffer> {
  const name = node.text(), folder = folderOf(node.file);
  if (
    name === "" || name.startsWith("/") || name.includes("\\") || name.includes("\0") ||
    name.split("/").some((part) => part === ".." || part === "")
  ) {
    node.fail(
      `${JSON.stringify(name)}: a name relative to the program's own folder, without "..", is expected`,
      "file.outside-folder",
    );
  }
  const path = `${folder}/${name}`;
  let real: string, realFolder: string;
  try {
    real = Deno.realPathSync(path);
    realFolder = Deno.realPathSync(folder);
  } catch {
    node.fail(`there is no file ${path}`, "file.missing");
  }
  if (!real.startsWith(realFolder.endsWith("/") ? realFolder : `${realFolder}/`)) {
    node.fail(`${path} is a link out of the program's folder`, "file.outside-folder");
  }
  return readInputFile(path);
}
