/**
 * What runs keep for the next ones, beside journals: pipeline caches, shader cache entries and compile costs.
 *
 * @module
 */
import { COSTS_MAGIC, parseCosts } from "../../driver/compile_cost/cost_file.ts";
import { ENTRY_MAGIC, readEntry } from "../../driver/shader_cache/entry.ts";
import { hex, InvalidInputError } from "../../errors.ts";
import { PIPELINE_CACHE_MAGIC, readDeviceIdentity, readPipelineCache } from "../../gpu/pipeline_cache_file.ts";
import { readInputFile } from "../../guest/loaders/file_format.ts";
import { shaderHash } from "../../recompiler/request_file.ts";
import { RECOMPILER_VERSION } from "../../recompiler/version.ts";
import { count } from "../count.ts";
import { bytesText } from "../doctor/units.ts";
import { deviceLine } from "../journal/contents.ts";
import { beginsWith, type InspectKind, Problems } from "./kind.ts";
import { artifactFacts, artifactText, versionText } from "./request.ts";

/** A file that a run ignores, and writes anew. */
function damaged(file: string, reason: string): Problems {
  const problems = new Problems();
  problems.add(new InvalidInputError("cache.damaged", `damaged, so runs ignore it: ${reason}`, { file }));
  return problems;
}

/** See src/gpu/pipeline_cache_file.ts. */
const PIPELINE_CACHE_KIND: InspectKind = {
  accepts: beginsWith(PIPELINE_CACHE_MAGIC),
  // deno-lint-ignore require-await -- the interface is that of its neighbours
  async inspect(file) {
    const format = "pipeline cache", kind = "pipelines", parts = readPipelineCache(readInputFile(file));
    if ("problem" in parts) {
      return { format, data: { kind }, lines: [], problems: damaged(file, parts.problem), notes: [] };
    }
    const device = readDeviceIdentity(new TextDecoder().decode(parts.identity)), dataBytes = parts.data.length;
    return {
      format,
      data: { kind, device, dataBytes },
      lines: [`${deviceLine(device)}: ${bytesText(dataBytes)} of the driver's`],
      problems: new Problems(),
      notes: [],
    };
  },
};

/** See src/driver/shader_cache/entry.ts. */
const SHADER_ENTRY_KIND: InspectKind = {
  accepts: beginsWith(ENTRY_MAGIC),
  // deno-lint-ignore require-await -- the interface is that of its neighbours
  async inspect(file) {
    const format = "shader cache entry", kind = "artifact", entry = readEntry(readInputFile(file));
    if (entry === undefined) {
      const problems = damaged(file, "it is not as it was written (cut off, or changed)");
      return { format, data: { kind }, lines: [], problems, notes: [] };
    }
    const { version, code, state, artifact } = entry, shader = shaderHash(code), { address, target } = requestOf(state);
    const what = `shader ${shader}${address === undefined ? "" : ` at ${hex(address)}`}, ${code.length} words`;
    return {
      format,
      data: {
        ...{ kind, version, shader, codeAddress: address, target, codeWords: code.length },
        artifact: artifact && artifactFacts(artifact),
      },
      lines: [[what, versionText(version), ...(artifact === undefined ? [] : [artifactText(artifact)])].join(", ")],
      problems: new Problems(),
      notes: version === RECOMPILER_VERSION ? [] : ["of another version of the recompiler: runs do not use it"],
    };
  },
};

/** What a request's text says for people: a list of names and values. */
function requestOf(state: string): { address?: bigint; target?: string } {
  try {
    const fields = new Map<string, unknown>(JSON.parse(state)), target = fields.get("target");
    const address = fields.get("codeAddress") as { bigint?: string } | undefined;
    return {
      address: address?.bigint === undefined ? undefined : BigInt(`0x${address.bigint}`),
      target: typeof target === "string" ? target : undefined,
    };
  } catch {
    return {}; // of another version
  }
}

/** See src/driver/compile_cost/cost_file.ts. */
const COSTS_KIND: InspectKind = {
  accepts: beginsWith(COSTS_MAGIC),
  // deno-lint-ignore require-await -- the interface is that of its neighbours
  async inspect(file) {
    const format = "compile costs", kind = "costs";
    const costs = parseCosts(new TextDecoder().decode(readInputFile(file)));
    if ("problem" in costs) {
      return { format, data: { kind }, lines: [], problems: damaged(file, costs.problem), notes: [] };
    }
    const device = readDeviceIdentity(costs.identity), compiles = costs.samples.length;
    return {
      format,
      data: { kind, device, compiles },
      lines: [`${deviceLine(device)}: ${count(compiles, "compile")}`],
      problems: new Problems(),
      notes: [],
    };
  },
};

/** In the order in which they are asked. */
export const CACHED_KINDS: readonly InspectKind[] = [PIPELINE_CACHE_KIND, SHADER_ENTRY_KIND, COSTS_KIND];
