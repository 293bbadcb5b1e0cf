/**
 * Captures of console command streams as JSON, in the two schemas that the public captures use.
 *
 * * Runner: one submission, its workspace image (command words, tables, shaders, buffers), the calls that built it.
 * * Driver submission (`kind: "driver-submission"`): the words and the table memory of one submission; its shader code lies in the `driver-run` file
 *   of the same capture, which is read along when it lies beside (`run-1.json`, or `FOLDER__run-1.json` for `FOLDER__NAME.json`).
 *
 * What applications put into buffers was not captured. A file `INPUTS.json` beside supplies contents that are known by other means: an object of
 * `TEST-SEQUENCE` -> { address: words as hexadecimal digits }.
 */
import { hex } from "../../errors.ts";
import type { Expectation, LoadedProgram, ProgramShader } from "../program.ts";
import { AGC_MAGIC, AGC_VERSION, readAgcRecord, type RecordSource } from "./agc_record.ts";
import { folderOf, isFile, MalformedFileError, nameOf, readInputFile, wordsOf } from "./file_format.ts";
import { nonZeroPieces, readImage, readRange } from "./golden_image.ts";
import type { JsonNode } from "./json_node.ts";
import { parseJson } from "./json_parser.ts";
import { MemoryLayout } from "./memory_layout.ts";
import { agcShaderSource } from "./sb.ts";
import { scanStream, type StreamScan } from "./stream_scan.ts";

/** Where the companions of a capture are; `null` means none, undefined means beside the capture. */
export interface GoldenOptions {
  /** The `driver-run` file with the shader code. A file of another capture is accepted only here, and noted. */
  run?: string | null;
  /** The file with contents that were not captured. */
  inputs?: string | null;
}

/** True when the document looks like a capture of either schema, or like a run file. */
export function isGolden(root: JsonNode): boolean {
  return root.isObject && root.optional("schema")?.value === 1 &&
    (root.optional("kind") !== undefined || root.optional("workspace") !== undefined);
}

/** Reads a capture. */
export function loadGolden(root: JsonNode, options: GoldenOptions = {}): LoadedProgram {
  const schema = root.get("schema");
  if (schema.integer(0, 0xFFFF) !== 1) schema.fail("only schema 1 is known");
  const kind = root.optional("kind");
  if (kind === undefined) return loadRunner(root, options);
  if (kind.text() === "driver-submission") return loadDriverSubmission(root, options);
  if (kind.text() === "driver-run") {
    kind.fail(
      `a run file holds shader code only; load one of its submissions (${runSubmissions(root)})`,
      "file.not-a-program",
    );
  }
  return kind.fail(`unknown kind ${JSON.stringify(kind.text())}; known: driver-submission, driver-run`);
}

function loadRunner(root: JsonNode, options: GoldenOptions): LoadedProgram {
  const layout = new MemoryLayout(), notes: string[] = [];
  const regions = root.get("regions"), stageNode = regions.get("stage"), stage = readRange(stageNode);
  for (const [name, region] of regions.members()) {
    const { address, bytes } = readRange(region);
    layout.addRange(name, address, bytes);
    if (name !== "stage") {
      notes.push(`region ${name}, ${hex(address)}, ${bytes} bytes: contents were not captured; zero here`);
    }
  }
  const image = readImage(root.get("workspace"), stage.bytes);
  for (const { offset, data } of nonZeroPieces(image)) layout.addContents(stage.address + BigInt(offset), data);

  const command = root.get("command"), wordsNode = command.get("words"), words = wordsNode.words();
  const offset = command.get("offset").integer(0, stage.bytes - 4 * words.length);
  if (offset % 4 !== 0) command.get("offset").fail("must be a multiple of 4");
  const inImage = new DataView(image.buffer, offset);
  words.forEach((word, i) => {
    if (inImage.getUint32(4 * i, true) !== word) {
      wordsNode.items()[i].fail(`the captured memory holds ${hex(inImage.getUint32(4 * i, true), 8)} here`);
    }
  });
  checkCalls(root.get("calls"), words.length);
  return finish(root, wordsNode, layout, words, stage.address + BigInt(offset), undefined, options, notes);
}

function loadDriverSubmission(root: JsonNode, options: GoldenOptions): LoadedProgram {
  const layout = new MemoryLayout(), notes: string[] = [];
  const wordsNode = root.get("words"), words = wordsNode.words();
  const dwords = root.get("dwords");
  if (dwords.integer(0, 1 << 26) !== words.length) dwords.fail(`the file has ${words.length} words`);
  for (const region of root.get("regions").items()) {
    const { address, bytes } = readRange(region);
    const known = layout.covers(address, bytes);
    layout.addRange(`region ${region.key}`, address, bytes);
    if (region.optional("chunks") !== undefined) {
      for (const { offset, data } of nonZeroPieces(readImage(region, bytes))) {
        layout.addContents(address + BigInt(offset), data);
      }
    } else if (!known) {
      notes.push(
        `region ${region.key}, ${
          hex(address)
        }, ${bytes} bytes: contents were not captured; zero here unless a note says otherwise`,
      );
    }
  }
  addRunStages(root, layout, options, notes);
  return finish(root, wordsNode, layout, words, undefined, root.optional("label")?.text(), options, notes);
}

/** Adds what both schemas need: inputs, targets, the marker, the frame. */
function finish(
  root: JsonNode,
  wordsNode: JsonNode,
  layout: MemoryLayout,
  words: Uint32Array,
  address: bigint | undefined,
  label: string | undefined,
  options: GoldenOptions,
  notes: string[],
): LoadedProgram {
  const name = `${root.get("test").text()}-${root.get("sequence").integer(0, 0xFFFF_FFFF)}`;
  addInputs(root, name, layout, options, notes);
  const scan = scanStream(
    words,
    (at, count) => layout.readWords(at, count),
    (word, reason) => (wordsNode.items()[word] ?? wordsNode).fail(reason),
  );
  addScanned(scan, layout, notes);
  return {
    name,
    sourceFile: root.file,
    target: "gfx1013",
    memory: layout.windows((at, reason) => root.fail(`${hex(at)}: ${reason}`)),
    submissions: [{ queue: 0, words, address, label, fileOffset: undefined }],
    expectations: scan.endMarker === undefined ? [] : [markerExpectation(scan.endMarker)],
    untouched: [],
    frame: scan.frame === undefined ? undefined : {
      ...scan.frame,
      pitchBytes: 4 * Math.ceil(scan.frame.width / 128) * 128,
      tiling: "64KB_R_X",
    },
    shaders: findShaders(root.file, layout, notes),
    notes,
  };
}

/** The shader records in captured memory. They were captured after sceAgcCreateShader, so their pointers are absolute. */
function findShaders(file: string, layout: MemoryLayout, notes: string[]): ProgramShader[] {
  const source: RecordSource = {
    bytes(address, length, what) {
      // Tables are 4-byte aligned in every record seen; others read as damage, like what is not mapped.
      const words = address % 4n === 0n ? layout.readWords(address, Math.ceil(length / 4)) : undefined;
      return words === undefined
        ? this.fail(address, `${what} is not in the capture`)
        : new Uint8Array(words.buffer, 0, length);
    },
    fail(address, reason): never {
      throw new MalformedFileError("file.record", reason, { file, guestAddress: address });
    },
  };
  return layout.find(AGC_MAGIC, 256).flatMap((address) => {
    if (layout.readWords(address + 4n, 1)?.[0] !== AGC_VERSION) return [];
    try {
      const record = readAgcRecord(source, address, "absolute");
      const { codeAddress, shaderBytes, stage } = record;
      if (shaderBytes === 0 || shaderBytes % 4 !== 0) source.fail(address + 0x44n, `code of ${shaderBytes} bytes`);
      const code = wordsOf(source.bytes(codeAddress, shaderBytes, "the code"));
      const name = `${stage}-${codeAddress.toString(16)}`;
      return [{ name, address: codeAddress, source: agcShaderSource(record, code, name, file) }];
    } catch (error) {
      // The list is for people; memory that only looks like a record must not stop the capture.
      if (!(error instanceof MalformedFileError)) throw error;
      notes.push(`what looks like a shader record at ${hex(address)} is none: ${error.message}`);
      return [];
    }
  });
}

function addScanned(scan: StreamScan, layout: MemoryLayout, notes: string[]): void {
  notes.push(...scan.notes);
  for (const { what, address, bytes, target } of scan.uses) {
    if (layout.covers(address, bytes)) continue;
    if (target) {
      layout.addRange(what, address, bytes);
      notes.push(`${what} at ${hex(address)}, ${bytes} bytes: not in the capture; mapped with zeros`);
    } else {notes.push(
        `${what} at ${hex(address)} is not in the capture and not mapped: the stream cannot run to its end`,
      );}
  }
}

function markerExpectation({ address, value, bytes }: NonNullable<StreamScan["endMarker"]>): Expectation {
  const data = new Uint8Array(8);
  new DataView(data.buffer).setBigUint64(0, value, true);
  return { address, data: data.slice(0, bytes), bytes, reason: "the stream's last RELEASE_MEM writes this value" };
}

function addInputs(root: JsonNode, name: string, layout: MemoryLayout, options: GoldenOptions, notes: string[]): void {
  const path = companion(options.inputs, [`${folderOf(root.file)}/INPUTS.json`]);
  if (path === undefined) return;
  const inputs = parseJson(path, readInputFile(path)).optional(name);
  if (inputs === undefined) return;
  for (const [key, node] of inputs.members()) {
    if (key === "_note") {
      notes.push(`${nameOf(path)}: ${node.text()}`);
      continue;
    }
    if (!/^0x[0-9a-fA-F]{1,16}$/.test(key)) node.fail("its key must be an address like 0x200030000");
    const text = node.text(), address = BigInt(key);
    if (!/^([0-9a-fA-F]{8})+$/.test(text)) node.fail("words of 8 hexadecimal digits are expected");
    const data = new Uint8Array(text.length / 2), view = new DataView(data.buffer);
    for (let i = 0; i < data.length; i += 4) view.setUint32(i, parseInt(text.slice(2 * i, 2 * i + 8), 16), true);
    if (!layout.covers(address, data.length)) layout.addRange("input", address, data.length);
    layout.addContents(address, data);
    notes.push(`${hex(address)}, ${data.length} bytes: derived contents from ${nameOf(path)}, not captured`);
  }
}

function addRunStages(root: JsonNode, layout: MemoryLayout, options: GoldenOptions, notes: string[]): void {
  const folder = folderOf(root.file), prefix = nameOf(root.file).split("__");
  const beside = prefix.length > 1 ? [`${folder}/${prefix[0]}__run-1.json`] : [];
  const path = companion(options.run, [...beside, `${folder}/run-1.json`]);
  if (path === undefined) {
    notes.push("the run file with the shader code is not beside the capture");
    return;
  }
  const run = parseJson(path, readInputFile(path));
  if (run.optional("kind")?.value !== "driver-run") run.fail('a run file has "kind": "driver-run"');
  const test = root.get("test").text(), same = sourceText(run) === sourceText(root);
  if (!same && options.run === undefined) {
    notes.push(`${nameOf(path)} is of another capture and was not used`);
    return;
  }
  if (!same) notes.push(`shader code is taken from ${nameOf(path)}, which is of another capture`);
  const stages = run.get("stages").items().filter((stage) => !same || stage.get("test").text() === test);
  if (stages.length === 0) notes.push(`${nameOf(path)} has no stage of test ${test}`);
  for (const stage of stages) {
    const { address, bytes } = readRange(stage);
    layout.addRange(`stage ${stage.get("index").integer(0, 0xFFFF)}`, address, bytes);
    for (const { offset, data } of nonZeroPieces(readImage(stage, bytes))) {
      layout.addContents(address + BigInt(offset), data);
    }
  }
  for (const [name, region] of run.optional("regions")?.members() ?? []) {
    if (region.optional("test")?.value !== test || !name.startsWith("framebuffer")) continue;
    const { address, bytes } = readRange(region);
    layout.addRange("framebuffer", address, bytes);
  }
}

/** The calls of a runner capture must cover the stream without gaps. */
function checkCalls(calls: JsonNode, words: number): void {
  let at = 0;
  for (const call of calls.items()) {
    call.get("name").text();
    const range = call.get("words");
    const [first, end] = range.items(2).map((item) => item.integer(0, words));
    if (first !== at || end < first) range.fail(`the call must start at word ${at}`);
    at = end;
  }
  if (at !== words) calls.fail(`the calls end at word ${at}, the stream at ${words}`);
}

function companion(given: string | null | undefined, beside: string[]): string | undefined {
  if (given === null) return undefined;
  return given ?? beside.find(isFile);
}

function sourceText(root: JsonNode): string {
  const source = root.get("source");
  return `${source.get("klog").text()} ${source.get("pid").integer(0, 0xFFFF_FFFF)}`;
}

function runSubmissions(run: JsonNode): string {
  return run.optional("submissions")?.items().map((each) => each.get("file").text()).join(", ") ?? "none are listed";
}
