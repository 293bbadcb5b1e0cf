/** Which barriers of the guest waves may be led through that do not come to them. */
import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { barriersMayBePassed, checkGuestBarriers } from "../../../src/recompiler/passes/guest_barriers.ts";
import { indexStructure } from "../../../src/recompiler/passes/structure.ts";
import { classifyUniformity } from "../../../src/recompiler/passes/uniformity.ts";

/** A program of branches that waves take apart (`wave`), or together (`group`), or single lanes (`lane`). */
class Program {
  readonly ir = new Ir();
  readonly #wave = this.#is(this.ir.append(Op.Input, Type.U32, InputKind.WaveId));
  readonly #lane = this.#is(this.ir.append(Op.Input, Type.U32, InputKind.LaneId));
  readonly #group = this.#is(this.ir.append(Op.Input, Type.U32, InputKind.UserData, 0));

  #is(value: number): number {
    return this.ir.emit(Op.IEq, value, this.ir.constU(0));
  }

  barrier(): void {
    this.ir.emit(Op.Barrier, 0);
  }

  wave(then: () => void, otherwise?: () => void): void {
    this.#if(this.#wave, then, otherwise);
  }

  lane(then: () => void): void {
    this.#if(this.#lane, then, undefined, IfKind.Lane);
  }

  group(then: () => void, otherwise?: () => void): void {
    this.#if(this.#group, then, otherwise);
  }

  #if(condition: number, then: () => void, otherwise?: () => void, kind: number = IfKind.Scalar): void {
    this.ir.emit(Op.If, condition, kind);
    then();
    if (otherwise !== undefined) {
      this.ir.emit(Op.Else);
      otherwise();
    }
    this.ir.emit(Op.EndIf);
  }

  loop(body: () => void): void {
    this.ir.emit(Op.Loop);
    body();
    this.ir.emit(Op.LoopCont);
    this.ir.emit(Op.EndLoop);
  }

  leave(): void {
    this.ir.emit(Op.Break);
  }
}

function build(write: (p: Program) => void): Ir {
  const p = new Program();
  write(p);
  p.ir.emit(Op.End);
  validateIrVerbosely(p.ir);
  return p.ir;
}

const mayBePassed = (write: (p: Program) => void) => {
  const ir = build(write), structure = indexStructure(ir);
  return barriersMayBePassed(ir, structure, classifyUniformity(ir, false, structure));
};

Deno.test("waves that come to no barrier any more may be led through those of the others", () => {
  assertEquals(mayBePassed((p) => p.wave(() => p.barrier())), true);
  assertEquals(mayBePassed((p) => (p.barrier(), p.wave(() => {}, () => p.barrier()))), true);
  assertEquals(mayBePassed((p) => p.wave(() => (p.barrier(), p.wave(() => p.barrier())))), true);
  assertEquals(mayBePassed((p) => p.loop(() => (p.wave(() => p.leave()), p.barrier()))), true);
  assertEquals(
    mayBePassed((p) => {
      p.wave(() => {
        p.loop(() => (p.barrier(), p.group(() => p.leave())));
        p.barrier();
      });
    }),
    true,
  );
});

Deno.test("waves that come to another barrier may not: behind a branch, in its other arm, in the next round of a loop, behind a loop", () => {
  assertEquals(mayBePassed((p) => (p.wave(() => p.barrier()), p.barrier())), false);
  assertEquals(mayBePassed((p) => p.wave(() => p.barrier(), () => p.barrier())), false);
  assertEquals(mayBePassed((p) => p.loop(() => (p.wave(() => p.barrier()), p.group(() => p.leave())))), false);
  assertEquals(mayBePassed((p) => (p.loop(() => (p.wave(() => p.leave()), p.barrier())), p.barrier())), false);
});

Deno.test("there is nothing to pass where all waves come to every barrier", () => {
  assertEquals(mayBePassed((p) => (p.group(() => p.barrier()), p.wave(() => {}), p.barrier())), false);
});

Deno.test("a barrier that not all waves come to is refused by name, with its pc; with one wave, none is where no lanes decide", () => {
  const ir = build((p) => {
    p.barrier();
    p.ir.currentPc = 0x40;
    p.wave(() => p.barrier());
  });
  const error = assertThrows(() => checkGuestBarriers(ir, false, 0x1000n), RefusedError);
  assertEquals([error.code, error.place.pc, error.place.guestAddress], ["recompiler.barrier", 0x40, 0x1040n]);
  checkGuestBarriers(ir, true, 0x1000n);
  const lanes = build((p) => {
    p.ir.currentPc = 0x40;
    p.lane(() => p.barrier());
  });
  for (const oneWave of [false, true]) {
    const error = assertThrows(
      () => checkGuestBarriers(lanes, oneWave, 0x1000n),
      RefusedError,
      oneWave ? "lanes of the wave" : "waves of the workgroup",
    );
    assertEquals([error.code, error.place.pc], ["recompiler.barrier", 0x40]);
  }
});
