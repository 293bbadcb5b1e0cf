/** Requests for recompiler tests, and the way from machine code to IR. */
import { buildCfg } from "../../src/recompiler/cfg/build.ts";
import { GENERIC_DEVICE } from "../../src/recompiler/generic_device.ts";
import type { Ir } from "../../src/recompiler/ir/ir.ts";
import { validateIrVerbosely } from "../../src/recompiler/ir/validate.ts";
import { lift } from "../../src/recompiler/lift/lift.ts";
import { deadCode } from "../../src/recompiler/passes/dead_code.ts";
import { simplify } from "../../src/recompiler/passes/simplify.ts";
import type { RecompilerDevice, RecompileRequest } from "../../src/recompiler/request.ts";
import { structurize } from "../../src/recompiler/structurize/structurize.ts";

/** A device that has everything and needs nothing written out. */
export const ABLE_DEVICE: RecompilerDevice = { ...GENERIC_DEVICE, sharedMemoryBytes: 65536 };

/** A device without float modes: it keeps denormals, so flushing must be written out. */
export const PLAIN_DEVICE: RecompilerDevice = { ...ABLE_DEVICE, denormFlush32: false, denormPreserve32: false };

/** A request with ordinary settings: wave 32, one wave, all denormals kept. */
export function makeRequest(changes: Partial<RecompileRequest> = {}): RecompileRequest {
  return {
    code: new Uint32Array(0),
    codeAddress: 0x10000n,
    target: "gfx1030",
    waveSize: 32,
    workgroupSize: [32, 1, 1],
    userSgprCount: 0,
    workgroupIds: [false, false, false],
    tgSize: false,
    scratch: false,
    threadIdCount: 1,
    ldsBytes: 0,
    floatMode: 0xf0,
    ieee: false,
    dx10Clamp: true,
    partialThreads: false,
    device: ABLE_DEVICE,
    ...changes,
  };
}

/** Machine code to IR as the lift leaves it, checked. */
export function liftCode(request: RecompileRequest): Ir {
  const cfg = buildCfg(request.code, { target: request.target, codeAddress: request.codeAddress });
  const ir = lift(cfg, structurize(cfg), request);
  validateIrVerbosely(ir);
  return ir;
}

/** Simplified and without dead code, checked after each pass. */
export function cleaned(ir: Ir): Ir {
  const simplified = simplify(ir);
  validateIrVerbosely(simplified);
  const swept = deadCode(simplified);
  validateIrVerbosely(swept);
  return swept;
}
