/**
 * Writes entries into a cache's folder and keeps it within its bound. Used by the one writer of a process: the worker of `src/workers/shader_writer.ts`, or
 * the isolate itself where there is none. Several processes may write at once: a file is there whole or not at all, and one of them removes.
 *
 * @module
 */
import { writeFileAtomically } from "../../storage/atomic_file.ts";
import { withLock } from "../../storage/file_lock.ts";
import { ENTRY_SUFFIX } from "./entry.ts";

const FILE_MODE = 0o600;
/** Of the limit, what stays when it is passed: so that not every run removes something. */
const KEPT = 7 / 8;
/** A half-written file is older only if its process is gone. */
const PARTIAL_MS = 3600_000;
/** Held while files are removed. */
const LOCK = "lock";

/** Bounds of a cache's folder, in bytes. */
export interface CacheLimits {
  /** Of all files, after a sweep; those that were not used for the longest time go. */
  readonly limitBytes: number;
  /** Of a file: what is larger is not kept. */
  readonly entryLimitBytes: number;
}

/** See the module. No method throws. */
export class EntryWriter {
  readonly #folder: string;
  readonly #limits: CacheLimits;
  /** Bytes that were written since the last sweep. */
  #unswept = 0;
  /** Files that were written, that could not be, and that were removed. */
  readonly counts: { written: number; failed: number; removed: number } = { written: 0, failed: 0, removed: 0 };

  /** @param folder private to this user, and there */
  constructor(folder: string, limits: CacheLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  /**
   * Writes an entry.
   *
   * @returns what went wrong; undefined when it is written
   */
  write(name: string, bytes: Uint8Array): string | undefined {
    try {
      const { entryLimitBytes } = this.#limits;
      if (bytes.length > entryLimitBytes) throw new Error(`an artifact of ${bytes.length} bytes is not kept`);
      const path = `${this.#folder}/${name}`, there = this.#stat(name);
      // A pipe would be written to, and waits for a reader.
      if (there?.isFile === false) throw new Error(`${path} is in the way: it is no file`);
      writeFileAtomically(path, bytes, FILE_MODE);
      this.counts.written++;
      this.#unswept += bytes.length;
      return undefined;
    } catch (error) {
      this.counts.failed++;
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Says that entries were used now. */
  touch(names: Iterable<string>): void {
    const now = new Date();
    for (const name of names) {
      try {
        Deno.utimeSync(`${this.#folder}/${name}`, now, now);
      } catch {
        // Another process has removed it.
      }
    }
  }

  /** That entries were removed, for people; undefined if none were. */
  get removedNote(): string | undefined {
    const { removed } = this.counts;
    if (removed === 0) return undefined;
    const [entries, were] = removed === 1 ? ["entry", "was"] : ["entries", "were"];
    const limit = this.#limits.limitBytes, most = limit < 1 << 20 ? `${limit} bytes` : `${limit >> 20} MiB`;
    return `${removed} ${entries} of the shader cache ${this.#folder} ${were} removed, so that it stays within ${most}`;
  }

  /** Whether so much was written since the last sweep that the bound may be passed by much. */
  get sweepIsDue(): boolean {
    return this.#unswept > this.#limits.limitBytes * (1 - KEPT);
  }

  /**
   * Removes what was not used for the longest time, and what dead processes left. Of several processes, one does.
   *
   * @param removed told of each entry that went
   */
  sweep(removed: (name: string) => void = () => {}): void {
    if (this.#unswept === 0) return;
    this.#unswept = 0;
    try {
      withLock(`${this.#folder}/${LOCK}`, () => this.#sweep(Date.now(), removed), 0);
    } catch {
      // The folder is gone: so is what was too much.
    }
  }

  #sweep(now: number, removed: (name: string) => void): void {
    const files: { name: string; bytes: number; time: number }[] = [], limit = this.#limits.limitBytes;
    let total = 0;
    for (const { name } of Deno.readDirSync(this.#folder)) {
      const info = this.#stat(name), time = info?.mtime?.getTime() ?? 0;
      if (info === undefined) continue;
      if (name.endsWith(ENTRY_SUFFIX)) {
        files.push({ name, bytes: info.size, time });
        total += info.size;
      } else if (name.endsWith(".part") && now - time > PARTIAL_MS) this.#remove(name);
    }
    if (total <= limit) return;
    files.sort((a, b) => a.time - b.time);
    for (const { name, bytes } of files) {
      if (total <= limit * KEPT) break;
      if (this.#remove(name)) this.counts.removed++;
      removed(name);
      total -= bytes;
    }
  }

  #stat(name: string): Deno.FileInfo | undefined {
    try {
      return Deno.statSync(`${this.#folder}/${name}`);
    } catch {
      return undefined; // another process has removed it
    }
  }

  #remove(name: string): boolean {
    try {
      Deno.removeSync(`${this.#folder}/${name}`);
      return true;
    } catch {
      return false; // another process has, or it may not be removed
    }
  }
}
