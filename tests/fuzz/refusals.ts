/**
 * What the recompiler refuses of what the fuzzer generates: a table of mnemonics by reason (refusals.json), so that a new refusal is noticed. Refused is
 * not wrong, but each is something that programs cannot do.
 */
import type { Refused } from "./batch.ts";

/** Mnemonics by reason, for each side; reasons and mnemonics in order. */
export interface RefusalTable {
  recompiler: Record<string, string[]>;
  interpreter: Record<string, string[]>;
}

const FILE = new URL("./refusals.json", import.meta.url);

/** The table in the repository. */
export function knownRefusals(): RefusalTable {
  return JSON.parse(Deno.readTextFileSync(FILE)) as RefusalTable;
}

/** Mnemonics of which a side refuses clamp. */
export function clampRefused({ recompiler, interpreter }: RefusalTable): Set<string> {
  const names = new Set<string>();
  for (const reasons of [recompiler, interpreter]) {
    for (const [why, list] of Object.entries(reasons)) if (/clamp/.test(why)) list.forEach((name) => names.add(name));
  }
  return names;
}

/** The refusals that the table does not have, as text. */
export function newRefusals(refused: readonly Refused[], table: RefusalTable): string[] {
  const unknown = new Set<string>();
  for (const { by, name, why } of refused) {
    if (!(table[by][why] ?? []).includes(name)) unknown.add(`${by}: ${name}: ${why}`);
  }
  return [...unknown].sort();
}

/** Adds refusals to a table. */
export function addRefusals(refused: readonly Refused[], table: RefusalTable): void {
  for (const { by, name, why } of refused) {
    const names = table[by][why] ??= [];
    if (!names.includes(name)) names.push(name);
  }
}

/** The table as text, in order. */
export function refusalText({ recompiler, interpreter }: RefusalTable): string {
  const sorted = (reasons: Record<string, string[]>) =>
    Object.fromEntries(Object.keys(reasons).sort().map((why) => [why, [...reasons[why]].sort()]));
  return JSON.stringify({ recompiler: sorted(recompiler), interpreter: sorted(interpreter) }, null, 2) + "\n";
}

/** Writes the table of the repository. */
export function writeRefusals(table: RefusalTable): void {
  Deno.writeTextFileSync(FILE, refusalText(table));
}
