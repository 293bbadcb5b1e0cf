/**
 * Loops on devices that end them: Mesa's llvmpipe leaves all loops of an invocation together 65,535 rounds (LP_MAX_TGSI_LOOP_ITERATIONS; lanes that it executes
 * together count together, and one in a branch that no lane takes counts a round). Then it goes on behind the loop as if it had ended.
 *
 * What is used up stays so, for every later loop. So programs need not count: behind each outermost loop they run one of four rounds, and if that is ended
 * early, the one before may have been. The fault record gets the loop's pc then (fault_record.ts, LoopLimit). Compilers must not know that the loop has four rounds.
 */
import { Context } from "../abi.ts";
import { loopLimitInfo } from "../fault_record.ts";
import type { Ir } from "../ir/ir.ts";
import { Op } from "../ir/ops.ts";
import { indexStructure, type StructureIndex } from "../passes/structure.ts";
import { Uniformity } from "../passes/uniformity.ts";
import { Code } from "./codes.ts";
import type { Emitter } from "./emitter.ts";
import { recordFault } from "./faults.ts";
import { PUSH_MEMBERS, T } from "./module.ts";
import type { RuntimeFunctions } from "./runtime/functions.ts";

/** Rounds that a program may take without being looked at; far from the limit, because loops in branches count too. */
const SMALL = 30_000;
/** Rounds of the loop that looks. */
const ROUNDS = 4;

/** Whether the program's loops must be looked at on this device. */
export function mustCheckRounds(e: Emitter): boolean {
  const { ir, usage, request } = e;
  if (request.device.endsLoops !== true) return false;
  // Without a store nobody sees what a loop computed.
  if (usage.present[Op.Store] === 0 && usage.present[Op.Atomic] === 0) return false;
  return totalRounds(ir) > SMALL;
}

/** Whether a loop has no Break. */
export function isEndless(ir: Ir, loop: number): boolean {
  let depth = 0;
  for (let i = loop + 1; depth >= 0; i++) {
    if (ir.op[i] === Op.Loop) depth++;
    else if (ir.op[i] === Op.EndLoop) depth--;
    else if (ir.op[i] === Op.Break && depth === 0) return false;
  }
  return true;
}

/** Leaves a loop without a Break on a condition that never holds, which no compiler knows: else what is behind the loop could not be reached. */
export function leaveNever({ body, module, convergence }: Emitter, merge: number): void {
  const zeros = body.op2(Code.IAdd, T.U64, body.push(PUSH_MEMBERS.context), module.u64(Context.Zero));
  const zero = body.loadAt(T.U32, zeros, 4, true);
  const next = module.bound++;
  const never = body.op2(Code.INotEqual, T.Bool, zero, module.u32(0));
  convergence?.condition(never, Uniformity.Workgroup);
  body.branchIf(never, merge, next);
  body.label(next);
}

/** Emits the look behind an outermost loop whose branch stands at `pc`. */
export function checkRounds(e: Emitter, pc: number): void {
  e.body.call(checkFunction(e.functions), T.Void, [e.module.u32(loopLimitInfo(pc))]);
}

/** Id of `checkRounds(info: U32)`. */
function checkFunction(functions: RuntimeFunctions): number {
  return functions.get("checkRounds", T.Void, [T.U32], (body) => {
    const { module } = body;
    const [info] = body.parameters;
    const zeros = body.op2(Code.IAdd, T.U64, body.push(PUSH_MEMBERS.context), module.u64(Context.Zero));
    const rounds = (at: number) => {
      const address = at === 0 ? zeros : body.op2(Code.IAdd, T.U64, zeros, module.u64(at));
      return body.op2(Code.IAdd, T.U32, body.loadAt(T.U32, address, 4, true), module.u32(ROUNDS));
    };
    const wanted = rounds(0), compared = rounds(4);
    const header = module.bound++, merge = module.bound++, again = module.bound++;
    const before = body.block;
    const next = module.bound++;
    body.branch(header);
    body.label(header);
    const count = body.ops(Code.Phi, T.U32, [module.u32(0), before, next, again]);
    body.words.put5(Code.IAdd, module.type(T.U32), next, count, module.u32(1));
    const more = body.op2(Code.ULessThan, T.Bool, next, wanted);
    body.words.put4(Code.LoopMerge, merge, again, 0);
    body.branchIf(more, again, merge);
    body.label(again);
    body.branch(header);
    body.label(merge);
    body.when(body.op2(Code.ULessThan, T.Bool, next, compared), () => {
      body.call(recordFault(functions), T.Void, [module.u64(0), info]);
    });
    body.return();
  });
}

/** Most rounds that all loops take together; Infinity where it is not known. */
function totalRounds(ir: Ir): number {
  return sumOfRounds(ir, false);
}

/**
 * Whether loops that were made of unrolled code (passes/reroll.ts) may bring a program to the limit that did well without them: there are more than a few
 * rounds in all, or they stand in a loop of unknown length, whose rounds may be as many as the limit allows.
 */
export function takesMoreRounds(before: Ir, after: Ir): boolean {
  const total = totalRounds(after);
  if (total <= SMALL || before === after) return false;
  return total < Infinity || sumOfRounds(after, true) > sumOfRounds(before, true);
}

/** Rounds of all loops; `each`: only of loops of unknown length and in such, for each round of those. */
function sumOfRounds(ir: Ir, each: boolean): number {
  const structure = indexStructure(ir);
  let total = 0;
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Loop) continue;
    let product = 1, counts = !each;
    for (let loop = i; loop >= 0; loop = structure.loopOf[loop]) {
      const rounds = roundsOf(ir, structure, loop);
      if (rounds === Infinity) counts = true;
      product *= rounds === Infinity && each ? 1 : rounds;
    }
    if (counts) total += product;
  }
  return total;
}

/** Most rounds of a loop that counts from a constant to another by 1 or more, and leaves at the top of its body; else Infinity. */
function roundsOf(ir: Ir, structure: StructureIndex, loop: number): number {
  for (let i = loop + 1; i < structure.endOf[loop]; i++) {
    if (ir.op[i] !== Op.If || structure.parentOf[i] !== loop || structure.loopOf[i] !== loop) continue;
    if (!leavesAlways(ir, structure, i)) continue;
    const rounds = countedBy(ir, structure, ir.a[i], loop);
    if (rounds > 0) return rounds;
  }
  return Infinity;
}

/** Whether the first arm of an If is nothing but a Break. */
function leavesAlways(ir: Ir, { elseOf }: StructureIndex, index: number): boolean {
  for (let i = index + 1; i < elseOf[index]; i++) {
    if (ir.op[i] === Op.Const || ir.op[i] === Op.Nop) continue;
    return ir.op[i] === Op.Break;
  }
  return false;
}

/** Rounds until a condition on a counter holds; 0 when that is not known. */
function countedBy(ir: Ir, structure: StructureIndex, condition: number, loop: number): number {
  let negated = false, compare = condition;
  while (ir.op[compare] === Op.LNot) {
    negated = !negated;
    compare = ir.a[compare];
  }
  const op = ir.op[compare], a = ir.a[compare], b = ir.b[compare];
  const constant = (value: number) => ir.op[value] === Op.Const;
  // "i >= limit" or "i == limit" leaves, counting upwards.
  let counter: number, limit: number;
  if (op === Op.ULt && negated && constant(b)) [counter, limit] = [a, b];
  else if (op === Op.ULe && !negated && constant(a)) [counter, limit] = [b, a];
  else if (op === Op.IEq && !negated && constant(b)) [counter, limit] = [a, b];
  else if (op === Op.INe && negated && constant(b)) [counter, limit] = [a, b];
  else return 0;
  const exact = op === Op.IEq || op === Op.INe;
  const phi = ir.op[counter] === Op.IAdd && constant(ir.b[counter]) ? ir.a[counter] : counter;
  if (ir.op[phi] !== Op.LoopPhi || phi < loop || structure.parentOf[phi] !== loop || !constant(ir.a[phi])) return 0;
  const step = stepOf(ir, phi);
  const first = ir.a[ir.a[phi]] >>> 0, end = ir.a[limit] >>> 0;
  if (step <= 0 || first > end || end + step > 0xffff_ffff || exact && (end - first) % step !== 0) return 0;
  const offset = counter === phi ? 0 : ir.a[ir.b[counter]];
  if (offset !== 0 && offset !== step) return 0;
  return Math.ceil((end - first) / step) + 1;
}

/** What a counter grows by in each round, on all ways to the next one; 0 when that is not known. */
function stepOf(ir: Ir, phi: number): number {
  let back = ir.b[phi];
  if (ir.op[back] === Op.ContPhi) {
    const first = ir.pool[ir.a[back]];
    for (let k = 1; k < ir.b[back]; k++) if (ir.pool[ir.a[back] + k] !== first) return 0;
    back = first;
  }
  return ir.op[back] === Op.IAdd && ir.a[back] === phi && ir.op[ir.b[back]] === Op.Const ? ir.a[ir.b[back]] : 0;
}
