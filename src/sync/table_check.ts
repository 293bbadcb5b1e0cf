import type { TableCore } from "./table_core.ts";
import { E, EntryState, T } from "./table_entries.ts";

/** What is wrong with the chains and the free list of a table, or undefined. Under the table's lock. */
export function checkEntries(core: TableCore): string | undefined {
  const { entries, words } = core;
  const keys = new Set<string>();
  const free = new Set<number>();
  let wrong: string | undefined;
  for (let next = words[T.FreeFirst]; next !== 0; next = words[entries.at(next - 1) + E.Next]) {
    if (free.has(next - 1)) wrong ??= `entry ${next - 1} is free twice`;
    if (wrong !== undefined) break;
    free.add(next - 1);
  }
  for (let entry = 0; entry < entries.size.capacity && wrong === undefined; entry++) {
    const state = entries.state(entry);
    const linked = words[entries.at(entry) + E.Linked] !== 0;
    if (free.has(entry) !== (state === EntryState.Free)) {
      wrong = `entry ${entry}: state ${state}, free list ${free.has(entry)}`;
    }
    if (linked && state === EntryState.Free) wrong = `free entry ${entry} is linked`;
    if (!linked && state > EntryState.Free && state < EntryState.Failed) {
      wrong = `entry ${entry} in state ${state} is not linked`;
    }
    if (!linked) continue;
    const key = entries.key(entry);
    if (entries.find(key) === -1) wrong = `entry ${entry} is not found by its key`;
    const text = key.join();
    if (keys.has(text)) wrong = `two entries with key ${text}`;
    keys.add(text);
  }
  return wrong;
}
