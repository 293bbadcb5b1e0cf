/**
 * Attributes at barycentrics that a program has computed (an attribute at another sample of the pixel, say). No host interpolates there, but one that tells what
 * the vertices of the primitive have lets the module do it: (P0 + P10 * I) + P20 * J with P10 and P20 the differences of the second and the third vertex's value
 * to the first one's (AMD RDNA2 ISA, section 12.10), I and J being the weights of these vertices (spirv/stages/inputs.ts).
 *
 * @module
 */
import { Ir } from "../ir/ir.ts";
import { InputKind, Op, type Type } from "../ir/ops.ts";
import type { RecompileRequest } from "../request.ts";
import { BARYCENTRICS } from "../spirv/stages/barycentrics.ts";
import { VALUE_OPERANDS } from "../spirv/usage.ts";
import type { PixelState } from "./state.ts";

/** Operand `c` of Parameter: the values of the primitive's first to third vertex; after those of v_interp_mov_f32. */
export const VERTEX_VALUE = 3;

/** Operations that an attribute becomes, before its own place. */
const BEFORE = 6;

/** The program with such attributes computed; the same one where there are none, or where the device does not tell the vertices' values. */
export function computeAttributes(ir: Ir, request: RecompileRequest): Ir {
  if (request.device.graphics?.barycentrics !== true) return ir;
  const state = request.graphics as PixelState;
  const computed = new Uint8Array(ir.length);
  for (let i = 1; i < ir.length; i++) if (isComputed(ir, i, state)) computed[i] = 1;
  if (!computed.includes(1)) return ir;
  const place = new Int32Array(ir.length);
  let next = 1;
  for (let i = 1; i < ir.length; i++) {
    if (computed[i]) next += BEFORE;
    place[i] = next++;
  }
  const result = new Ir(next);
  const pooled = new Set<number>();
  result.pool = [...ir.pool];
  for (let i = 1; i < ir.length; i++) {
    const operands = VALUE_OPERANDS[ir.op[i]];
    result.currentPc = ir.pc[i];
    const [a, b, c, d] = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]].map((value, k) =>
      operands >> k & 1 ? place[value] : value
    );
    if (operands & 16 && !pooled.has(ir.a[i])) {
      pooled.add(ir.a[i]);
      for (let k = 0; k < ir.b[i]; k++) result.pool[ir.a[i] + k] = place[ir.pool[ir.a[i] + k]];
    }
    if (computed[i]) {
      const [first, second, third] = [0, 1, 2].map((k) => result.emit(Op.Parameter, c, d, VERTEX_VALUE + k));
      const p10 = result.emit(Op.FSub, second, first), p20 = result.emit(Op.FSub, third, first);
      result.emit(Op.FFma, p20, b, result.emit(Op.FFma, p10, a, first));
    } else result.append(ir.op[i], ir.type[i] as Type, a, b, c, d);
  }
  return result;
}

/** Whether an operation is an attribute, which varies over the primitive, at other places than the host's own. */
function isComputed(ir: Ir, i: number, { interpolants }: PixelState): boolean {
  if (ir.op[i] !== Op.Interpolate) return false;
  const { source, flat, custom, pointSprite, cylinderWrap, packedHalves } = interpolants[ir.d[i] >> 2];
  if ("constant" in source || flat || custom || pointSprite || packedHalves || cylinderWrap !== 0) return false;
  const input = (value: number, component: number) =>
    ir.op[value] === Op.Input && ir.a[value] === InputKind.PixelInput && (ir.b[value] & 3) === component
      ? ir.b[value] >> 2
      : -1;
  const of = input(ir.a[i], 0);
  return BARYCENTRICS[of] === undefined || of !== input(ir.b[i], 1);
}
