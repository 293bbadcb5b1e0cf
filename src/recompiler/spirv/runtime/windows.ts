import { Access, Context, FaultReason, FaultRecord, WindowEntry } from "../../abi.ts";
import type { Body } from "../body.ts";
import { Code, Scope, Semantics, Storage } from "../codes.ts";
import { PUSH_MEMBERS, T } from "../module.ts";
import type { RuntimeFunctions } from "./functions.ts";

/**
 * Guest addresses to device addresses.
 *
 * The first window of the table is read once, at the entry of the program, into private variables: an access is then one subtraction and one
 * comparison away from its device address. Everything else (another window, the last bytes of the window, no permission, an unaligned or
 * inactive access) goes to {@linkcode locate}, which is exact and walks the table.
 */

/**
 * What a runtime function is told of an access, in one word, so that a call needs one constant:
 * bits 0..4 bytes, 5..6 {@linkcode Access} bits, 7..9 the address bits that must be zero, 10..31 the instruction's pc in dwords.
 */
export function accessInfo(bytes: number, access: number, alignment: number, pc: number): number {
  return (bytes | (access << 5) | ((alignment - 1) << 7) | ((pc >>> 2) << 10)) >>> 0;
}

/** Largest pc that {@linkcode accessInfo} can hold. */
export const MAX_ACCESS_PC = (1 << 24) - 4;

/** Bytes that must remain in the window for the fast path: the largest access. */
const LARGEST_ACCESS = 16;

/** The private variables that describe the first window; U64. */
type WindowVariable = "begin" | "delta" | "readLimit" | "writeLimit";

function windowVariable(functions: RuntimeFunctions, name: WindowVariable): number {
  const { module } = functions;
  return functions.variable(name, () => module.variable(Storage.Private, module.type(T.U64)));
}

/**
 * Writes the code at the program's entry that reads the first window. The context block always has room for one entry; when there is no window,
 * the entry is zero, and so are the limits.
 */
export function loadFirstWindow(functions: RuntimeFunctions, body: Body, reads: boolean, writes: boolean): void {
  const { module } = body;
  const context = body.push(PUSH_MEMBERS.context);
  const at = (offset: number) => body.op2(Code.IAdd, T.U64, context, module.u64(offset));
  const range = body.loadAt(T.U64x2, at(Context.Windows + WindowEntry.Begin), 16);
  const rest = body.loadAt(T.U64x2, at(Context.Windows + WindowEntry.Delta), 16);
  const begin = body.extract(T.U64, range, 0);
  const size = body.op2(Code.ISub, T.U64, body.extract(T.U64, range, 1), begin);
  const access = body.op1(Code.UConvert, T.U32, body.extract(T.U64, rest, 1));
  const large = body.op2(Code.ULessThanEqual, T.Bool, module.u64(LARGEST_ACCESS), size);
  const room = body.op2(Code.ISub, T.U64, size, module.u64(LARGEST_ACCESS - 1));
  const store = (name: WindowVariable, value: number) =>
    body.words.put3(Code.Store, windowVariable(functions, name), value);
  store("begin", begin);
  store("delta", body.extract(T.U64, rest, 0));
  const limit = (name: WindowVariable, bits: number) => {
    const present = body.op2(Code.BitwiseAnd, T.U32, access, module.u32(bits));
    const allowed = body.op2(Code.IEqual, T.Bool, present, module.u32(bits));
    const usable = body.op2(Code.LogicalAnd, T.Bool, large, allowed);
    store(name, body.select(T.U64, usable, room, module.u64(0)));
  };
  if (reads) limit("readLimit", Access.Read);
  // Atomics share it, so the rare window that can be written but not read takes the slow path.
  if (writes) limit("writeLimit", Access.Read | Access.Write);
}

/**
 * Whether `address` is in the first window, with room for any access and the needed alignment. An unaligned offset is moved out of range by its own
 * low bits, put on top: no window is as large as 2^61 bytes.
 */
export function isInFirstWindow(
  functions: RuntimeFunctions,
  body: Body,
  address: number,
  alignment: number,
  write: boolean,
): number {
  const { module } = body;
  let offset = body.op2(Code.ISub, T.U64, address, body.load(T.U64, windowVariable(functions, "begin")));
  if (alignment > 1) {
    const low = body.op2(Code.ShiftLeftLogical, T.U64, offset, module.u32(64 - Math.log2(alignment)));
    offset = body.op2(Code.BitwiseOr, T.U64, offset, low);
  }
  const limit = body.load(T.U64, windowVariable(functions, write ? "writeLimit" : "readLimit"));
  return body.op2(Code.ULessThan, T.Bool, offset, limit);
}

/** Device address of an address that {@linkcode isInFirstWindow}. */
export function inFirstWindow(functions: RuntimeFunctions, body: Body, address: number): number {
  return body.op2(Code.IAdd, T.U64, address, body.load(T.U64, windowVariable(functions, "delta")));
}

/**
 * Id of `locate(address: U64, info: U32, active: Bool) -> U64`: the device address, or 0 for an access that is inactive or that failed, which is
 * then on record. Fails: a range that passes 2^64 (Overflow), a range that is not wholly in one window (Unmapped), a window without the permission
 * (Permission), low address bits that must be zero (Unaligned), in this order.
 */
export function locate(functions: RuntimeFunctions): number {
  return functions.get("locate", T.U64, [T.U64, T.U32, T.Bool], (body) => {
    const { module } = body;
    const [address, info, active] = body.parameters;
    const u64 = (value: number) => module.u64(value);
    const context = body.push(PUSH_MEMBERS.context);
    const at = (offset: number) => body.op2(Code.IAdd, T.U64, context, u64(offset));
    const first = at(Context.Windows);
    const count = body.loadAt(T.U32, at(Context.WindowCount), 4);
    const tableBytes = body.op2(
      Code.ShiftLeftLogical,
      T.U64,
      body.op1(Code.UConvert, T.U64, count),
      module.u32(Math.log2(WindowEntry.Bytes)),
    );
    const end = body.op2(Code.IAdd, T.U64, first, tableBytes);

    // for (entry = first; active && entry != end; entry += 32) if (address is in *entry) break;
    const before = body.block;
    const [header, test, next, merge] = [module.bound++, module.bound++, module.bound++, module.bound++];
    const entry = module.bound++, following = module.bound++;
    body.branch(header);
    body.label(header);
    body.words.put(Code.Phi, [module.type(T.U64), entry, first, before, following, next]);
    const more = body.op2(Code.LogicalAnd, T.Bool, active, body.op2(Code.INotEqual, T.Bool, entry, end));
    body.words.put4(Code.LoopMerge, merge, next, 0);
    body.branchIf(more, test, merge);
    body.label(test);
    const range = body.loadAt(T.U64x2, entry, 16);
    const rest = body.loadAt(T.U64x2, body.op2(Code.IAdd, T.U64, entry, u64(WindowEntry.Delta)), 16);
    const begin = body.extract(T.U64, range, 0);
    const inWindow = body.op2(Code.ISub, T.U64, address, begin);
    const windowSize = body.op2(Code.ISub, T.U64, body.extract(T.U64, range, 1), begin);
    const windowRoom = body.op2(Code.ISub, T.U64, windowSize, inWindow);
    const hit = body.op2(Code.ULessThan, T.Bool, inWindow, windowSize);
    body.branchIf(hit, merge, next);
    body.label(next);
    body.words.put5(Code.IAdd, module.type(T.U64), following, entry, u64(WindowEntry.Bytes));
    body.branch(header);
    body.label(merge);
    const room = body.phi2(T.U64, u64(0), header, windowRoom, test);
    const found = body.phi2(T.U64x2, module.zero(T.U64x2), header, rest, test);

    const bytes = body.op1(Code.UConvert, T.U64, body.op2(Code.BitwiseAnd, T.U32, info, module.u32(31)));
    const last = body.op2(Code.ISub, T.U64, body.op2(Code.IAdd, T.U64, address, bytes), u64(1));
    const low = body.op1(Code.UConvert, T.U32, address);
    const loose = body.op2(
      Code.BitwiseAnd,
      T.U32,
      low,
      body.op3(Code.BitFieldUExtract, T.U32, info, module.u32(7), module.u32(3)),
    );
    const allowed = body.op1(Code.UConvert, T.U32, body.extract(T.U64, found, 1));
    const missing = body.op2(
      Code.BitwiseAnd,
      T.U32,
      body.op3(Code.BitFieldUExtract, T.U32, info, module.u32(5), module.u32(2)),
      body.op1(Code.Not, T.U32, allowed),
    );
    const reasons: [condition: number, reason: number][] = [
      [body.op2(Code.INotEqual, T.Bool, loose, module.u32(0)), FaultReason.Unaligned],
      [body.op2(Code.INotEqual, T.Bool, missing, module.u32(0)), FaultReason.Permission],
      [body.op2(Code.ULessThan, T.Bool, room, bytes), FaultReason.Unmapped],
      [body.op2(Code.ULessThan, T.Bool, last, address), FaultReason.Overflow],
    ];
    let reason = module.u32(0);
    for (const [condition, value] of reasons) reason = body.select(T.U32, condition, module.u32(value), reason);
    const failed = body.op2(Code.INotEqual, T.Bool, reason, module.u32(0));
    body.when(body.op2(Code.LogicalAnd, T.Bool, failed, active), () => {
      body.call(recordFault(functions), T.Void, [address, info, reason]);
    });
    const device = body.op2(Code.IAdd, T.U64, address, body.extract(T.U64, found, 0));
    const none = body.op2(Code.LogicalOr, T.Bool, failed, body.op1(Code.LogicalNot, T.Bool, active));
    body.returnValue(body.select(T.U64, none, u64(0), device));
  }, true);
}

/** Id of `recordFault(address: U64, info: U32, reason: U32)`: writes the fault record unless another fault is there already. */
export function recordFault(functions: RuntimeFunctions): number {
  return functions.get("recordFault", T.Void, [T.U64, T.U32, T.U32], (body) => {
    const { module } = body;
    const [address, info, reason] = body.parameters;
    const context = body.push(PUSH_MEMBERS.context);
    const at = (offset: number) => body.op2(Code.IAdd, T.U64, context, module.u64(Context.Fault + offset));
    const relaxed = module.u32(Semantics.None);
    const before = body.ops(Code.AtomicCompareExchange, T.U32, [
      body.pointerAt(T.U32, at(FaultRecord.State)),
      module.u32(Scope.Device),
      relaxed,
      relaxed,
      module.u32(1),
      module.u32(0),
    ]);
    body.when(body.op2(Code.IEqual, T.Bool, before, module.u32(0)), () => {
      const bytes = body.op2(Code.BitwiseAnd, T.U32, info, module.u32(31));
      const pc = body.op2(
        Code.ShiftLeftLogical,
        T.U32,
        body.op2(Code.ShiftRightLogical, T.U32, info, module.u32(10)),
        module.u32(2),
      );
      body.storeAt(T.U32, at(FaultRecord.Reason), reason, 4);
      body.storeAt(T.U64, at(FaultRecord.Address), address, 8);
      body.storeAt(T.U32, at(FaultRecord.Bytes), bytes, 4);
      body.storeAt(T.U32, at(FaultRecord.Pc), pc, 4);
    });
    body.return();
  }, true);
}
