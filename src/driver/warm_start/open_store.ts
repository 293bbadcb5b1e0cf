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
import { Journal } from "../../storage/journal.ts";
import { switchFlag } from "../../switches.ts";
import type { JournalPlace } from "../pools/driver_room.ts";
import { CostFile } from "../compile_cost/cost_file.ts";
import type { ShaderCache } from "../shader_cache/shader_cache.ts";
import { PipelineStore } from "./pipeline_store.ts";
import { journalIdentity } from "./recorded_pipeline.ts";

/** Journals that are kept, the last used ones. */
const JOURNALS = 64;
/** A half-written file is older only if its process is gone. */
const PARTIAL_MS = 3600_000;

/** The pipelines of a program on a device, as the switches want them kept; undefined when they want nothing, or there is no folder. */
export function openPipelineStore(
  device: GpuDevice,
  recompilerDevice: RecompilerDevice,
  program: Program,
  shaders?: ShaderCache,
): PipelineStore | undefined {
  const wantsJournal = !switchFlag("APS5_NO_PIPELINE_JOURNAL"), wantsCache = !switchFlag("ANYAGC_NO_PIPELINE_CACHE");
  const parent = wantsJournal || wantsCache ? cacheFolder() : undefined;
  if (parent === undefined) return undefined;
  const folder = `${parent}/pipelines`;
  return new PipelineStore(device, recompilerDevice, {
    cache: wantsCache ? openPipelineCache(device, folder) : undefined,
    shaders,
    journal: wantsJournal ? openJournal(folder, program, device) : undefined,
  });
}

/** Whether earlier runs of a program recorded pipelines on a device. */
export function hasRecords(device: GpuDevice, program: Program): boolean {
  const parent = switchFlag("APS5_NO_PIPELINE_JOURNAL") ? undefined : cacheFolder();
  return parent !== undefined && openJournal(`${parent}/pipelines`, program, device).records.length > 0;
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

/** {@linkcode openPipelineStore} for a program whose queues run in isolates of their own. */
export function openRoomStore(device: GpuDevice, program: Program): RoomStore | undefined {
  const wantsJournal = !switchFlag("APS5_NO_PIPELINE_JOURNAL"), wantsCache = !switchFlag("ANYAGC_NO_PIPELINE_CACHE");
  const parent = wantsJournal || wantsCache ? cacheFolder() : undefined;
  if (parent === undefined) return undefined;
  const folder = `${parent}/pipelines`;
  const cache = wantsCache ? openPipelineCache(device, folder) : undefined;
  const costs = wantsCache ? new CostFile(folder, deviceIdentity(device.capabilities)) : undefined;
  if (!wantsJournal) return { cache, costs, place: undefined, records: [], notes: cache?.notes ?? [] };
  const { records, notes } = openJournal(folder, program, device);
  const place = { folder, ...journalIdentity(program, deviceIdentity(device.capabilities)) };
  return { cache, costs, place, records, notes: [...notes, ...cache?.notes ?? []] };
}

function openJournal(folder: string, program: Program, device: GpuDevice): Journal {
  const { name, identity } = journalIdentity(program, deviceIdentity(device.capabilities));
  const journal = new Journal(folder, name, identity);
  sweep(folder, journal.path);
  return journal;
}

/** Marks a journal as used, and removes the ones that were not for the longest time. */
export function sweep(folder: string, used: string): void {
  if (!ensurePrivate(folder)) return;
  try {
    const now = new Date();
    Deno.utimeSync(used, now, now);
    const journals: { path: string; time: number }[] = [];
    for (const { name } of Deno.readDirSync(folder)) {
      const path = `${folder}/${name}`, time = Deno.statSync(path).mtime?.getTime() ?? 0;
      if (name.endsWith(".journal")) journals.push({ path, time });
      else if (name.endsWith(".part") && now.getTime() - time > PARTIAL_MS) Deno.removeSync(path);
    }
    journals.sort((a, b) => b.time - a.time);
    for (const { path } of journals.slice(JOURNALS)) Deno.removeSync(path);
  } catch {
    // Another process was faster, or nothing can be removed here.
  }
}
