/**
 * The folder of journals, and the journals in it by name. Nothing here writes, makes a folder, or follows a link out of it.
 *
 * @module
 */
import { AnyAgcError, UsageError } from "../../errors.ts";
import { readInputFile } from "../../guest/loaders/file_format.ts";
import { cacheFolders, isPrivate } from "../../storage/cache_folder.ts";
import { withLock } from "../../storage/file_lock.ts";
import { lockOf } from "../../storage/journal.ts";
import { didYouMean } from "../nearest.ts";
import { type ReadJournal, readJournalFacts } from "./contents.ts";

const SUFFIX = ".journal", FOLDER = "pipelines";
/** A writer only appends a record. */
const LOCK_MS = 500;

/** Where a journal is. */
export interface JournalPlace {
  /** Without the ending. */
  readonly name: string;
  readonly path: string;
  /** It is in the folder; otherwise it is a file that somebody named. */
  readonly own: boolean;
}

/** A journal that was looked at, or why it could not be. */
export interface OpenedJournal extends JournalPlace {
  readonly read?: ReadJournal;
  readonly problem?: string;
  /** When a run used it last. */
  readonly usedAt?: Date;
}

/** The folder that runs use, if it is there. @throws UsageError when runs would not use what is there */
export function journalFolder(): string | undefined {
  const parent = cacheFolders().find(isPrivate);
  if (parent === undefined) return undefined;
  const folder = `${parent}/${FOLDER}`;
  if (infoOf(folder) === undefined) return undefined;
  if (isPrivate(folder)) return folder;
  throw new UsageError(
    "journal.folder",
    `${folder} is no folder (or a link to one) that only its owner can write to: runs keep nothing there, and nothing in it is touched`,
    { file: folder },
  );
}

/** Names of all journals of a folder, in order. */
function namesIn(folder: string | undefined): string[] {
  if (folder === undefined) return [];
  return Array.from(Deno.readDirSync(folder), ({ name }) => name)
    .filter((name) => name.endsWith(SUFFIX)).map((name) => name.slice(0, -SUFFIX.length)).sort();
}

/**
 * The journals that were asked for; all of the folder without a name.
 *
 * @param onlyThere files elsewhere are refused
 * @throws UsageError for names of none, or of several
 */
export function chosenJournals(
  folder: string | undefined,
  wanted: readonly string[],
  onlyThere = false,
): JournalPlace[] {
  const all = namesIn(folder), placeOf = (name: string) => ({ name, path: `${folder}/${name}${SUFFIX}`, own: true });
  if (wanted.length === 0) return all.map(placeOf);
  const chosen = wanted.map((word) => {
    if (word.includes("/")) {
      if (onlyThere) {
        throw new UsageError("journal.name", `${word} is a path: name a journal as anyagc journal list does`);
      }
      return { name: word.slice(word.lastIndexOf("/") + 1).replace(/\.journal$/, ""), path: word, own: false };
    }
    const name = word.replace(/\.journal$/, "");
    const found = all.includes(name) ? [name] : all.filter((each) => each.startsWith(name));
    if (found.length === 1) return placeOf(found[0]);
    const which = found.length > 1 ? `${found.length} journals begin with ${name}: ${found.join(", ")}` : undefined;
    const hint = `there is no journal ${name}${didYouMean(name, all)} in ${folder ?? "the cache's folder"}`;
    throw new UsageError("journal.name", which ?? hint);
  });
  return [...new Map(chosen.map((place) => [place.path, place])).values()];
}

/** Reads a journal. @throws UsageError when it cannot be read */
export function openJournal({ path, own }: JournalPlace): ReadJournal {
  if (own && infoOf(path)?.isFile === false) {
    throw new UsageError("journal.no-file", "it is a link or a folder, which is not followed", { file: path });
  }
  const read = () => readJournalFacts(readInputFile(path));
  const first = read();
  if (!first.facts.damage.some(({ part }) => part === "end")) return first;
  // Somebody may be appending. The lock's file is not made for that: then nobody has ever written.
  const lock = lockOf(path);
  return infoOf(lock)?.isFile ? withLock(lock, read, LOCK_MS) ?? first : first;
}

/** Reads journals, whatever becomes of the others. */
export function openJournals(places: readonly JournalPlace[], tick: () => void = () => {}): OpenedJournal[] {
  return places.map((place) => {
    tick();
    try {
      return { ...place, read: openJournal(place), usedAt: infoOf(place.path)?.mtime ?? undefined };
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      return { ...place, problem: error.message };
    }
  });
}

/** What a path is, links not followed; undefined when nothing is there. */
export function infoOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined; // it is not there, or may not be looked at
  }
}
