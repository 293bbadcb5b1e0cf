/**
 * Runs recompiled machine code and the module that it was compiled from with the same inputs, and compares memory. Where lanes look at each other the
 * module's own run depends on the device's subgroups, so the reference interpreter runs the machine code instead.
 *
 * @module
 */
import type { LaunchRequest } from "../../src/guest/harness.ts";
import { SoftwareDevice } from "../../src/driver/software/software_device.ts";
import { VulkanDevice } from "../../src/driver/vulkan/vulkan_device.ts";
import { AnyAgcError } from "../../src/errors.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import type { WaveSize } from "../corpus/compile.ts";
import { readModule } from "../corpus/spirv/module.ts";
import { reflectCompute } from "../corpus/spirv/reflect.ts";
import { usageOf } from "../corpus/spirv/usage.ts";
import { type CorpusFolders, machineCode } from "./corpus.ts";
import { PROFILES, pushWords } from "./inputs.ts";
import {
  bufferOf,
  changedWords,
  guestResults,
  originalResults,
  resourcesOf,
  type Results,
  sameResults,
} from "./module_runs.ts";
import { floatPushWords } from "./push_types.ts";
import { DeviceFunctions } from "./device_functions.ts";
import { judge, type Judgement } from "./judge.ts";
import { redirected, REDIRECTIONS } from "./outside.ts";

/** What came of running a module. */
export type CompareRow =
  | {
    readonly module: string;
    /** `same`: the same bits. `bounded`: the interpreter's bits, and the original's within the bounds of the operations named in `reason`. */
    readonly outcome: "same" | "bounded";
    /** What the machine code was compared with. */
    readonly oracle: Oracle;
    /** Words that the run changed. */
    readonly wordsWritten: number;
    /** Largest difference from the original, in units in the last place of f32 or f16. */
    readonly ulp: number;
    readonly profile: number;
    readonly reason?: string;
  }
  | {
    readonly module: string;
    /**
     * `wrong`: recompiled code and interpreter differ. `unexplained`: they agree, the original differs, and nothing says why. `open`: the words that differ
     * are nobody's under every profile. The others are no comparisons: `idle`, nothing is written; `out-of-range`, accesses leave the buffers; `loop-limit`,
     * the device gives up long loops; `refused`; `failed`; `slow`; `no-oracle`, the original cannot be run.
     */
    readonly outcome:
      | "wrong"
      | "unexplained"
      | "open"
      | "refused"
      | "failed"
      | "slow"
      | "idle"
      | "out-of-range"
      | "loop-limit"
      | "no-oracle";
    readonly reason: string;
    /** The device is still busy with it: nothing else can be run in this process. */
    readonly stuck?: boolean;
    readonly oracle?: Oracle;
    readonly inexact?: readonly string[];
    readonly profile?: number;
  };

type Oracle = "original" | "interpreter";

/** Outcomes that say that something must be mended. */
export const BAD_OUTCOMES: readonly string[] = ["wrong", "unexplained", "failed"];

/** Operations whose precision ends with large arguments. */
const ANGLES = ["Sin", "Cos"];

/** How to compare. */
export interface CompareOptions {
  readonly folders: Pick<CorpusFolders, "treated" | "treatedCode">;
  readonly wave: WaveSize;
  readonly gpu: GpuDevice;
  /** Compare with the interpreter even where the original can be run. */
  readonly interpreter?: boolean;
}

/** Runs one module; undefined where there is no machine code of it. */
export function compareModule(module: string, options: CompareOptions): CompareRow | undefined {
  const { folders, wave, gpu } = options;
  const shader = machineCode(folders.treatedCode, module, wave);
  if (shader === undefined) return undefined;
  const spirv = readModule(`${folders.treated}/${module}`);
  const reflected = reflectCompute(spirv), usage = usageOf(spirv);
  const floats = floatPushWords(spirv);
  const oracle: Oracle = options.interpreter || usage.features.includes("subgroup operations")
    ? "interpreter"
    : "original";
  const unsupported = reflected.bindings.find(({ type, count }) => type !== "storage_buffer" || count !== 1);
  if (unsupported !== undefined) {
    return { module, outcome: "no-oracle", reason: `binding of type ${unsupported.type} x ${unsupported.count}` };
  }
  if (usage.features.includes("buffer addresses")) {
    return { module, outcome: "no-oracle", reason: "push constants hold buffer addresses" };
  }
  // RADV's code loads whole blocks of 16 bytes.
  const pushBytes = shader.abi.kind === "aco" ? shader.abi.pushConstantBytes : reflected.pushConstantBytes;
  const device = new VulkanDevice(gpu, "automatic");
  let unfit: CompareRow | undefined;
  for (const [index, profile] of PROFILES.entries()) {
    const request: LaunchRequest = {
      shader,
      grid: profile.groups,
      resources: resourcesOf(reflected, profile),
      pushConstants: pushWords(pushBytes / 4, (word) => floats.has(word), profile.push),
    };
    const before = new Map(
      reflected.bindings.map(({ set, binding }) => [`${set}.${binding}`, bufferOf(set, binding, profile)]),
    );
    const place = { module, oracle, profile: index, inexact: usage.inexact };
    let expected: Results;
    try {
      expected = oracle === "original"
        ? originalResults(gpu, spirv.words, reflected, request)
        : guestResults(new SoftwareDevice(), request);
    } catch (error) {
      return { ...place, outcome: "no-oracle", reason: `${oracle}: ${textOf(error)}`, ...stuckIf(error) };
    }
    const wordsWritten = changedWords(before, expected);
    if (wordsWritten === 0) {
      unfit ??= { ...place, outcome: "idle", reason: "the oracle writes nothing under any profile" };
      continue;
    }
    let actual: Results;
    try {
      actual = guestResults(device, request);
    } catch (error) {
      if (error instanceof AnyAgcError && error.code === "driver.memory-fault") {
        // Indices made from these inputs leave the buffers: a driver may drop such accesses, the hardware faults.
        unfit = { ...place, outcome: "out-of-range", reason: textOf(error) };
        continue;
      }
      if (error instanceof AnyAgcError && error.code === "driver.loop-limit") {
        unfit = { ...place, outcome: "loop-limit", reason: textOf(error) };
        continue;
      }
      const refused = error instanceof AnyAgcError && error.name === "RefusedError";
      return { ...place, outcome: refused ? "refused" : "failed", reason: textOf(error), ...stuckIf(error) };
    }
    if (sameResults(expected, actual)) return { module, outcome: "same", oracle, wordsWritten, ulp: 0, profile: index };
    const functions = new DeviceFunctions(device, shader.rsrc1! >>> 12 & 0xff);
    const takeBack = functions.install();
    let judgement: Judgement;
    try {
      judgement = judge({
        actual,
        original: oracle === "original" ? expected : undefined,
        interpret: () => guestResults(new SoftwareDevice(), request),
        inexact: usage.inexact,
        partial: usage.partial,
        outside: () =>
          REDIRECTIONS.map((how) => redirected(spirv, how)).filter((each) => each !== undefined)
            .map(({ words }) => originalResults(gpu, words, reflected, request)),
      });
    } catch (error) {
      return { ...place, outcome: "no-oracle", reason: `interpreter: ${textOf(error)}`, ...stuckIf(error) };
    } finally {
      takeBack();
    }
    switch (judgement.kind) {
      case "same":
        return {
          module,
          outcome: "same",
          oracle,
          wordsWritten,
          ulp: 0,
          profile: index,
          reason: `with the device's own functions (${functions.asked} values)`,
        };
      case "bounded": {
        const reason = `${judgement.causes.join(", ")}: ${usage.inexact.join(", ")}`;
        return { module, outcome: "bounded", oracle, wordsWritten, ulp: judgement.ulp, profile: index, reason };
      }
      case "open":
        unfit = { ...place, outcome: "open", reason: judgement.causes.join(", ") };
        continue;
      case "wrong":
        return { ...place, outcome: "wrong", reason: judgement.where };
    }
    if (profile.data === "numbers" && ANGLES.some((name) => usage.inexact.includes(name))) {
      // Vulkan gives sine and cosine a precision from -pi to pi only, and these inputs are large when a module takes them for integers.
      unfit = { ...place, outcome: "open", reason: "sine or cosine of large arguments" };
      continue;
    }
    if (!sameResults(expected, originalResults(gpu, spirv.words, reflected, request))) {
      unfit = { ...place, outcome: "open", reason: "the original's results change from run to run" };
      continue;
    }
    return { ...place, outcome: "unexplained", reason: judgement.where };
  }
  return unfit;
}

/** What went wrong first: cleaning up behind a busy device fails as well. */
function firstError(error: unknown): unknown {
  return error instanceof SuppressedError ? firstError(error.suppressed) : error;
}

function stuckIf(error: unknown): { stuck?: true } {
  const first = firstError(error);
  return first instanceof AnyAgcError && (first.code === "driver.timeout" || first.code === "gpu.timeout")
    ? { stuck: true }
    : {};
}

function textOf(wrapped: unknown): string {
  const error = firstError(wrapped);
  return error instanceof AnyAgcError
    ? `${error.code}: ${error.message}`
    : error instanceof Error
    ? error.stack ?? error.message
    : `${error}`;
}
