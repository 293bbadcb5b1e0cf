/**
 * A run's result as lines for people and as data for machines.
 *
 * @module
 */
import type { PreparedRun } from "../../driver/device.ts";
import { hex } from "../../errors.ts";
import type { RunResult } from "../../driver/run_program.ts";
import { count } from "../count.ts";
import { milliseconds } from "../milliseconds.ts";

/** Rows (name, text) that tell what happened, in the order of reading. */
export function reportRows(result: RunResult): [string, string][] {
  const { programs, labels, waits, timings, differences } = result;
  const queues = result.queues.map((queue) => hex(queue)).join(", ");
  const rows: [string, string][] = [
    [
      "queues",
      `${queues}: ${count(result.submissions, "submission")}, ${count(result.dispatches, "dispatch", "dispatches")}`,
    ],
  ];
  for (const p of programs) {
    rows.push([
      "program",
      `${hex(p.address)}: ${p.instructions} instructions became ${p.words} SPIR-V words, wave${p.waveSize}, ` +
      `${p.workgroupSize.join(" x ")} threads, ${p.laneMode} (${p.laneModeReason}), ${
        count(p.dispatches, "dispatch", "dispatches")
      }`,
    ]);
  }
  for (const l of labels) rows.push(["label", `queue ${hex(l.queue)} wrote ${hex(l.value)} to ${hex(l.address)}`]);
  for (const w of waits) {
    rows.push(["wait", `queue ${hex(w.queue)} waited for ${hex(w.reference)} at ${hex(w.address)}, released`]);
  }
  const recompileMs = programs.reduce((sum, p) => sum + p.recompileMs, 0),
    createMs = programs.reduce((sum, p) => sum + p.createMs, 0);
  const device = timings.deviceMs === undefined ? "" : `, ${milliseconds(timings.deviceMs)} on the device`;
  rows.push([
    "time",
    `${milliseconds(timings.runMs)}: recompile ${milliseconds(recompileMs)}, pipelines ${
      milliseconds(createMs)
    }${device}; mapping ${milliseconds(timings.mapMs)}`,
  ]);
  if (result.outcome !== "failed") {
    const wrong = new Set(differences.map((d) => d.reason)).size;
    rows.push([
      "results",
      result.compared === 0 ? "nothing to compare" : `${result.compared - wrong} of ${result.compared} as expected`,
    ]);
  }
  for (const d of differences) {
    const what = d.kind === "untouched" ? "was changed" : "differs";
    rows.push([
      "",
      `${hex(d.address)} ${what}: ${hex(d.actual, 2)}, expected ${hex(d.expected, 2)}; ${
        count(d.count, "byte")
      } (${d.reason})`,
    ]);
  }
  return rows;
}

/** Rows about what was wrong beside the guest's work; what two tell is there once. */
export function noteRows(result: RunResult, prepared: PreparedRun | undefined): [string, string][] {
  return [...new Set([...result.notes, ...prepared?.notes ?? []])].map((note) => ["note", note]);
}

/** Rows about the pipelines that earlier runs left; none where there were none. */
export function pipelineRows(prepared: PreparedRun | undefined): [string, string][] {
  if (prepared === undefined) return [];
  const { replay: { recorded, created, failed, ms: time }, used, built } = prepared;
  const rows: [string, string][] = [];
  if (recorded === 0) return rows;
  const not = failed === 0 ? "" : `, ${failed} could not be created`;
  rows.push([
    "journal",
    `${count(created, "pipeline")} before the run in ${milliseconds(time)}, ${used} used, ${built} new${not}`,
  ]);
  return rows;
}

/** The result for `--json`: plain data; the error as its own data. */
export function reportData({ error, ...result }: RunResult): Record<string, unknown> {
  return { ...result, ...(error === undefined ? {} : { error: error.toData() }) };
}
