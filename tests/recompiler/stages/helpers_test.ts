/** Writes of pixel programs: only lanes that are pixels may do them. */
import { assertEquals } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { checkHelperWrites } from "../../../src/recompiler/stages/helpers.ts";
import { request } from "../spirv/support.ts";

/**
 * A loop whose mask is the pixels' in the first round. `first` and `second` say where it writes, `next` what the mask is in the next round.
 *
 * @returns code of the refusal, undefined when the program is taken
 */
function refusalOf(
  build: (parts: { ir: Ir; live: number; mask: number; part: number; all: number }) => {
    first: number;
    second: number;
    next: number;
  },
): string | undefined {
  const ir = new Ir();
  const live = ir.append(Op.Input, Type.Bool, InputKind.Live);
  const user = ir.append(Op.Input, Type.U32, InputKind.UserData, 0);
  const truth = ir.emit(Op.INe, user, ir.constU(0)), all = ir.constB(true);
  const address = ir.emit(Op.Pack64, user, ir.constU(1));
  ir.emit(Op.Loop);
  const mask = ir.append(Op.LoopPhi, Type.Bool, live, 0);
  const part = ir.emit(Op.LAnd, mask, truth);
  const { first, second, next } = build({ ir, live, mask, part, all });
  ir.emit(Op.Store, address, first, user, 4);
  ir.emit(Op.Store, address, second, user, 4);
  ir.emit(Op.If, truth, IfKind.Wave);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  ir.emit(Op.LoopCont);
  ir.b[mask] = next;
  ir.emit(Op.EndLoop);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  try {
    checkHelperWrites(ir, request());
  } catch (error) {
    if (error instanceof RefusedError) return error.code;
    throw error;
  }
}

Deno.test("a loop writes in pixels only where its mask stays within them in every round", () => {
  assertEquals(refusalOf(({ mask, part }) => ({ first: mask, second: part, next: part })), undefined);
  assertEquals(
    refusalOf(({ ir, live, mask, part }) => ({ first: ir.emit(Op.LAnd, mask, live), second: part, next: part })),
    undefined,
  );
});

Deno.test("what a mask that grows beyond the pixels is made into is refused, whatever was looked at before", () => {
  assertEquals(
    refusalOf(({ ir, live, mask, part, all }) => ({
      first: ir.emit(Op.LAnd, mask, live),
      second: part,
      next: ir.emit(Op.LOr, part, all),
    })),
    "recompiler.helper-write",
  );
});
