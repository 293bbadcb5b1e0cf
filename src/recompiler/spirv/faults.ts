import { Context, FaultRecord } from "../abi.ts";
import type { Ir } from "../ir/ir.ts";
import { Op } from "../ir/ops.ts";
import { Code, Scope, Semantics, Storage } from "./codes.ts";
import type { Emitter } from "./emitter.ts";
import { PUSH_MEMBERS, T } from "./module.ts";
import type { RuntimeFunctions } from "./runtime/functions.ts";
import { VALUE_OPERANDS } from "./usage.ts";

/**
 * Failing accesses. An invocation remembers its first one (what and where, in two private variables), and goes on; the fault record is written at the
 * end of the program, and at the start of each round of a loop that a failed load could keep from ending. So an access costs two selects, and no branch.
 * Why it failed, the host finds out (fault_record.ts).
 */

/** Accesses that are folded into the private variables at a time: more need fewer instructions, but keep more registers alive. */
const FOLD = 4;

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

  /** Whether there are private variables. */
  get declared(): boolean {
    return this.infoVariable !== 0;
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

/** Id of `recordFault(address: U64, info: U32)`: writes the fault record unless a fault is there already. */
export function recordFault(functions: RuntimeFunctions): number {
  return functions.get("recordFault", T.Void, [T.U64, T.U32], (body) => {
    const { module } = body;
    const [address, info] = body.parameters;
    const context = body.push(PUSH_MEMBERS.context);
    const at = (offset: number) => offset === 0 ? context : body.op2(Code.IAdd, T.U64, context, module.u64(offset));
    const relaxed = module.u32(Semantics.None);
    const before = body.ops(Code.AtomicCompareExchange, T.U32, [
      body.pointerAt(T.U32, at(Context.Fault + FaultRecord.State)),
      module.u32(Scope.Device),
      relaxed,
      relaxed,
      module.u32(1),
      module.u32(0),
    ]);
    body.when(body.op2(Code.IEqual, T.Bool, before, module.u32(0)), () => {
      body.storeAt(T.U32, at(Context.Fault + FaultRecord.Info), info, 4);
      body.storeAt(T.U64, at(Context.Fault + FaultRecord.Address), address, 8);
    });
    body.return();
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
