import { Context, FaultReason, FaultRecord, nowhereReason, WindowEntry } from "./abi.ts";

/**
 * The fault record that modules write (abi.ts), and what it says. A module only notes which access failed; why it failed is found out here, from the window
 * table of the same context block, so that no program carries code for it.
 */

/** A failing access. */
export interface Fault {
  /** One of {@linkcode FaultReason}. */
  readonly reason: number;
  /** Guest address, or LDS address in bytes. */
  readonly address: bigint;
  readonly bytes: number;
  /** Access bits that it needs; 0 for an LDS access. */
  readonly access: number;
  /** Byte offset of the instruction in its program. */
  readonly pc: number;
}

/**
 * What a module notes of an access beside its address, in one word that is never 0:
 * bits 0..4 bytes, 5..6 Access bits (none: an LDS access), 7..9 the address bits that must be zero, 10..31 the pc in dwords.
 *
 * @param alignment what the module demands that the address is a multiple of: 1, 2, 4 or 8.
 */
export function accessInfo(bytes: number, access: number, alignment: number, pc: number): number {
  return (bytes | (access << 5) | ((alignment - 1) << 7) | ((pc >>> 2) << 10)) >>> 0;
}

/** The word that stands for loops that the device may have ended, with the pc of one of them: an access of no bytes. */
export function loopLimitInfo(pc: number): number {
  return accessInfo(0, 0, 8, pc);
}

/** Largest pc that {@linkcode accessInfo} can hold. */
export const MAX_ACCESS_PC = (1 << 24) - 4;

/**
 * The fault on record in a context block, null when there is none.
 *
 * @param view memory that holds the block, as the program left it.
 * @param at byte offset of the block in `view`.
 */
export function readFaultRecord(view: DataView, at = 0): Fault | null {
  const record = at + Context.Fault;
  if (view.getUint32(record + FaultRecord.State, true) === 0) return null;
  const info = view.getUint32(record + FaultRecord.Info, true);
  const address = view.getBigUint64(record + FaultRecord.Address, true);
  const bytes = info & 31, access = (info >>> 5) & 3, unaligned = address & BigInt((info >>> 7) & 7);
  const fault = { address, bytes, access, pc: (info >>> 10) * 4 };
  if (bytes === 0) return { ...fault, reason: FaultReason.LoopLimit };
  return { ...fault, reason: access === 0 ? FaultReason.Unaligned : reasonOf(view, at, fault, unaligned !== 0n) };
}

function reasonOf(
  view: DataView,
  at: number,
  { address, bytes, access }: Omit<Fault, "reason" | "pc">,
  unaligned: boolean,
): number {
  const said = nowhereReason(address);
  if (said !== undefined) return said;
  const last = address + BigInt(bytes) - 1n;
  if (last >= 1n << 64n) return FaultReason.Overflow;
  const first = windowAccess(view, at, address), end = windowAccess(view, at, last);
  if (first === undefined || end === undefined) return FaultReason.Unmapped;
  if ((first & end & access) !== access) return FaultReason.Permission;
  return unaligned ? FaultReason.Unaligned : FaultReason.Elsewhere;
}

/** Access bits of the window that holds a byte. */
function windowAccess(view: DataView, at: number, address: bigint): number | undefined {
  const count = view.getUint32(at + Context.WindowCount, true);
  for (let k = 0; k < count; k++) {
    const entry = at + Context.Windows + k * WindowEntry.Bytes;
    const begin = view.getBigUint64(entry + WindowEntry.Begin, true);
    const end = view.getBigUint64(entry + WindowEntry.End, true);
    if (address >= begin && (end === 0n || address < end)) return view.getUint32(entry + WindowEntry.Access, true);
  }
  return undefined;
}
