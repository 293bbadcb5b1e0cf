/**
 * The packets of command streams: how many of each there are, and which of them keep a submission from running.
 *
 * @module
 */
import { type InvalidInputError, withPlace } from "../../errors.ts";
import type { Program, ProgramSubmission } from "../../guest/program.ts";
import { checkSubmission, scanPackets } from "../../pm4/mod.ts";
import { problemsError } from "../../pm4/validate.ts";
import type { ValidatedBuffer } from "../../pm4/validated.ts";
import { InitialMemory } from "../disasm/programs_in_stream.ts";
import type { Problems, Tick } from "./kind.ts";

/** A submission as `--json` shows it. */
export interface InspectedSubmission {
  queue: number;
  label?: string;
  words: number;
  /** Guest address of the words, when they lie in guest memory. */
  address?: bigint;
  /** Byte offset of the words, where the file holds them as bytes. */
  fileOffset?: number;
  /** Packets, those of indirect buffers included. */
  packets: number;
  /** Nothing of it is executed. */
  refused?: true;
}

/** What {@linkcode inspectPackets} found. */
export interface PacketReport {
  submissions: InspectedSubmission[];
  /** Packets by name, the most frequent first. */
  packets: Record<string, number>;
}

/** Counts and checks the packets of a program, as a run would before it executes anything; indirect buffers as they are in memory at first. */
export function inspectPackets(program: Program, problems: Problems, tick: Tick): PacketReport {
  const memory = new InitialMemory(program), counts = new Map<string, number>();
  const submissions = program.submissions.map((submission) => {
    tick();
    const { queue, label, words, address, fileOffset } = submission;
    const found = checkSubmission({ queue, words, address, fileOffset, file: program.sourceFile }, memory);
    for (const problem of found.problems) problems.add(placed(problemsError([problem]), submission));
    const own = countPackets(found.root, new Map());
    own.forEach((count, name) => counts.set(name, (counts.get(name) ?? 0) + count));
    const packets = [...own.values()].reduce((sum, count) => sum + count, 0);
    return {
      queue,
      label,
      words: words.length,
      address,
      fileOffset,
      packets,
      ...(found.problems.length > 0 ? { refused: true as const } : {}),
    };
  });
  const sorted = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
  return { submissions, packets: Object.fromEntries(sorted) };
}

/** The places of a submission whose file offset is not known count from its first word, which is no place in the file. */
function placed(error: ReturnType<typeof problemsError>, { fileOffset, label }: ProgramSubmission) {
  const prefix = label === undefined ? "" : `${label}: `;
  if (fileOffset !== undefined) return withPlace(error, {}, prefix);
  const { fileOffset: _, ...place } = error.place;
  const Class = error.constructor as typeof InvalidInputError;
  return new Class(error.code, prefix + error.summary, place);
}

/** Packets of a buffer by name, with those of the buffers that it enters, as often as it does. */
function countPackets(
  buffer: ValidatedBuffer,
  known: Map<ValidatedBuffer, Map<string, number>>,
): ReadonlyMap<string, number> {
  const before = known.get(buffer);
  if (before !== undefined) return before;
  const counts = new Map<string, number>();
  for (const { name } of scanPackets(buffer.words).packets) counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const child of buffer.children.values()) {
    countPackets(child, known).forEach((count, name) => counts.set(name, (counts.get(name) ?? 0) + count));
  }
  known.set(buffer, counts);
  return counts;
}
