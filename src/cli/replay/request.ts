import { AnyAgcError, hex, withPlace } from "../../errors.ts";
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";
import type { RequestFile } from "../../recompiler/request_file.ts";
import { makeFolder, readInput } from "../files.ts";
import type { ReplayContext, ReplayKind, ReplayOutcome } from "./kind.ts";

/** Every request's file begins so. */
export const REQUEST_HEAD = /^\s*\{\s*"schema"\s*:\s*"anyagc\.request\//;
const SUFFIX = ".request.json";
/** A request of 1 MiB of code has 2.5 MB, a module at most what the shader cache keeps. */
const MAX_REQUEST_BYTES = 16 << 20, MAX_ARTIFACT_BYTES = 64 << 20;

/** Requests to the recompiler (`APS5_DUMP_SHADERS`): recompiled, and compared where that is asked for. */
export const REQUEST_KIND: ReplayKind = {
  name: "request",
  // By its name, too: what is wrong with the beginning of such a file is said as what it is.
  accepts: (head, file) => file.endsWith(SUFFIX) || REQUEST_HEAD.test(new TextDecoder().decode(head)),
  replay,
};

/** An artifact and how long which pass took. */
interface Recompiled {
  readonly artifact: Artifact;
  readonly milliseconds: number;
  readonly passes: { name: string; milliseconds: number }[];
}

async function replay(file: string, { compare, artifacts }: ReplayContext): Promise<ReplayOutcome> {
  const { decodeRequest } = await import("../../recompiler/request_file.ts");
  const input = decodeRequest(await readInput(file, MAX_REQUEST_BYTES), file), { request, shader, stage } = input;
  const made = await recompiled(input, request, file), { artifact } = made;
  const lines = [`passes: ${made.passes.map(({ name, milliseconds }) => `${name} ${ms(milliseconds)}`).join(", ")}`];
  const data: Record<string, unknown> = {
    ...{ stage, shader, codeAddress: hex(request.codeAddress) },
    ...factsOf(made),
    passes: made.passes,
  };
  if (artifacts !== undefined) {
    const { ARTIFACT_SUFFIX, writeArtifact } = await import("./artifact_file.ts");
    const { RECOMPILER_VERSION } = await import("../../recompiler/version.ts");
    await makeFolder(artifacts);
    const path = `${artifacts}/${baseName(file)}${ARTIFACT_SUFFIX}`;
    writeArtifact(path, { version: RECOMPILER_VERSION, shader, artifact });
    lines.push(`artifact: ${path}`);
    data.artifact = path;
  }
  const what = `${stage} shader ${shader} at ${hex(request.codeAddress)}`;
  const summary = `${what}: ${artifact.instructionCount} instructions became ${inWords(made)}`;
  if (compare === undefined) return { equal: true, verdict: "recompiled", summary, lines, data };
  const other = await otherOf(input, file, compare), differences = differencesOf(artifact, other.artifact);
  lines.push(`with ${compare}: ${inWords(other)}`, ...differences);
  data.compare = { with: compare, ...factsOf(other), differences };
  return { equal: differences.length === 0, summary, lines, data };
}

/** What it is compared with: recompiled with other settings, or what another build left. */
async function otherOf(
  input: RequestFile,
  file: string,
  compare: string,
): Promise<{ artifact: Artifact; milliseconds?: number }> {
  if (compare.includes("=")) {
    const { withSettings } = await import("./settings.ts");
    return recompiled(input, withSettings(input.request, compare), file, `with ${compare}, `);
  }
  const { ARTIFACT_SUFFIX, readArtifact } = await import("./artifact_file.ts");
  const path = isFolder(compare) ? `${compare}/${baseName(file)}${ARTIFACT_SUFFIX}` : compare;
  const other = readArtifact(await readInput(path, MAX_ARTIFACT_BYTES), path);
  if (other.shader !== input.shader) {
    const { UsageError } = await import("../../errors.ts");
    throw new UsageError(
      "replay.other-shader",
      `${path} is the artifact of the shader ${other.shader}, not of ${input.shader}`,
      { file },
    );
  }
  return other;
}

/** Recompiles; errors say which shader it is, and where its request lies. */
async function recompiled(
  { stage, shader }: RequestFile,
  request: RecompileRequest,
  file: string,
  prefix = "",
): Promise<Recompiled> {
  const { recompile } = await import("../../recompiler/recompile.ts");
  const passes: Recompiled["passes"] = [], start = performance.now();
  let last = start;
  const pass = (name: string) => {
    const now = performance.now();
    passes.push({ name, milliseconds: now - last });
    last = now;
  };
  try {
    const artifact = recompile(request, pass);
    pass("emit");
    return { artifact, milliseconds: last - start, passes };
  } catch (error) {
    const which = `${prefix}${stage} shader ${shader}: `;
    if (error instanceof AnyAgcError) throw withPlace(error, { file, guestAddress: request.codeAddress }, which);
    const message = error instanceof Error ? error.message : String(error);
    const failed = new AnyAgcError("recompiler.failed", `${which}the recompiler fails on it: ${message}`, {
      file,
      guestAddress: request.codeAddress,
    });
    failed.cause = error;
    throw failed;
  }
}

function factsOf({ artifact, milliseconds }: { artifact: Artifact; milliseconds?: number }) {
  const { instructionCount, codeWords, waveSize, workgroupSize, laneMode, laneModeReason, spirv } = artifact;
  return {
    ...{ instructionCount, codeWords, waveSize, workgroupSize, laneMode, laneModeReason },
    ...{ words: spirv.length, milliseconds },
  };
}

/** Facts that differ, each in words; the module's first differing word. */
function differencesOf(here: Artifact, there: Artifact): string[] {
  const { spirv: a, ...facts } = here, { spirv: b, ...others } = there, differences: string[] = [];
  for (const name of new Set([...Object.keys(facts), ...Object.keys(others)] as (keyof typeof facts)[])) {
    if (name === "laneModeReason") continue; // words for people
    const [mine, yours] = [text(facts[name]), text(others[name])];
    if (mine !== yours) differences.push(`${name} is ${short(mine)} here, ${short(yours)} there`);
  }
  const at = a.findIndex((word, index) => word !== b[index]);
  if (at >= 0 || a.length !== b.length) {
    const more = b.length - a.length, word = at < 0 ? a.length : at;
    differences.push(
      `the modules differ from word ${word} on, ${Math.abs(more)} words ${more < 0 ? "fewer" : "more"} there`,
    );
  }
  return differences;
}

function text(value: unknown): string {
  return value === undefined
    ? "missing"
    : JSON.stringify(value, (_, each) => ArrayBuffer.isView(each) ? [...each as Uint8Array] : each);
}

function short(value: string): string {
  return value.length <= 60 ? value : `${value.slice(0, 57)}...`;
}

function inWords({ artifact, milliseconds }: { artifact: Artifact; milliseconds?: number }): string {
  const { spirv, waveSize, laneMode, laneModeReason } = artifact;
  const time = milliseconds === undefined ? "" : `, ${ms(milliseconds)}`;
  return `${spirv.length} words, wave${waveSize}, ${laneMode} (${laneModeReason})${time}`;
}

function ms(milliseconds: number): string {
  return `${milliseconds.toFixed(1)} ms`;
}

function baseName(file: string): string {
  const name = file.slice(file.lastIndexOf("/") + 1);
  return name.endsWith(SUFFIX) ? name.slice(0, -SUFFIX.length) : name;
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false; // reading it says why not
  }
}
