import { assert, assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { FaultReason } from "../../../src/recompiler/abi.ts";
import { AtomicKind, hasTwoOperands, InputKind, MemoryWidth, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { Random } from "../../support/random.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { INPUT, Lanes, OUTPUT } from "./programs.ts";
import { GENERIC_DEVICE } from "../../../src/recompiler/generic_device.ts";
import { compare, emitValid, request, Rig, type RunOptions } from "./support.ts";

const LANES = 64, LDS_BYTES = 1024;

const shape: Pick<RunOptions, "waveSize" | "workgroupSize" | "ldsBytes"> = {
  waveSize: 64,
  workgroupSize: [LANES, 1, 1],
  ldsBytes: LDS_BYTES,
};

function ldsLoad(p: Lanes, address: number, width: number, active = p.yes): number[] {
  const { ir } = p;
  const words = Math.max(1, (width & MemoryWidth.BytesMask) / 4);
  p.pc();
  const value = ir.append(Op.LdsLoad, words === 1 ? Type.U32 : (Type.V2 + words - 2) as Type, address, active, width);
  return words === 1 ? [value] : Array.from({ length: words }, (_, k) => ir.emit(Op.Extract, value, k));
}

function ldsStore(p: Lanes, address: number, value: number, width: number, active = p.yes): void {
  p.pc();
  p.ir.emit(Op.LdsStore, address, active, value, width);
}

/** Fills LDS from the input window, one dword a lane and round, and waits. */
function fill(p: Lanes): number {
  const { ir } = p;
  const local = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  for (let round = 0; round < LDS_BYTES / 4 / LANES; round++) {
    const index = ir.emit(Op.IAdd, local, ir.constU(round * LANES));
    ldsStore(p, ir.emit(Op.Shl, index, ir.constU(2)), p.load(p.address(INPUT, index, 1, 0), 4, Type.U32), 4);
  }
  ir.emit(Op.Barrier);
  return local;
}

/** After a barrier, copies LDS to the output window. */
function dump(p: Lanes, local: number): void {
  const { ir } = p;
  ir.emit(Op.Barrier);
  for (let round = 0; round < LDS_BYTES / 4 / LANES; round++) {
    const index = ir.emit(Op.IAdd, local, ir.constU(round * LANES));
    const [word] = ldsLoad(p, ir.emit(Op.Shl, index, ir.constU(2)), 4);
    p.store(p.address(OUTPUT, index, 1, 0), word, 4);
  }
  p.end();
}

function randomWords(count: number, seed: number): Uint32Array {
  const random = new Random(seed);
  return Uint32Array.from({ length: count }, () => random.u32());
}

const WIDTHS = [1, 1 | MemoryWidth.Signed, 2, 2 | MemoryWidth.Signed, 4, 8, 12, 16];

deviceTest(
  "LDS loads of all widths at any address, in range, across its end and beyond it, agree with the evaluator",
  (device) => {
    const rig = new Rig(device);
    for (const step of [1, 4, 17, 24]) {
      const p = new Lanes(LANES);
      const { ir } = p;
      const local = fill(p);
      // Unknown to the analysis: the addresses come from memory.
      const address = p.load(p.address(INPUT, local, 1, LDS_BYTES / 4), 4, Type.U32);
      const odd = ir.emit(Op.INe, ir.emit(Op.And, local, ir.constU(1)), ir.constU(0));
      const results = WIDTHS.flatMap((width) => [...ldsLoad(p, address, width), ...ldsLoad(p, address, width, odd)]);
      p.output(results);
      p.end();
      const edges = [
        LDS_BYTES,
        LDS_BYTES - 1,
        LDS_BYTES - 2,
        LDS_BYTES - 4,
        LDS_BYTES - 8,
        LDS_BYTES + 4,
        0xfffffffc,
        0xffffffff,
        0x80000000,
      ];
      const addresses = Array.from({ length: LANES }, (_, k) => edges[k] ?? (k * step) % LDS_BYTES);
      const words = new Uint32Array([...randomWords(LDS_BYTES / 4, step), ...addresses]);
      compare(rig, p.ir, {
        ...shape,
        windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(LANES * results.length) }],
      });
    }
    rig.destroy();
  },
);

/** Accesses of one form at constants from a base; the address of one is used elsewhere as well, and one has no constant. */
function nearby(width: number, aligned: boolean): Lanes {
  const p = new Lanes(LANES);
  const { ir } = p;
  const local = fill(p);
  const loaded = p.load(p.address(INPUT, local, 1, LDS_BYTES / 4), 4, Type.U32);
  const base = aligned ? ir.emit(Op.And, loaded, ir.constU(-4)) : loaded;
  const odd = ir.emit(Op.INe, ir.emit(Op.And, local, ir.constU(1)), ir.constU(0));
  const results = [...ldsLoad(p, base, width)];
  for (let k = 1; k <= 10; k++) {
    const address = ir.emit(Op.IAdd, base, ir.constU(aligned ? 52 * k : 37 * k));
    results.push(...ldsLoad(p, address, width), ...ldsLoad(p, address, width, odd));
    if (k === 4) results.push(address);
  }
  p.output([results.reduce((a, b) => ir.emit(Op.Xor, ir.emit(Op.IMul, a, ir.constU(31)), b))]);
  ir.emit(Op.Barrier);
  // Each lane its own 16 bytes.
  const own = ir.emit(Op.Shl, local, ir.constU(4));
  for (let k = 0; k < 16; k += width) {
    const data = width === 4 || width === 1 ? results[k] : ir.append(Op.Vec, Type.V2, results[k], results[k + 1]);
    ldsStore(p, ir.emit(Op.IAdd, own, ir.constU(k)), data, width, k % 8 === 0 ? p.yes : odd);
  }
  dump(p, local);
  return p;
}

deviceTest(
  "LDS accesses at many constants from a base, whose functions add, agree with the evaluator",
  (device) => {
    const rig = new Rig(device);
    for (const width of [1, 4, 8]) {
      for (const aligned of [true, false]) {
        const { ir } = nearby(width, aligned);
        const ends = [LDS_BYTES - 40, LDS_BYTES - 370, LDS_BYTES, 0xffffff00, 0xfffffff0];
        const addresses = Array.from({ length: LANES }, (_, k) => ends[k] ?? (k * 13) % LDS_BYTES);
        const words = new Uint32Array([...randomWords(LDS_BYTES / 4, width), ...addresses]);
        compare(rig, ir, {
          ...shape,
          windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(LDS_BYTES / 4) }],
        });
      }
    }
    rig.destroy();
  },
);

deviceTest(
  "LDS stores of all widths write their bytes and no others, and are dropped dword by dword beyond the end",
  (device) => {
    const rig = new Rig(device);
    for (const width of [1, 2, 4, 8, 12, 16]) {
      for (const skew of [0, 1, 2, 3]) {
        const p = new Lanes(LANES);
        const { ir } = p;
        const local = fill(p);
        const address = p.load(p.address(INPUT, local, 1, LDS_BYTES / 4), 4, Type.U32);
        const value = ir.emit(Op.Xor, address, ir.constU(0x5a5a5a5a));
        const data = width <= 4
          ? value
          : ir.append(Op.Vec, (Type.V2 + width / 4 - 2) as Type, value, address, local, value);
        const active = ir.emit(Op.INe, ir.emit(Op.And, local, ir.constU(7)), ir.constU(3));
        ldsStore(p, address, data, width, active);
        dump(p, local);
        // Lanes write to places of their own, the last ones around and beyond the end.
        const addresses = Array.from(
          { length: LANES },
          (_, k) => k < 62 ? k * 16 + skew : k === 62 ? LDS_BYTES - width + 4 + skew : 0xfffffff0 + skew,
        );
        const words = new Uint32Array([...randomWords(LDS_BYTES / 4, width), ...addresses]);
        compare(rig, p.ir, {
          ...shape,
          windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(LDS_BYTES / 4) }],
        });
      }
    }
    rig.destroy();
  },
);

deviceTest("LDS accesses that are in range by construction are not checked, and give the same", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(LANES);
  const { ir } = p;
  const local = fill(p);
  const address = ir.emit(Op.Shl, ir.emit(Op.Xor, local, ir.constU(5)), ir.constU(4));
  const odd = ir.emit(Op.INe, ir.emit(Op.And, local, ir.constU(1)), ir.constU(0));
  const results = [...ldsLoad(p, address, 16), ...ldsLoad(p, address, 12, odd), ...ldsLoad(p, ir.constU(64), 8)];
  p.output(results);
  p.end();
  const { artifact } = compare(rig, p.ir, {
    ...shape,
    windows: [
      { base: INPUT, words: randomWords(LDS_BYTES / 4, 3) },
      { base: OUTPUT, words: new Uint32Array(LANES * results.length) },
    ],
  });
  // Function 1 is the program, which checks guest addresses; no other one compares (OpULessThan, OpULessThanEqual) or branches for LDS.
  let inside = 0, checks = 0, functions = 0;
  for (let at = 5; at < artifact.spirv.length; at += artifact.spirv[at] >>> 16) {
    const opcode = artifact.spirv[at] & 0xffff;
    if (opcode === 54) {
      inside = artifact.spirv[at + 2];
      functions++;
    } else if (inside !== 1 && (opcode === 176 || opcode === 178)) checks++;
  }
  assert(functions > 2, "vectors are accessed by functions");
  assertEquals(checks, 0);
  assertEquals(artifact.sharedBytes, LDS_BYTES);
  rig.destroy();
});

deviceTest(
  "LDS atomics of all kinds: each lane in its own dword, out of range ones give 0 and change nothing",
  (device) => {
    const rig = new Rig(device);
    const kinds = Object.entries(AtomicKind).filter(([name]) => !/^(Mask|Wide|Flush)/.test(name)).map((
      [, kind],
    ) => kind);
    for (const kind of [...kinds, AtomicKind.FAdd | AtomicKind.Flush, AtomicKind.FAdd | AtomicKind.FlushInputs]) {
      if (kind === AtomicKind.FAdd && !rig.keepsDenormals) continue; // refused
      for (const fromMemory of [false, true]) {
        const p = new Lanes(LANES);
        const { ir } = p;
        const local = fill(p);
        const known = ir.emit(Op.Shl, local, ir.constU(2));
        const address = fromMemory ? p.load(p.address(INPUT, local, 1, LDS_BYTES / 4), 4, Type.U32) : known;
        const [a, b] = [1, 2].map((k) => p.load(p.address(INPUT, local, 1, LDS_BYTES / 4 + k * LANES), 4, Type.U32));
        const data = hasTwoOperands(kind) ? ir.append(Op.Vec, Type.V2, a, b) : a;
        const active = fromMemory ? ir.emit(Op.INe, local, ir.constU(7)) : p.yes;
        p.pc();
        const old = ir.append(Op.LdsAtomic, Type.U32, address, active, data, kind);
        p.store(p.address(OUTPUT, local, 1, LDS_BYTES / 4), old, 4);
        dump(p, local);
        const edges = [0, 1, 5, 0x80000000, 0x7fffffff, 0xffffffff, 0x3f800000, 0xbf800000, 0x00012345, 0x7fc00000, 4];
        const random = new Random(kind + 1);
        const words = new Uint32Array([
          ...Array.from({ length: LDS_BYTES / 4 }, () => random.pick(edges)),
          ...Array.from({ length: LANES }, (_, k) => k === 9 ? LDS_BYTES : k === 10 ? 0xfffffffc : k * 4),
          ...Array.from({ length: 2 * LANES }, () => random.pick(edges)),
        ]);
        const { fault } = compare(rig, p.ir, {
          ...shape,
          windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(LDS_BYTES / 4 + LANES) }],
        }, (got, wanted) => got === wanted || ((got & 0x7fffffff) > 0x7f800000 && (wanted & 0x7fffffff) > 0x7f800000));
        assertEquals(fault, undefined);
      }
    }
    rig.destroy();
  },
);

deviceTest("all lanes add into one LDS dword, and 64-bit masks are or-ed without result", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(LANES);
  const { ir } = p;
  const local = fill(p);
  const place = ir.constU(16);
  ir.append(Op.LdsAtomic, Type.U32, place, p.yes, local, AtomicKind.Add);
  const zero = ir.constU(0), one = ir.constU(1);
  const bit = ir.emit(Op.Shl, one, ir.emit(Op.And, local, ir.constU(31)));
  const upper = ir.emit(Op.ULe, ir.constU(32), local);
  const mask = ir.append(
    Op.Vec,
    Type.V2,
    ir.append(Op.Select, Type.U32, upper, zero, bit),
    ir.append(Op.Select, Type.U32, upper, bit, zero),
  );
  const address = p.load(p.u64(INPUT + BigInt(LDS_BYTES)), 4, Type.U32);
  ir.append(
    Op.LdsAtomic,
    Type.V2,
    address,
    ir.emit(Op.INe, local, ir.constU(40)),
    mask,
    AtomicKind.Or | AtomicKind.Wide,
  );
  dump(p, local);
  compare(rig, p.ir, {
    ...shape,
    windows: [{ base: INPUT, words: new Uint32Array([...new Uint32Array(LDS_BYTES / 4), 256]) }, {
      base: OUTPUT,
      words: new Uint32Array(LDS_BYTES / 4),
    }],
  });
  rig.destroy();
});

deviceTest("an unaligned LDS atomic is a fault with the LDS address, and does nothing", (device) => {
  const rig = new Rig(device);
  const p = new Lanes(LANES);
  const { ir } = p;
  const local = fill(p);
  const address = p.load(p.u64(INPUT), 4, Type.U32);
  const pc = p.pc();
  const old = ir.append(Op.LdsAtomic, Type.U32, address, ir.emit(Op.IEq, local, ir.constU(5)), local, AtomicKind.Add);
  p.store(p.address(OUTPUT, local, 1, LDS_BYTES / 4), old, 4);
  dump(p, local);
  const words = randomWords(LDS_BYTES / 4, 4);
  words[0] = 6;
  const { fault, windows: [, out] } = rig.run(p.ir, {
    ...shape,
    windows: [{ base: INPUT, words }, { base: OUTPUT, words: new Uint32Array(LDS_BYTES / 4 + LANES) }],
  });
  assertEquals(fault, { reason: FaultReason.Unaligned, address: 6n, bytes: 4, pc });
  assertEquals(out.slice(0, LDS_BYTES / 4), words);
  assertEquals(out[LDS_BYTES / 4 + 5], 0);
  rig.destroy();
});

deviceTest("a barrier lets every invocation see what the others wrote, workgroup after workgroup", (device) => {
  const rig = new Rig(device);
  const threads = 256;
  const p = new Lanes(threads);
  const { ir } = p;
  const local = ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  let value = p.input(1, 0);
  for (let step = 1; step < threads; step *= 2) {
    ldsStore(p, ir.emit(Op.Shl, local, ir.constU(2)), value, 4);
    ir.emit(Op.Barrier);
    const [other] = ldsLoad(p, ir.emit(Op.Shl, ir.emit(Op.Xor, local, ir.constU(step)), ir.constU(2)), 4);
    value = ir.emit(Op.IAdd, value, other);
    ir.emit(Op.Barrier);
  }
  p.output([value]);
  compare(rig, p.end(), {
    waveSize: 32,
    workgroupSize: [threads, 1, 1],
    ldsBytes: threads * 4,
    groups: [6, 1, 1],
    windows: [{ base: INPUT, words: randomWords(threads * 6, 6) }, {
      base: OUTPUT,
      words: new Uint32Array(threads * 6),
    }],
  });
  rig.destroy();
});

Deno.test("without LDS, loads give 0 and stores do nothing", () => {
  const p = new Lanes(LANES);
  const [word] = ldsLoad(p, p.index, 4);
  ldsStore(p, p.index, word, 4);
  p.output([word]);
  const { sharedBytes } = emitValid(p.end(), request({ ldsBytes: 0 }));
  assertEquals(sharedBytes, 0);
});

Deno.test("LDS larger than the device's, and 64-bit atomics with a result where it has none, are refused by name and pc", () => {
  const p = new Lanes(LANES);
  ldsLoad(p, p.index, 4);
  p.ir.emit(Op.End);
  const size = assertThrows(
    () => emitValid(p.ir, request({ ldsBytes: 65536, device: { ...GENERIC_DEVICE, sharedMemoryBytes: 49152 } })),
    RefusedError,
    "65536 bytes of LDS",
  );
  assertEquals(size.code, "recompiler.lds-size");
  const q = new Lanes(LANES);
  const pc = q.pc();
  const data = q.ir.append(Op.Vec, Type.V2, q.index, q.index);
  const old = q.ir.append(Op.LdsAtomic, Type.V2, q.ir.constU(8), q.yes, data, AtomicKind.Add | AtomicKind.Wide);
  q.output([q.ir.emit(Op.Extract, old, 0)]);
  const device = { ...GENERIC_DEVICE, sharedInt64Atomics: false };
  const wide = assertThrows(() => emitValid(q.end(), request({ ldsBytes: 64, device })), RefusedError, "LdsAtomic");
  assertEquals([wide.code, wide.place.pc], ["recompiler.lds-atomic64", pc]);
});
