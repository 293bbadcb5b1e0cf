import type { AnyAgcError } from "../../errors.ts";
import { type Cfg, Condition } from "../cfg/cfg.ts";
import { Operand } from "../../rdna/instruction.ts";
import { OPCODES } from "../../rdna/table.ts";
import type { Ir } from "../ir/ir.ts";
import { IfKind, Op, type Type } from "../ir/ops.ts";
import type { RecompileRequest } from "../request.ts";
import { groupLayout } from "../stages/group.ts";
import { Token, type Tree } from "../structurize/tree.ts";
import { Lifter } from "./context.ts";
import { HANDLERS } from "./dispatch.ts";
import { answerCounters, scalarLoadsAnew } from "./fences.ts";
import { knowsApertures } from "./flat_apertures.ts";
import { NeedsImageDescriptors } from "./image_descriptor.ts";
import { Refusal, RefusalList } from "./refusal.ts";
import { isBoolSlot, isShadowSlot, Slot, type SlotChanges } from "./slots.ts";
import { emitExports } from "./stages/exports.ts";
import { markWrites } from "./writes.ts";

export { NeedsImageDescriptors };

/**
 * Lifts a structured program to SSA.
 *
 * One walk over the tree's tokens with the register state of the moment (see slots.ts). Where arms join, registers that differ get phis; at a
 * loop, registers that its body may write (from the opcode table) get loop phis.
 *
 * @param cfg the program's blocks
 * @param tree its structured form
 * @param request what the program is compiled for
 * @param refused what was refused of the program before: part of the same error
 * @returns the IR, see ir.ts for its grammar
 * @throws RefusedError `recompiler.unsupported-instruction` that names every instruction that is not implemented
 * @throws NeedsImageDescriptors when image instructions need descriptors that the request lacks
 */
export function lift(cfg: Cfg, tree: Tree, request: RecompileRequest, refused: readonly AnyAgcError[] = []): Ir {
  return new TreeWalk(cfg, tree, request).run(refused);
}

interface IfFrame {
  readonly kind: "if";
  readonly mark: number;
  /** What the first arm changed, once it is done. */
  thenChanges: SlotChanges | null;
  /** An arm never reaches the end: the If is closed behind it, and the other arm follows outside. */
  readonly form: "both" | "then leaves" | "else leaves";
}

interface LoopFrame {
  readonly kind: "loop";
  readonly mark: number;
  readonly outerAllowed: Uint8Array | null;
  /** Slots that the body may write, ascending, without those that hold no value. */
  readonly slots: number[];
  /** LoopPhi by slot index, 0 for absent shadows. */
  readonly phis: number[];
  readonly breaks: Int32Array[];
  readonly continues: Int32Array[];
}

class TreeWalk {
  private readonly l: Lifter;
  private readonly ir: Ir;
  private readonly refusals: RefusalList;
  private readonly frames: (IfFrame | LoopFrame)[] = [];
  /** Written slots by Loop token. */
  private readonly written = new Map<number, Uint8Array>();
  /** By If token: bit 0 the then arm never reaches its end, bit 1 the else arm. */
  private readonly leaves: Uint8Array;
  /** Whether the current position cannot be reached. */
  private dead = false;

  constructor(private readonly cfg: Cfg, private readonly tree: Tree, private readonly request: RecompileRequest) {
    this.refusals = new RefusalList(request);
    this.leaves = findLeavingArms(tree);
    const group = request.group === undefined ? undefined : groupLayout(request, cfg.instructions);
    this.l = new Lifter(request, tree.guardCount, group);
    this.l.knowsApertures = knowsApertures(cfg.instructions);
    this.l.answerCounters = answerCounters(cfg.instructions);
    this.l.loadsAnew = scalarLoadsAnew(cfg);
    this.ir = this.l.ir;
  }

  run(refused: readonly AnyAgcError[]): Ir {
    this.findWrites();
    const { tree } = this;
    for (let t = 0; t < tree.length; t++) {
      switch (tree.token[t]) {
        case Token.Block:
          if (!this.dead) this.block(tree.a[t]);
          break;
        case Token.If:
          t = this.openIf(t);
          break;
        case Token.Else:
          t = this.endThenArm(t);
          break;
        case Token.EndIf:
          t = this.endLastArm(t);
          break;
        case Token.Loop:
          this.openLoop(t);
          break;
        case Token.EndLoop:
          this.closeLoop();
          break;
        case Token.Break:
        case Token.Continue:
          this.leave(tree.token[t] === Token.Break);
          break;
        case Token.SetGuard:
          this.l.state.set(Slot.Guard0 + tree.a[t], tree.b[t] === 1 ? this.l.true : this.l.false);
          break;
        case Token.Return:
          this.finishStage();
          this.ir.emit(Op.End);
          break;
      }
    }
    this.refusals.throwIfAny(refused);
    if (this.l.imageNeeds.length > 0) throw new NeedsImageDescriptors(this.ir, this.l.imageNeeds);
    return this.ir;
  }

  /** What a graphics stage has exported when it ends. */
  private finishStage(): void {
    try {
      emitExports(this.l);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.refusals.add(this.l.instruction, error.message);
    }
  }

  /** The slots that each loop writes, inner loops included: one pass over the tokens. */
  private findWrites(): void {
    const { tree, cfg, l } = this;
    const open: Uint8Array[] = [];
    for (let t = 0; t < tree.length; t++) {
      const token = tree.token[t];
      if (token === Token.Loop) {
        const slots = new Uint8Array(l.state.values.length);
        this.written.set(t, slots);
        open.push(slots);
      } else if (token === Token.EndLoop) {
        const inner = open.pop()!;
        const outer = open.at(-1);
        if (outer !== undefined) { for (let s = 0; s < inner.length; s++) outer[s] |= inner[s]; }
      } else if (open.length > 0) {
        const slots = open[open.length - 1];
        if (token === Token.SetGuard) slots[Slot.Guard0 + tree.a[t]] = 1;
        else if (token === Token.Block) {
          const end = cfg.blockEnd[tree.a[t]];
          for (let i = cfg.blockStart[tree.a[t]]; i < end; i++) markWrites(cfg.instructions[i], l.wave64, slots);
        }
      }
    }
  }

  private block(block: number): void {
    const { cfg, l, ir } = this;
    const end = cfg.blockEnd[block];
    for (let k = cfg.blockStart[block]; k < end; k++) {
      const instruction = cfg.instructions[k];
      l.instruction = instruction;
      ir.currentPc = instruction.pc;
      const handler = HANDLERS[instruction.op];
      if (handler === undefined) {
        this.refusals.add(instruction, `${OPCODES[instruction.op].name} is not implemented`);
        continue;
      }
      try {
        handler(l, instruction);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.refusals.add(instruction, error.message);
      }
    }
    ir.currentPc = cfg.terminatorPc[block];
  }

  /** The token handlers return the last token that is done: the else arm may come first. */
  private openIf(t: number): number {
    const { tree, l, ir } = this;
    const kind = tree.b[t];
    const leaving = this.leaves[t];
    const form = leaving & 1 ? "then leaves" : leaving & 2 ? "else leaves" : "both";
    let condition = this.condition(kind, tree.a[t]);
    if (form === "else leaves") condition = l.not(condition);
    ir.emit(Op.If, condition, this.ifKind(kind, condition));
    this.frames.push({ kind: "if", mark: l.state.mark(), thenChanges: null, form });
    l.scoped.open();
    return form === "else leaves" ? tree.match[t] : t;
  }

  private condition(kind: number, guard: number): number {
    const { l } = this;
    switch (kind) {
      case Condition.Scc0:
        return l.not(l.scc);
      case Condition.Scc1:
        return l.scc;
      case Condition.Vccz:
        return l.not(l.maskAny(Operand.Vcc));
      case Condition.Vccnz:
        return l.maskAny(Operand.Vcc);
      case Condition.Execz:
        return l.not(l.maskAny(Operand.Exec));
      case Condition.Execnz:
        return l.maskAny(Operand.Exec);
      case Condition.GuardClear:
        return l.not(l.state.values[Slot.Guard0 + guard]);
      default:
        return l.state.values[Slot.Guard0 + guard];
    }
  }

  /** Conditions that are Any of a mask may be followed lane by lane later. */
  private ifKind(kind: number, condition: number): number {
    const { ir } = this;
    if (kind === Condition.GuardClear || kind === Condition.GuardSet) return IfKind.Guard;
    while (ir.op[condition] === Op.LNot) condition = ir.a[condition];
    return ir.op[condition] === Op.Any ? IfKind.Wave : IfKind.Scalar;
  }

  private endThenArm(t: number): number {
    const { l, ir, tree } = this;
    const frame = this.frames.at(-1) as IfFrame;
    if (frame.form === "else leaves") {
      // Both arms are done: the else arm came first.
      this.frames.pop();
      return tree.match[t];
    }
    const changes = l.state.collect(frame.mark);
    l.scoped.close();
    if (frame.form === "then leaves") {
      this.dead = false;
      ir.emit(Op.EndIf);
      return t;
    }
    frame.thenChanges = changes;
    ir.emit(Op.Else);
    l.scoped.open();
    return t;
  }

  private endLastArm(t: number): number {
    const { l, ir, tree } = this;
    const frame = this.frames.at(-1) as IfFrame;
    const start = tree.match[t];
    const hasElse = tree.token[tree.match[start]] === Token.Else;
    if (frame.form === "then leaves" && hasElse) {
      this.frames.pop();
      return t;
    }
    if (frame.form !== "both") {
      l.state.collect(frame.mark);
      l.scoped.close();
      ir.emit(Op.EndIf);
      this.dead = false;
      if (frame.form === "else leaves") return start;
      this.frames.pop();
      return t;
    }
    this.frames.pop();
    this.join(frame, l.state.collect(frame.mark));
    return t;
  }

  /** Phis for what the arms left different. */
  private join(frame: IfFrame, last: SlotChanges): void {
    const { l, ir } = this;
    const hasElse = frame.thenChanges !== null;
    const joins = hasElse
      ? joinChanges(frame.thenChanges!, last, l.state.values)
      : joinChanges(last, NO_CHANGES, l.state.values);
    for (const join of joins) {
      if (isBoolSlot(join.slot)) continue;
      // Casts to a common type belong to the arm that is still open.
      if (hasElse) join.elseValue = l.asLike(join.elseValue, ir.type[join.thenValue] as Type);
      else join.thenValue = l.asLike(join.thenValue, ir.type[join.elseValue] as Type);
    }
    l.scoped.close();
    ir.emit(Op.EndIf);
    // Registers with the same values share a phi: copies, and the halves of a mask, which then stay one Bool.
    const made = new Map<number, number>();
    for (const { slot, thenValue, elseValue } of joins) {
      l.state.set(slot, this.joined(slot, thenValue, elseValue, made));
    }
  }

  private joined(slot: number, a: number, b: number, made: Map<number, number>): number {
    if (a === b) return a;
    if (isShadowSlot(slot) && (a === 0 || b === 0)) return 0;
    const key = a * 2 ** 26 + b;
    let phi = made.get(key);
    if (phi === undefined) made.set(key, phi = this.ir.append(Op.Phi, this.ir.type[a] as Type, a, b));
    return phi;
  }

  private openLoop(t: number): void {
    const { l, ir } = this;
    const allowed = this.written.get(t)!;
    const initial = this.initialValues(allowed);
    ir.emit(Op.Loop);
    const frame: LoopFrame = {
      kind: "loop",
      mark: l.state.mark(),
      outerAllowed: l.state.allowed,
      slots: initial.map(({ slot }) => slot),
      phis: [],
      breaks: [],
      continues: [],
    };
    l.state.allowed = allowed;
    for (const { slot, value, sharesPrevious } of initial) {
      let phi = 0;
      if (value !== 0) {
        phi = sharesPrevious ? frame.phis[frame.phis.length - 1] : ir.append(Op.LoopPhi, ir.type[value] as Type, value);
        l.state.set(slot, phi);
      }
      frame.phis.push(phi);
    }
    this.frames.push(frame);
    l.scoped.open();
  }

  /**
   * Values before a loop of what it may write. The shadows of a pair that the loop may write become one Bool, where both have one: each lane has
   * its bit in one half only.
   */
  private initialValues(allowed: Uint8Array): { slot: number; value: number; sharesPrevious: boolean }[] {
    const { l } = this;
    const list: { slot: number; value: number; sharesPrevious: boolean }[] = [];
    for (let slot = 0; slot < allowed.length; slot++) {
      if (allowed[slot] === 0) continue;
      const value = l.state.values[slot];
      list.push({ slot, value, sharesPrevious: false });
      if (!isShadowSlot(slot) || !l.wave64 || slot % 2 !== 0 || allowed[slot + 1] === 0) continue;
      const high = l.state.values[slot + 1];
      if (value === 0 || high === 0) continue;
      const mask = l.ofHalves(value, high);
      list[list.length - 1].value = mask;
      list.push({ slot: slot + 1, value: mask, sharesPrevious: true });
      slot++;
    }
    return list;
  }

  private leave(isBreak: boolean): void {
    const { ir } = this;
    if (this.dead) return;
    const frame = this.frames.findLast((f) => f.kind === "loop") as LoopFrame;
    (isBreak ? frame.breaks : frame.continues).push(this.edge(frame));
    ir.emit(isBreak ? Op.Break : Op.Continue);
    this.dead = true;
  }

  /** The loop's slots at one edge, with the types that the loop phis have. */
  private edge(frame: LoopFrame): Int32Array {
    const { l, ir } = this;
    const values = new Int32Array(frame.slots.length);
    frame.slots.forEach((slot, k) => {
      let value = l.state.values[slot];
      const phi = frame.phis[k];
      if (isShadowSlot(slot)) {
        if (phi !== 0 && k > 0 && frame.phis[k - 1] === phi) value = values[k - 1];
        else if (phi !== 0) {
          value = l.shadowOrBit(slot - Slot.Shadow0);
          if (frame.phis[k + 1] === phi) value = l.ofHalves(value, l.shadowOrBit(slot + 1 - Slot.Shadow0));
        }
      } else if (!isBoolSlot(slot)) value = l.asLike(value, ir.type[phi] as Type);
      values[k] = value;
    });
    return values;
  }

  private closeLoop(): void {
    const { l, ir } = this;
    const frame = this.frames.pop() as LoopFrame;
    if (!this.dead) frame.continues.push(this.edge(frame));
    l.scoped.close();
    ir.emit(Op.LoopCont);
    frame.phis.forEach((phi, k) => {
      if (phi === 0 || (k > 0 && frame.phis[k - 1] === phi)) return;
      const next = frame.continues.length === 0
        ? ir.a[phi]
        : this.edgePhi(Op.ContPhi, ir.type[phi] as Type, frame.continues, k);
      ir.b[phi] = next; // not in one: the arrays may be others behind an append, and JavaScript takes the one on the left first
    });
    ir.emit(Op.EndLoop);
    l.state.collect(frame.mark);
    l.state.allowed = frame.outerAllowed;
    this.dead = frame.breaks.length === 0;
    if (this.dead) return;
    frame.slots.forEach((slot, k) => {
      if (isShadowSlot(slot) && frame.breaks.some((edge) => edge[k] === 0)) return l.state.set(slot, 0);
      if (k > 0 && frame.breaks.every((edge) => edge[k] === edge[k - 1])) {
        return l.state.set(slot, l.state.values[frame.slots[k - 1]]);
      }
      const type = ir.type[frame.breaks[0][k]] as Type;
      l.state.set(slot, this.edgePhi(Op.BreakPhi, type, frame.breaks, k));
    });
  }

  private edgePhi(op: number, type: Type, edges: readonly Int32Array[], k: number): number {
    const { ir } = this;
    return ir.append(op, type, ir.pooled(edges.map((edge) => edge[k])), edges.length);
  }
}

/** By If token: which arms end in a Break, a Continue or an endless loop whatever happens in them (bit 0 then, bit 1 else). */
function findLeavingArms(tree: Tree): Uint8Array {
  const leaves = new Uint8Array(tree.length);
  let dead = false;
  for (let t = 0; t < tree.length; t++) {
    switch (tree.token[t]) {
      case Token.Break:
      case Token.Continue:
        dead = true;
        break;
      case Token.Else: {
        if (dead) leaves[openOf(tree, t)] |= 1;
        dead = false;
        break;
      }
      case Token.EndIf: {
        const start = tree.match[t];
        const hasElse = tree.token[tree.match[start]] === Token.Else;
        if (dead) leaves[start] |= hasElse ? 2 : 1;
        dead = leaves[start] === 3;
        break;
      }
      case Token.EndLoop:
        dead = tree.a[tree.match[t]] === 0;
        break;
    }
  }
  return leaves;
}

/** The If of an Else. */
function openOf(tree: Tree, elseToken: number): number {
  return tree.match[tree.match[elseToken]];
}

const NO_CHANGES: SlotChanges = { slots: [], values: [] };

interface Join {
  readonly slot: number;
  thenValue: number;
  elseValue: number;
}

/** Both arms' values of every slot that changed in one of them; `before` holds what an arm left alone. */
function joinChanges(a: SlotChanges, b: SlotChanges, before: Int32Array): Join[] {
  const joins: Join[] = [];
  let i = 0, k = 0;
  while (i < a.slots.length || k < b.slots.length) {
    const x = i < a.slots.length ? a.slots[i] : Infinity, y = k < b.slots.length ? b.slots[k] : Infinity;
    const slot = Math.min(x, y);
    const thenValue = x === slot ? a.values[i++] : before[slot];
    const elseValue = y === slot ? b.values[k++] : before[slot];
    joins.push({ slot, thenValue, elseValue });
  }
  return joins;
}
