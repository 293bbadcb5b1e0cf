/**
 * What the recompiler makes of a fixed set of requests, as checksums: shows when its output changes. The requests are files of `APS5_DUMP_SHADERS` (every
 * instruction of the fuzzer's deck, random control flow, both wave sizes and lane modes), kept as they are; whoever changes the fuzzer does not change them.
 */
import { RefusedError } from "../../../src/errors.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { decodeRequest } from "../../../src/recompiler/request_file.ts";
import { byteChecksum } from "../../../src/storage/byte_checksum.ts";
import { encodeData } from "../../../src/sync/plain_data.ts";

/** Requests (a JSON list of the files' texts, gzip), and their artifacts as they were recorded. */
const REQUESTS = new URL("requests.json.gz", import.meta.url), ARTIFACTS = new URL("artifacts.json", import.meta.url);

/** What was recorded. */
export interface Golden {
  /** RECOMPILER_VERSION at that time. */
  version: number;
  /** {@linkcode artifactHash} of each request. */
  artifacts: string[];
}

/** Reads the requests. */
export async function readRequests(): Promise<{ texts: string[]; requests: RecompileRequest[] }> {
  const file = await Deno.open(REQUESTS);
  const texts: string[] = await new Response(file.readable.pipeThrough(new DecompressionStream("gzip"))).json();
  const encoder = new TextEncoder();
  return { texts, requests: texts.map((text, k) => decodeRequest(encoder.encode(text), `request ${k}`).request) };
}

/** Writes the requests. */
export async function writeRequests(texts: readonly string[]): Promise<void> {
  const packed = new Blob([JSON.stringify(texts)]).stream().pipeThrough(new CompressionStream("gzip"));
  await Deno.writeFile(REQUESTS, packed);
}

/** Reads what was recorded. */
export function readGolden(): Golden {
  return JSON.parse(Deno.readTextFileSync(ARTIFACTS));
}

/** Records. */
export function writeGolden(golden: Golden): void {
  Deno.writeTextFileSync(ARTIFACTS, JSON.stringify(golden, null, 2) + "\n");
}

/** Checksum of all that a request becomes; `refused` where it becomes nothing: caches keep no refusals. */
export function artifactHash(request: RecompileRequest): string {
  try {
    return byteChecksum(encodeData(recompile(request))).toHex();
  } catch (error) {
    if (error instanceof RefusedError) return "refused";
    throw error;
  }
}

/** Requests whose artifact is another one now; those that were refused do not count. */
export function changedArtifacts(requests: readonly RecompileRequest[], { artifacts }: Golden): number[] {
  return [...requests.keys()].filter((k) => artifacts[k] !== "refused" && artifacts[k] !== artifactHash(requests[k]));
}
