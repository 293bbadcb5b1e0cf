/** What `--verify` finds out, as plain data. */
import type { ErrorPlace } from "../../errors.ts";

/** Result of comparing a device with the reference interpreter, dispatch by dispatch. */
export interface VerifyReport {
  /**
   * `equal`: every dispatch was compared and is equal. `differs`: see `difference`. `incomplete`: no difference was found, but some dispatches could not
   * be compared (`unverified`): nothing is claimed about them.
   */
  outcome: "equal" | "differs" | "incomplete";
  /** Dispatches that were compared. */
  compared: number;
  /** Dispatches behind the first one that differs: they ran on the device only. */
  notCompared: number;
  /** Dispatches that the interpreter refused or the device could not do, with the reason. */
  unverified: { dispatch: number; reason: string }[];
  /** Tolerance for f32 words, in units in the last place; 0 is exact. */
  ulps: number;
  /** Words that are not equal but within the tolerance. */
  tolerated: number;
  /** Largest distance of those, in units in the last place. */
  largestUlps: number;
  /** The first dispatch that differs. */
  difference?: VerifyDifference;
}

/** The first dispatch that differs, and the lowest address at which it does. */
export interface VerifyDifference {
  /** Number of the dispatch in the run, from 0. */
  dispatch: number;
  /** Guest address of its program. */
  program: bigint;
  /** Place of its packet. */
  place: ErrorPlace;
  /** `memory`: guest memory differs. `fault`: the program faults on one side only. */
  kind: "memory" | "fault";
  /** The fault, for `fault`: on which side, and its message. */
  fault?: { side: "device" | "interpreter"; message: string };
  /** Guest address of the first byte that differs. */
  address?: bigint;
  /** The byte there: of the interpreter, of the device, and before the dispatch. */
  expected?: number;
  actual?: number;
  before?: number;
  /** The aligned 32-bit word that holds the byte. */
  word?: { address: bigint; expected: number; actual: number };
  /** Bytes that differ in all windows (tolerated words left out). */
  bytes?: number;
  /** The instruction that stored the byte last, in the interpreter; undefined when nothing did, or the program does not repeat itself. */
  store?: StoreSite;
  /** What `store` cannot say, in words. */
  note?: string;
}

/** The store of a byte, as the interpreter executed it. */
export interface StoreSite {
  /** Byte offset from the program's entry, disassembly, and words. */
  pc: number;
  text: string;
  words: number[];
  /** Workgroup x, y, z, and the wave in it. */
  group: [number, number, number];
  wave: number;
  /** The lane; the last one in lane order when several stored to the byte (`lanes`). Undefined when it could not be told. */
  lane?: number;
  lanes: number[];
  /** The register that the byte came from, and its value in the lane. */
  register?: string;
  value?: number;
  /** How the value came about, from the store backwards: instructions that wrote registers of this lane. See `VerifyReport` in docs/cli-json.md. */
  chain: ChainLink[];
  /** Index in `chain` of the earliest instruction whose register was seen to differ at the store. */
  firstDiffering?: number;
}

/** An instruction that wrote a register that the stored value was computed from. */
export interface ChainLink {
  pc: number;
  text: string;
  /** The register, and what the interpreter left in it for the lane. */
  register: string;
  value: number;
  /**
   * What the device has in the register at the store: found by running the dispatch once more with the store's data register replaced by this one.
   * `equal`, `differs` (see `actual`), or `unknown`: overwritten before the store, not storable, or not looked at.
   */
  atStore: "equal" | "differs" | "unknown";
  /** The device's value, for `differs`. */
  actual?: number;
}
