/** Requests and folders for the tests of the shader cache. */
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { Artifact, RecompileRequest } from "../../../src/recompiler/request.ts";
import { makeRequest } from "../../support/lift.ts";
import { COPY, COPY16, SQUARE, STEP } from "../../support/machine_code.ts";

/** A request and what the recompiler makes of it. */
export interface Made {
  readonly request: RecompileRequest;
  readonly artifact: Artifact;
}

/** Four programs, of one state but for one that has resources and waves of 64. */
export function madeShaders(): Made[] {
  const state = { userSgprCount: 8, workgroupIds: [true, false, false], target: "gfx1013" } as const;
  const requests = [
    makeRequest({ ...state, code: STEP }),
    makeRequest({ ...state, code: COPY }),
    makeRequest({ ...state, code: COPY16 }),
    makeRequest({ ...state, code: SQUARE, resolve: true, waveSize: 64, workgroupSize: [64, 1, 1], windows: 8 }),
  ];
  return requests.map((request) => ({ request, artifact: recompile(request) }));
}

/** Runs a test in a folder of its own. */
export async function inFolder(body: (folder: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "anyagc-test-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Names of the cache's files, sorted. */
export function entries(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".shader")).sort();
}
