/** Scalar instructions on masks of quads of lanes, as numbers (AMD RDNA2 ISA, section 12.3). */
import type { Instruction } from "../../rdna/instruction.ts";
import { InputKind, Op } from "../ir/ops.ts";
import type { Lifter, Pair } from "./context.ts";
import type { Define } from "./dispatch.ts";

/** Adds the handlers of this class. */
export function defineQuadMasks(define: Define): void {
  define("s_wqm_b32", (l, i) => {
    if (l.request.graphics?.stage === "pixel" && !l.wave64 && wholeQuadMask(l, i, 1)) return;
    const result = wholeQuads(l, l.scalar(i.src0));
    l.setScalar(i.dst, result);
    l.scc = notZero(l, result);
  });
  define("s_wqm_b64", (l, i) => {
    if (l.request.graphics?.stage === "pixel" && l.wave64 && wholeQuadMask(l, i, 2)) return;
    const [low, high] = l.scalarPair(i.src0);
    const pair: Pair = [wholeQuads(l, low), wholeQuads(l, high)];
    l.setPair(i.dst, pair);
    l.scc = l.pairNotZero(pair);
  });
  define("s_quadmask_b32", (l, i) => {
    const result = quadBits(l, l.scalar(i.src0));
    l.setScalar(i.dst, result);
    l.scc = notZero(l, result);
  });
  define("s_quadmask_b64", (l, i) => {
    const { ir } = l;
    const [low, high] = l.scalarPair(i.src0);
    const result = ir.emit(Op.Or, quadBits(l, low), ir.emit(Op.Shl, quadBits(l, high), l.u(8)));
    l.setPair(i.dst, [result, l.u(0)]);
    l.scc = notZero(l, result);
  });
  define("s_bitreplicate_b64_b32", (l, i) => {
    const { ir } = l;
    const bits = l.scalar(i.src0);
    l.setPair(i.dst, [doubled(l, ir.emit(Op.And, bits, l.u(0xffff))), doubled(l, ir.emit(Op.Shr, bits, l.u(16)))]);
  });
}

/** In a pixel program, a mask of the wave: its bit of a lane is what the lane's quad says. False where the operand is no mask. */
function wholeQuadMask(l: Lifter, i: Instruction, registers: 1 | 2): boolean {
  const { ir } = l;
  const isMask = (operand: number) => operand < 128 && l.shadow(operand) !== 0;
  if (!isMask(i.src0) || (registers === 2 && !isMask(i.src0 + 1))) return false;
  const own = l.mask(i.src0);
  const isLive = ir.op[own] === Op.Input && ir.a[own] === InputKind.Live;
  // There is no quad without a pixel.
  const whole = isLive ? l.true : ir.emit(Op.QuadAny, own);
  for (let k = 0; k < registers; k++) {
    l.setScalar(i.dst + k, wholeQuads(l, l.scalar(i.src0 + k)), whole);
  }
  l.scc = own === l.true || own === l.false ? own : ir.emit(Op.Any, own);
  return true;
}

function notZero(l: Lifter, id: number): number {
  return l.ir.emit(Op.INe, id, l.u(0));
}

/** Bit 0 of each group of four bits: whether any bit of the group is set. */
function anyInQuad(l: Lifter, bits: number): number {
  const { ir } = l;
  const pairs = ir.emit(Op.Or, bits, ir.emit(Op.Shr, bits, l.u(1)));
  const quads = ir.emit(Op.Or, pairs, ir.emit(Op.Shr, pairs, l.u(2)));
  return ir.emit(Op.And, quads, l.u(0x11111111));
}

/** All four bits of each quad in which any is set. */
function wholeQuads(l: Lifter, bits: number): number {
  return l.ir.emit(Op.IMul, anyInQuad(l, bits), l.u(15));
}

/** Bit k: whether any bit of quad k is set. */
function quadBits(l: Lifter, bits: number): number {
  return gathered(l, anyInQuad(l, bits), [[3, 0x03030303], [6, 0x000f000f], [12, 0x000000ff]]);
}

/** Each of the low 16 bits twice. */
function doubled(l: Lifter, bits: number): number {
  const { ir } = l;
  let spread = bits;
  for (const [shift, mask] of [[8, 0x00ff00ff], [4, 0x0f0f0f0f], [2, 0x33333333], [1, 0x55555555]] as const) {
    spread = ir.emit(Op.And, ir.emit(Op.Or, spread, ir.emit(Op.Shl, spread, l.u(shift))), l.u(mask));
  }
  return ir.emit(Op.Or, spread, ir.emit(Op.Shl, spread, l.u(1)));
}

/** Moves groups of bits together, step by step. */
function gathered(l: Lifter, bits: number, steps: readonly (readonly [shift: number, mask: number])[]): number {
  const { ir } = l;
  for (const [shift, mask] of steps) {
    bits = ir.emit(Op.And, ir.emit(Op.Or, bits, ir.emit(Op.Shr, bits, l.u(shift))), l.u(mask));
  }
  return bits;
}
