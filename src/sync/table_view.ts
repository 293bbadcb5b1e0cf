/**
 * Looking at a keyed table without changing anything: its rows and its counts.
 *
 * @module
 */
import { step } from "./steps.ts";
import type { TableCore } from "./table_core.ts";
import { ENTRY_STATE, EntryState, T } from "./table_entries.ts";
import type { SnapshotRow } from "./table_types.ts";

/** The counts of now and since the start. */
export interface TableStats {
  /** Entries now, by state; `ending`: on their way out. */
  readonly ready: number;
  readonly building: number;
  readonly pending: number;
  readonly ending: number;
  /** Since the start. */
  readonly created: number;
  readonly failed: number;
  readonly abandoned: number;
  readonly evicted: number;
  /** Pins now. */
  readonly pins: number;
}

/** All entries that are ready, each row whole. Takes no lock. */
export function snapshotOf(core: TableCore): SnapshotRow[] {
  const { entries, words } = core;
  const rows: SnapshotRow[] = [];
  for (let entry = 0; entry < entries.size.capacity; entry++) {
    const at = entries.at(entry);
    for (;;) {
      const word = Atomics.load(words, at);
      const state = word & ENTRY_STATE;
      // What is only being looked at may well stay.
      if (state !== EntryState.Ready && state !== EntryState.Evicting) break;
      const row = { key: entries.key(entry), value: core.value(entry), reference: core.referenceOf(entry, word) };
      step("table.snapshot");
      if (Atomics.load(words, at) === word) {
        rows.push(row);
        break;
      }
      // It changed meanwhile: look again.
    }
  }
  return rows;
}

/** Counts a table. Takes no lock. */
export function tableStats({ entries, words, pins }: TableCore): TableStats {
  let ready = 0, building = 0, pending = 0, ending = 0;
  for (let entry = 0; entry < entries.size.capacity; entry++) {
    const state = entries.state(entry);
    if (state === EntryState.Ready) ready++;
    if (state === EntryState.Building) building++;
    if (state === EntryState.Pending) pending++;
    if (state >= EntryState.Evicting) ending++;
  }
  const [created, failed, abandoned, evicted] = [T.Created, T.Failed, T.Abandoned, T.Evicted].map((at) => words[at]);
  return { ready, building, pending, ending, created, failed, abandoned, evicted, pins: pins.count() };
}
