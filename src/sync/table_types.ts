/**
 * What users of the keyed table say and get.
 *
 * @module
 */
/** Sizes of a new table. */
export interface KeyedTableOptions {
  /** Name for messages. */
  readonly name: string;
  /** Most entries at one time; default 16,384. */
  readonly capacity?: number;
  /** 32-bit words of a key; default 8 (a SHA-256). Keys are compared whole. */
  readonly keyWords?: number;
  /** Most pins of one isolate at one time; default 1,024. */
  readonly pins?: number;
}

/** An entry as `begin` found it, pinned. */
export interface Begun {
  /** `create`: the caller must publish, fail or abandon it. */
  readonly state: "create" | "building" | "ready";
  /** Its reference: names this very creation, for good. */
  readonly reference: number;
  /** Place of the pin, for `unpin`. */
  readonly pin: number;
  /** When ready. */
  readonly value: bigint;
  /** When the caller is to create what was announced: the ticket of the job that would have, or 0. */
  readonly job: number;
}

/** How a creation ended. */
export type Creation =
  | { readonly state: "ready"; readonly value: bigint }
  | { readonly state: "failed"; readonly error: unknown }
  | { readonly state: "abandoned" | "timed-out" };

/** One row of a snapshot. */
export interface SnapshotRow {
  /** Copy of the key. */
  readonly key: Uint32Array<ArrayBuffer>;
  /** The value, valid as long as the entry is not evicted: pin it by the reference to use it. */
  readonly value: bigint;
  /** Its reference. */
  readonly reference: number;
}
