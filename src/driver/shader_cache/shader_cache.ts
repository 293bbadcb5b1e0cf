/**
 * Artifacts of earlier runs, a file each. Looking one up reads the file; new ones wait in a queue, which is written out by {@linkcode ShaderCache.flush}
 * after a run, never by a dispatch. Any number of processes may use a folder: a file is there whole or not at all, and one that another process removes is
 * recompiled.
 *
 * @module
 */
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";
import { writeFileAtomically } from "../../storage/atomic_file.ts";
import { ensurePrivate } from "../../storage/cache_folder.ts";
import { withLock } from "../../storage/file_lock.ts";
import {
  decodeEntry,
  encodeEntry,
  ENTRY_SUFFIX,
  entryName,
  parseEntryName,
  type RequestKey,
  requestKey,
} from "./entry.ts";

const FILE_MODE = 0o600;
const LIMIT_BYTES = 256 << 20, ENTRY_LIMIT_BYTES = 32 << 20;
/** Of the limit, what stays when it is passed: so that not every run removes something. */
const KEPT = 7 / 8;
/** A half-written file is older only if its process is gone. */
const PARTIAL_MS = 3600_000;
/** Held while files are removed. */
const LOCK = "lock";

/** Bounds of a {@linkcode ShaderCache}. */
export interface ShaderCacheOptions {
  /** Bytes of all files at most, after a flush; those that were not used for the longest time go. 256 MiB by default. */
  readonly limitBytes?: number;
  /** Bytes of a file at most: what is larger is not kept. 32 MiB by default. */
  readonly entryLimitBytes?: number;
}

/** What a cache did so far. */
export interface ShaderCacheCounts {
  /** Requests that were found, and that were not. */
  hits: number;
  misses: number;
  /** Files that were not as they were written. */
  damaged: number;
  /** Files that were written, and that could not be. */
  written: number;
  failed: number;
  /** Files that were removed to stay within the bounds. */
  removed: number;
}

/** An artifact that is not on the disk yet. */
interface Pending {
  readonly key: RequestKey;
  readonly code: Uint32Array;
  readonly artifact: Artifact;
}

/** A folder of artifacts. No method throws: it is there to do without. */
export class ShaderCache {
  readonly folder: string;
  /** What was wrong, for people. */
  readonly notes: string[] = [];
  readonly counts: ShaderCacheCounts = { hits: 0, misses: 0, damaged: 0, written: 0, failed: 0, removed: 0 };
  readonly #limit: number;
  readonly #entryLimit: number;
  /** Words of code of the entries, by the beginning of their names, with the names. */
  readonly #entries = new Map<string, Map<string, number>>();
  readonly #pending = new Map<string, Pending>();
  readonly #used = new Set<string>();
  readonly #usable: boolean;

  /** @param folder private to this user; made if need be */
  constructor(folder: string, options: ShaderCacheOptions = {}) {
    this.folder = folder;
    this.#limit = options.limitBytes ?? LIMIT_BYTES;
    this.#entryLimit = options.entryLimitBytes ?? ENTRY_LIMIT_BYTES;
    this.#usable = ensurePrivate(folder);
    if (!this.#usable) {
      this.notes.push(`${folder} is no folder that only this user can write to: no shaders are kept`);
      return;
    }
    try {
      for (const { name } of Deno.readDirSync(folder)) this.#list(name);
    } catch {
      // It was removed, or may not be read: nothing is found, and writing says what it says.
    }
  }

  /** The artifact of a request, if it is there. The request's code may go on behind its program. */
  find(request: RecompileRequest): Artifact | undefined {
    if (!this.#usable) return undefined;
    const key = requestKey(request), entries = this.#entries.get(key.prefix);
    const names = new Map<number, string>(); // the request's, by words of code
    for (const [name, codeWords] of entries ?? []) {
      if (codeWords > request.code.length) continue;
      if (!names.has(codeWords)) names.set(codeWords, entryName(key, request.code.subarray(0, codeWords)));
      if (names.get(codeWords) !== name) continue;
      const artifact = this.#pendingArtifact(name, key, request.code) ?? this.#read(name, key, request.code);
      if (artifact === undefined) continue;
      this.counts.hits++;
      this.#used.add(name);
      return artifact;
    }
    this.counts.misses++;
    return undefined;
  }

  /** Keeps an artifact that {@linkcode find} did not have. It is written by the next {@linkcode flush}. */
  add(request: RecompileRequest, artifact: Artifact): void {
    if (!this.#usable) return;
    const key = requestKey(request), code = request.code.slice(0, artifact.codeWords), name = entryName(key, code);
    this.#pending.set(name, { key, code, artifact });
    this.#list(name);
  }

  /** Writes what was added, and removes what is too much. */
  flush(): void {
    if (!this.#usable) return;
    const now = new Date();
    for (const name of this.#used) {
      try {
        if (!this.#pending.has(name)) Deno.utimeSync(`${this.folder}/${name}`, now, now);
      } catch {
        // Another process has removed it.
      }
    }
    this.#used.clear();
    if (this.#pending.size === 0) return;
    for (const [name, pending] of this.#pending) this.#write(name, pending);
    this.#pending.clear();
    try {
      withLock(`${this.folder}/${LOCK}`, () => this.#sweep(now.getTime()), 0);
    } catch {
      // The folder is gone: so is what was too much.
    }
  }

  #list(name: string): void {
    const parsed = parseEntryName(name);
    if (parsed === undefined) return;
    const names = this.#entries.get(parsed.prefix);
    if (names === undefined) this.#entries.set(parsed.prefix, new Map([[name, parsed.codeWords]]));
    else names.set(name, parsed.codeWords);
  }

  #unlist(name: string): void {
    const parsed = parseEntryName(name);
    if (parsed !== undefined) this.#entries.get(parsed.prefix)?.delete(name);
  }

  #pendingArtifact(name: string, { state }: RequestKey, code: Uint32Array): Artifact | undefined {
    const pending = this.#pending.get(name);
    if (pending === undefined) return undefined;
    const same = pending.key.state.length === state.length && pending.key.state.every((byte, k) => byte === state[k]) &&
      pending.code.every((word, k) => word === code[k]);
    return same ? pending.artifact : undefined;
  }

  #read(name: string, key: RequestKey, code: Uint32Array): Artifact | undefined {
    let bytes: Uint8Array<ArrayBuffer>;
    const path = `${this.folder}/${name}`;
    try {
      if (Deno.statSync(path).size > this.#entryLimit) throw new Error("too large to be an entry");
      bytes = Deno.readFileSync(path);
    } catch {
      this.#unlist(name); // removed by another process, or not to be read
      return undefined;
    }
    const content = decodeEntry(bytes, key, code);
    if (content.kind === "artifact") return content.artifact;
    if (content.kind === "damaged") this.counts.damaged++;
    this.#unlist(name); // the next flush replaces it
    return undefined;
  }

  #write(name: string, { key, code, artifact }: Pending): void {
    try {
      const bytes = encodeEntry(key, code, artifact);
      if (bytes.length > this.#entryLimit) throw new Error(`an artifact of ${bytes.length} bytes is not kept`);
      writeFileAtomically(`${this.folder}/${name}`, bytes, FILE_MODE);
      this.counts.written++;
    } catch (error) {
      this.#unlist(name);
      if (this.counts.failed++ === 0) this.notes.push(error instanceof Error ? error.message : String(error));
    }
  }

  /** Removes what was not used for the longest time, and what dead processes left. Of several processes, one does. */
  #sweep(now: number): void {
    const files: { name: string; bytes: number; time: number }[] = [];
    let total = 0;
    for (const { name } of Deno.readDirSync(this.folder)) {
      const info = this.#stat(name), time = info?.mtime?.getTime() ?? 0;
      if (info === undefined) continue;
      if (name.endsWith(ENTRY_SUFFIX)) {
        files.push({ name, bytes: info.size, time });
        total += info.size;
      } else if (name.endsWith(".part") && now - time > PARTIAL_MS) this.#remove(name);
    }
    if (total <= this.#limit) return;
    files.sort((a, b) => a.time - b.time);
    for (const { name, bytes } of files) {
      if (total <= this.#limit * KEPT) break;
      if (this.#remove(name)) this.counts.removed++;
      this.#unlist(name);
      total -= bytes;
    }
  }

  #stat(name: string): Deno.FileInfo | undefined {
    try {
      return Deno.statSync(`${this.folder}/${name}`);
    } catch {
      return undefined; // another process has removed it
    }
  }

  #remove(name: string): boolean {
    try {
      Deno.removeSync(`${this.folder}/${name}`);
      return true;
    } catch {
      return false; // another process has, or it may not be removed
    }
  }
}
