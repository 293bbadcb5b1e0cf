/**
 * Journals as lists and verdicts show them.
 *
 * @module
 */
import { duration } from "../progress.ts";
import type { JournalDamage, JournalFacts } from "./contents.ts";
import type { OpenedJournal } from "./folder.ts";

/** A journal in the list, for `--json`. */
export interface ListedJournal extends Partial<JournalFacts> {
  readonly name: string;
  readonly file: string;
  /** When a run used it last. */
  readonly usedAt?: Date;
  /** Whether it is the asked device's; only when one was asked for. */
  readonly thisDevice?: boolean;
  /** Why nothing is known of it. */
  readonly problem?: string;
}

/** A row of the list. @param device {@linkcode deviceText} of the device that was asked for */
export function listed(
  { name, path, read, problem, usedAt }: OpenedJournal,
  device: string | undefined,
): ListedJournal {
  return {
    ...{ name, file: path, ...read?.facts, usedAt, problem },
    ...(device === undefined ? {} : { thisDevice: read?.deviceText === device }),
  };
}

/** A verdict, for `--json`. */
export interface VerifiedJournal {
  readonly name: string;
  readonly file: string;
  readonly sound: boolean;
  readonly records: number;
  readonly damage: readonly JournalDamage[];
  readonly problem?: string;
  readonly notes: readonly string[];
}

/** What is wrong with a journal. Records of other versions, and other names, are no damage: no run uses them. */
export function verified({ name, path, read, problem }: OpenedJournal): VerifiedJournal {
  if (read === undefined) return { name, file: path, sound: false, records: 0, damage: [], problem, notes: [] };
  const { facts: { records, damage, program }, records: list } = read, notes: string[] = [];
  const others = list.filter(({ pipeline }) => pipeline === undefined).length;
  if (others > 0) notes.push(`records of another version, which runs skip: ${others}`);
  if (read.name !== undefined && program === undefined) {
    notes.push("what it is for is of another version: no run opens it");
  } else if (read.name !== undefined && read.name !== name) {
    notes.push(`its name should be ${read.name}: no run finds it`);
  }
  return { name, file: path, sound: damage.length === 0, records, damage, notes };
}

/** How long ago, for people. */
export function ageText(time: Date | undefined, now: number = Date.now()): string {
  if (time === undefined) return "?";
  const seconds = Math.max(0, (now - time.getTime()) / 1000), days = Math.floor(seconds / 86400);
  return days < 2 ? `${duration(seconds)} ago` : `${days} days ago`;
}
