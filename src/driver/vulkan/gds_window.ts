import { Permission, type WindowTableEntry } from "../../guest/memory/window.ts";
import { GDS_BYTES } from "../../rdna/gds.ts";
import { GDS_ADDRESS } from "../../recompiler/abi.ts";

/** A window table with the window of GDS, in the order of the addresses. @param deviceAddress of GDS's first byte */
export function withGdsWindow(table: readonly WindowTableEntry[], deviceAddress: bigint): WindowTableEntry[] {
  const at = table.findIndex(({ base }) => BigInt.asUintN(64, base) > GDS_ADDRESS);
  return table.toSpliced(at < 0 ? table.length : at, 0, {
    base: GDS_ADDRESS,
    end: GDS_ADDRESS + BigInt(GDS_BYTES),
    delta: BigInt.asUintN(64, deviceAddress - GDS_ADDRESS),
    permissions: Permission.ReadWrite,
  });
}
