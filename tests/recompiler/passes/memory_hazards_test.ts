/** Where barriers keep the lockstep of a wave in guest memory. */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { FenceKind, IfKind, InputKind, Op, OPS, Type } from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { memoryHazards } from "../../../src/recompiler/passes/memory_hazards.ts";

/** A program of accesses to words. */
class Words {
  readonly ir = new Ir();
  readonly yes = this.ir.constB(true);
  readonly thread = this.ir.append(Op.Input, Type.U32, InputKind.LocalIndex);

  /** Address of a pointer in user data plus an offset in bytes. */
  at(pointer: number, offset: number): number {
    const { ir } = this;
    const [low, high] = [0, 1].map((k) => ir.append(Op.Input, Type.U32, InputKind.UserData, 2 * pointer + k));
    return ir.emit(Op.IAdd64, ir.emit(Op.Pack64, low, high), ir.emit(Op.Pack64, offset, ir.constU(0)));
  }

  /** The thread's own word, some words on. */
  own(pointer: number, words = 0): number {
    const { ir } = this;
    const offset = ir.emit(Op.Shl, this.thread, ir.constU(2));
    return this.at(pointer, words === 0 ? offset : ir.emit(Op.IAdd, offset, ir.constU(4 * words)));
  }

  /** The word of another thread. */
  other(pointer: number): number {
    const { ir } = this;
    return this.at(pointer, ir.emit(Op.Xor, ir.emit(Op.Shl, this.thread, ir.constU(2)), ir.constU(64)));
  }

  load(address: number): number {
    return this.ir.append(Op.Load, Type.U32, address, this.yes, 4);
  }

  store(address: number): void {
    this.ir.emit(Op.Store, address, this.yes, this.thread, 4);
  }

  /** @param stores it is a wait for stores */
  fence(stores = false): void {
    this.ir.emit(Op.Fence, stores ? 1 : 0);
  }

  /** Names of the operations that get a barrier before them; the program's fences that stay. */
  hazards(lanes = 64): { before: string[]; fences: number } {
    const { ir } = this;
    ir.emit(Op.End);
    validateIrVerbosely(ir);
    const before = [...memoryHazards(ir, lanes)].sort((a, b) => a - b).map((i) => OPS[ir.op[i]].name);
    return { before, fences: ir.op.subarray(0, ir.length).filter((op) => op === Op.Fence).length };
  }
}

const program = (write: (p: Words) => void) => {
  const p = new Words();
  write(p);
  return p;
};

Deno.test("programs that load and then store, or go to their own words only, need no barrier, and lose their fences", () => {
  const results = [
    program((p) => {
      p.load(p.other(0));
      p.fence(true);
      p.load(p.other(1));
      p.fence(true);
      p.store(p.other(2));
      p.store(p.other(2));
      p.fence();
    }),
    program((p) => {
      p.fence();
      p.load(p.own(0));
      p.store(p.own(0));
      p.load(p.own(0));
    }),
    program((p) => {
      p.store(p.own(0));
      p.load(p.own(0, 64));
    }),
    program((p) => {
      p.load(p.other(0));
      p.fence();
      p.load(p.other(0));
      p.fence();
    }),
  ].map((p) => p.hazards());
  assertEquals(results, results.map(() => ({ before: [], fences: 0 })));
});

Deno.test("a load of the pointer that was stored through, and a store where others have loaded, need a barrier", () => {
  const readAfter = program((p) => {
    p.store(p.own(0));
    p.load(p.other(0));
    p.load(p.other(0));
  });
  assertEquals(readAfter.hazards(), { before: ["Load"], fences: 0 });
  const writeAfter = program((p) => {
    p.load(p.other(0));
    p.store(p.own(0));
  });
  assertEquals(writeAfter.hazards(), { before: ["Store"], fences: 0 });
  const neighbour = program((p) => {
    p.store(p.own(0));
    p.load(p.own(0, 63));
  });
  assertEquals(neighbour.hazards(), { before: ["Load"], fences: 0 });
  assertEquals(program((p) => (p.store(p.own(0)), p.load(p.other(0)))).hazards(1), { before: [], fences: 0 });
});

Deno.test("a fence becomes a barrier where a write is before or behind it, whatever the pointers; the last of several does", () => {
  const publish = program((p) => {
    p.store(p.own(0));
    p.fence();
    p.fence(true);
    p.store(p.at(1, p.ir.constU(0)));
  });
  assertEquals(publish.hazards(), { before: ["Fence"], fences: 1 });
  const taken = program((p) => {
    p.load(p.own(0));
    p.fence();
    p.store(p.at(1, p.ir.constU(0)));
    p.fence();
  });
  assertEquals(taken.hazards(), { before: ["Fence"], fences: 1 });
});

Deno.test("a barrier of the guest's own is enough", () => {
  const own = program((p) => {
    p.store(p.own(0));
    p.fence();
    p.ir.emit(Op.Barrier, 0);
    p.fence();
    p.load(p.other(0));
  });
  assertEquals(own.hazards(), { before: [], fences: 0 });
});

Deno.test("accesses of one trip of a loop meet those of the next, and those behind a branch what came before it", () => {
  const loop = program((p) => {
    const { ir } = p;
    ir.emit(Op.Loop);
    p.load(p.other(0));
    ir.emit(Op.If, ir.emit(Op.IEq, p.thread, ir.constU(0)), IfKind.Scalar);
    ir.emit(Op.Break);
    ir.emit(Op.EndIf);
    p.fence();
    p.store(p.own(0));
    ir.emit(Op.LoopCont);
    ir.emit(Op.EndLoop);
  });
  assertEquals(loop.hazards(), { before: ["Load", "Fence"], fences: 1 });
  const branch = program((p) => {
    const { ir } = p;
    ir.emit(Op.If, ir.emit(Op.IEq, p.thread, ir.constU(0)), IfKind.Scalar);
    p.store(p.own(0));
    ir.emit(Op.EndIf);
    p.load(p.other(0));
  });
  assertEquals(branch.hazards(), { before: ["Load"], fences: 0 });
});

Deno.test("private memory is each lane's own", () => {
  const scratch = program((p) => {
    const { ir } = p;
    const wave = ir.append(Op.Input, Type.U32, InputKind.ScratchOffset, 0);
    const address = p.at(0, ir.emit(Op.IAdd, wave, ir.emit(Op.Shl, p.thread, ir.constU(2))));
    p.store(address);
    p.fence();
    p.load(ir.emit(Op.IAdd64, address, ir.append(Op.Const, Type.U64, 128, 0)));
  });
  assertEquals(scratch.hazards(), { before: [], fences: 0 });
});

Deno.test("atomic operations and loads of the same place need a barrier, atomic operations alone do not", () => {
  const counter = (p: Words) => p.ir.emit(Op.Atomic, p.at(0, p.ir.constU(0)), p.yes, p.thread, 2);
  const loaded = program((p) => {
    counter(p);
    counter(p);
    p.load(p.at(0, p.ir.constU(0)));
  });
  assertEquals(loaded.hazards(), { before: ["Load"], fences: 0 });
});

Deno.test("a wait for results is no fence for the lockstep: the values are needed anyway", () => {
  const waits = program((p) => {
    p.store(p.own(0));
    p.ir.emit(Op.Fence, FenceKind.Results);
    p.load(p.own(1));
    p.ir.emit(Op.Fence, FenceKind.Results);
    p.store(p.own(2));
  });
  assertEquals(waits.hazards(), { before: [], fences: 0 });
});

Deno.test("fences that other workgroups count on stay, also in a workgroup of one lane", () => {
  const publish = () =>
    program((p) => {
      p.store(p.own(0));
      p.fence(true);
      p.store(p.at(1, p.ir.constU(0)));
    });
  assertEquals(publish().hazards(1), { before: [], fences: 1 });
  assertEquals(publish().hazards(), { before: ["Fence"], fences: 1 });
});
