/**
 * An Ir's arrays become others when an operation is appended and they are full. Who writes `ir.b[phi] = f()` writes to the array that was there before `f`
 * appended: a program whose length came to a power of two at such a place lost a loop's value. Here every append moves the arrays, and what was there before
 * becomes useless.
 */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { rebuild } from "../../../src/recompiler/passes/regions/rebuild.ts";
import { indexStructure } from "../../../src/recompiler/passes/structure.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { readGolden, readRequests } from "../version/golden.ts";

const ARRAYS = ["op", "type", "a", "b", "c", "d", "pc"] as const;

/** Runs `work` with arrays that move at each append. */
function withMovingArrays<T>(work: () => T): T {
  const { append } = Ir.prototype;
  Ir.prototype.append = function (this: Ir, ...operands: Parameters<typeof append>) {
    const id = append.apply(this, operands);
    const arrays = this as unknown as Record<string, Uint8Array | Int32Array>;
    for (const name of ARRAYS) {
      const old = arrays[name];
      arrays[name] = old.slice();
      old.fill(0x7f);
    }
    return id;
  };
  try {
    return work();
  } finally {
    Ir.prototype.append = append;
  }
}

/** The artifact, or what is refused. */
function outcome(request: RecompileRequest): unknown {
  try {
    const { spirv, laneMode } = recompile(request);
    return [laneMode, spirv];
  } catch (error) {
    return (error as Error).message;
  }
}

Deno.test("arrays that move at every append change no artifact", async () => {
  const { requests } = await readRequests();
  assertEquals(requests.length, readGolden().artifacts.length);
  let compared = 0;
  for (const [k, request] of requests.entries()) {
    if (request.code.length > 400) continue;
    assertEquals(withMovingArrays(() => outcome(request)), outcome(request), `request ${k}`);
    compared++;
  }
  assertEquals(compared > 150, true, `${compared} of ${requests.length} requests are short enough`);
});

Deno.test("a truth that is known of a loop's next round is a constant that may move the arrays", () => {
  const ir = new Ir();
  const lane = ir.append(Op.Input, Type.U32, InputKind.LaneId);
  const first = ir.emit(Op.ULt, lane, ir.constU(3)), next = ir.emit(Op.ULt, lane, ir.constU(5));
  ir.emit(Op.Loop);
  const phi = ir.append(Op.LoopPhi, Type.Bool, first, next);
  ir.emit(Op.If, phi, IfKind.Scalar);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  ir.emit(Op.LoopCont);
  ir.emit(Op.EndLoop);
  ir.emit(Op.End);
  const known = new Map([[phi * 4 + 1, true]]);
  const out = withMovingArrays(() => rebuild(ir, indexStructure(ir), new Map(), new Map(), known, new Set()));
  const copy = out.op.indexOf(Op.LoopPhi);
  assertEquals([out.op[out.b[copy]], out.type[out.b[copy]], out.a[out.b[copy]]], [Op.Const, Type.Bool, 1]);
});
