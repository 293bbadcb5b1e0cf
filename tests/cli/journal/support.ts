/** Journals of made-up devices, in a cache folder of the test's own. */
import type { DeviceCapabilities } from "../../../src/gpu/capabilities.ts";
import { deviceIdentity } from "../../../src/gpu/pipeline_cache_file.ts";
import { encodeRecorded, journalIdentity } from "../../../src/driver/warm_start/recorded_pipeline.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { Journal } from "../../../src/storage/journal.ts";
import { makeRequest } from "../../support/lift.ts";
import { COPY, STEP } from "../../support/machine_code.ts";

/** Two programs, the second with everything that the list of records tells. */
export const REQUESTS: readonly RecompileRequest[] = [
  makeRequest({ code: STEP, codeAddress: 0x2_0000_0000n, userSgprCount: 3, resolve: true, windows: 8 }),
  makeRequest({
    ...{ code: COPY, codeAddress: 0x2_0000_0400n, userSgprCount: 5, waveSize: 64, workgroupSize: [8, 8, 2] },
    ...{ ldsBytes: 1024, partialThreads: true, unalignedLoads: true },
    imageDescriptors: new Map([[4, new Uint32Array(8)]]),
  }),
];

/** The identity of a device that is none. */
export function madeUpDevice(name: string) {
  return deviceIdentity({
    name,
    deviceUuid: "00".repeat(16),
    driver: { name: "", info: "", version: 77, uuid: "01".repeat(16) },
    pipelineCacheUuid: "02".repeat(16),
    vendorId: 1,
    deviceId: 2,
    apiVersion: "1.3.0",
  } as DeviceCapabilities);
}

/** Writes a journal into the cache's folder. @returns its name and path */
export function writeJournal(
  cache: string,
  program = "sample",
  device = "some card",
  requests = REQUESTS,
): { name: string; path: string } {
  const submissions = [{ queue: 0, words: Uint32Array.of(1) }, { queue: 0x20, words: Uint32Array.of(2) }];
  const { name, identity } = journalIdentity({ name: program, target: "gfx1013", submissions }, madeUpDevice(device));
  const journal = new Journal(`${cache}/pipelines`, name, identity);
  for (const request of requests) journal.append(encodeRecorded(request, request.code.length));
  return { name, path: journal.path };
}

/** Runs `body` with ANYAGC_CACHE_DIR set to an empty private folder. */
export async function withCache(body: (cache: string) => void | Promise<void>): Promise<void> {
  const folder = Deno.makeTempDirSync({ prefix: "anyagc-journal-test-" }), before = Deno.env.get("ANYAGC_CACHE_DIR");
  Deno.env.set("ANYAGC_CACHE_DIR", folder);
  try {
    await body(folder);
  } finally {
    if (before === undefined) Deno.env.delete("ANYAGC_CACHE_DIR");
    else Deno.env.set("ANYAGC_CACHE_DIR", before);
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Names and contents of a folder's files, and when they were changed. */
export function snapshot(folder: string): string[] {
  return Array.from(Deno.readDirSync(folder), ({ name, isSymlink }) => {
    if (isSymlink) return `${name} -> ${Deno.readLinkSync(`${folder}/${name}`)}`;
    const { mtime } = Deno.statSync(`${folder}/${name}`);
    return `${name} ${Deno.readFileSync(`${folder}/${name}`).toHex()} ${mtime?.getTime()}`;
  }).sort();
}
