/**
 * The one writer of a process with several isolates: entries are jobs of `Pool.Writer`, which one worker takes (`src/workers/shader_writer.ts`). Who adds an
 * entry copies it into the arena and goes on; nobody who draws, dispatches or recompiles touches the disk for it.
 *
 * @module
 */
import type { ClaimedJob } from "../../sync/job_types.ts";
import { decodeData, encodeData } from "../../sync/plain_data.ts";
import { blobPayload, JobKind, payloadBlob, Pool, type Room } from "../pools/room.ts";
import type { LogLine } from "../pools/failures.ts";
import type { CacheLimits, EntryWriter } from "./entry_writer.ts";

/** A folder of artifacts, as other isolates get it. */
export interface ShaderCacheHandle extends CacheLimits {
  readonly folder: string;
}

/** What a job of the writer does: writes an entry. */
interface WriterJob {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/** Queues an entry for the writer. @throws SyncError if a capacity is used up, or the board is stopped. */
export function queueEntry(room: Room, handle: ShaderCacheHandle, name: string, bytes: Uint8Array): void {
  submit(room, handle, { name, bytes });
}

/** What the writer does with a job. */
export class WriterJobs {
  readonly #open: (handle: ShaderCacheHandle) => EntryWriter | undefined;
  readonly #log: LogLine;
  readonly #writers = new Map<string, EntryWriter | undefined>();
  #said = false;

  /** @param open opens a folder; undefined when it must not be written to */
  constructor(open: (handle: ShaderCacheHandle) => EntryWriter | undefined, log: LogLine) {
    this.#open = open;
    this.#log = log;
  }

  /** Does one. What cannot be written is logged once. */
  run(room: Room, job: ClaimedJob): void {
    const blob = payloadBlob(job.payload);
    try {
      const { handle, work } = decodeData(room.arena.view(blob)) as { handle: ShaderCacheHandle; work: WriterJob };
      const writer = this.#writer(handle);
      if (writer !== undefined) {
        this.#problem(writer.write(work.name, work.bytes));
        if (writer.sweepIsDue) writer.sweep();
      }
      room.board.finish(job.ticket);
    } catch (error) {
      room.board.fail(job.ticket, error);
    }
  }

  /** The end: removes what is too much, and says what was removed. */
  close(): void {
    for (const writer of this.#writers.values()) {
      writer?.sweep();
      if (writer?.removedNote !== undefined) this.#log(writer.removedNote);
    }
  }

  #writer(handle: ShaderCacheHandle): EntryWriter | undefined {
    if (!this.#writers.has(handle.folder)) this.#writers.set(handle.folder, this.#open(handle));
    return this.#writers.get(handle.folder);
  }

  #problem(what: string | undefined): void {
    if (what !== undefined && !this.#said) this.#log(`the shader cache: ${what}`);
    this.#said ||= what !== undefined;
  }
}

function submit(room: Room, { folder, limitBytes, entryLimitBytes }: ShaderCacheHandle, work: WriterJob): void {
  const blob = room.arena.append(encodeData({ handle: { folder, limitBytes, entryLimitBytes }, work }));
  try {
    room.board.submit({ pool: Pool.Writer, kind: JobKind.Entry, payload: blobPayload(blob), blobs: 1 });
  } catch (error) {
    room.arena.retire(blob);
    throw error;
  }
}
