import { AnyAgcError, ExitCode } from "../errors.ts";

/**
 * A rule of the shared structures was broken (a lock taken out of order, a release by someone who does not hold), or one of their fixed
 * capacities is used up. Codes start with `sync.`.
 */
export class SyncError extends AnyAgcError {
  /** Name of the class. */
  override name = "SyncError";
  /** `ExitCode.Host`: not the guest's fault. */
  override readonly exitCode: number = ExitCode.Host;
}
