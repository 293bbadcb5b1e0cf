import { hex } from "../../errors.ts";
import type { Program } from "../../guest/program.ts";
import type { RecordedLabel, RecordedResults } from "../../guest/recorded_results.ts";
import type { ProgramRun } from "../device.ts";
import { chunkPairs, eachDifference } from "./window_images.ts";

/** Where a run gave something else than what is recorded. Texts are for people. */
export interface ResultDifference {
  kind: "outcome" | "error" | "dispatches" | "label" | "memory";
  /** What differs, for example the name of a window. */
  what: string;
  /** First guest address that differs, for labels and memory. */
  address?: bigint;
  expected: string;
  actual: string;
  /** Bytes of the window that differ, for memory. */
  bytes?: number;
}

/** Bytes that are shown of a difference in memory. */
const SHOWN_BYTES = 16;

/**
 * Compares a run with recorded results: how it ended, the labels of each queue in their order, and all memory; an empty list means that everything is the
 * same. Of a run that failed only the error's code and its instruction are compared: which of many lanes faults first is not defined.
 */
export function compareRecorded(
  program: Program,
  { result, memory }: Pick<ProgramRun, "result" | "memory">,
  recorded: RecordedResults,
): ResultDifference[] {
  if (recorded.outcome === "failed" || result.outcome === "failed") return compareFailures(result, recorded);
  const differences: ResultDifference[] = [];
  if (recorded.outcome !== result.outcome) {
    differences.push({ kind: "outcome", what: "outcome", expected: recorded.outcome, actual: result.outcome });
  }
  if (recorded.dispatches !== result.dispatches) {
    differences.push({
      kind: "dispatches",
      what: "dispatches",
      expected: String(recorded.dispatches),
      actual: String(result.dispatches),
    });
  }
  return [
    ...differences,
    ...compareLabels(recorded.labels, result.labels),
    ...compareMemory(program, memory, recorded),
  ];
}

function compareFailures(result: ProgramRun["result"], recorded: RecordedResults): ResultDifference[] {
  const describe = (error: { code: string; pc?: number } | undefined, outcome: string) =>
    error === undefined ? outcome : error.code + (error.pc === undefined ? "" : ` at pc ${hex(error.pc)}`);
  const expected = describe(recorded.error, recorded.outcome);
  const actual = describe(result.error && { code: result.error.code, pc: result.error.place.pc }, result.outcome);
  return expected === actual ? [] : [{ kind: "error", what: "error", expected, actual }];
}

function compareLabels(expected: readonly RecordedLabel[], actual: readonly RecordedLabel[]): ResultDifference[] {
  const queues = new Set([...expected, ...actual].map(({ queue }) => queue));
  return [...queues].flatMap((queue): ResultDifference[] => {
    const should = expected.filter((label) => label.queue === queue),
      is = actual.filter((label) => label.queue === queue);
    const text = (label: RecordedLabel | undefined) =>
      label === undefined
        ? "none"
        : `${label.kind === "clock" ? "the clock" : `${label.kind} ${hex(label.value)}`} to ${hex(label.address)}`;
    for (let i = 0; i < Math.max(should.length, is.length); i++) {
      const [wanted, got] = [text(should[i]), text(is[i])];
      if (wanted === got) continue;
      const address = (should[i] ?? is[i]).address;
      return [{ kind: "label", what: `label ${i} of queue ${hex(queue)}`, address, expected: wanted, actual: got }];
    }
    return [];
  });
}

/** The first difference of each window. */
function compareMemory(
  program: Program,
  memory: ProgramRun["memory"],
  { memory: changes, volatile }: RecordedResults,
): ResultDifference[] {
  const differences = new Map<string, ResultDifference & { bytes: number }>();
  for (const { window, offset, expected, actual } of chunkPairs(program.memory, memory, changes, volatile)) {
    eachDifference(expected, actual, (at) => {
      const key = hex(window.base), known = differences.get(key);
      if (known !== undefined) {
        known.bytes++;
        return;
      }
      const shown = (bytes: Uint8Array) =>
        Array.from(bytes.subarray(at, at + SHOWN_BYTES), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
      differences.set(key, {
        kind: "memory",
        what: `window ${window.name}`,
        address: window.base + BigInt(offset + at),
        expected: shown(expected),
        actual: shown(actual),
        bytes: 1,
      });
    });
  }
  return [...differences.values()];
}
