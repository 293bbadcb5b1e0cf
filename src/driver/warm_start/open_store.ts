/**
 * Where pipelines are kept, and whether.
 *
 * @module
 */
import type { GpuDevice } from "../../gpu/device.ts";
import { openPipelineCache, type PipelineCache } from "../../gpu/pipeline_cache.ts";
import { deviceIdentity } from "../../gpu/pipeline_cache_file.ts";
import type { Program } from "../../guest/program.ts";
import type { RecompilerDevice } from "../../recompiler/request.ts";
import { cacheFolder, ensurePrivate } from "../../storage/cache_folder.ts";
import { withLock } from "../../storage/file_lock.ts";
import { Journal, lockOf } from "../../storage/journal.ts";
import { switchFlag } from "../../switches.ts";
import type { JournalPlace } from "../pools/driver_room.ts";
import { CostFile } from "../compile_cost/cost_file.ts";
import { OwnBudget } from "../pools/own_budget.ts";
import type { SharedTraceHandle } from "../recording/shared_trace.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import { PipelineStore } from "./pipeline_store.ts";
import { journalIdentity } from "./recorded_pipeline.ts";

/** Journals that are kept, the last used ones. */
const JOURNALS = 64;
/** A half-written file is older only if its process is gone. */
const PARTIAL_MS = 3600_000;

/**
 * The journal of a program on a device; undefined when the switches want none, or there is no folder. It is opened once for a run: opening
 * repairs it, and says so in its notes that once.
 */
export function openJournal(device: GpuDevice, program: Program): Journal | undefined {
  const parent = switchFlag("APS5_NO_PIPELINE_JOURNAL") ? undefined : cacheFolder();
  if (parent === undefined) return undefined;
  const folder = pipelineFolder(parent),
    { name, identity } = journalIdentity(program, deviceIdentity(device.capabilities));
  const journal = new Journal(folder, name, identity);
  sweep(folder, journal.path);
  return journal;
}

/**
 * The pipelines of a program on a device whose queues run in turns, kept as the switches want it.
 *
 * @param journal of {@linkcode openJournal}
 */
export function openPipelineStore(
  device: GpuDevice,
  recompilerDevice: RecompilerDevice,
  journal: Journal | undefined,
  { shaders, trace }: { shaders?: ShaderCache; trace?: SharedTraceHandle } = {},
): PipelineStore {
  const { cache, costs } = openCaches(device);
  return new PipelineStore(device, recompilerDevice, {
    cache,
    shaders,
    journal,
    budget: new OwnBudget({ costs, trace }),
  });
}

/** What earlier runs of a program left for a room on a device. */
export interface RoomStore {
  /** The caller closes it, behind the room. */
  readonly cache: PipelineCache | undefined;
  /** Where the room's isolates record pipelines. */
  readonly place: JournalPlace | undefined;
  /** What was recorded before. */
  readonly records: readonly Uint8Array[];
  /** What compiles cost on the device, beside the cache. */
  readonly costs: CostFile | undefined;
  /** What was wrong with the files, for people. */
  readonly notes: readonly string[];
}

/**
 * {@linkcode openPipelineStore} for a program whose queues run in isolates of their own; undefined when the switches want nothing, or there is
 * no folder.
 */
export function openRoomStore(
  device: GpuDevice,
  program: Program,
  journal: Journal | undefined,
): RoomStore | undefined {
  const { cache, costs } = openCaches(device);
  if (journal === undefined && cache === undefined) return undefined;
  return {
    cache,
    costs,
    place: journal && { folder: journal.folder, ...journalIdentity(program, deviceIdentity(device.capabilities)) },
    records: journal?.records ?? [],
    notes: [...journal?.notes ?? [], ...cache?.notes ?? []],
  };
}

/** What is kept of a device, whatever runs on it. */
function openCaches(device: GpuDevice): { cache?: PipelineCache; costs?: CostFile } {
  const parent = switchFlag("ANYAGC_NO_PIPELINE_CACHE") ? undefined : cacheFolder();
  if (parent === undefined) return {};
  const folder = pipelineFolder(parent);
  return { cache: openPipelineCache(device, folder), costs: new CostFile(folder, deviceIdentity(device.capabilities)) };
}

function pipelineFolder(parent: string): string {
  return `${parent}/pipelines`;
}

/** Marks a journal as used, and removes the ones that were not for the longest time. */
export function sweep(folder: string, used: string): void {
  if (!ensurePrivate(folder)) return;
  try {
    const now = new Date();
    Deno.utimeSync(used, now, now);
    const journals: { path: string; time: number }[] = [], locks: string[] = [];
    for (const { name } of Deno.readDirSync(folder)) {
      const path = `${folder}/${name}`, time = Deno.statSync(path).mtime?.getTime() ?? 0;
      if (name.endsWith(".journal")) journals.push({ path, time });
      else if (name.endsWith(lockOf(".journal"))) locks.push(path);
      else if (name.endsWith(".part") && now.getTime() - time > PARTIAL_MS) Deno.removeSync(path);
    }
    journals.sort((a, b) => b.time - a.time);
    const kept = new Set(journals.slice(0, JOURNALS).map(({ path }) => lockOf(path)));
    const old = new Map(journals.slice(JOURNALS).map(({ path, time }) => [lockOf(path), { path, time }]));
    for (const { path, time } of old.values()) removeJournal(path, time);
    // Those of journals that are gone.
    for (const lock of locks) {
      if (!kept.has(lock) && !old.has(lock)) removeJournal(lock.slice(0, -lockOf("").length), undefined);
    }
  } catch {
    // Another process was faster, or nothing can be removed here.
  }
}

/** Removes a journal with its lock, unless somebody is using it, or has since it was looked at. @param time of it then; undefined: it was not there */
function removeJournal(path: string, time: number | undefined): void {
  const lock = lockOf(path);
  withLock(lock, () => {
    if (timeOf(path) !== time) return;
    if (time !== undefined) Deno.removeSync(path);
    // Last: who waits for it finds that it is gone, and takes another one.
    Deno.removeSync(lock);
  }, 0);
}

function timeOf(path: string): number | undefined {
  try {
    return Deno.statSync(path).mtime?.getTime() ?? 0;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
