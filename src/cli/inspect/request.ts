/**
 * Requests to the recompiler (APS5_DUMP_SHADERS), and what it made of one (anyagc replay --artifacts).
 *
 * @module
 */
import { AnyAgcError, hex, UsageError, withPlace } from "../../errors.ts";
import { readInputFile } from "../../guest/loaders/file_format.ts";
import { recompile } from "../../recompiler/recompile.ts";
import type { Artifact } from "../../recompiler/request.ts";
import { decodeRequest } from "../../recompiler/request_file.ts";
import { RECOMPILER_VERSION } from "../../recompiler/version.ts";
import { REQUEST_HEAD } from "../replay/request.ts";
import { readArtifact } from "../replay/artifact_file.ts";
import { type InspectKind, Problems } from "./kind.ts";

/** Schema anyagc.request/1. */
export const REQUEST_KIND: InspectKind = {
  accepts: (head) => REQUEST_HEAD.test(new TextDecoder().decode(head)),
  // deno-lint-ignore require-await -- the interface is that of its neighbours
  async inspect(file) {
    const { request, shader, stage } = decodeRequest(readInputFile(file), file), problems = new Problems();
    const { code, codeAddress, target, waveSize, workgroupSize, userSgprCount, ldsBytes, device } = request;
    try {
      recompile(request);
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      problems.add(withPlace(error, { file }));
    }
    const data = { kind: "request", stage, shader, codeAddress, codeWords: code.length, target, waveSize };
    return {
      format: "request to the recompiler",
      data: { ...data, threads: workgroupSize, userSgprCount, ldsBytes, device },
      lines: [
        `${stage} shader ${shader} at ${hex(codeAddress)}, ${target}, ${code.length} words, wave${waveSize}, ` +
        `${workgroupSize.join(" x ")} threads, ${userSgprCount} user SGPRs, LDS ${ldsBytes}`,
        `for a device with ${device.subgroupSize} lanes per subgroup`,
      ],
      problems,
      notes: [],
    };
  },
};

/** Written by `anyagc replay --artifacts`: plain data behind a checksum, whose text names its schema. */
export const ARTIFACT_KIND: InspectKind = {
  accepts: (head) => new TextDecoder().decode(head.subarray(8)).includes('"anyagc.artifact/1"'),
  // deno-lint-ignore require-await -- the interface is that of its neighbours
  async inspect(file) {
    const { version, shader, artifact } = readArtifact(readInputFile(file), file);
    if (!Number.isInteger(version) || typeof shader !== "string") {
      throw new UsageError("replay.no-artifact", `${file} is no artifact: it names no shader`, { file });
    }
    return {
      format: "artifact of the recompiler",
      data: { kind: "artifact", version, shader, artifact: artifactFacts(artifact) },
      lines: [`shader ${shader}, ${versionText(version)}, ${artifactText(artifact)}`],
      problems: new Problems(),
      notes: [],
    };
  },
};

/** What `--json` tells of an artifact. */
export function artifactFacts({ spirv, laneMode, workgroupSize, waveSize, instructionCount, codeWords }: Artifact) {
  return { words: spirv.length, ...{ laneMode, workgroupSize, waveSize, instructionCount, codeWords } };
}

/** For people. */
export function artifactText(artifact: Artifact): string {
  const { instructionCount, words, waveSize, laneMode, workgroupSize } = artifactFacts(artifact);
  return `${instructionCount} instructions became ${words} words, wave${waveSize}, ${laneMode}, ` +
    `${workgroupSize.join(" x ")} invocations`;
}

/** For people. */
export function versionText(version: number): string {
  return `recompiler version ${version}${version === RECOMPILER_VERSION ? "" : ` (this one is ${RECOMPILER_VERSION})`}`;
}
