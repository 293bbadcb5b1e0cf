import { AtomicKind } from "../../ir/ops.ts";
import type { Body } from "../body.ts";
import { Capability, Code, Scope, Semantics, Storage } from "../codes.ts";
import { T } from "../module.ts";
import { atomicValue, exchangeLoop, writeAtomic } from "./atomic.ts";
import type { RuntimeFunctions } from "./functions.ts";

/**
 * How the dwords of LDS lie in workgroup memory. Indices are dwords and in range.
 *
 * Normally it is an array of dwords. A program with atomics of 64 bits needs an array of 64-bit elements, and Vulkan has no way to have both over the same
 * memory: there a dword is half an element, so that changing one is a loop of compare-exchange.
 */
export interface LdsCells {
  /** The dword at an index. */
  load(body: Body, index: number): number;
  /** Writes the dword at an index. */
  store(body: Body, index: number, value: number): void;
  /** Clears and sets bits of the dword at an index; other bits may be changed by other lanes at the same time. */
  change(body: Body, index: number, clear: number, set: number): void;
  /** A 32-bit atomic operation on the dword at an index; returns the old value. */
  atomic(body: Body, kind: number, index: number, operands: readonly number[]): number;
  /** A 64-bit atomic operation (operands and result U64) on the two dwords from an even index on. */
  atomic64(body: Body, kind: number, index: number, operands: readonly number[]): number;
}

/** The cells of a module. @param dwords of LDS */
export function ldsCells(functions: RuntimeFunctions, dwords: number): LdsCells {
  if (!functions.wideLds) {
    return new DwordCells(functions.variable("lds", () => functions.module.sharedArray(dwords)), functions);
  }
  const array = functions.variable("lds", () => {
    functions.module.capability(Capability.Int64Atomics);
    return functions.module.sharedArray(Math.ceil(dwords / 2), T.U64);
  });
  return new WideCells(array, functions);
}

class DwordCells implements LdsCells {
  constructor(private readonly array: number, private readonly functions: RuntimeFunctions) {}

  private pointer(body: Body, index: number): number {
    return body.element(Storage.Workgroup, T.U32, this.array, index);
  }

  load(body: Body, index: number): number {
    return body.load(T.U32, this.pointer(body, index));
  }

  store(body: Body, index: number, value: number): void {
    body.words.put3(Code.Store, this.pointer(body, index), value);
  }

  change(body: Body, index: number, clear: number, set: number): void {
    const pointer = this.pointer(body, index);
    const scope = body.module.u32(Scope.Workgroup), relaxed = body.module.u32(Semantics.None);
    body.ops(Code.AtomicAnd, T.U32, [pointer, scope, relaxed, body.op1(Code.Not, T.U32, clear)]);
    body.ops(Code.AtomicOr, T.U32, [pointer, scope, relaxed, set]);
  }

  atomic(body: Body, kind: number, index: number, operands: readonly number[]): number {
    return writeAtomic(body, kind, this.pointer(body, index), Scope.Workgroup, operands, this.functions);
  }

  atomic64(): number {
    throw new Error("a 64-bit LDS atomic in a module with an array of dwords");
  }
}

class WideCells implements LdsCells {
  constructor(private readonly array: number, private readonly functions: RuntimeFunctions) {}

  private pointer(body: Body, index: number): number {
    const element = body.op2(Code.ShiftRightLogical, T.U32, index, body.module.u32(1));
    return body.element(Storage.Workgroup, T.U64, this.array, element);
  }

  /** Bit position of the dword in its element. */
  private shift(body: Body, index: number): number {
    const odd = body.op2(Code.BitwiseAnd, T.U32, index, body.module.u32(1));
    return body.op2(Code.ShiftLeftLogical, T.U32, odd, body.module.u32(5));
  }

  private dword(body: Body, element: number, shift: number): number {
    return body.op1(Code.UConvert, T.U32, body.op2(Code.ShiftRightLogical, T.U64, element, shift));
  }

  private placed(body: Body, dword: number, shift: number): number {
    return body.op2(Code.ShiftLeftLogical, T.U64, body.op1(Code.UConvert, T.U64, dword), shift);
  }

  load(body: Body, index: number): number {
    return this.dword(body, body.load(T.U64, this.pointer(body, index)), this.shift(body, index));
  }

  store(body: Body, index: number, value: number): void {
    this.update(body, index, () => value);
  }

  change(body: Body, index: number, clear: number, set: number): void {
    this.update(body, index, (old) => {
      const kept = body.op2(Code.BitwiseAnd, T.U32, old, body.op1(Code.Not, T.U32, clear));
      return body.op2(Code.BitwiseOr, T.U32, kept, set);
    });
  }

  atomic(body: Body, kind: number, index: number, operands: readonly number[]): number {
    return this.update(body, index, (old) => atomicValue(body, kind, old, operands, this.functions));
  }

  atomic64(body: Body, kind: number, index: number, operands: readonly number[]): number {
    return writeAtomic(
      body,
      kind | AtomicKind.Wide,
      this.pointer(body, index),
      Scope.Workgroup,
      operands,
      this.functions,
    );
  }

  /** Replaces a dword by what `fresh` makes of it; returns the old one. */
  private update(body: Body, index: number, fresh: (old: number) => number): number {
    const shift = this.shift(body, index);
    const field = this.placed(body, body.module.u32(0xffffffff), shift);
    const others = body.op1(Code.Not, T.U64, field);
    const old = exchangeLoop(body, T.U64, this.pointer(body, index), Scope.Workgroup, (element) => {
      const value = this.placed(body, fresh(this.dword(body, element, shift)), shift);
      return body.op2(Code.BitwiseOr, T.U64, body.op2(Code.BitwiseAnd, T.U64, element, others), value);
    });
    return this.dword(body, old, shift);
  }
}
