/**
 * Captures, program descriptions and shaders: everything that the loaders know.
 *
 * @module
 */
import { hex, RefusedError } from "../../errors.ts";
import { type FileFormat, loadFile } from "../../guest/loaders/load_file.ts";
import { permissionText } from "../../guest/memory/window.ts";
import type { LoadedProgram } from "../../guest/program.ts";
import type { RecordedResults } from "../../guest/recorded_results.ts";
import type { ShaderSource } from "../../guest/shader_source.ts";
import { count } from "../count.ts";
import { bytesText } from "../doctor/units.ts";
import { alignColumns } from "../output.ts";
import { dispatchText, followStreams } from "./dispatches.ts";
import { type Inspection, type InspectKind, Problems, type Tick } from "./kind.ts";
import { inspectPackets } from "./packets.ts";
import { checkShader, inspectProgram, programText, shaderFacts, shaderText } from "./shader.ts";

/** Dispatches, labels and the like that people are shown; `--json` has more. */
const SHOWN = 12;

/** Whatever src/guest/loaders/load_file.ts reads. */
export const PROGRAM_KIND: InspectKind = {
  accepts: () => true,
  // deno-lint-ignore require-await -- the interface is that of its neighbours
  async inspect(file, tick) {
    const loaded = loadFile(file), { format } = loaded;
    if (loaded.kind === "shader") return inspectLoneShader(format, loaded.shader);
    return inspectWhole(file, format, loaded.program, tick);
  },
};

function inspectLoneShader(format: FileFormat, shader: ShaderSource): Inspection {
  const problems = new Problems(), notes: string[] = [], facts = shaderFacts(shader);
  checkShader(shader, problems, notes);
  const lines = [shaderText(facts)];
  const { userSgprs, systemSgprs, record } = facts;
  for (const { name, sgpr, count, set } of userSgprs) {
    const range = count === 1 ? `s${sgpr}` : `s[${sgpr}:${sgpr + count - 1}]`;
    lines.push(`  ${range} ${name}${set === undefined ? "" : ` ${set}`}`);
  }
  systemSgprs.forEach(({ name, sgpr }) => lines.push(`  s${sgpr} ${name}`));
  if (record !== undefined) {
    const { contextRegisters, shRegisters, inputs, outputs } = record;
    lines.push(
      `  record: ${count(contextRegisters, "context register")}, ${count(shRegisters, "SH register")}, ` +
        `${count(inputs, "input")}, ${count(outputs, "output")}`,
    );
  }
  return { format, data: { kind: "shader", target: shader.target, shaders: [facts] }, lines, problems, notes };
}

function inspectWhole(file: string, format: FileFormat, program: LoadedProgram, tick: Tick): Inspection {
  const problems = new Problems(), notes: string[] = [], { name, target, missing, recorded, frame } = program;
  if (missing !== undefined && missing.length > 0) {
    const what = missing.join("; ");
    problems.add(new RefusedError("guest.incomplete", `a run needs what the file does not carry: ${what}`, { file }));
  }
  const memory = program.memory.map(({ name, base, bytes, permissions, contents }) => ({
    ...{ name, base, bytes },
    permissions: permissionText(permissions),
    pieces: contents.length,
    contentBytes: contents.reduce((sum, { data }) => sum + data.length, 0),
  }));
  const { submissions, packets } = inspectPackets(program, problems, tick);
  const refused = new Set(submissions.flatMap(({ refused }, index) => refused ? [index] : []));
  const streams = followStreams(program, refused, problems, notes, tick);
  const programs = streams.programs.map((each) => {
    tick();
    return inspectProgram(each, program.sourceFile, streams.memory, problems);
  });
  const shaders = program.shaders.map(({ source, address }) => shaderFacts(source, address));
  const { dispatches, dispatchCount, labels, labelCount, waits } = streams;
  const expectations = program.expectations.map(({ address, bytes, reason }) => ({ address, bytes, reason }));
  const data = {
    ...{ kind: "program", name, target, missing, memory, submissions, packets },
    ...{ dispatches, dispatchCount, programs, shaders, labels, labelCount, waits, expectations },
    ...{ untouched: program.untouched, frame, recorded: recorded && recordedFacts(recorded) },
    programNotes: program.notes,
  };
  const total = memory.reduce((sum, { bytes }) => sum + bytes, 0);
  const expected = expectations.reduce((sum, { bytes }) => sum + bytes, 0);
  const packetCount = submissions.reduce((sum, { packets }) => sum + packets, 0);
  const lines = [
    `program ${name}, ${target}`,
    ...section(
      `memory: ${count(memory.length, "window")}, ${bytesText(total)}`,
      alignColumns(memory.map(({ name, base, bytes, permissions, contentBytes }) => [
        hex(base),
        bytesText(bytes),
        permissions,
        contentBytes === 0 ? "zeros" : `${bytesText(contentBytes)} of contents`,
        name,
      ])),
    ),
    ...section(
      `streams: ${count(submissions.length, "submission")}`,
      alignColumns(submissions.map(({ queue, label, words, packets, address, refused }, index) => [
        `${index}`,
        `queue ${hex(queue)}`,
        `${words} words`,
        count(packets, "packet"),
        [label, address === undefined ? undefined : `at ${hex(address)}`, refused ? "REFUSED" : undefined]
          .filter((each) => each !== undefined).join(", "),
      ])),
    ),
    ...section(
      `packets: ${packetCount}`,
      alignColumns(Object.entries(packets).map(([name, n]) => [`${n}`, name])),
      Infinity,
    ),
    ...section(`dispatches: ${dispatchCount}`, dispatches.slice(0, SHOWN).map(dispatchText), SHOWN, dispatchCount),
    ...section(`programs: ${programs.length}`, programs.map(programText)),
    ...section(`shaders: ${shaders.length}`, shaders.map(shaderText)),
    ...section(
      `labels: ${labelCount}`,
      labels.map(({ queue, address, value, kind }) =>
        `queue ${hex(queue)}: ${hex(address)} = ${kind === "clock" ? "the clock" : hex(value)}`
      ),
      SHOWN,
      labelCount,
    ),
    ...section(
      `waits for what no packet writes: ${waits.length}`,
      waits.map(({ queue, address, compare, reference }) =>
        `queue ${hex(queue)}: ${hex(address)} ${compare} ${hex(reference)}`
      ),
    ),
    ...section(
      `expected results: ${count(expectations.length, "range")}, ${bytesText(expected)}`,
      expectations.map(({ address, bytes, reason }) => `${hex(address)}, ${bytes} bytes: ${reason}`),
    ),
    ...section(
      `to stay as they are: ${count(program.untouched.length, "range")}`,
      program.untouched.map(({ address, bytes, reason }) => `${hex(address)}, ${bytes} bytes: ${reason}`),
    ),
  ];
  if (frame !== undefined) {
    lines.push(`picture: ${frame.width} x ${frame.height}, ${frame.format}, ${frame.tiling}, at ${hex(frame.address)}`);
  }
  if (recorded !== undefined) lines.push(recordedText(recorded));
  notes.push(...program.notes);
  return { format, data, lines, problems, notes };
}

/** A title with lines below it; nothing for an empty list. */
function section(title: string, lines: readonly string[], most = SHOWN, all = lines.length): string[] {
  if (lines.length === 0) return [];
  const shown = lines.slice(0, most), left = all - shown.length;
  return [title, ...shown.map((line) => `  ${line}`), ...(left > 0 ? [`  ... and ${left} more`] : [])];
}

function recordedFacts({ device, outcome, error, dispatches, labels, memory, volatile }: RecordedResults) {
  return {
    ...{ device, outcome, error, dispatches, labels: labels.length, ranges: memory.length },
    bytes: memory.reduce((sum, { data }) => sum + data.length, 0),
    volatile,
  };
}

function recordedText(recorded: RecordedResults): string {
  const { device, outcome, error, dispatches, labels, ranges, bytes, volatile } = recordedFacts(recorded);
  const left = volatile.length === 0 ? "" : `, ${count(volatile.length, "range")} not compared`;
  return `recorded on ${device.name} (${device.driver}): ${outcome}${error === undefined ? "" : `, ${error.code}`}, ` +
    `${count(dispatches, "dispatch", "dispatches")}, ${count(labels, "label")}, ` +
    `${bytesText(bytes)} changed in ${count(ranges, "range")}${left}`;
}
