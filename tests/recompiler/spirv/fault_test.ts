import { assert, assertEquals } from "@std/assert";
import { Access, FaultReason } from "../../../src/recompiler/abi.ts";
import { AtomicKind, IfKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { Lanes } from "./programs.ts";
import { type Fault, Rig, type RunOptions, type TestWindow } from "./support.ts";

const LOW = 0x1_0000_0000n, HIGH = 0xffff_8000_0000_1000n, BYTES = 4096n;

function windows(): TestWindow[] {
  const filled = (seed: number) => Uint32Array.from({ length: Number(BYTES) / 4 }, (_, i) => (i + 1) * seed);
  return [
    { base: LOW, words: filled(3) },
    { base: LOW + BYTES, words: filled(5), access: Access.Read },
    { base: LOW + 3n * BYTES, words: filled(7), access: Access.Write },
    { base: HIGH, words: filled(11) },
  ];
}

interface Attempt {
  address: bigint;
  bytes: number;
  kind: "load" | "store" | "atomic";
  reason: number;
}

const ATTEMPTS: Attempt[] = [
  { address: 0n, bytes: 4, kind: "load", reason: FaultReason.Unmapped },
  { address: LOW - 4n, bytes: 4, kind: "load", reason: FaultReason.Unmapped },
  { address: LOW - 4n, bytes: 16, kind: "load", reason: FaultReason.Unmapped },
  { address: LOW + 2n * BYTES, bytes: 1, kind: "load", reason: FaultReason.Unmapped },
  { address: LOW + 2n * BYTES, bytes: 8, kind: "store", reason: FaultReason.Unmapped },
  { address: LOW + 2n * BYTES - 4n, bytes: 8, kind: "load", reason: FaultReason.Unmapped },
  { address: LOW + BYTES, bytes: 4, kind: "store", reason: FaultReason.Permission },
  { address: LOW + 3n * BYTES + 64n, bytes: 12, kind: "load", reason: FaultReason.Permission },
  { address: LOW + BYTES + 8n, bytes: 4, kind: "atomic", reason: FaultReason.Permission },
  { address: LOW + 3n * BYTES, bytes: 4, kind: "atomic", reason: FaultReason.Permission },
  // Across two adjoining windows.
  { address: LOW + BYTES - 4n, bytes: 8, kind: "load", reason: FaultReason.Elsewhere },
  { address: LOW + BYTES - 4n, bytes: 8, kind: "store", reason: FaultReason.Permission },
  { address: 0xffff_ffff_ffff_fffcn, bytes: 4, kind: "load", reason: FaultReason.Unmapped },
  { address: 0xffff_ffff_ffff_fffcn, bytes: 8, kind: "store", reason: FaultReason.Overflow },
  { address: HIGH + BYTES, bytes: 4, kind: "load", reason: FaultReason.Unmapped },
  { address: HIGH + BYTES - 8n, bytes: 16, kind: "store", reason: FaultReason.Unmapped },
  { address: LOW + 2n, bytes: 4, kind: "load", reason: FaultReason.Unaligned },
  { address: LOW + 1n, bytes: 2, kind: "store", reason: FaultReason.Unaligned },
  { address: LOW + 6n, bytes: 16, kind: "store", reason: FaultReason.Unaligned },
  { address: LOW + 2n, bytes: 4, kind: "atomic", reason: FaultReason.Unaligned },
];

/** A program that makes one access at an address that it gets as user data, and then stores what it read. */
function attempt({ bytes, kind }: Attempt): { p: Lanes; pc: number } {
  const p = new Lanes(1);
  const { ir } = p;
  const user = (k: number) => ir.append(Op.Input, Type.U32, 0, k);
  const address = ir.emit(Op.Pack64, user(0), user(1));
  const type = bytes <= 4 ? Type.U32 : (Type.V2 + bytes / 4 - 2) as Type;
  p.pc();
  const pc = ir.currentPc + 4;
  let result = ir.constU(0);
  if (kind === "load") {
    const value = p.load(address, bytes, type);
    result = type === Type.U32 ? value : ir.emit(Op.Extract, value, bytes / 4 - 1);
  } else if (kind === "store") {
    const value = ir.constU(0x77777777);
    p.store(address, type === Type.U32 ? value : ir.append(Op.Vec, type, value, value, value, value), bytes);
  } else {
    p.pc();
    result = ir.append(Op.Atomic, Type.U32, address, p.yes, ir.constU(1), AtomicKind.Add);
  }
  p.store(p.u64(HIGH), result, 4);
  p.end();
  return { p, pc };
}

deviceTest(
  "each kind of failing access is recorded with reason, address, bytes and pc; reads give 0, nothing is written",
  (device) => {
    const rig = new Rig(device);
    for (const windowsMost of [4, 12]) {
      for (const one of ATTEMPTS) {
        const { p, pc } = attempt(one);
        const before = windows();
        const { fault, windows: after } = rig.run(p.ir, {
          workgroupSize: [1, 1, 1],
          windowsMost,
          userData: [Number(one.address & 0xffff_ffffn), Number(one.address >> 32n)],
          windows: before,
        });
        const wanted: Fault = { reason: one.reason, address: one.address, bytes: one.bytes, pc };
        assertEquals(fault, wanted, `${one.kind} of ${one.bytes} bytes at 0x${one.address.toString(16)}`);
        before[3].words[0] = 0; // the result
        after.forEach((words, k) => assertEquals(words, before[k].words, `window ${k}`));
      }
    }
    rig.destroy();
  },
);

deviceTest("a window that may only be written takes stores, one that may only be read gives loads", (device) => {
  const rig = new Rig(device);
  for (const [address, kind] of [[LOW + 3n * BYTES, "store"], [LOW + BYTES, "load"]] as const) {
    const { p } = attempt({ address, bytes: 4, kind, reason: 0 });
    const { fault, windows: after } = rig.run(p.ir, {
      workgroupSize: [1, 1, 1],
      userData: [Number(address & 0xffff_ffffn), Number(address >> 32n)],
      windows: windows(),
    });
    assertEquals(fault, undefined);
    assertEquals(kind === "store" ? after[2][0] : after[3][0], kind === "store" ? 0x77777777 : 5);
  }
  rig.destroy();
});

deviceTest("with one window, accesses beside it fail like with many", (device) => {
  const rig = new Rig(device);
  for (const address of [LOW - 4n, LOW + BYTES, LOW + BYTES - 4n, LOW + 1n, 0xffff_ffff_ffff_fff8n]) {
    const one: Attempt = { address, bytes: 8, kind: "load", reason: 0 };
    const { p } = attempt(one);
    const run: RunOptions = {
      workgroupSize: [1, 1, 1],
      userData: [Number(address & 0xffff_ffffn), Number(address >> 32n)],
      windows: windows().slice(0, 1),
    };
    const { fault } = rig.run(p.ir, run);
    assertEquals(fault?.address, address);
    assertEquals(fault?.reason, address === LOW + 1n ? FaultReason.Unaligned : FaultReason.Unmapped);
  }
  rig.destroy();
});

deviceTest("a window beyond those that the module looks at is told apart from unmapped memory", (device) => {
  const rig = new Rig(device);
  for (const [address, reason] of [[HIGH + 8n, FaultReason.Elsewhere], [HIGH - 8n, FaultReason.Unmapped]] as const) {
    const { p } = attempt({ address, bytes: 4, kind: "load", reason });
    const { fault } = rig.run(p.ir, {
      workgroupSize: [1, 1, 1],
      windowsMost: 2,
      userData: [Number(address & 0xffff_ffffn), Number(address >> 32n)],
      windows: windows(),
    });
    assertEquals(fault?.reason, reason);
  }
  rig.destroy();
});

deviceTest(
  "the first failing access of an invocation is the one on record, in a block, across blocks and in loops",
  (device) => {
    const rig = new Rig(device);
    const bad = (k: number) => 0x5000_0000n + BigInt(k) * 16n;
    const build = (write: (p: Lanes, load: (k: number) => number) => void) => {
      const p = new Lanes(1);
      const pcs = new Map<bigint, number>();
      const load = (k: number) => {
        const value = p.load(p.u64(bad(k)), 4, Type.U32);
        pcs.set(bad(k), p.ir.currentPc);
        return value;
      };
      p.load(p.u64(LOW), 4, Type.U32); // a good one
      write(p, load);
      p.end();
      const { fault } = rig.run(p.ir, { workgroupSize: [1, 1, 1], windows: windows() });
      // In the loop one instruction accesses several addresses.
      if (pcs.has(bad(1))) assertEquals(fault?.pc, pcs.get(bad(1)));
      return fault;
    };
    const inBlock = build((_, load) => {
      for (let k = 1; k < 12; k++) load(k);
    });
    assertEquals(inBlock?.address, bad(1));
    const acrossBlocks = build((p, load) => {
      const { ir } = p;
      const yes = ir.emit(Op.IEq, p.index, p.index);
      ir.emit(Op.If, yes, IfKind.Lane);
      load(1);
      ir.emit(Op.EndIf);
      load(2);
      ir.emit(Op.If, yes, IfKind.Lane);
      load(3);
      ir.emit(Op.EndIf);
    });
    assertEquals(acrossBlocks?.address, bad(1));
    const inLoop = build((p, load) => {
      const { ir } = p;
      const zero = ir.constU(0), one = ir.constU(1), three = ir.constU(3);
      ir.emit(Op.Loop);
      const count = ir.append(Op.LoopPhi, Type.U32, zero);
      const next = ir.emit(Op.IAdd, count, one);
      const address = ir.emit(Op.IAdd64, p.u64(bad(1)), ir.emit(Op.Pack64, ir.emit(Op.Shl, count, ir.constU(4)), zero));
      p.load(address, 4, Type.U32);
      ir.emit(Op.If, ir.emit(Op.ULe, three, next), IfKind.Lane);
      ir.emit(Op.Break);
      ir.emit(Op.EndIf);
      ir.emit(Op.LoopCont);
      ir.b[count] = ir.append(Op.ContPhi, Type.U32, ir.pooled([next]), 1);
      ir.emit(Op.EndLoop);
      load(0);
    });
    assertEquals(inLoop?.address, bad(1));
    rig.destroy();
  },
);

deviceTest("of many failing lanes one is on record, whole", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(64);
  const { ir } = p;
  const far = ir.emit(
    Op.IAdd64,
    p.u64(0x7000_0000n),
    ir.emit(Op.Pack64, ir.emit(Op.Shl, p.index, ir.constU(4)), ir.constU(0)),
  );
  const value = p.load(far, 16, Type.V4);
  p.store(p.address(LOW, p.index, 1, 0), ir.emit(Op.Extract, value, 3), 4);
  const { fault, windows: [low] } = rig.run(p.end(), {
    workgroupSize: [64, 1, 1],
    groups: [8, 1, 1],
    windows: windows(),
  });
  assert(fault !== undefined);
  const offset = Number(fault.address - 0x7000_0000n);
  assert(offset >= 0 && offset < 64 * 8 * 16 && offset % 16 === 0, `${fault.address}`);
  assertEquals([fault.reason, fault.bytes], [FaultReason.Unmapped, 16]);
  assert(low.subarray(0, 512).every((word) => word === 0), "reads give zeros");
  rig.destroy();
});

deviceTest("a fault is on record although the loop that made it ends only on what it could not load", (device) => {
  const rig = new Rig(device);
  // while (load(bad) == 0 && (other = load(good)) == 0): the host cannot stop it, so the good word stops it after a while.
  const p = new Lanes(1);
  const { ir } = p;
  const zero = ir.constU(0), one = ir.constU(1), limit = ir.constU(1000);
  ir.emit(Op.Loop);
  const count = ir.append(Op.LoopPhi, Type.U32, zero);
  const next = ir.emit(Op.IAdd, count, one);
  const flag = p.load(p.u64(0x9000_0000n), 4, Type.U32);
  ir.emit(Op.If, ir.emit(Op.INe, flag, zero), IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  ir.emit(Op.If, ir.emit(Op.ULe, limit, next), IfKind.Lane);
  ir.emit(Op.Break);
  ir.emit(Op.EndIf);
  ir.emit(Op.LoopCont);
  ir.b[count] = ir.append(Op.ContPhi, Type.U32, ir.pooled([next]), 1);
  ir.emit(Op.EndLoop);
  p.end();
  const { fault, artifact } = rig.run(p.ir, { workgroupSize: [1, 1, 1], windows: windows() });
  assertEquals(fault?.address, 0x9000_0000n);
  assertEquals(calls(artifact.spirv), 2, "reports: one in the loop, one at the end");
  rig.destroy();
});

/** Calls in the entry point, which is the last function. */
function calls(spirv: Uint32Array): number {
  let count = 0;
  for (let at = 5; at < spirv.length; at += spirv[at] >>> 16) {
    if ((spirv[at] & 0xffff) === 54) count = 0;
    if ((spirv[at] & 0xffff) === 57) count++;
  }
  return count;
}
