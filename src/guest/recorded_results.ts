/** What a run gave, as a capture keeps it. Plain data. */

/** A label that a run wrote. */
export interface RecordedLabel {
  queue: number;
  address: bigint;
  value: bigint;
  kind: "u32" | "u64" | "clock";
}

/** Bytes of memory that a run changed. */
export interface RecordedBytes {
  /** First guest address. */
  address: bigint;
  /** The bytes after the run. */
  data: Uint8Array;
}

/** A range whose contents are not the same in every run. */
export interface VolatileRange {
  address: bigint;
  /** Bytes. */
  bytes: number;
  reason: string;
}

/** The error that stopped a run. */
export interface RecordedError {
  /** Stable identifier, for example `memory.unmapped`. */
  code: string;
  message: string;
  queue?: number;
  guestAddress?: bigint;
  /** Byte offset of the instruction in its program. */
  pc?: number;
}

/** The device that ran it. */
export interface RecordedDevice {
  name: string;
  type: string;
  apiVersion: string;
  driver: string;
}

/** Everything that a replay compares. */
export interface RecordedResults {
  device: RecordedDevice;
  /** As in `RunResult`. */
  outcome: "passed" | "differs" | "failed";
  /** For `failed`. */
  error?: RecordedError;
  /** Dispatches that were executed. */
  dispatches: number;
  /** In the order in which they were written. */
  labels: RecordedLabel[];
  /**
   * What the run changed, by rising address; everything else in the program's windows is as it was before. Empty for `failed`: what a device
   * does after a fault is not defined.
   */
  memory: RecordedBytes[];
  /** What a replay must not compare, the clock for example. */
  volatile: VolatileRange[];
}
