import { GuestFaultError, hex } from "../../errors.ts";

/** Why an access or a mapping request was refused. */
export type FaultReason =
  /** No window covers the range, or a part of it. */
  | "Unmapped"
  /** A window covers the range, but does not allow the access. */
  | "Permission"
  /** The range runs past the end of the address space, or has a negative or fractional size. */
  | "Overflow"
  /** The address is not a multiple of what the access needs. */
  | "Unaligned"
  /** The range is mapped, but by more than one window, and the operation needs one piece of host memory. */
  | "Split"
  /** A new window would cover addresses that another window has. */
  | "Overlap"
  /** The address is not a sign-extended 48-bit address. */
  | "NonCanonical"
  /** A size of zero where something must be there. */
  | "Empty";

/** An access to guest memory, or a change of its windows, that is refused. The error's `code` is `memory.` + the reason in lower case. */
export class GuestMemoryError extends GuestFaultError {
  override name = "GuestMemoryError";
  /** First guest address of the refused range. */
  readonly address: bigint;
  /** Bytes of the refused range. */
  readonly bytes: number;
  /** Why. */
  readonly reason: FaultReason;

  constructor(reason: FaultReason, address: bigint, bytes: number, message: string) {
    super(`memory.${reason.toLowerCase()}`, `${message}: ${hex(address)}, ${bytes} bytes`, { guestAddress: address });
    this.address = address;
    this.bytes = bytes;
    this.reason = reason;
  }
}
