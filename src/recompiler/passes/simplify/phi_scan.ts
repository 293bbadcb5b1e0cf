/** What simplify finds out about a program's phis before it walks: which are trivial, which should have the other 32-bit type. */
import type { Ir } from "../../ir/ir.ts";
import { Op, Type } from "../../ir/ops.ts";

/** Result of {@linkcode scanPhis}; arrays are indexed by operation. */
export interface PhiScan {
  /** Whether a constant stands between a construct and one of its phis. */
  ragged: boolean;
  /** If -> its EndIf, Loop -> its EndLoop. */
  readonly end: Int32Array;
  /** If -> its Else, or 0; Loop -> its LoopCont; Break and Continue -> their number among those of the loop. */
  readonly middle: Int32Array;
  /** Whether an If's then arm (bit 0) or else arm (bit 1) holds a Break or Continue of a loop around the If. */
  readonly leaves: Uint8Array;
  /** Trivial phis -> the value they are; 0 for everything else. */
  readonly alias: Int32Array;
  /** 1 for a LoopPhi (and its ContPhi) whose inputs are all casts from the other 32-bit type. */
  readonly retyped: Uint8Array;
}

/** Scans the structure and the phis. */
export function scanPhis(ir: Ir): PhiScan {
  const scan: PhiScan = {
    ragged: false,
    end: new Int32Array(ir.length),
    middle: new Int32Array(ir.length),
    leaves: new Uint8Array(ir.length),
    alias: new Int32Array(ir.length),
    retyped: new Uint8Array(ir.length),
  };
  const phis: number[] = [];
  const until = scanStructure(ir, scan, phis);
  if (phis.length > 0) {
    findTrivial(ir, scan, phis, until);
    findRetyped(ir, scan, phis);
  }
  return scan;
}

/** The value behind trivial phis. */
export function behindAliases(alias: Int32Array, id: number): number {
  while (alias[id] !== 0) id = alias[id];
  return id;
}

/** Fills the structure and returns up to where each value can be used. */
function scanStructure(ir: Ir, scan: PhiScan, phis: number[]): Int32Array {
  const { end, middle, leaves } = scan;
  const scopes: number[] = [];
  const scopeOf = new Int32Array(ir.length);
  const scopeEnd: number[] = [ir.length];
  const open: { at: number; scope: number; breaks: number; continues: number }[] = [];
  let scope = 0;
  const enter = () => {
    scopes.push(scope);
    scope = scopeEnd.length;
    scopeEnd.push(0);
  };
  const exit = (i: number) => {
    scopeEnd[scope] = i;
    scope = scopes.pop()!;
  };
  for (let i = 0; i < ir.length; i++) {
    const op = ir.op[i];
    switch (op) {
      case Op.If:
      case Op.Loop:
        enter();
        open.push({ at: i, scope, breaks: 0, continues: 0 });
        break;
      case Op.Else:
        middle[open[open.length - 1].at] = i;
        exit(i);
        enter();
        break;
      case Op.LoopCont:
        middle[open[open.length - 1].at] = i;
        break;
      case Op.EndIf:
      case Op.EndLoop:
        end[open.pop()!.at] = i;
        exit(i);
        break;
      case Op.Break:
      case Op.Continue: {
        let k = open.length - 1;
        for (; ir.op[open[k].at] === Op.If; k--) leaves[open[k].at] |= middle[open[k].at] === 0 ? 1 : 2;
        middle[i] = op === Op.Break ? open[k].breaks++ : open[k].continues++;
        break;
      }
      case Op.Phi:
      case Op.LoopPhi:
      case Op.ContPhi:
      case Op.BreakPhi:
        phis.push(i);
        if (ir.op[i - 1] === Op.Const || ir.op[i - 1] === Op.Nop) scan.ragged = true;
        break;
    }
    scopeOf[i] = scope;
  }
  const until = scopeOf;
  for (let i = 0; i < ir.length; i++) until[i] = scopeEnd[scopeOf[i]];
  return until;
}

/** A phi is trivial when it has one input beside itself, and that can be used where the phi stands. */
function findTrivial(ir: Ir, { alias }: PhiScan, phis: readonly number[], until: Int32Array): void {
  const real = (id: number) => behindAliases(alias, id);
  const usable = (id: number, at: number) => ir.op[id] === Op.Const || (id < at && at < until[id]);
  // Inner loops first make outer ones trivial; a few rounds suffice, and stopping early only leaves phis.
  for (let round = 0, changed = true; changed && round < 8; round++) {
    changed = false;
    for (const phi of phis) {
      if (alias[phi] !== 0) continue;
      const only = onlyInput(ir, phi, real);
      if (only > 0 && usable(only, phi)) {
        alias[phi] = only;
        changed = true;
      }
    }
  }
}

/** The one input of a phi beside itself, 0 if there are several (or none). */
function onlyInput(ir: Ir, phi: number, real: (id: number) => number): number {
  if (ir.op[phi] === Op.Phi) {
    const a = real(ir.a[phi]);
    return a === real(ir.b[phi]) ? a : 0;
  }
  if (ir.op[phi] === Op.LoopPhi) {
    const initial = real(ir.a[phi]), next = real(ir.b[phi]);
    if (next === phi || next === initial) return initial;
    if (ir.op[next] !== Op.ContPhi) return 0;
    for (let k = 0; k < ir.b[next]; k++) {
      const value = real(ir.pool[ir.a[next] + k]);
      if (value !== phi && value !== initial) return 0;
    }
    return initial;
  }
  let only = 0;
  for (let k = 0; k < ir.b[phi]; k++) {
    const value = real(ir.pool[ir.a[phi] + k]);
    if (only === 0) only = value;
    else if (value !== only) return 0;
  }
  return only;
}

function findRetyped(ir: Ir, { alias, retyped }: PhiScan, phis: readonly number[]): void {
  const loopPhis = phis.filter((phi) => ir.op[phi] === Op.LoopPhi && alias[phi] === 0);
  const users = new Int32Array(ir.length);
  for (const phi of loopPhis) users[behindAliases(alias, ir.b[phi])]++;
  for (const phi of loopPhis) {
    if (ir.type[phi] !== Type.U32 && ir.type[phi] !== Type.F32) continue;
    const cast = ir.type[phi] === Type.U32 ? Op.BitcastU : Op.BitcastF;
    const isCast = (id: number) => ir.op[behindAliases(alias, id)] === cast;
    const fits = (id: number) => {
      const value = behindAliases(alias, id);
      return value === phi || ir.op[value] === cast || ir.op[value] === Op.Const;
    };
    if (!fits(ir.a[phi])) continue;
    const next = behindAliases(alias, ir.b[phi]);
    if (ir.op[next] !== Op.ContPhi) {
      if (isCast(next)) retyped[phi] = 1;
      continue;
    }
    const inputs = ir.pool.slice(ir.a[next], ir.a[next] + ir.b[next]);
    if (users[next] === 1 && inputs.every(fits) && inputs.some(isCast)) retyped[phi] = retyped[next] = 1;
  }
}
