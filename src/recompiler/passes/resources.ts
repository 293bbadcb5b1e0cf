import { hex, RefusedError } from "../../errors.ts";
import { Ir } from "../ir/ir.ts";
import { InputKind, MemoryWidth, Op, OPS, Type } from "../ir/ops.ts";
import { imageClass, type NeedsImageDescriptors } from "../lift/image_descriptor.ts";
import type { RecompileRequest } from "../request.ts";
import { Folder, IS_VALUE } from "./simplify/folder.ts";

/** The part of a program that computes the descriptor of one image instruction. */
export interface ScalarSlice {
  /** Byte offset of the image instruction. */
  readonly pc: number;
  /**
   * Computes the descriptor's 8 words on the CPU.
   *
   * @param userData COMPUTE_USER_DATA_0..15
   * @param readU32 reads guest memory as it is before the dispatch
   * @throws RefusedError `recompiler.image-descriptor-unknown` when a word depends on anything else
   */
  evaluate(userData: Uint32Array, readU32: (address: bigint) => number): Uint32Array;
}

/** The slices of all image instructions that lack descriptors. */
export function scalarSlices(error: NeedsImageDescriptors): ScalarSlice[] {
  return error.needs.map(({ pc, words }) => ({
    pc,
    evaluate: (userData, readU32) => new Evaluation(error.ir, pc, userData, readU32).words(words),
  }));
}

/**
 * Resolves the image descriptors that a program needs, from user data and memory.
 *
 * @returns descriptors by pc, for `RecompileRequest.imageDescriptors`
 * @throws RefusedError when one cannot be computed, or when one instruction (inlined several times) has descriptors of several classes
 */
export function resolveImageDescriptors(
  error: NeedsImageDescriptors,
  request: RecompileRequest,
  userData: Uint32Array,
  readU32: (address: bigint) => number,
): ReadonlyMap<number, Uint32Array> {
  const found = new Map<number, Uint32Array>(request.imageDescriptors);
  for (const slice of scalarSlices(error)) {
    const words = slice.evaluate(userData, readU32);
    const other = found.get(slice.pc);
    if (other !== undefined && imageClass(other).join() !== imageClass(words).join()) {
      throw unknownDescriptor(slice.pc, "the instruction is used with image descriptors of different kinds");
    }
    found.set(slice.pc, words);
  }
  return found;
}

function unknownDescriptor(pc: number, why: string): RefusedError {
  return new RefusedError(
    "recompiler.image-descriptor-unknown",
    `the image descriptor cannot be found before the dispatch: ${why}`,
    { pc },
  );
}

/** Evaluates values by folding them: every operation of the slice becomes a constant, or the slice is refused. */
class Evaluation {
  private readonly out = new Ir(256);
  private readonly folder = new Folder(this.out, 256);
  private readonly to = new Map<number, number>();

  constructor(
    private readonly ir: Ir,
    private readonly pc: number,
    private readonly userData: Uint32Array,
    private readonly readU32: (address: bigint) => number,
  ) {}

  words(ids: readonly number[]): Uint32Array {
    for (const id of this.slice(ids)) this.to.set(id, this.evaluate(id));
    return Uint32Array.from(ids, (id) => this.out.a[this.to.get(id)!]);
  }

  /** Everything that the values depend on, in stream order. */
  private slice(ids: readonly number[]): number[] {
    const { ir } = this;
    const seen = new Set<number>();
    const work = [...ids];
    while (work.length > 0) {
      const id = work.pop()!;
      if (seen.has(id)) continue;
      seen.add(id);
      const columns = [ir.a[id], ir.b[id], ir.c[id], ir.d[id]];
      columns.forEach((operand, k) => {
        if (IS_VALUE[ir.op[id] * 4 + k] === 1 && operand !== 0) work.push(operand);
      });
    }
    return [...seen].sort((a, b) => a - b);
  }

  private evaluate(id: number): number {
    const { ir, folder, out } = this;
    const op = ir.op[id], type = ir.type[id] as Type;
    if (op === Op.Const) {
      if (type === Type.U32) return out.constU(ir.a[id]);
      return type === Type.Bool
        ? out.constB(ir.a[id] !== 0)
        : type === Type.F32
        ? out.constF(ir.a[id])
        : folder.make(op, type, ir.a[id], ir.b[id]);
    }
    if (op === Op.Input && ir.a[id] === InputKind.UserData) return out.constU(this.userData[ir.b[id]]);
    if (op === Op.Load) return this.load(id);
    if (op === Op.Input || OPS[op].effect || OPS[op].exchange || OPS[op].name.includes("Phi") || op === Op.Undef) {
      this.refuse(id);
    }
    const value = (column: number, k: number) =>
      IS_VALUE[op * 4 + k] === 1 && column !== 0 ? this.to.get(column)! : column;
    const result = folder.make(
      op,
      type,
      value(ir.a[id], 0),
      value(ir.b[id], 1),
      value(ir.c[id], 2),
      value(ir.d[id], 3),
    );
    if (out.op[result] !== Op.Const && out.op[result] !== Op.Vec) this.refuse(id);
    return result;
  }

  private load(id: number): number {
    const { ir, out, folder } = this;
    const address = this.to.get(ir.a[id])!;
    const bytes = ir.c[id] & MemoryWidth.BytesMask;
    if (bytes < 4 || !folder.isBool(this.to.get(ir.b[id])!, true)) this.refuse(id);
    const start = (BigInt(out.b[address] >>> 0) << 32n) | BigInt(out.a[address] >>> 0);
    const words = Array.from(
      { length: bytes / 4 },
      (_, k) => out.constU(this.readU32(BigInt.asUintN(64, start + BigInt(k * 4)))),
    );
    return words.length === 1
      ? words[0]
      : folder.make(Op.Vec, ir.type[id] as Type, words[0], words[1], words[2] ?? 0, words[3] ?? 0);
  }

  private refuse(id: number): never {
    const { ir } = this;
    throw unknownDescriptor(this.pc, `it depends on ${OPS[ir.op[id]].name} of the instruction at pc ${hex(ir.pc[id])}`);
  }
}
