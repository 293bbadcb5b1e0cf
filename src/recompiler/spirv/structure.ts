import type { Ir } from "../ir/ir.ts";
import { Op, OPS } from "../ir/ops.ts";
import { Uniformity } from "../passes/uniformity.ts";
import { Code, LoopControl } from "./codes.ts";
import type { Emitter, HandlerTable } from "./emitter.ts";
import { checkRounds, isEndless, leaveNever, mustCheckRounds } from "./loop_limit.ts";
import type { T } from "./module.ts";

/**
 * Control structure, in the stream's order. If becomes a selection; Loop a loop construct whose continue target holds only the phis of the
 * continue point, so that its label is the predecessor of the back edge. Operands that come later (back values) are patched at the loop's end.
 */

interface IfFrame {
  readonly kind: "if";
  readonly merge: number;
  /** Where the false label of the branch stands in the words; the merge label goes there when there is no Else. */
  readonly falseLabel: number;
  /** Blocks that the arms end in; 0 when nothing falls out of the arm. Without Else, the second is the block of the branch. */
  thenEnd: number;
  elseEnd: number;
  hasElse: boolean;
}

interface LoopFrame {
  readonly kind: "loop";
  readonly header: number;
  readonly merge: number;
  readonly continueTarget: number;
  /** Blocks that jump to the continue target, in stream order. */
  readonly continues: number[];
  /** Blocks that jump to the merge block, in stream order. */
  readonly breaks: number[];
  /** The loop has no Break: the only way out is that the device ends it. */
  readonly endless: boolean;
  /** Where the back values of the loop phis stand in the words, and the phis. */
  readonly backValues: { word: number; phi: number }[];
}

/** Open constructs, and what the last one left for its phis. */
export class StructureState {
  readonly frames: (IfFrame | LoopFrame)[] = [];
  readonly loops: LoopFrame[] = [];
  /**
   * Nothing comes here: behind Break and Continue (no block is open then: `body.block` is 0), or behind a construct that nothing falls out of (its
   * merge block is open).
   */
  unreachable = false;
  /** Predecessors for the phis at the current place. */
  edges: readonly number[] = [];
  /** Operations up to this one have been emitted with an earlier one. */
  done = 0;
  /** Whether the outermost loops are looked at behind them (loop_limit.ts); undefined before the first one. */
  checksRounds: boolean | undefined;
  /** The last operation of the outermost loop that has just ended, its phis included. */
  loopEnds = 0;
}

function startIf(e: Emitter, i: number): void {
  const { ir, body, module, structure } = e;
  let condition = e.use(ir.a[i]);
  const agreed = e.exchange !== undefined && e.exchange.plan.agree[i] !== 0;
  if (agreed) condition = e.exchange!.agree(condition);
  e.convergence?.condition(condition, agreed ? Uniformity.Workgroup : e.conditions![i]);
  const loop = structure.loops.at(-1);
  const first = following(ir, i), leave = ir.op[first];
  const second = following(ir, first);
  if (loop !== undefined && (leave === Op.Break || leave === Op.Continue) && ir.op[second] === Op.EndIf) {
    // `if (c) break;` is a conditional jump out of the loop, which needs no selection construct (specification, "Structured control flow").
    const next = module.bound++;
    (leave === Op.Break ? loop.breaks : loop.continues).push(body.block);
    body.branchIf(condition, leave === Op.Break ? loop.merge : loop.continueTarget, next);
    body.label(next);
    structure.done = second;
    structure.edges = [];
    return;
  }
  const merge = module.bound++, then = module.bound++;
  body.selectionMerge(merge);
  body.branchIf(condition, then, 0);
  structure.frames.push({
    kind: "if",
    merge,
    falseLabel: body.words.length - 1,
    thenEnd: 0,
    elseEnd: body.block,
    hasElse: false,
  });
  body.label(then);
}

/** The next operation that is not a constant: those stand anywhere. */
function following(ir: Ir, i: number): number {
  do i++; while (ir.op[i] === Op.Const || ir.op[i] === Op.Nop);
  return i;
}

function startElse(e: Emitter, i: number): void {
  const { body, module } = e;
  const frame = top(e, i, "if");
  frame.thenEnd = endArm(e, frame.merge);
  frame.hasElse = true;
  const label = module.bound++;
  body.words.data[frame.falseLabel] = label;
  body.label(label);
  e.structure.unreachable = false;
}

function endIf(e: Emitter, i: number): void {
  const { body, structure } = e;
  if (i <= structure.done) return;
  const frame = top(e, i, "if");
  const end = endArm(e, frame.merge);
  if (frame.hasElse) frame.elseEnd = end;
  else {
    frame.thenEnd = end;
    body.words.data[frame.falseLabel] = frame.merge;
  }
  structure.frames.pop();
  body.label(frame.merge);
  structure.unreachable = frame.thenEnd === 0 && frame.elseEnd === 0;
  structure.edges = [frame.thenEnd, frame.elseEnd];
}

/** Ends the current arm with a jump to `merge`, and returns its block, or 0 when nothing falls out of it. */
function endArm(e: Emitter, merge: number): number {
  if (e.structure.unreachable) {
    seal(e);
    return 0;
  }
  const { block } = e.body;
  e.body.branch(merge);
  return block;
}

/** Ends an unreachable block, if one is open. */
function seal(e: Emitter): void {
  if (e.body.block !== 0) e.body.words.put1(Code.Unreachable);
}

function phi(e: Emitter, i: number): void {
  const { ir, body, structure } = e;
  const [thenEnd, elseEnd] = structure.edges;
  if (structure.edges.length !== 2 || thenEnd === 0 || elseEnd === 0) throw broken(e, i, "an arm does not come here");
  const a = e.use(ir.a[i]), b = e.use(ir.b[i]);
  e.ids[i] = a === b ? a : body.phi2(ir.type[i] as T, a, thenEnd, b, elseEnd);
}

function startLoop(e: Emitter, i: number): void {
  const { ir, body, module, structure } = e;
  structure.checksRounds ??= mustCheckRounds(e);
  const frame: LoopFrame = {
    kind: "loop",
    endless: structure.checksRounds && isEndless(ir, i),
    header: module.bound++,
    merge: module.bound++,
    continueTarget: module.bound++,
    continues: [],
    breaks: [],
    backValues: [],
  };
  const before = body.block;
  body.branch(frame.header);
  body.label(frame.header);
  structure.done = i;
  for (let phi = following(ir, i); ir.op[phi] === Op.LoopPhi; phi = following(ir, phi)) {
    e.ids[phi] = body.ops(Code.Phi, ir.type[phi] as T, [e.use(ir.a[phi]), before, 0, frame.continueTarget]);
    frame.backValues.push({ word: body.words.length - 2, phi });
    structure.done = phi;
  }
  structure.frames.push(frame);
  structure.loops.push(frame);
  const first = module.bound++;
  body.words.put4(Code.LoopMerge, frame.merge, frame.continueTarget, ir.a[i] === 1 ? LoopControl.Unroll : 0);
  body.branch(first);
  body.label(first);
  if (frame.endless) leaveNever(e, frame.merge);
  if (e.loopsOnLoads !== undefined && e.loopsOnLoads[i] !== 0) {
    e.faults.declare();
    e.faults.report();
  }
}

function loopPhi(e: Emitter, i: number): void {
  if (i > e.structure.done) throw broken(e, i, "stands elsewhere than right behind Loop");
}

function leave(e: Emitter, i: number): void {
  const { ir, body, structure } = e;
  if (i <= structure.done) return;
  const loop = structure.loops.at(-1);
  if (loop === undefined) throw broken(e, i, "stands in no loop");
  if (body.block === 0) throw broken(e, i, "stands behind another jump");
  const isBreak = ir.op[i] === Op.Break;
  // From an unreachable block it is an edge all the same: the program's phis have a value for it.
  (isBreak ? loop.breaks : loop.continues).push(body.block);
  body.branch(isBreak ? loop.merge : loop.continueTarget);
  body.block = 0;
  structure.unreachable = true;
}

function loopCont(e: Emitter, i: number): void {
  const { ir, body, structure } = e;
  const frame = top(e, i, "loop");
  const next = following(ir, i);
  const counted = ir.op[next] === Op.ContPhi ? ir.b[next] : -1;
  const falls = !structure.unreachable || (body.block !== 0 && counted === frame.continues.length + 1);
  if (falls) {
    frame.continues.push(body.block);
    body.branch(frame.continueTarget);
  } else seal(e);
  body.label(frame.continueTarget);
  structure.edges = frame.continues;
  structure.unreachable = false;
}

function endLoop(e: Emitter, i: number): void {
  const { ir, body, structure } = e;
  const frame = top(e, i, "loop");
  if (body.block !== frame.continueTarget) throw broken(e, i, "the continue point holds more than phis");
  body.branch(frame.header);
  for (const { word, phi } of frame.backValues) {
    const back = ir.b[phi];
    // A loop that never repeats may have no back value.
    const id = back === 0 ? e.module.undef(ir.type[phi] as T) : e.use(back);
    body.words.data[word] = id;
  }
  structure.frames.pop();
  structure.loops.pop();
  body.label(frame.merge);
  structure.unreachable = frame.breaks.length === 0;
  structure.edges = frame.breaks;
  if (frame.endless) return checkRounds(e, ir.pc[i]);
  if (structure.loops.length !== 0 || structure.unreachable || !structure.checksRounds) return;
  // Phis come first.
  structure.loopEnds = i;
  for (let phi = following(ir, i); ir.op[phi] === Op.BreakPhi; phi = following(ir, phi)) structure.loopEnds = phi;
  if (structure.loopEnds === i) checkRounds(e, ir.pc[i]);
}

function breakPhi(e: Emitter, i: number): void {
  edgePhi(e, i);
  if (i === e.structure.loopEnds) checkRounds(e, e.ir.pc[i]);
}

/** ContPhi and BreakPhi: one value per edge. One value for all edges needs no phi. */
function edgePhi(e: Emitter, i: number): void {
  const { ir, body, module, structure } = e;
  const count = ir.b[i], from = ir.a[i], { edges } = structure;
  if (count !== edges.length) throw broken(e, i, `${count} values for ${edges.length} edges`);
  if (count === 0) {
    e.ids[i] = module.undef(ir.type[i] as T);
    return;
  }
  const operands: number[] = [];
  let same = true;
  for (let k = 0; k < count; k++) {
    const id = e.use(ir.pool[from + k]);
    if (k > 0 && id !== operands[0]) same = false;
    operands.push(id, edges[k]);
  }
  e.ids[i] = same ? operands[0] : body.ops(Code.Phi, ir.type[i] as T, operands);
}

function end(e: Emitter, i: number): void {
  if (e.structure.frames.length !== 0) throw broken(e, i, "a construct is still open");
  if (e.structure.unreachable) return seal(e);
  e.faults.report();
  e.finish?.();
  e.body.return();
}

function top<K extends "if" | "loop">(e: Emitter, i: number, kind: K): Extract<IfFrame | LoopFrame, { kind: K }> {
  const frame = e.structure.frames.at(-1);
  if (frame === undefined || frame.kind !== kind) throw broken(e, i, `no open ${kind} to belong to`);
  return frame as Extract<IfFrame | LoopFrame, { kind: K }>;
}

/** A stream that breaks the grammar of ir.ts: an error of a pass, not of the guest. */
function broken(e: Emitter, i: number, why: string): Error {
  const { ir } = e;
  return new Error(`malformed IR: operation ${i} (${OPS[ir.op[i]].name}, pc 0x${ir.pc[i].toString(16)}): ${why}`);
}

/** Handlers of this file. */
export const STRUCTURE: HandlerTable = {
  If: startIf,
  Else: startElse,
  EndIf: endIf,
  Phi: phi,
  Loop: startLoop,
  LoopPhi: loopPhi,
  Break: leave,
  Continue: leave,
  LoopCont: loopCont,
  ContPhi: edgePhi,
  EndLoop: endLoop,
  BreakPhi: breakPhi,
  End: end,
};
