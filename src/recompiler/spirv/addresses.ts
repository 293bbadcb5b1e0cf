import { Access, Context, WindowEntry } from "../abi.ts";
import { Op } from "../ir/ops.ts";
import { bufferOf } from "../resources/plan.ts";
import { Code } from "./codes.ts";
import type { Emitter } from "./emitter.ts";
import { PUSH_MEMBERS, T } from "./module.ts";
import { memoryBytes } from "./usage.ts";

/**
 * Guest addresses to device addresses, without a branch and without a load: the windows that the request says the table may have are read once at the
 * program's entry, and stay in registers. What an access is then is decided by comparisons and selects.
 *
 * Why not a function that searches the table: drivers inline it into every access, and a loop per access makes creation superlinear. Measured with
 * 100 loads: H200 (580.159) 60 to 90 ms without any translation, 155 ms in this form, 686 ms with a search behind a fast path, 1,981 ms with the
 * search alone; lavapipe 185 ms, 227 ms, 8.4 s and 1.6 s.
 */

/** Windows that may stay in registers. Tables that may be larger are searched in memory, in steps without branches. */
const MOST_IN_REGISTERS = 8;
/** What a request that does not say is given. */
const DEFAULT_WINDOWS = 4;

interface Window {
  readonly begin: number;
  readonly delta: number;
  /** By {@linkcode limitKey}: the first address, relative to `begin` (alone) or absolute, at which an access no longer fits; 0 without permission. */
  readonly limits: Map<number, number>;
}

/** A translated access. */
export interface Translated {
  /** Bool id: the access may be done. */
  readonly good: number;
  /** U64 id: its device address when it is good. */
  readonly device: number;
}

/** The windows of the module, and what is needed to use them. */
export class Addresses {
  private readonly windows: Window[] = [];
  /** U64 ids of the areas that failing and inactive accesses use. */
  readonly zeroArea: number;
  readonly sinkArea: number;
  private readonly count: number;
  /** For the search: first entry of the table, and number of windows. */
  private readonly table: number;

  /** Writes the entry code. */
  constructor(private readonly e: Emitter) {
    const { body, module, request } = e;
    const most = request.windows ?? DEFAULT_WINDOWS;
    const context = body.push(PUSH_MEMBERS.context);
    const at = (offset: number) => body.op2(Code.IAdd, T.U64, context, module.u64(offset));
    this.zeroArea = at(Context.Zero);
    this.sinkArea = at(Context.Sink);
    this.table = at(Context.Windows);
    this.count = most > 1 ? body.loadAt(T.U32, at(Context.WindowCount), 4) : 0;
    if (most > MOST_IN_REGISTERS) return;
    const uses = accessSizes(e);
    for (let k = 0; k < most; k++) this.windows.push(this.readWindow(k, most > 1, uses));
  }

  /**
   * Translates an access that needs the permissions `access`. `alignment`: what the address must be a multiple of and is not known to be (1: nothing to check).
   */
  translate(address: number, bytes: number, access: number, alignment: number): Translated {
    const { body, module } = this.e;
    if (this.windows.length === 1) {
      const [{ begin, delta, limits }] = this.windows;
      let offset = body.op2(Code.ISub, T.U64, address, begin);
      if (alignment > 1) {
        // An unaligned offset goes out of range by its own low bits, put on top: no window has 2^61 bytes, and windows begin on pages.
        const low = body.op2(Code.ShiftLeftLogical, T.U64, offset, module.u32(64 - Math.log2(alignment)));
        offset = body.op2(Code.BitwiseOr, T.U64, offset, low);
      }
      const good = body.op2(Code.ULessThan, T.Bool, offset, limits.get(limitKey(access, bytes))!);
      return { good, device: body.op2(Code.IAdd, T.U64, address, delta) };
    }
    const { limit, delta } = this.windows.length > 0
      ? this.choose(address, limitKey(access, bytes))
      : this.search(address, access, bytes);
    let good = body.op2(Code.ULessThan, T.Bool, address, limit);
    if (alignment > 1) {
      const low = body.op2(
        Code.BitwiseAnd,
        T.U32,
        body.op1(Code.UConvert, T.U32, address),
        module.u32(alignment - 1),
      );
      const aligned = body.op2(Code.IEqual, T.Bool, low, module.u32(0));
      good = body.op2(Code.LogicalAnd, T.Bool, good, aligned);
    }
    return { good, device: body.op2(Code.IAdd, T.U64, address, delta) };
  }

  /** The last window that begins at or before the address. */
  private choose(address: number, key: number): { limit: number; delta: number } {
    const { body, module } = this.e;
    let limit = module.u64(0), delta = this.windows[0].delta;
    this.windows.forEach((window, k) => {
      const reaches = body.op2(Code.ULessThanEqual, T.Bool, window.begin, address);
      limit = body.select(T.U64, reaches, window.limits.get(key)!, limit);
      if (k > 0) delta = body.select(T.U64, reaches, window.delta, delta);
    });
    return { limit, delta };
  }

  /** The same by binary search in the table, for `request.windows` entries at most. */
  private search(address: number, needed: number, bytes: number): { limit: number; delta: number } {
    const { body, module, request, functions } = this.e;
    const steps = Math.ceil(Math.log2(request.windows!));
    const name = `search${steps}.${needed}.${bytes}`;
    const parameters = [T.U64, T.U64, T.U32];
    const found = body.call(
      functions.get(name, T.U64x2, parameters, (inner) => {
        const [address, table, count] = inner.parameters;
        let index = module.u32(0);
        const entryAt = (at: number) => {
          const offset = inner.op2(
            Code.ShiftLeftLogical,
            T.U64,
            inner.op1(Code.UConvert, T.U64, at),
            module.u32(Math.log2(WindowEntry.Bytes)),
          );
          return inner.op2(Code.IAdd, T.U64, table, offset);
        };
        for (let step = 2 ** (steps - 1); step >= 1; step /= 2) {
          const probe = inner.op2(Code.IAdd, T.U32, index, module.u32(step));
          const exists = inner.op2(Code.ULessThan, T.Bool, probe, count);
          const safe = inner.select(T.U32, exists, probe, index);
          const begin = inner.loadAt(T.U64, entryAt(safe), 8);
          const reaches = inner.op2(Code.ULessThanEqual, T.Bool, begin, address);
          index = inner.select(T.U32, reaches, safe, index);
        }
        const entry = entryAt(index);
        const range = inner.loadAt(T.U64x2, entry, 16);
        const rest = inner.loadAt(T.U64x2, inner.op2(Code.IAdd, T.U64, entry, module.u64(WindowEntry.Delta)), 16);
        const end = inner.op2(Code.ISub, T.U64, inner.extract(T.U64, range, 1), module.u64(bytes - 1));
        const access = inner.op1(Code.UConvert, T.U32, inner.extract(T.U64, rest, 1));
        const reaches = inner.op2(Code.ULessThanEqual, T.Bool, inner.extract(T.U64, range, 0), address);
        const usable = inner.op2(Code.LogicalAnd, T.Bool, reaches, isAllowed(inner, access, needed));
        const limit = inner.select(T.U64, usable, end, module.u64(0));
        inner.returnValue(inner.op2(Code.CompositeConstruct, T.U64x2, limit, inner.extract(T.U64, rest, 0)));
      }),
      T.U64x2,
      [address, this.table, this.count],
    );
    return { limit: body.extract(T.U64, found, 0), delta: body.extract(T.U64, found, 1) };
  }

  /** Reads entry `k` of the table. An entry that is not there becomes one that no address reaches. */
  private readWindow(k: number, absolute: boolean, uses: ReadonlySet<number>): Window {
    const { body, module } = this.e;
    const offset = k * WindowEntry.Bytes;
    let entry = k === 0 ? this.table : body.op2(Code.IAdd, T.U64, this.table, module.u64(offset));
    let exists = 0;
    if (k > 0) {
      exists = body.op2(Code.ULessThan, T.Bool, module.u32(k), this.count);
      entry = body.select(T.U64, exists, entry, this.table);
    }
    const range = body.loadAt(T.U64x2, entry, 16);
    const rest = body.loadAt(T.U64x2, body.op2(Code.IAdd, T.U64, entry, module.u64(WindowEntry.Delta)), 16);
    let begin = body.extract(T.U64, range, 0);
    const end = body.extract(T.U64, range, 1);
    const access = body.op1(Code.UConvert, T.U32, body.extract(T.U64, rest, 1));
    const reach = absolute ? end : body.op2(Code.ISub, T.U64, end, begin);
    if (k > 0) begin = body.select(T.U64, exists, begin, module.constant64(T.U64, -1, -1));
    const allowed: number[] = [];
    const limits = new Map<number, number>();
    for (const key of uses) {
      const needed = key & 3, bytes = key >> 2;
      allowed[needed] ??= isAllowed(body, access, needed);
      const last = bytes === 1 ? reach : body.op2(Code.ISub, T.U64, reach, module.u64(bytes - 1));
      limits.set(key, body.select(T.U64, allowed[needed], last, module.u64(0)));
    }
    return { begin, delta: body.extract(T.U64, rest, 0), limits };
  }
}

function isAllowed(body: Emitter["body"], access: number, needed: number): number {
  const { module } = body;
  const bits = module.u32(needed);
  return body.op2(Code.IEqual, T.Bool, body.op2(Code.BitwiseAnd, T.U32, access, bits), bits);
}

/** Key of the limit for accesses of a size that need the permissions `access` (Read and Write bits). */
function limitKey(access: number, bytes: number): number {
  return bytes * 4 + access;
}

/** Keys of the limits that the program's accesses need. */
function accessSizes({ ir }: Emitter): Set<number> {
  const keys = new Set<number>();
  for (let i = 1; i < ir.length; i++) {
    const op = ir.op[i];
    if (op !== Op.Load && op !== Op.Store && op !== Op.Atomic) continue;
    if (bufferOf(op === Op.Load ? ir.c[i] : ir.d[i]) < 0) keys.add(limitKey(accessOf(op), memoryBytes(ir, i)));
  }
  return keys;
}

/** Permissions that an operation on guest memory needs: bits of {@linkcode Access}. */
export function accessOf(op: number): number {
  return op === Op.Load ? Access.Read : op === Op.Store ? Access.Write : Access.Read | Access.Write;
}
