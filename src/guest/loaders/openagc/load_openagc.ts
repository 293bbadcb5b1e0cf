/**
 * OpenAGC captures as guest programs. A capture holds the packets that were submitted, but no memory: what its streams need beside that is either known
 * (shader code, where the capture holds it or a `.sb` file with the recorded hash lies beside), or made (pages that packets only write or wait on, filled
 * with zeros), or missing; then the program is for listing and disassembly, and a run is refused by the names of what is missing.
 */
import { hex } from "../../../errors.ts";
import { canonicalAddress } from "../../memory/address.ts";
import type { LoadedProgram, ProgramShader, ProgramSubmission } from "../../program.ts";
import { MalformedFileError, nameOf, wordsOf } from "../file_format.ts";
import { MemoryLayout } from "../memory_layout.ts";
import { scanStream } from "../stream_scan.ts";
import { type CaptureRecord, type OpenAgcCapture, readOpenAgcRecords, RecordType } from "./capture_file.ts";
import { type ComputeUse, computeUses } from "./compute_uses.ts";
import { listRecords } from "./listing.ts";
import { type CapturedShader, capturedShaders } from "./shaders.ts";

/**
 * Guest queues by queue type. OpenAGC's runtime submits the buffers of its compute queues to the console as graphics ones (DCB; its src/runtime.c), and
 * they hold packets that compute queues do not take.
 */
const QUEUES = [0, 0];

/** Reads a capture's bytes; `file` is its path: shader files beside it are looked at. */
export function loadOpenAgc(file: string, bytes: Uint8Array): LoadedProgram {
  const capture = readOpenAgcRecords(file, bytes), notes: string[] = [];
  const submissions = readSubmissions(capture, notes), layout = new MemoryLayout();
  const shaders = capturedShaders(capture, notes),
    missing = new Set<string>(),
    placed = new Map<bigint, ProgramShader>();
  if (submissions.length === 0) missing.add("a submission");
  for (const { words, fileOffset } of submissions) {
    const fail = (word: number, reason: string): never => {
      throw new MalformedFileError("openagc.stream", reason, { file, fileOffset: fileOffset! + 4 * word });
    };
    // First, so that a stream which is no sequence of packets is found before anybody walks it.
    const scan = scanStream(words, () => undefined, fail);
    for (const use of computeUses(words)) placeCode(use, shaders, layout, placed, missing);
    notes.push(...scan.notes);
    for (const { what, address, bytes: length, target } of scan.uses) {
      if (layout.covers(address, length)) continue;
      if (!target) missing.add(`${what} at ${hex(address)}`);
      else {
        layout.addRange(what, address, length);
        notes.push(`${what} at ${hex(address)}, ${length} bytes: not in the capture; mapped with zeros`);
      }
    }
  }
  noteHashes(capture, notes);
  return {
    name: nameOf(file).replace(/\.oagc$/, ""),
    sourceFile: file,
    target: "gfx1013",
    memory: layout.windows((address, reason) => {
      throw new MalformedFileError("openagc.memory", `${hex(address)}: ${reason}`, { file });
    }),
    submissions,
    expectations: [],
    untouched: [],
    shaders: [...placed.values(), ...unplaced(shaders, placed)],
    notes: [...new Set(notes)],
    ...(missing.size === 0 ? {} : { missing: [...missing] }),
    listing: listRecords(capture),
  };
}

/** The command buffers of accepted submissions, in order, as they went to the hardware. */
function readSubmissions({ records }: OpenAgcCapture, notes: string[]): ProgramSubmission[] {
  const streams = new Map<bigint, CaptureRecord>(), result: ProgramSubmission[] = [];
  for (const record of records) {
    if (record.type === RecordType.CommandStream) streams.set(record.u64(0), record);
    if (record.type !== RecordType.Submission) continue;
    const id = record.u64(0),
      queue = QUEUES[record.u32(8)] ?? record.fail(8, `queue type ${record.u32(8)}; 0 and 1 are known`);
    if (record.u32(24) !== 0) {
      notes.push(`submission ${id} was not accepted when it was captured (${hex(record.u32(24), 8)}): left out`);
      continue;
    }
    for (let i = 0; i < record.u32(12); i++) {
      const at = 40 + 8 * i, command = record.u64(at);
      const stream = streams.get(command) ?? record.fail(at, `command buffer ${command} has no stream before`);
      result.push({
        queue,
        words: wordsOf(stream.payload.subarray(16)),
        fileOffset: stream.fileOffset(16),
        label: `submission ${id}, command buffer ${command}`,
      });
    }
  }
  return result;
}

/** Puts the code of a dispatch where the stream says it is, or says what is missing. */
function placeCode(
  use: ComputeUse,
  shaders: readonly CapturedShader[],
  layout: MemoryLayout,
  placed: Map<bigint, ProgramShader>,
  missing: Set<string>,
): void {
  const { address, userData } = use, candidates = shaders.filter((shader) => shader.fits(use));
  const [shader] = candidates;
  if (candidates.length !== 1 || shader.source === undefined || shader.bytes === undefined) {
    missing.add(
      `the code of the compute program at ${hex(address)} (${
        candidates.length === 0
          ? "no compute pipeline of the capture fits"
          : candidates.map(({ description }) => description).join(" or ")
      })`,
    );
    return;
  }
  if (!placed.has(address)) {
    const { source, bytes } = shader, { record } = source.abi;
    const start = canonicalAddress(address - record.codeAddress);
    layout.addRange(source.name, start, bytes.length);
    layout.addContents(start, bytes);
    placed.set(address, { name: source.name, address, source });
  }
  for (const { kind, register, set } of shader.source.abi.record.placeholders) {
    const value = userData[register - COMPUTE_USER_DATA];
    if (value === undefined || value === 0) continue;
    const what = kind === "descriptor-set" ? `descriptor set ${set}` : kind.replaceAll("-", " ");
    // Pointers of one register: console code makes the upper half 2 (reference: records of OpenAGC's compiler).
    missing.add(`${what} of ${shader.source.name}, lower half of its address ${hex(value, 8)}`);
  }
}

const COMPUTE_USER_DATA = 0x240;

/** Shaders whose code is known, but which no dispatch names. */
function unplaced(shaders: readonly CapturedShader[], placed: ReadonlyMap<bigint, ProgramShader>): ProgramShader[] {
  const used = new Set([...placed.values()].map(({ source }) => source));
  return shaders.flatMap(({ source }) =>
    source === undefined || used.has(source) ? [] : [{ name: source.name, source }]
  );
}

function noteHashes({ records }: OpenAgcCapture, notes: string[]): void {
  const count = records.filter(({ type }) => type === RecordType.ReadbackHash).length;
  if (count > 0) {
    notes.push(`${count} recorded hashes of memory cannot be compared: the capture does not say where the memory is`);
  }
}
