/**
 * Artifacts of earlier runs, a file each. Looking one up reads the file. New ones go to the writer of the process where there is one
 * ({@linkcode ShaderCache.attachWriter}); else they wait in a queue, which is written out by {@linkcode ShaderCache.flush} after a run, never by a dispatch. Any
 * number of processes may use a folder: a file is there whole or not at all, and one that another process removes is recompiled.
 *
 * @module
 */
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";
import { sameBytes } from "../../storage/byte_checksum.ts";
import { ensurePrivate } from "../../storage/cache_folder.ts";
import type { Room } from "../pools/room.ts";
import { queueEntry, type ShaderCacheHandle } from "./background_writer.ts";
import { decodeEntry, encodeEntry, entryName, parseEntryName, type RequestKey, requestKey } from "./entry.ts";
import { EntryWriter } from "./entry_writer.ts";

export type { ShaderCacheHandle } from "./background_writer.ts";

const LIMIT_BYTES = 256 << 20, ENTRY_LIMIT_BYTES = 32 << 20;
const MEMORY_BYTES = 16 << 20;

/** Bounds of a {@linkcode ShaderCache}. */
export interface ShaderCacheOptions {
  /** Bytes of all files at most, after a flush; those that were not used for the longest time go. 256 MiB by default. */
  readonly limitBytes?: number;
  /** Bytes of a file at most: what is larger is not kept. 32 MiB by default. */
  readonly entryLimitBytes?: number;
  /** Bytes of what was found in files and stays in memory, at most; 16 MiB by default. */
  readonly memoryBytes?: number;
}

/** What a cache did so far. */
export interface ShaderCacheCounts {
  /** Requests that were found, and that were not. */
  hits: number;
  misses: number;
  /** Files that were read: a request that is asked for again is found in memory. */
  reads: number;
  /** Files that were not as they were written. */
  damaged: number;
  /** Files that were there, and are not any more or may not be read. */
  gone: number;
  /** Files that this cache wrote, or gave to the writer, and that could not be written. */
  written: number;
  failed: number;
  /** Files that this cache removed to stay within the bounds. */
  removed: number;
}

/** An artifact with what it was made from. */
interface Kept {
  readonly key: RequestKey;
  readonly code: Uint32Array;
  readonly artifact: Artifact;
}

/** A folder of artifacts. No method throws: it is there to do without. */
export class ShaderCache {
  readonly folder: string;
  readonly counts: ShaderCacheCounts = {
    hits: 0,
    misses: 0,
    reads: 0,
    damaged: 0,
    gone: 0,
    written: 0,
    failed: 0,
    removed: 0,
  };
  /** The first of each kind. */
  readonly #first = { damaged: "", gone: "", failed: "" };
  readonly #limits: { readonly limitBytes: number; readonly entryLimitBytes: number };
  readonly #writer: EntryWriter;
  /** Where the writer of the process takes entries from. */
  #room: Room | undefined;
  /** Words of code of the entries, by the beginning of their names, with the names. */
  readonly #entries = new Map<string, Map<string, number>>();
  /** What is not on the disk yet. */
  readonly #pending = new Map<string, Kept>();
  readonly #used = new Set<string>();
  /** What was found in files, in the order in which it was read. */
  readonly #found = new Map<string, Kept>();
  #foundBytes = 0;
  readonly #memoryBytes: number;
  readonly #usable: boolean;

  /** @param folder private to this user; made if need be */
  constructor(folder: string, options: ShaderCacheOptions = {}) {
    this.folder = folder;
    const { limitBytes = LIMIT_BYTES, entryLimitBytes = ENTRY_LIMIT_BYTES } = options;
    this.#limits = { limitBytes, entryLimitBytes };
    this.#memoryBytes = options.memoryBytes ?? MEMORY_BYTES;
    this.#writer = new EntryWriter(folder, this.#limits);
    this.#usable = ensurePrivate(folder);
    if (!this.#usable) return;
    try {
      // Opening a pipe would wait for a writer.
      for (const { name, isFile } of Deno.readDirSync(folder)) if (isFile) this.#list(name);
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
      const artifact = keptArtifact(this.#pending.get(name), key, request.code) ??
        keptArtifact(this.#found.get(name), key, request.code) ?? this.#read(name, key, request.code);
      if (artifact === undefined) continue;
      this.counts.hits++;
      this.#used.add(name);
      return artifact;
    }
    this.counts.misses++;
    return undefined;
  }

  /** What was wrong, for people. */
  get notes(): string[] {
    if (!this.#usable) return [`${this.folder} is no folder that only this user can write to: no shaders are kept`];
    const { counts, folder } = this, { damaged, gone, failed } = this.#first, notes: string[] = [];
    if (counts.damaged > 0) {
      notes.push(`${folder}/${damaged}${others(counts.damaged)} is damaged: it is recompiled and written anew`);
    }
    if (counts.gone > 0) notes.push(`${folder}/${gone}${others(counts.gone)}: it is recompiled`);
    if (counts.failed > 0) notes.push(`${failed}${others(counts.failed)}`);
    const removed = this.#writer.removedNote;
    return removed === undefined ? notes : [...notes, removed];
  }

  /** What another isolate needs to use the same folder: `new ShaderCache(handle.folder, handle)`. */
  get handle(): ShaderCacheHandle {
    return { folder: this.folder, ...this.#limits };
  }

  /** From now on the writer of the process (a worker of `Pool.Writer`) writes what is added. */
  attachWriter(room: Room): void {
    this.flush();
    this.#room = room;
  }

  /**
   * Keeps an artifact that {@linkcode find} did not have. It goes to the writer, or is written by the next {@linkcode flush}; after that other processes find
   * it, and until then this cache alone.
   */
  add(request: RecompileRequest, artifact: Artifact): void {
    if (!this.#usable) return;
    const key = requestKey(request), code = request.code.slice(0, artifact.codeWords), name = entryName(key, code);
    if (this.#room !== undefined && this.#queue(this.#room, name, encodeEntry(key, code, artifact))) return;
    this.#pending.set(name, { key, code, artifact });
    this.#list(name);
  }

  /** Writes what was added and has no writer, and removes what is too much; notes what was used. */
  flush(): void {
    if (!this.#usable) return;
    const used = [...this.#used].filter((name) => !this.#pending.has(name));
    this.#used.clear();
    // Not by the writer: a run that made nothing new has not started it.
    this.#writer.touch(used);
    if (this.#pending.size === 0) return;
    for (const [name, pending] of this.#pending) this.#write(name, pending);
    this.#pending.clear();
    this.#writer.sweep((name) => this.#unlist(name));
    this.counts.removed = this.#writer.counts.removed;
  }

  /** Gives an entry to the writer; it is found here once it is in the folder. False when the writer cannot take it. */
  #queue(room: Room, name: string, bytes: Uint8Array): boolean {
    try {
      queueEntry(room, this.handle, name, bytes);
    } catch {
      return false; // no room for it, or stopped: it stays here until the flush
    }
    this.counts.written++;
    this.#list(name);
    return true;
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

  #read(name: string, key: RequestKey, code: Uint32Array): Artifact | undefined {
    let bytes: Uint8Array<ArrayBuffer>;
    this.counts.reads++;
    try {
      bytes = readEntry(`${this.folder}/${name}`, this.#limits.entryLimitBytes);
    } catch (error) {
      const why = error instanceof Deno.errors.NotFound ? "is not there any more" : `cannot be read (${error})`;
      if (this.counts.gone++ === 0) this.#first.gone = `${name} ${why}`;
      this.#unlist(name); // removed by another process, or not to be read
      return undefined;
    }
    const content = decodeEntry(bytes, key, code);
    if (content.kind === "artifact") {
      this.#keepFound(name, { key, code: code.slice(0, content.artifact.codeWords), artifact: content.artifact });
      return content.artifact;
    }
    if (content.kind === "damaged" && this.counts.damaged++ === 0) this.#first.damaged = name;
    this.#unlist(name); // the next flush replaces it
    return undefined;
  }

  /** Keeps what a file had, for who asks again. */
  #keepFound(name: string, kept: Kept): void {
    const bytes = bytesOf(kept), found = this.#found;
    if (bytes > this.#memoryBytes) return;
    found.set(name, kept);
    this.#foundBytes += bytes;
    for (const [oldest, each] of found) {
      if (this.#foundBytes <= this.#memoryBytes) break;
      found.delete(oldest);
      this.#foundBytes -= bytesOf(each);
    }
  }

  #write(name: string, { key, code, artifact }: Kept): void {
    const problem = this.#writer.write(name, encodeEntry(key, code, artifact));
    if (problem === undefined) {
      this.counts.written++;
      return;
    }
    this.#unlist(name);
    if (this.counts.failed++ === 0) this.#first.failed = problem;
  }
}

/** What is kept for a name, if it is the request's: names only find. */
function keptArtifact(kept: Kept | undefined, key: RequestKey, code: Uint32Array): Artifact | undefined {
  if (kept === undefined || !startsWith(code, kept.code)) return undefined;
  return kept.key === key || sameBytes(kept.key.state, key.state) ? kept.artifact : undefined;
}

function startsWith(code: Uint32Array, words: Uint32Array): boolean {
  for (let i = 0; i < words.length; i++) if (code[i] !== words[i]) return false;
  return true;
}

/** Bytes of memory of what is kept, about. */
function bytesOf({ key, code, artifact }: Kept): number {
  return key.state.length + code.byteLength + artifact.spirv.byteLength;
}

/** Read into again and again: one call of the system less, and no memory, for what is smaller. */
const BUFFER = new Uint8Array(1 << 17);

/** The bytes of a file. @throws what Deno throws, and for a file beyond the limit */
function readEntry(path: string, limit: number): Uint8Array<ArrayBuffer> {
  using file = Deno.openSync(path);
  const read = file.readSync(BUFFER) ?? 0;
  if (read < BUFFER.length) return BUFFER.slice(0, read);
  const { size } = file.statSync();
  if (size > limit) throw new Error("too large to be an entry");
  return Deno.readFileSync(path);
}

/** Behind the first of several. */
function others(count: number): string {
  return count === 1 ? "" : ` (and ${count - 1} more)`;
}
