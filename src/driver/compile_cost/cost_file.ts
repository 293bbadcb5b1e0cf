/**
 * The learned costs of a device, kept between runs beside its pipeline cache. What is damaged, of another version, device or driver is
 * ignored with a note, and written anew at once, so that the note comes once.
 *
 * @module
 */
import type { DeviceIdentity } from "../../gpu/pipeline_cache_file.ts";
import { isPrivate } from "../../storage/cache_folder.ts";
import { checksum, writeRecord } from "../../storage/checked_file.ts";
import { type CostSample, KEPT_SAMPLES } from "./learned_cost.ts";

/** First characters of every file, whatever its version. */
export const COSTS_MAGIC = "anyagc.compile-costs/";
const KIND = `${COSTS_MAGIC}1`;

/** What was found. */
export interface CostsRead {
  readonly samples: readonly CostSample[];
  /** Why a file that is there is not used, for people. */
  readonly note?: string;
}

/** A file's content, for whatever device it is ({@linkcode DeviceIdentity.bytes} as text), or why it is none. */
export type CostsContent =
  | { readonly identity: string; readonly samples: readonly CostSample[] }
  | { readonly problem: string };

/** Reads a file's text. */
export function parseCosts(text: string): CostsContent {
  const end = text.indexOf("\n"), body = text.slice(end + 1), head = text.slice(0, Math.max(0, end));
  if (!head.startsWith(COSTS_MAGIC)) return { problem: "it holds no costs" };
  if (!head.startsWith(`${KIND} `)) return { problem: "it is of another version" };
  if (head !== `${KIND} ${checksum(body)}`) return { problem: "its checksum is wrong" };
  const { identity, samples } = JSON.parse(body) as { identity: string; samples: [number, number, number][] };
  return { identity, samples: samples.map(([bytes, peakBytes, ms]) => ({ bytes, peakBytes, ms })) };
}

/** One file for each device with its driver, in the folder of the pipeline caches. */
export class CostFile {
  readonly path: string;
  readonly #folder: string;
  readonly #name: string;
  readonly #identity: string;

  constructor(folder: string, { name, bytes }: DeviceIdentity) {
    this.#folder = folder;
    this.#name = `${name}.costs`;
    this.#identity = new TextDecoder().decode(bytes);
    this.path = `${folder}/${this.#name}`;
  }

  /** Reads it. Never an error. */
  read(): CostsRead {
    if (!isPrivate(this.#folder)) return { samples: [] };
    let text: string;
    try {
      text = Deno.readTextFileSync(this.path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return { samples: [] };
      return this.#ignored(error instanceof Error ? error.message : String(error));
    }
    const costs = parseCosts(text);
    if ("problem" in costs) return this.#ignored(costs.problem);
    if (costs.identity !== this.#identity) return this.#ignored("it is of another device or driver");
    return { samples: costs.samples };
  }

  /** Writes it, whole or not at all. False when that cannot be: costs can be learned again. */
  write(samples: readonly CostSample[]): boolean {
    const rows = samples.slice(-KEPT_SAMPLES).map(({ bytes, peakBytes, ms }) => [bytes, peakBytes, ms]);
    return writeRecord(this.#folder, this.#name, KIND, { identity: this.#identity, samples: rows });
  }

  #ignored(problem: string): CostsRead {
    const done = this.write([]) ? "and written anew" : "and cannot be written anew";
    return { samples: [], note: `the compile costs ${this.path} are ignored, ${done}: ${problem}` };
  }
}
