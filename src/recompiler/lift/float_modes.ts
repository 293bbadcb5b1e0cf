import { Op } from "../ir/ops.ts";
import type { RecompileRequest } from "../request.ts";
import type { Lifter } from "./context.ts";
import { refuse } from "./refusal.ts";

/**
 * What the MODE register asks of float operations (RSRC1 FLOAT_MODE: round 1:0 f32, 3:2 f16 and f64; denormals 5:4 f32, 7:6 f16 and f64, of
 * which the low bit keeps denormal inputs and the high bit keeps denormal results), and what must be written out because the device lacks it.
 */
export class FloatModes {
  /** Denormal f32 results are flushed (whoever does it). */
  readonly flushesResults32: boolean;
  /** FlushDenorm must be written out for inputs. */
  private readonly flushInputs32: boolean;
  /** FlushDenorm must be written out for results. */
  private readonly flushResults32: boolean;
  /** Denormal f32 inputs are flushed (whoever does it). */
  private readonly flushesInputs32: boolean;
  /** The device flushes f32 denormals in all float operations. */
  readonly deviceFlushes32: boolean;
  /** Denormal f16 inputs are kept. */
  readonly keepsInputs16: boolean;
  /** Denormal f16 results are kept. */
  readonly keepsResults16: boolean;

  /** f16 results are rounded toward zero. */
  readonly truncates16: boolean;

  constructor(private readonly request: RecompileRequest, private readonly lifter: Lifter) {
    const denormals = (request.floatMode >> 4) & 3;
    const { device } = request;
    const deviceFlushes = denormals === 0 && (device.denormFlush32 || device.flushesDenormals32);
    this.deviceFlushes32 = deviceFlushes;
    this.flushesInputs32 = (denormals & 1) === 0;
    this.flushesResults32 = (denormals & 2) === 0;
    this.flushInputs32 = (denormals & 1) === 0 && !deviceFlushes;
    this.flushResults32 = (denormals & 2) === 0 && !deviceFlushes;
    this.truncates16 = (request.floatMode >> 2 & 3) === 3;
    this.keepsInputs16 = (request.floatMode & 0x40) !== 0;
    this.keepsResults16 = (request.floatMode & 0x80) !== 0;
  }

  /** An f32 input as the operation sees it. */
  input(id: number): number {
    return this.flushInputs32 ? this.flushed(id) : id;
  }

  /** An f32 input as an operation sees it that looks at its bits. */
  inspected(id: number): number {
    return this.flushesInputs32 ? this.flushed(id) : id;
  }

  /** The same as an operation sees it, or gives it, that flushes whatever MODE says. */
  flushedAlways(id: number): number {
    return this.deviceFlushes32 ? id : this.flushed(id);
  }

  /** An f32 result as the operation gives it. */
  result(id: number): number {
    return this.flushResults32 ? this.flushed(id) : id;
  }

  /** Refuses operations that round, where MODE asks for another rounding than to nearest even. */
  requireRounding32(): void {
    const mode = this.request.floatMode & 3;
    if (mode !== 0) refuse(`MODE rounds f32 ${ROUNDING_NAMES[mode]}, only round to nearest even is implemented`);
  }

  /** The same for f16 and f64. */
  requireRounding16And64(): void {
    const mode = (this.request.floatMode >> 2) & 3;
    if (mode !== 0) {
      refuse(`MODE rounds f16 and f64 ${ROUNDING_NAMES[mode]}, only round to nearest even is implemented`);
    }
  }

  private flushed(id: number): number {
    const { lifter } = this;
    if (!lifter.facts.mayBeDenormal(id)) return id;
    const key = id + FLUSH_KEY;
    return lifter.scoped.get(key) || lifter.scoped.set(key, lifter.ir.emit(Op.FlushDenorm, id));
  }
}

const ROUNDING_NAMES = ["to nearest even", "up", "down", "toward zero"];
/** Keys of flushed values in the scoped cache, apart from those of casts. */
const FLUSH_KEY = 2 ** 40;
