/**
 * What `anyagc replay` can run again. A kind of file is one object; the table is in kinds.ts.
 *
 * @module
 */
import type { WrappableDevice } from "../../driver/device.ts";
import type { Output } from "../output.ts";

/** What a kind gets besides the file. */
export interface ReplayContext {
  out: Output;
  /** The device of the command line, opened when it is first asked for, one for all inputs. */
  device(): Promise<WrappableDevice>;
  /** `--compare`: with what to compare a request; kinds that bring their own results refuse it. */
  compare?: string;
  /** `--artifacts`: folder for what the recompiler makes of requests. */
  artifacts?: string;
}

/** What came of one input. */
export interface ReplayOutcome {
  /** Whether the results are the recorded ones. */
  equal: boolean;
  /** What is said instead of equal or differs, where nothing was compared. */
  verdict?: string;
  /** In a few words, what was compared or what differs. */
  summary: string;
  /** More lines for people. */
  lines: string[];
  /** For `--json`, beside `file`, `kind` and `outcome`. */
  data: Record<string, unknown>;
}

/** A kind of input. */
export interface ReplayKind {
  /** Name for `--json`. */
  readonly name: string;
  /** Whether a file is of this kind, by its first bytes (up to 4,096 of them). */
  accepts(head: Uint8Array, file: string): boolean;
  /** Runs it again and compares. @throws AnyAgcError when it cannot be read or has nothing to compare with */
  replay(file: string, context: ReplayContext): Promise<ReplayOutcome>;
}
