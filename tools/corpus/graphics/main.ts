/**
 * Compiles the pairs of sources.ts in every variant: waves of 32 and 64, NGG and the older vertex stage.
 *
 * @module
 */
import { AnyAgcError } from "../../../src/errors.ts";
import type { Family } from "../radv/environment.ts";
import { RadvProcess } from "../radv/process.ts";
import { compilePair } from "./compile.ts";
import { PAIRS, type ShaderPair } from "./sources.ts";

/** How vertices are made: pass-through NGG, the older stage, or NGG with culling, which is RADV's own choice. */
export const VERTEX_VARIANTS = { ngg: "nonggc", legacy: "nongg", culling: "" } as const;
/** Name of a variant. */
export type VertexVariant = keyof typeof VERTEX_VARIANTS;

/** What to compile. */
export interface GraphicsOptions {
  readonly family: Family;
  readonly waveSizes: readonly (32 | 64)[];
  readonly variants: readonly VertexVariant[];
  /** Output folder; each variant has one of its own in it. */
  readonly output: string;
  readonly timeout?: number;
  /** Names of pairs; all when left out. */
  readonly only?: readonly string[];
}

/** What became of it. */
export interface GraphicsResult {
  /** Paths without extension of the stages that were written. */
  readonly written: readonly string[];
  readonly failures: readonly { readonly name: string; readonly reason: string }[];
}

/** Compiles and writes NAME.vert.json, NAME.vert.rdna.bin and the same for frag. */
export async function compileGraphics(options: GraphicsOptions): Promise<GraphicsResult> {
  const { family, output, timeout, only } = options;
  const written: string[] = [], failures: { name: string; reason: string }[] = [];
  for (const waveSize of options.waveSizes) {
    for (const variant of options.variants) {
      const folder = `${output}/w${waveSize}-${variant}`;
      Deno.mkdirSync(folder, { recursive: true });
      const flags = {
        RADV_DEBUG: VERTEX_VARIANTS[variant],
        RADV_PERFTEST: waveSize === 32 ? "gewave32,pswave32" : "",
      };
      await using radv = new RadvProcess({ family, timeout, flags });
      for (const pair of PAIRS) {
        if (only !== undefined && !only.includes(pair.name)) continue;
        const reason = await write(radv, pair, family, folder, written);
        if (reason !== undefined) failures.push({ name: `${folder}/${pair.name}`, reason });
      }
    }
  }
  return { written, failures };
}

async function write(radv: RadvProcess, pair: ShaderPair, family: Family, folder: string, written: string[]) {
  try {
    const compiled = await compilePair(radv, pair, family, folder);
    if ("failed" in compiled) return `${compiled.failed}: ${compiled.reason}`;
    for (const { name, code, description } of compiled) {
      Deno.writeFileSync(`${folder}/${name}.rdna.bin`, code);
      Deno.writeTextFileSync(`${folder}/${name}.json`, description);
      written.push(`${folder}/${name}`);
    }
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    return error.message;
  }
}
