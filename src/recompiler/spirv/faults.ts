import { Context, FaultReason, FaultRecord, WindowEntry } from "../abi.ts";
import type { Ir } from "../ir/ir.ts";
import { Op } from "../ir/ops.ts";
import { Code, Scope, Semantics, Storage } from "./codes.ts";
import type { Emitter } from "./emitter.ts";
import { PUSH_MEMBERS, T } from "./module.ts";
import type { RuntimeFunctions } from "./runtime/functions.ts";
import { VALUE_OPERANDS } from "./usage.ts";

/**
 * Failing accesses. An invocation remembers its first one (what and where, in two private variables), and goes on; the fault record is written at the
 * end of the program, and at the start of each round of a loop that a failed load could keep from ending. Only there is it found out why the access
 * failed. So an access costs two selects here, and no branch.
 */

/** Accesses that are folded into the private variables at a time: more need fewer instructions, but keep more registers alive. */
const FOLD = 4;

/**
 * What is remembered of an access beside its address, in one word that is never 0:
 * bits 0..4 bytes, 5..6 Access bits (none: an LDS access), 7..9 the address bits that must be zero, 10..31 the pc in dwords.
 */
export function accessInfo(bytes: number, access: number, alignment: number, pc: number): number {
  return (bytes | (access << 5) | ((alignment - 1) << 7) | ((pc >>> 2) << 10)) >>> 0;
}

/** Largest pc that {@linkcode accessInfo} can hold. */
export const MAX_ACCESS_PC = (1 << 24) - 4;

interface Site {
  /** Bool id: nothing failed here. */
  readonly fine: number;
  /** U64 id. */
  readonly address: number;
  /** U32 id. */
  readonly info: number;
}

/** The faults of the program that is being emitted. */
export class Faults {
  private readonly sites: Site[] = [];
  private infoVariable = 0;
  private addressVariable = 0;
  /** What the variables hold, where the current block has it in registers. */
  private current = { block: 0, info: 0, address: 0, stored: true };

  constructor(private readonly e: Emitter) {}

  /** Notes an access of the current block that fails unless `fine`. */
  add(fine: number, address: number, info: number): void {
    this.sites.push({ fine, address, info });
    if (this.sites.length === FOLD) this.fold();
  }

  /** To be called before the current block ends. */
  leaveBlock(): void {
    if (this.sites.length > 0) this.fold();
    if (this.current.stored) return;
    const { words } = this.e.body;
    words.put3(Code.Store, this.infoVariable, this.current.info);
    words.put3(Code.Store, this.addressVariable, this.current.address);
    this.current.stored = true;
  }

  /** Writes the fault record if an access has failed. Starts new blocks. */
  report(): void {
    this.leaveBlock();
    if (this.infoVariable === 0) return;
    const { body, module, functions } = this.e;
    const info = body.load(T.U32, this.infoVariable);
    body.when(body.op2(Code.INotEqual, T.Bool, info, module.u32(0)), () => {
      body.call(recordFault(functions), T.Void, [body.load(T.U64, this.addressVariable), info]);
    });
  }

  /** Makes the variables now, for reports that stand before the first access. */
  declare(): void {
    if (this.infoVariable !== 0) return;
    const { module } = this.e;
    this.infoVariable = module.variable(Storage.Private, module.type(T.U32), module.u32(0));
    this.addressVariable = module.variable(Storage.Private, module.type(T.U64), module.u64(0));
  }

  private fold(): void {
    const { body, module } = this.e;
    this.declare();
    // The first failing one of the sites: the last that is selected.
    let address = this.sites[this.sites.length - 1].address, info = module.u32(0);
    for (let k = this.sites.length - 1; k >= 0; k--) {
      const site = this.sites[k];
      info = body.select(T.U32, site.fine, info, site.info);
      if (site.address !== address) address = body.select(T.U64, site.fine, address, site.address);
    }
    this.sites.length = 0;
    const { current } = this;
    if (current.block !== body.block) {
      current.block = body.block;
      current.info = body.load(T.U32, this.infoVariable);
      current.address = body.load(T.U64, this.addressVariable);
    }
    // An earlier fault stays.
    const had = body.op2(Code.INotEqual, T.Bool, current.info, module.u32(0));
    current.info = body.select(T.U32, had, current.info, info);
    current.address = body.select(T.U64, had, current.address, address);
    current.stored = false;
  }
}

/** Id of `recordFault(address: U64, info: U32)`: finds out why the access failed, and writes the fault record unless one is there already. */
function recordFault(functions: RuntimeFunctions): number {
  return functions.get("recordFault", T.Void, [T.U64, T.U32], (body) => {
    const { module } = body;
    const [address, info] = body.parameters;
    const u32 = (value: number) => module.u32(value);
    const field = (first: number, bits: number) => body.op3(Code.BitFieldUExtract, T.U32, info, u32(first), u32(bits));
    const context = body.push(PUSH_MEMBERS.context);
    const at = (offset: number) => body.op2(Code.IAdd, T.U64, context, module.u64(offset));
    const bytes = field(0, 5), access = field(5, 2), alignment = field(7, 3);
    const wide = body.op1(Code.UConvert, T.U64, bytes);
    const last = body.op2(Code.ISub, T.U64, body.op2(Code.IAdd, T.U64, address, wide), module.u64(1));
    const test = (opcode: number, a: number, b: number) => body.op2(opcode, T.Bool, a, b);
    const lookUp = (byte: number) => body.call(windowAccess(functions), T.U32, [byte]);
    const first = lookUp(address), end = lookUp(last);
    const lacking = (bits: number, of: number) =>
      test(Code.INotEqual, body.op2(Code.BitwiseAnd, T.U32, bits, body.op1(Code.Not, T.U32, of)), u32(0));
    const loose = body.op2(Code.BitwiseAnd, T.U32, body.op1(Code.UConvert, T.U32, address), alignment);
    // Later ones win.
    const reasons: readonly (readonly [condition: number, reason: number])[] = [
      [test(Code.INotEqual, loose, u32(0)), FaultReason.Unaligned],
      [lacking(access, body.op2(Code.BitwiseAnd, T.U32, first, end)), FaultReason.Permission],
      [lacking(u32(FOUND), body.op2(Code.BitwiseAnd, T.U32, first, end)), FaultReason.Unmapped],
      [test(Code.ULessThan, last, address), FaultReason.Overflow],
      [test(Code.IEqual, access, u32(0)), FaultReason.Unaligned],
    ];
    let reason = u32(FaultReason.Elsewhere);
    for (const [condition, value] of reasons) reason = body.select(T.U32, condition, u32(value), reason);

    const relaxed = u32(Semantics.None);
    const before = body.ops(Code.AtomicCompareExchange, T.U32, [
      body.pointerAt(T.U32, at(Context.Fault + FaultRecord.State)),
      u32(Scope.Device),
      relaxed,
      relaxed,
      u32(1),
      u32(0),
    ]);
    body.when(test(Code.IEqual, before, u32(0)), () => {
      const pc = body.op2(Code.ShiftLeftLogical, T.U32, field(10, 22), u32(2));
      body.storeAt(T.U32, at(Context.Fault + FaultRecord.Reason), reason, 4);
      body.storeAt(T.U64, at(Context.Fault + FaultRecord.Address), address, 8);
      body.storeAt(T.U32, at(Context.Fault + FaultRecord.Bytes), bytes, 4);
      body.storeAt(T.U32, at(Context.Fault + FaultRecord.Pc), pc, 4);
    });
    body.return();
  }, true);
}

/** Set beside the access bits of a window that was found. */
const FOUND = 0x8000_0000;

/** Id of `windowAccess(address: U64) -> U32`: access bits of the window that holds a byte, and {@linkcode FOUND}; 0 when there is none. */
function windowAccess(functions: RuntimeFunctions): number {
  return functions.get("windowAccess", T.U32, [T.U64], (body) => {
    const { module } = body;
    const [address] = body.parameters;
    const context = body.push(PUSH_MEMBERS.context);
    const at = (offset: number) => body.op2(Code.IAdd, T.U64, context, module.u64(offset));
    const first = at(Context.Windows);
    const count = body.op1(Code.UConvert, T.U64, body.loadAt(T.U32, at(Context.WindowCount), 4));
    const bytes = body.op2(Code.ShiftLeftLogical, T.U64, count, module.u32(Math.log2(WindowEntry.Bytes)));
    const end = body.op2(Code.IAdd, T.U64, first, bytes);
    // for (entry = first; entry != end; entry += 32) if (address is in *entry) break;
    const before = body.block;
    const [header, test, next, merge] = [module.bound++, module.bound++, module.bound++, module.bound++];
    const entry = module.bound++, following = module.bound++;
    body.branch(header);
    body.label(header);
    body.words.put(Code.Phi, [module.type(T.U64), entry, first, before, following, next]);
    const more = body.op2(Code.INotEqual, T.Bool, entry, end);
    body.words.put4(Code.LoopMerge, merge, next, 0);
    body.branchIf(more, test, merge);
    body.label(test);
    const range = body.loadAt(T.U64x2, entry, 16);
    const bits = body.loadAt(T.U32, body.op2(Code.IAdd, T.U64, entry, module.u64(WindowEntry.Access)), 4);
    const found = body.op2(Code.BitwiseOr, T.U32, bits, module.u32(FOUND));
    const begin = body.extract(T.U64, range, 0);
    const offset = body.op2(Code.ISub, T.U64, address, begin);
    const size = body.op2(Code.ISub, T.U64, body.extract(T.U64, range, 1), begin);
    body.branchIf(body.op2(Code.ULessThan, T.Bool, offset, size), merge, next);
    body.label(next);
    body.words.put5(Code.IAdd, module.type(T.U64), following, entry, module.u64(WindowEntry.Bytes));
    body.branch(header);
    body.label(merge);
    body.returnValue(body.phi2(T.U32, module.u32(0), header, found, test));
  }, true);
}

/**
 * Loops that a load may keep from ending: one of their exits (or rounds) hangs on a value that is loaded inside. A failed load gives 0, so such a loop
 * could spin for ever, and the fault would never be seen.
 *
 * @returns 1 at each such Loop.
 */
export function loopsOnLoads(ir: Ir): Uint8Array {
  const flagged = new Uint8Array(ir.length);
  const loops: number[] = [];
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] === Op.Loop) loops.push(i);
    else if (ir.op[i] === Op.EndLoop) {
      const start = loops.pop()!;
      if (hangsOnLoads(ir, start, i)) flagged[start] = 1;
    }
  }
  return flagged;
}

function hangsOnLoads(ir: Ir, start: number, end: number): boolean {
  const tainted = new Uint8Array(end - start);
  const isTainted = (value: number) => value > start && value < end && tainted[value - start] !== 0;
  // Twice, because of the back edge.
  for (let round = 0; round < 2; round++) {
    let depth = 0;
    const conditions: boolean[] = [];
    for (let i = start + 1; i < end; i++) {
      const op = ir.op[i];
      const operands = VALUE_OPERANDS[op];
      let taint = op === Op.Load || op === Op.Atomic;
      if (operands & 1) taint ||= isTainted(ir.a[i]);
      if (operands & 2) taint ||= isTainted(ir.b[i]);
      if (operands & 4) taint ||= isTainted(ir.c[i]);
      if (operands & 8) taint ||= isTainted(ir.d[i]);
      if (operands & 16) { for (let k = 0; k < ir.b[i]; k++) taint ||= isTainted(ir.pool[ir.a[i] + k]); }
      if (taint) tainted[i - start] = 1;
      if (op === Op.Loop) depth++;
      else if (op === Op.EndLoop) depth--;
      else if (op === Op.If) conditions.push(taint);
      else if (op === Op.EndIf) conditions.pop();
      else if ((op === Op.Break || op === Op.Continue) && depth === 0 && conditions.includes(true)) return true;
    }
  }
  return false;
}

/** Access bits of LDS accesses in {@linkcode accessInfo}. */
export const LDS_ACCESS = 0;
