/** Fences and barriers that other workgroups count on. */
import { assertEquals } from "@std/assert";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import {
  DeviceOrder,
  FenceKind,
  IfKind,
  InputKind,
  MemoryWidth,
  Op,
  OPS,
  Type,
} from "../../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../../src/recompiler/ir/validate.ts";
import { firstBehindAcquire, markDeviceOrder } from "../../../src/recompiler/passes/device_order.ts";

const { Release, Acquire } = DeviceOrder, { Caches, Stores, Results, SharedCaches } = FenceKind;

/** A program of accesses to one word each. */
class Program {
  readonly ir = new Ir();
  readonly yes = this.ir.constB(true);
  readonly number = this.ir.append(Op.Input, Type.U32, InputKind.UserData, 4);
  readonly address = this.ir.emit(
    Op.Pack64,
    this.ir.append(Op.Input, Type.U32, InputKind.UserData, 0),
    this.ir.append(Op.Input, Type.U32, InputKind.UserData, 1),
  );

  load(coherent = false): number {
    const width = 4 | (coherent ? MemoryWidth.Coherent : 0);
    return this.ir.append(Op.Load, Type.U32, this.address, this.yes, width);
  }

  store(value = this.number, width = 4): void {
    this.ir.emit(Op.Store, this.address, this.yes, value, width);
  }

  /** @param used its result is stored to LDS */
  atomic(used: boolean): void {
    const old = this.ir.emit(Op.Atomic, this.address, this.yes, this.number, 2);
    if (used) this.ir.emit(Op.LdsStore, this.number, this.yes, old, 4);
  }

  fence(kind: number): number {
    return this.ir.emit(Op.Fence, kind);
  }

  barrier(): number {
    return this.ir.emit(Op.Barrier, 0);
  }

  if(body: () => void, otherwise?: () => void): void {
    this.ir.emit(Op.If, this.ir.emit(Op.IEq, this.number, this.ir.constU(0)), IfKind.Scalar);
    body();
    if (otherwise !== undefined) {
      this.ir.emit(Op.Else);
      otherwise();
    }
    this.ir.emit(Op.EndIf);
  }

  loop(body: () => void): void {
    this.ir.emit(Op.Loop);
    body();
    this.if(() => this.ir.emit(Op.Break));
    this.ir.emit(Op.LoopCont);
    this.ir.emit(Op.EndLoop);
  }
}

/** Marks of the fences and barriers of a program, in order. */
function marks(
  write: (p: Program) => void,
  hazards: (p: Program) => Set<number> = () => new Set(),
): [string, number][] {
  const p = new Program(), { ir } = p;
  write(p);
  ir.emit(Op.End);
  validateIrVerbosely(ir);
  markDeviceOrder(ir, hazards(p));
  const found: [string, number][] = [];
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] === Op.Fence || ir.op[i] === Op.Barrier) found.push([OPS[ir.op[i]].name, ir.b[i]]);
  }
  return found;
}

Deno.test("a release is a write, a wait for it and another write or a load of what others do", () => {
  const behind = (next: (p: Program) => void, kind: number = Stores) =>
    marks((p) => {
      p.store();
      p.fence(kind);
      next(p);
    });
  assertEquals(behind((p) => p.store()), [["Fence", Release]]);
  assertEquals(behind((p) => p.atomic(false)), [["Fence", Release]]);
  assertEquals(behind((p) => p.load(true)), [["Fence", Release]]);
  assertEquals(behind((p) => p.store(), Caches), [["Fence", Release]]);
  assertEquals(behind((p) => p.store(), SharedCaches), [["Fence", Release]]);
  assertEquals(behind((p) => p.load()), [["Fence", 0]]);
  assertEquals(behind(() => {}), [["Fence", 0]]);
  // A wait for loads is none for stores.
  assertEquals(behind((p) => p.store(), Results), [["Fence", 0]]);
  assertEquals(marks((p) => (p.fence(Stores), p.store(), p.store())), [["Fence", 0]]);
});

Deno.test("a wait for results is a release of atomic operations, and of stores to GDS", () => {
  const write = (first: (p: Program) => void) =>
    marks((p) => {
      first(p);
      p.fence(Results);
      p.store();
    });
  assertEquals(write((p) => p.atomic(false)), [["Fence", Release]]);
  assertEquals(write((p) => p.atomic(true)), [["Fence", Acquire]]);
  assertEquals(write((p) => p.store(p.number, 4 | MemoryWidth.Coherent)), [["Fence", Release]]);
});

Deno.test("an acquire is a load of what others do or an atomic operation's result, a wait for it and any access; of other loads where shared caches are invalidated", () => {
  const behind = (first: (p: Program) => void, kind: number, next: (p: Program) => void = (p) => p.load()) =>
    marks((p) => {
      first(p);
      p.fence(kind);
      next(p);
    });
  const ask = (p: Program) => p.load(true), plainly = (p: Program) => p.load(), take = (p: Program) => p.atomic(true);
  for (const kind of [Results, Caches, SharedCaches]) {
    assertEquals(behind(ask, kind), [["Fence", Acquire]]);
    assertEquals(behind(take, kind), [["Fence", Acquire]]);
    assertEquals(behind(ask, kind, (p) => p.store()), [["Fence", Acquire]]);
    assertEquals(behind(ask, kind, () => {}), [["Fence", 0]]);
    assertEquals(behind(plainly, kind), [["Fence", kind === SharedCaches ? Acquire : 0]]);
  }
  assertEquals(behind(ask, Stores), [["Fence", 0]]);
  assertEquals(behind((p) => p.atomic(false), Caches), [["Fence", 0]]);
});

Deno.test("of several fences in a row the last one orders, and those behind it nothing more", () => {
  const row = marks((p) => {
    p.load(true);
    p.fence(Results);
    p.fence(SharedCaches);
    p.fence(Caches);
    p.load();
    p.fence(Results);
    p.load();
  });
  assertEquals(row, [["Fence", 0], ["Fence", 0], ["Fence", Acquire], ["Fence", 0]]);
});

Deno.test("where a barrier of the guest is between the wait and the access, the barrier orders, and fences behind it nothing", () => {
  const through = marks((p) => {
    p.store();
    p.fence(Stores);
    p.barrier();
    p.fence(Caches);
    p.barrier();
    p.store();
  });
  assertEquals(through, [["Fence", 0], ["Barrier", Release], ["Fence", 0], ["Barrier", 0]]);
  const acquired = marks((p) => {
    p.load(true);
    p.fence(Results);
    p.barrier();
    p.load();
  });
  assertEquals(acquired, [["Fence", 0], ["Barrier", Acquire]]);
  const unwaited = marks((p) => {
    p.store();
    p.barrier();
    p.store();
    p.fence(Stores);
    p.barrier();
  });
  assertEquals(unwaited, [["Barrier", 0], ["Fence", 0], ["Barrier", 0]]);
});

Deno.test("a fence that becomes a barrier for the lockstep of a wave is not left for one behind it", () => {
  let first = 0;
  const both = marks((p) => {
    p.store();
    first = p.fence(Stores);
    p.fence(Caches);
    p.store();
  }, () => new Set([first]));
  assertEquals(both, [["Fence", Release], ["Fence", 0]]);
});

Deno.test("a wait on one way only orders what comes by, and both arms of a branch count", () => {
  const oneWay = marks((p) => {
    p.store();
    p.if(() => p.fence(Stores));
    p.store();
  });
  assertEquals(oneWay, [["Fence", Release]]);
  const arms = marks((p) => {
    p.if(() => p.store(), () => p.load(true));
    p.fence(Caches);
    p.store();
  });
  assertEquals(arms, [["Fence", Release | Acquire]]);
});

Deno.test("rounds of a loop meet the next ones, however many it takes", () => {
  const spin = marks((p) => {
    p.loop(() => {
      p.load(true);
      p.fence(Results);
    });
    p.load();
  });
  assertEquals(spin, [["Fence", Acquire]]);
  // A write, a wait, a barrier and another write in four rounds.
  const late = marks((p) => {
    p.loop(() => {
      p.if(() => p.atomic(false));
      p.if(() => p.barrier());
      p.if(() => p.fence(Stores));
    });
  });
  assertEquals(late, [["Barrier", Release], ["Fence", Release]]);
});

Deno.test("private memory is nobody else's", () => {
  const scratch = (p: Program) => {
    const { ir } = p, offset = ir.append(Op.Input, Type.U32, InputKind.ScratchOffset, 0);
    const address = ir.emit(Op.IAdd64, p.address, ir.emit(Op.Pack64, offset, ir.constU(0)));
    ir.emit(Op.Store, address, p.yes, p.number, 4);
  };
  assertEquals(marks((p) => (scratch(p), p.fence(Stores), p.store())), [["Fence", 0]]);
  assertEquals(marks((p) => (p.store(), p.fence(Stores), scratch(p))), [["Fence", 0]]);
});

Deno.test("loads come behind an acquire from the first one on, or from the outermost loop around it", () => {
  const first = (write: (p: Program) => void) => {
    const p = new Program();
    write(p);
    p.ir.emit(Op.End);
    markDeviceOrder(p.ir, new Set());
    const at = firstBehindAcquire(p.ir);
    return at === p.ir.length ? "none" : OPS[p.ir.op[at]].name;
  };
  assertEquals(first((p) => (p.load(true), p.fence(Results), p.load())), "Fence");
  assertEquals(first((p) => (p.load(true), p.fence(Results), p.barrier(), p.load())), "Barrier");
  assertEquals(first((p) => p.loop(() => p.loop(() => (p.load(true), p.fence(Results))))), "Loop");
  assertEquals(first((p) => (p.store(), p.fence(Stores), p.store())), "none");
});
