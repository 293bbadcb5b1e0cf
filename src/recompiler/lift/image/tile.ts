/** Places of texels in tiling blocks (src/rdna/tiling.ts), as IR. */
import type { TileEquation } from "../../../rdna/tiling.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";

/**
 * U32: byte offset in the block of a place: x, y, layer, sample. Bits of a coordinate that move by the same distance go together, so that a coordinate costs a few operations.
 */
export function tileOffset(
  l: Lifter,
  { x, y, z, s }: TileEquation,
  coordinates: readonly [number, number, number, number],
): number {
  const { ir } = l;
  let result = 0;
  [x, y, z, s].forEach((masks, axis) => {
    const coordinate = coordinates[axis];
    if (ir.op[coordinate] === Op.Const && ir.a[coordinate] === 0) return;
    /** By distance to the left: bits of the coordinate. */
    const moves = new Map<number, number>();
    masks.forEach((mask, bit) => {
      for (let from = 0; from < 32; from++) {
        if ((mask >>> from) & 1) moves.set(bit - from, (moves.get(bit - from) ?? 0) | (1 << from));
      }
    });
    for (const [distance, bits] of moves) {
      const part = ir.emit(Op.And, coordinate, l.u(bits));
      const moved = distance === 0 ? part : ir.emit(distance > 0 ? Op.Shl : Op.Shr, part, l.u(Math.abs(distance)));
      result = result === 0 ? moved : ir.emit(Op.Xor, result, moved);
    }
  });
  return result === 0 ? l.u(0) : result;
}
