/**
 * Recompiles the machine code of real modules, without running it: what is refused and why, and how long the results are.
 *
 * @module
 */
import type { SpirvTools } from "../../ffi/spirv_tools.ts";
import { shaderCandidate } from "../../src/cli/recompile/candidates.ts";
import { AnyAgcError } from "../../src/errors.ts";
import { recompile } from "../../src/recompiler/recompile.ts";
import type { Artifact, RecompilerDevice } from "../../src/recompiler/request.ts";
import type { WaveSize } from "../corpus/compile.ts";
import { causesOf, type WordCauses } from "./words.ts";
import { type CorpusFolders, machineCode, moduleWords } from "./corpus.ts";

/** What became of one module. */
export type RecompileRow =
  /** RADV made no machine code of it. */
  | { readonly module: string; readonly outcome: "no-code" }
  /** The recompiler refused it. `error` is no AnyAgcError: the recompiler itself failed. */
  | { readonly module: string; readonly outcome: "refused" | "error"; readonly code: string; readonly reason: string }
  | RecompiledRow;

/** A module that was recompiled. */
export interface RecompiledRow {
  readonly module: string;
  readonly outcome: "recompiled";
  /** Words of the original and of the recompiled module, both without debug information. */
  readonly originalWords: number;
  readonly words: number;
  /** The same with all functions inlined into the entry point, as drivers do it. */
  readonly inlining?: { readonly originalWords: number; readonly words: number };
  /** Words by cause. */
  readonly causes: WordCauses;
  /** Whether descriptors and constants come from the host. */
  readonly resolved: boolean;
  /** Guest instructions. */
  readonly instructions: number;
  readonly laneMode: Artifact["laneMode"];
  readonly insertedBarriers: number;
  readonly milliseconds: number;
  /** What SPIRV-Tools' validator says against it, if anything. */
  readonly invalid?: string;
}

/** How to recompile. */
export interface RecompileOptions {
  readonly folders: Pick<CorpusFolders, "original" | "originalCode">;
  readonly wave: WaveSize;
  readonly device: RecompilerDevice;
  readonly tools: SpirvTools;
  /** The host computes descriptors and constants before the dispatch, as the driver does it wherever it can. */
  readonly resolve?: boolean;
  /** Also count words with all functions inlined; takes a while. */
  readonly inlined?: boolean;
}

const INLINE = ["--strip-debug", "--inline-entry-points-exhaustive"];

/** Recompiles one module. */
export function recompileModule(
  module: string,
  { folders, wave, device, tools, resolve = true, inlined = false }: RecompileOptions,
): RecompileRow {
  const shader = machineCode(folders.originalCode, module, wave);
  if (shader === undefined) return { module, outcome: "no-code" };
  let artifact: Artifact, causes: WordCauses = {};
  const start = performance.now();
  try {
    const request = { ...shaderCandidate(shader, wave).request(device), resolve };
    artifact = recompile(request, undefined, { account: (account) => causes = causesOf(account, request) });
  } catch (error) {
    if (error instanceof AnyAgcError) {
      return { module, outcome: "refused", code: error.code, reason: error.message };
    }
    return { module, outcome: "error", code: "error", reason: error instanceof Error ? error.stack ?? "" : `${error}` };
  }
  const milliseconds = performance.now() - start;
  const [problem] = tools.validate(artifact.spirv);
  const original = moduleWords(folders.original, module);
  return {
    module,
    outcome: "recompiled",
    originalWords: tools.optimize(original, ["--strip-debug"]).length,
    words: tools.optimize(artifact.spirv, ["--strip-debug"]).length,
    inlining: inlined
      ? { originalWords: tools.optimize(original, INLINE).length, words: tools.optimize(artifact.spirv, INLINE).length }
      : undefined,
    causes,
    resolved: artifact.resources !== undefined,
    instructions: artifact.instructionCount,
    laneMode: artifact.laneMode,
    insertedBarriers: artifact.insertedBarriers,
    milliseconds,
    ...(problem === undefined ? {} : { invalid: problem.message }),
  };
}

/**
 * The class of a refusal: its message without what differs from module to module (addresses, registers, numbers).
 */
export function reasonClass(message: string): string {
  return message.split("\n")[0]
    .replaceAll(/\(?\b(?:pc|at|address|guest address)\s*[:=]?\s*0x[0-9a-f]+\b\)?/gi, "")
    .replaceAll(/0x[0-9a-f]+/gi, "#")
    .replaceAll(/\b[vs]\[[\d:]+\]/g, "REG")
    .replaceAll(/\b[vs]\d+\b/g, "REG")
    .replaceAll(/\b\d+\b/g, "#")
    .replaceAll(/(?:\/[\w.-]+)+\//g, "")
    .trim();
}
