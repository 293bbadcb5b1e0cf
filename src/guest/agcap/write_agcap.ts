import { hex } from "../../errors.ts";
import { bytesOf, nameOf } from "../loaders/file_format.ts";
import { permissionText } from "../memory/window.ts";
import type { Expectation, LoadedProgram, ProgramMemory, ProgramShader } from "../program.ts";
import type { RecordedResults } from "../recorded_results.ts";
import type { ShaderSource } from "../shader_source.ts";
import { writeZip, type ZipInput } from "../zip/write_zip.ts";
import { describeCode } from "./describe_code.ts";
import { AGCAP_SCHEMA_NAME, MANIFEST, MAX_INLINE_BYTES } from "./schema.ts";

/** What the writer is told beside the program. */
export interface AgcapOptions {
  /** What writes the file, for example `anyagc 0.1.0`. */
  producer?: string;
}

/**
 * A program as a capture (docs/agcap.md): the same program gives the same bytes. Of the source file only the name is kept, not the path.
 *
 * @throws RefusedError for shaders that a capture cannot hold, InvalidInputError for contents over the limits of an archive.
 */
export function writeAgcap(program: LoadedProgram, options: AgcapOptions = {}): Uint8Array<ArrayBuffer> {
  const entries: ZipInput[] = [];
  const add = (name: string, data: Uint8Array, stored = false): string => {
    entries.push({ name, data, stored });
    return name;
  };
  const { sourceFile, frame, missing, recorded } = program;
  const manifest = {
    schema: AGCAP_SCHEMA_NAME,
    name: program.name,
    target: program.target,
    producer: options.producer,
    source: sourceFile === undefined ? undefined : nameOf(sourceFile),
    notes: program.notes,
    memory: program.memory.map((window, i) => describeWindow(window, (data) => add(`memory/${i}.bin`, data))),
    shaders: program.shaders.map((shader, i) => describeShader(shader, `shaders/${i}`, add)),
    queues: queuesOf(program),
    submissions: program.submissions.map(({ queue, label, address, words }, i) => ({
      queue,
      label,
      address: address === undefined ? undefined : hex(address),
      dwords: words.length,
      // Not packed, so that errors can name the offset of a packet in the file.
      entry: add(`streams/${i}.bin`, bytesOf(words), true),
    })),
    expect: program.expectations.map((each, i) => describeExpectation(each, (data) => add(`expect/${i}.bin`, data))),
    untouched: program.untouched.map(({ address, ...rest }) => ({ address: hex(address), ...rest })),
    frame: frame === undefined ? undefined : { ...frame, address: hex(frame.address) },
    missing: missing?.length ? missing : undefined,
    results: recorded && describeResults(recorded, (data) => add("results/memory.bin", data)),
  };
  add(MANIFEST, new TextEncoder().encode(JSON.stringify(manifest, undefined, 2) + "\n"));
  return writeZip(entries);
}

/** A shader without a program to run it: as a capture that is for listing, disassembly and recompilation. */
export function shaderProgram(shader: ShaderSource): LoadedProgram {
  return {
    name: shader.name,
    sourceFile: shader.file,
    target: shader.target,
    memory: [],
    submissions: [],
    expectations: [],
    untouched: [],
    shaders: [{ name: shader.name, source: shader }],
    notes: [],
  };
}

/** Queues of the submissions, in order of first use. */
export function queuesOf({ submissions }: Pick<LoadedProgram, "submissions">): number[] {
  return [...new Set(submissions.map(({ queue }) => queue))];
}

function describeWindow(window: ProgramMemory, add: (data: Uint8Array) => string): Record<string, unknown> {
  const pieces = window.contents.toSorted((a, b) => a.offset - b.offset);
  return {
    name: window.name,
    base: hex(window.base),
    bytes: window.bytes,
    permissions: permissionText(window.permissions).replaceAll("-", ""),
    contents: pieces.map(({ offset, data }) => ({ offset, bytes: data.length })),
    entry: pieces.length === 0 ? undefined : add(joined(pieces)),
  };
}

function describeShader(
  { name, address, source }: ProgramShader,
  path: string,
  add: (name: string, data: Uint8Array) => string,
): Record<string, unknown> {
  const common = { name, address: address === undefined ? undefined : hex(address) };
  if (source.abi.kind !== "agc") {
    const description = new TextEncoder().encode(JSON.stringify(describeCode(source), undefined, 2) + "\n");
    return {
      form: "code",
      ...common,
      entry: add(`${path}.rdna.bin`, bytesOf(source.code)),
      describedBy: add(`${path}.json`, description),
    };
  }
  const { record, recordFile } = source.abi;
  if (recordFile !== undefined) return { form: "record-file", ...common, entry: add(`${path}.sb`, recordFile) };
  return { form: "record", ...common, record: hex(record.address) };
}

function describeExpectation(
  { address, bytes, data, reason }: Expectation,
  add: (data: Uint8Array) => string,
): Record<string, unknown> {
  return {
    address: hex(address),
    bytes,
    data: data.length > MAX_INLINE_BYTES
      ? { in: "entry", bytes: data.length, entry: add(data) }
      : { in: "manifest", hex: Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("") },
    reason,
  };
}

function describeResults(results: RecordedResults, add: (data: Uint8Array) => string): Record<string, unknown> {
  const { error, labels, memory, volatile, ...rest } = results;
  return {
    ...rest,
    error: error && {
      ...error,
      guestAddress: error.guestAddress === undefined ? undefined : hex(error.guestAddress),
    },
    labels: labels.map(({ address, value, ...label }) => ({ ...label, address: hex(address), value: hex(value) })),
    memory: memory.map(({ address, data }) => ({ address: hex(address), bytes: data.length })),
    entry: memory.length === 0 ? undefined : add(joined(memory)),
    volatile: volatile.map(({ address, ...range }) => ({ address: hex(address), ...range })),
  };
}

function joined(pieces: readonly { data: Uint8Array }[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { data }) => sum + data.length, 0));
  let at = 0;
  for (const { data } of pieces) {
    all.set(data, at);
    at += data.length;
  }
  return all;
}
