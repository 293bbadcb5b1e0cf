/** Recompile requests for the machine code of chains.ts, as the driver makes them. */
import { GENERIC_DEVICE } from "../../src/recompiler/generic_device.ts";
import type { RecompilerDevice, RecompileRequest } from "../../src/recompiler/request.ts";
import { CHAIN_USER_SGPRS } from "./chains.ts";

/**
 * A request for a program of chains.ts: one wave of 32 lanes.
 *
 * @param floatMode RSRC1 FLOAT_MODE
 */
export function chainRequest(
  code: Uint32Array,
  floatMode: number,
  device: RecompilerDevice = GENERIC_DEVICE,
): RecompileRequest {
  return {
    code,
    codeAddress: 0x2_0000_0000n,
    target: "gfx1013",
    waveSize: 32,
    workgroupSize: [32, 1, 1],
    userSgprCount: CHAIN_USER_SGPRS,
    workgroupIds: [false, false, false],
    tgSize: false,
    scratch: false,
    threadIdCount: 1,
    ldsBytes: 0,
    floatMode,
    ieee: false,
    dx10Clamp: false,
    partialThreads: false,
    device,
    resolve: true,
  };
}
