/** Vector conversions (AMD RDNA2 ISA, sections 12.8 and 12.10). Those of f64 are in vop_double.ts, those of 16-bit integers in vop_half.ts. */
import type { Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { halfFloatSource, halfResult, joinHalves, writeHalfFloat } from "./half.ts";
import { floatSource, intSource, writeFloat, writeInt, writeVector } from "./operands.ts";
import { refuse } from "./refusal.ts";

/** Adds the handlers of this class. */
export function defineConversions(define: Define): void {
  define("v_cvt_f32_u32", (l, i) => fromInt(l, i, Op.CvtU2F, intSource(l, i, 0)));
  define("v_cvt_f32_i32", (l, i) => fromInt(l, i, Op.CvtS2F, intSource(l, i, 0)));
  for (const k of [0, 1, 2, 3]) {
    define(`v_cvt_f32_ubyte${k}`, (l, i) => {
      writeFloat(l, i, l.ir.emit(Op.CvtU2F, l.ir.emit(Op.UBfe, intSource(l, i, 0), l.u(k * 8), l.u(8))));
    });
  }
  // A signed 4-bit number in sixteenths.
  define("v_cvt_off_f32_i4", (l, i) => {
    const { ir } = l;
    const value = ir.emit(Op.CvtS2F, ir.emit(Op.SBfe, intSource(l, i, 0), l.u(0), l.u(4)));
    writeFloat(l, i, ir.emit(Op.FMul, value, ir.constF(0x3d800000)));
  });
  define("v_cvt_u32_f32", (l, i) => writeInt(l, i, l.ir.emit(Op.CvtF2U, floatSource(l, i, 0))));
  define("v_cvt_i32_f32", (l, i) => writeInt(l, i, l.ir.emit(Op.CvtF2S, floatSource(l, i, 0))));
  define(
    "v_cvt_flr_i32_f32",
    (l, i) => writeInt(l, i, l.ir.emit(Op.CvtF2S, l.ir.emit(Op.FFloor, floatSource(l, i, 0)))),
  );
  // floor(a + 0.5) of the exact sum (measured by AMD on gfx1201: ROCm/rocm-systems, rocjitsu, conversion.h). a - floor(a) is exact where it matters.
  define("v_cvt_rpi_i32_f32", (l, i) => {
    const { ir } = l;
    const value = floatSource(l, i, 0), floor = ir.emit(Op.FFloor, value);
    const up = ir.emit(Op.FOrdLe, ir.constF(0x3f000000), ir.emit(Op.FSub, value, floor));
    writeInt(l, i, ir.emit(Op.IAdd, ir.emit(Op.CvtF2S, floor), l.boolToU(up)));
  });
  define("v_cvt_f16_f32", (l, i) => {
    l.modes.requireRounding16And64();
    writeHalfFloat(l, i, l.ir.emit(Op.CvtF2H, floatSource(l, i, 0)));
  });
  define("v_cvt_f32_f16", (l, i) => writeFloat(l, i, halfFloatSource(l, i, 0)));
  define("v_cvt_pkrtz_f16_f32", (l, i) => {
    const { ir } = l;
    if (i.omod !== 0) refuse("an output modifier on v_cvt_pkrtz_f16_f32");
    const low = halfResult(l, i, ir.emit(Op.CvtF2HRtz, floatSource(l, i, 0)));
    const high = halfResult(l, i, ir.emit(Op.CvtF2HRtz, floatSource(l, i, 1)));
    writeVector(l, i, joinHalves(l, low, high));
  });
}

function fromInt(l: Lifter, i: Instruction, op: number, value: number): void {
  l.modes.requireRounding32();
  writeFloat(l, i, l.ir.emit(op, value));
}
