/** Program trees as machine code. */
import { Operand } from "../../../src/rdna/instruction.ts";
import { Code, type Label } from "../code.ts";
import { int, v } from "../encode.ts";
import { COMMON_LDS } from "./generate.ts";
import { leavesRound, partsOf, type ProgramTree, S0, SCALARS, type Statement, V0, VECTORS } from "./tree.ts";

/** Words of a thread's outputs: vectors, then scalars, SCC and two LDS words. */
export const OUTPUT = 24;
/** Saved EXEC of the start, first mask and first counter by depth. */
const START = 62, MASKS = 32, COUNTERS = 80;
/** The same in subroutines, which nest less deeply. */
const CALLEE_MASKS = 64, CALLEE_COUNTERS = 96;
/** Masks of the lanes that skip the rest of a round, by depth: for loops that are not nested more deeply. */
const SKIPPED = 88, SKIPPED_DEPTHS = 4;
/** Return address. */
const RETURN = 60;
/** Number of the workgroup's last thread: the last workgroup of a dispatch with a thread limit has fewer. */
const LAST_THREAD = 10;

/** The machine code of a tree. */
export interface EmittedTree {
  readonly code: Uint32Array<ArrayBuffer>;
  /** Byte ranges of what is the same in all programs: inputs are loaded, results are stored. */
  readonly frame: { start: number; end: number }[];
}

/** Writes a tree down. It finds its data at s[0:1], its outputs at s[2:3], the scalars of all groups at s[4:5], and its group in s6. */
export function emitTree(tree: ProgramTree): EmittedTree {
  const emitter = new Emitter(tree), code = Uint32Array.from(emitter.run());
  return { code, frame: emitter.frame };
}

/** The loop that lanes can leave. */
interface OpenLoop {
  /** Mask of the lanes that have left. */
  gone: number;
  /** Mask of those that skip the rest of the round; -1 where nobody does. */
  skipped: number;
  /** Where the round ends. */
  latch: Label;
}

/** The loop of the whole wave that it may go on with from where it is. */
interface Round {
  counter: number;
  start: Label;
  end: Label;
}

class Emitter {
  readonly #code = new Code();
  readonly #suffix: string;
  /** Words of a lane mask. */
  readonly #pair: number;
  readonly #callees: Label[];
  #depth = 0;
  #inCallee = false;
  #open: OpenLoop | null = null;
  #round: Round | null = null;

  constructor(private readonly tree: ProgramTree) {
    const { waveSize } = tree.settings;
    this.#suffix = `_b${waveSize}`;
    this.#pair = waveSize / 32;
    this.#callees = tree.subroutines.map(() => this.#code.label());
  }

  /** See {@linkcode EmittedTree}. */
  readonly frame: { start: number; end: number }[] = [];

  run(): number[] {
    this.#prologue();
    this.frame.push({ start: 0, end: this.#code.at * 4 });
    this.#list(this.tree.body);
    const start = this.#code.at * 4;
    this.#epilogue();
    this.frame.push({ start, end: this.#code.at * 4 });
    this.tree.subroutines.forEach((body, k) => {
      this.#code.bind(this.#callees[k]);
      this.#depth = 0;
      this.#inCallee = true;
      this.#list(body);
      this.#code.sop1("s_setpc_b64", 0, RETURN);
    });
    return this.#code.words;
  }

  #mask(op: string, dst: number, a: number, b?: number): void {
    if (b === undefined) this.#code.sop1(op + this.#suffix, dst, a);
    else this.#code.sop2(op + this.#suffix, dst, a, b);
  }

  /** Thread number, inputs, LDS. */
  #prologue(): void {
    const { settings } = this.tree;
    const code = this.#code;
    this.#mask("s_mov", START, Operand.Exec);
    code.sop2("s_mul_i32", 7, 6, Operand.Literal, settings.threads);
    code.vop("v_add_nc_u32", v(1), 7, v(0));
    code.vop("v_lshlrev_b32", v(2), int(5), v(1));
    for (let k = 0; k < VECTORS / 4; k++) {
      code.flat("global_load_dwordx4", { dst: v(V0 + 4 * k), addr: v(2), saddr: 0, offset: 16 * k });
    }
    code.sop2("s_mul_i32", 7, 6, int(SCALARS * 4));
    code.smem("s_load_dwordx8", { data: S0, base: 4, soffset: 7 });
    code.smem("s_load_dwordx4", { data: S0 + 8, base: 4, soffset: 7, offset: 32 });
    code.vop3("v_mul_lo_u32", { dst: v(3), src: [v(1), Operand.Literal], literal: OUTPUT * 4 });
    // The lane's own words of LDS, and the common ones by the first lanes of every wave.
    code.sopp("s_waitcnt", 0);
    code.vop("v_lshlrev_b32", v(12), int(3), v(0));
    code.ds("ds_write_b32", { addr: v(12), data: v(V0) });
    code.ds("ds_write_b32", { addr: v(12), data: v(V0 + 1), offset: 4 });
    code.vop("v_and_b32", v(12), int(15), v(0));
    code.vop("v_lshlrev_b32", v(12), int(2), v(12));
    code.vop("v_mov_b32", v(13), int(0));
    code.ds("ds_write_b32", { addr: v(12), data: v(13), offset: COMMON_LDS });
    code.sopp("s_waitcnt", 0);
    code.sopp("s_barrier");
    if (settings.limit !== undefined) {
      code.sop1("s_mov_b32", LAST_THREAD, Operand.Literal, settings.threads - 1);
      code.sopc("s_cmp_eq_u32", 6, int(settings.groups - 1));
      const last = settings.limit - settings.threads * (settings.groups - 1) - 1;
      code.sop2("s_cselect_b32", LAST_THREAD, Operand.Literal, LAST_THREAD, last);
    }
    code.sopc("s_cmp_lg_u32", int(0), int(0));
    this.#mask("s_mov", Operand.Vcc, int(0));
  }

  /** Stores everything in the lanes of the start. */
  #epilogue(): void {
    const code = this.#code;
    code.sop2("s_cselect_b32", 7, int(1), int(0));
    this.#mask("s_mov", Operand.Exec, START);
    for (let k = 0; k < VECTORS; k += 4) this.#store(v(V0 + k), 4 * k);
    for (let k = 0; k < SCALARS; k += 4) {
      for (let j = 0; j < 4; j++) code.vop("v_mov_b32", v(12 + j), S0 + k + j);
      this.#store(v(12), 4 * (VECTORS + k));
    }
    code.sopp("s_barrier");
    code.vop("v_lshlrev_b32", v(2), int(3), v(0));
    code.ds("ds_read_b32", { addr: v(2), dst: v(12) });
    code.ds("ds_read_b32", { addr: v(2), dst: v(13), offset: 4 });
    code.vop("v_and_b32", v(2), int(7), v(0));
    code.vop("v_lshlrev_b32", v(2), int(2), v(2));
    code.ds("ds_read_b32", { addr: v(2), dst: v(14), offset: COMMON_LDS });
    code.vop("v_mov_b32", v(15), 7);
    code.sopp("s_waitcnt", 0);
    this.#store(v(12), 4 * (VECTORS + SCALARS));
    code.sopp("s_endpgm");
  }

  #store(data: number, offset: number): void {
    this.#code.flat("global_store_dwordx4", { addr: v(3), data, saddr: 2, offset });
  }

  #list(list: readonly Statement[]): void {
    for (const statement of list) this.#statement(statement);
  }

  /** A body one level deeper, in a loop of its own kind if `open` is given; in a loop of the whole wave where that may go on from inside. */
  #inner(list: readonly Statement[], open = this.#open, round: Round | null = null): void {
    const outer = this.#open, outerRound = this.#round;
    this.#open = open;
    this.#round = round;
    this.#depth++;
    this.#list(list);
    this.#depth--;
    this.#open = outer;
    this.#round = outerRound;
  }

  #statement(statement: Statement): void {
    const code = this.#code;
    switch (statement.kind) {
      case "code":
      case "lds":
        return code.emit(statement.words);
      case "if":
        return this.#if(statement);
      case "waveIf":
        return this.#waveIf(statement);
      case "loop":
        return this.#loop(statement);
      case "leave":
        return this.#leave(statement);
      case "waveLoop":
        return this.#waveLoop(statement);
      case "next":
        return this.#next(statement);
      case "waterfall":
        return this.#waterfall(statement);
      case "exchange":
        return this.#exchange(statement);
      case "call":
        return this.#call(statement.callee, statement.short);
      case "ladder":
        return this.#ladder(statement.scalar, statement.steps);
    }
  }

  /** Masks of this depth: two of them. */
  #saved(second = false): number {
    const [first, end] = this.#inCallee ? [CALLEE_MASKS, COUNTERS] : [MASKS, RETURN];
    const register = first + this.#depth * 2 * this.#pair + (second ? this.#pair : 0);
    if (register + this.#pair > end) throw new Error("too deep");
    return register;
  }

  #if({ style, skip, condition, body, otherwise }: Statement & { kind: "if" }): void {
    const code = this.#code;
    const saved = this.#saved(), end = code.label(), middle = code.label();
    code.emit(condition);
    if (style === "llvm") {
      // s_and_saveexec, s_xor: the lanes of the other arm; s_or_saveexec, s_xor; s_or.
      code.sop1("s_and_saveexec" + this.#suffix, saved, Operand.Vcc);
      if (otherwise !== null) this.#mask("s_xor", saved, Operand.Exec, saved);
      if (skip) code.branch("s_cbranch_execz", otherwise === null ? end : middle);
      this.#inner(body);
      if (otherwise !== null) {
        code.bind(middle);
        code.sop1("s_or_saveexec" + this.#suffix, saved, saved);
        this.#mask("s_xor", Operand.Exec, Operand.Exec, saved);
        if (skip) code.branch("s_cbranch_execz", end);
        this.#inner(otherwise);
      }
      code.bind(end);
      this.#mask("s_or", Operand.Exec, Operand.Exec, saved);
      return this.#dropLeft(otherwise === null ? [body] : [body, otherwise], skip);
    }
    // ACO keeps the mask from before and the condition's lanes apart.
    const taken = this.#saved(true);
    this.#mask("s_mov", saved, Operand.Exec);
    this.#mask("s_and", taken, Operand.Vcc, Operand.Exec);
    if (style === "aco") this.#mask("s_and", Operand.Exec, Operand.Exec, Operand.Vcc);
    else this.#mask("s_mov", Operand.Exec, taken);
    if (skip) code.branch("s_cbranch_execz", middle);
    this.#inner(body);
    code.bind(middle);
    if (otherwise !== null) {
      this.#mask("s_andn2", Operand.Exec, saved, taken);
      if (skip) code.branch("s_cbranch_execz", end);
      this.#inner(otherwise);
    }
    code.bind(end);
    this.#mask("s_mov", Operand.Exec, saved);
    this.#dropLeft(otherwise === null ? [body] : [body, otherwise], skip);
  }

  /** Behind a condition whose end switches lanes on again: not those that left the round inside. */
  #dropLeft(parts: readonly Statement[][], skip: boolean): void {
    const open = this.#open;
    if (open === null) return;
    const again = open.skipped >= 0 && parts.some((part) => leavesRound(part, true));
    const gone = parts.some((part) => leavesRound(part, false));
    if (gone) this.#mask("s_andn2", Operand.Exec, Operand.Exec, open.gone);
    if (again) this.#mask("s_andn2", Operand.Exec, Operand.Exec, open.skipped);
    if ((gone || again) && skip) this.#code.branch("s_cbranch_execz", open.latch);
  }

  /** Lanes leave the loop or the round: they are gathered, and EXEC loses them. */
  #leave({ again, condition }: Statement & { kind: "leave" }): void {
    const code = this.#code;
    code.emit(condition);
    const open = this.#open;
    const mask = open === null ? -1 : again ? open.skipped : open.gone;
    if (mask < 0) return;
    this.#mask("s_and", Operand.Vcc, Operand.Exec, Operand.Vcc);
    this.#mask("s_or", mask, mask, Operand.Vcc);
    this.#mask("s_andn2", Operand.Exec, Operand.Exec, Operand.Vcc);
  }

  #waveIf({ on, whenSet, condition, body, otherwise }: Statement & { kind: "waveIf" }): void {
    const code = this.#code;
    const end = code.label(), other = code.label();
    code.emit(condition);
    const branches = on === "scc" ? ["s_cbranch_scc0", "s_cbranch_scc1"] : ["s_cbranch_vccz", "s_cbranch_vccnz"];
    code.branch(branches[whenSet ? 0 : 1], otherwise === null ? end : other);
    this.#inner(body, this.#open, this.#round);
    if (otherwise !== null) {
      code.branch("s_branch", end);
      code.bind(other);
      this.#inner(otherwise, this.#open, this.#round);
    }
    code.bind(end);
  }

  /** A number of its own for each depth, in subroutines too. */
  #level(): number {
    return this.#depth + (this.#inCallee ? 8 : 0);
  }

  #counter(): number {
    return (this.#inCallee ? CALLEE_COUNTERS : COUNTERS) + this.#depth;
  }

  /** s_andn2 of the lanes that leave; the mask from before is put back behind the loop. */
  #loop(loop: Statement & { kind: "loop" }): void {
    const { trips, body, condition, rest, resume, style } = loop;
    const code = this.#code;
    const saved = this.#saved(), gone = this.#saved(true), counter = this.#counter();
    const start = code.label(), end = code.label(), latch = code.label();
    const again = !this.#inCallee && this.#depth < SKIPPED_DEPTHS &&
      partsOf(loop).some((part) => leavesRound(part, true));
    const skipped = again ? SKIPPED + this.#depth * this.#pair : -1;
    const open: OpenLoop = { gone, skipped, latch };
    this.#mask("s_mov", saved, Operand.Exec);
    this.#mask("s_mov", gone, int(0));
    code.sop1("s_mov_b32", counter, int(0));
    code.bind(start);
    if (again) this.#mask("s_mov", skipped, int(0));
    this.#inner(body, open);
    if (resume !== null) {
      // The lanes that go on; those that resume come back at the end of the round.
      this.#depth++;
      const round = this.#saved();
      const skip = code.label();
      this.#mask("s_mov", round, Operand.Exec);
      code.emit(resume.condition);
      this.#mask("s_andn2", Operand.Exec, Operand.Exec, Operand.Vcc);
      code.branch("s_cbranch_execz", skip);
      this.#inner(resume.body, open);
      code.bind(skip);
      this.#mask("s_mov", Operand.Exec, round);
      this.#depth--;
      const outer = this.#open;
      this.#open = open;
      this.#dropLeft([resume.body], true);
      this.#open = outer;
    }
    code.emit(condition);
    if (style === "llvm") {
      // Lanes that leave are gathered; EXEC loses them.
      this.#mask("s_and", Operand.Vcc, Operand.Exec, Operand.Vcc);
      this.#mask("s_or", gone, gone, Operand.Vcc);
      this.#mask("s_andn2", Operand.Exec, Operand.Exec, Operand.Vcc);
    } else this.#mask("s_andn2", Operand.Exec, Operand.Exec, Operand.Vcc);
    code.branch("s_cbranch_execz", again ? latch : end);
    this.#inner(rest, open);
    code.bind(latch);
    if (again) {
      this.#mask("s_or", Operand.Exec, Operand.Exec, skipped);
      code.branch("s_cbranch_execz", end);
    }
    code.sop2("s_add_u32", counter, counter, int(1));
    code.sopc("s_cmp_lt_u32", counter, int(trips));
    code.branch("s_cbranch_scc1", start);
    code.bind(end);
    if (style === "llvm") this.#mask("s_or", Operand.Exec, Operand.Exec, gone);
    else this.#mask("s_mov", Operand.Exec, saved);
  }

  #waveLoop({ trips, body, leave }: Statement & { kind: "waveLoop" }): void {
    const code = this.#code;
    const round: Round = { counter: this.#counter(), start: code.label(), end: code.label() };
    code.sop1("s_mov_b32", round.counter, int(trips));
    code.bind(round.start);
    this.#inner(body, null, round);
    if (leave !== null) {
      code.emit(leave.condition);
      code.branch("s_cbranch_scc1", round.end);
      this.#inner(leave.rest, null, round);
    }
    this.#endRound(round);
    code.bind(round.end);
  }

  /** Goes back, or on behind the loop when it was the last round. */
  #endRound({ counter, start }: Round): void {
    const code = this.#code;
    code.sop2("s_sub_u32", counter, counter, int(1));
    code.sopc("s_cmp_lg_u32", counter, int(0));
    code.branch("s_cbranch_scc1", start);
  }

  /** The wave begins the next round from here: a loop with several ways back, as compilers write it that copy its end. */
  #next({ condition }: Statement & { kind: "next" }): void {
    const code = this.#code, round = this.#round;
    code.emit(condition);
    if (round === null) return;
    const stay = code.label();
    code.branch("s_cbranch_scc0", stay);
    this.#endRound(round);
    code.branch("s_branch", round.end);
    code.bind(stay);
  }

  /** v_readfirstlane, v_cmp_eq, s_and_saveexec, body, s_xor: until no lane is left. */
  #waterfall({ vector, scalar, body }: Statement & { kind: "waterfall" }): void {
    const code = this.#code;
    const saved = this.#saved(), round = this.#saved(true), start = code.label();
    // Few different values, so that it ends soon, in a register of this depth: the lanes that are left keep it.
    const value = v(16 + this.#level());
    code.vop("v_and_b32", value, int(3), v(vector));
    this.#mask("s_mov", saved, Operand.Exec);
    const end = code.label();
    code.branch("s_cbranch_execz", end);
    code.bind(start);
    code.vop("v_readfirstlane_b32", 8, value);
    code.vop("v_cmp_eq_u32", -1, 8, value);
    code.sop1("s_and_saveexec" + this.#suffix, round, Operand.Vcc);
    code.sop1("s_mov_b32", scalar, 8);
    this.#inner(body, null);
    this.#mask("s_xor", Operand.Exec, Operand.Exec, round);
    code.branch("s_cbranch_execnz", start);
    code.bind(end);
    this.#mask("s_mov", Operand.Exec, saved);
  }

  /** Own words are written, those of the thread `distance` further are read. */
  #exchange({ barrier, store, load, distance }: Statement & { kind: "exchange" }): void {
    const { threads, waveSize } = this.tree.settings;
    const code = this.#code;
    if (barrier) code.sopp("s_barrier");
    code.vop("v_lshlrev_b32", v(12), int(3), v(0));
    code.ds("ds_write_b32", { addr: v(12), data: v(store) });
    code.sopp("s_waitcnt", 0);
    if (barrier) code.sopp("s_barrier");
    // Without barriers within the wave; always within the threads that exist: LDS that nobody wrote holds whatever was there before.
    const mask = barrier ? 2 ** Math.floor(Math.log2(threads)) - 1 : waveSize - 1;
    code.vop("v_add_nc_u32", v(12), int(distance), v(0));
    code.vop("v_and_b32", v(12), Operand.Literal, v(12), mask);
    if (!barrier && threads > waveSize) {
      code.vop("v_and_b32", v(13), Operand.Literal, v(0), -waveSize >>> 0);
      code.vop("v_or_b32", v(12), v(13), v(12));
    }
    if (this.tree.settings.limit !== undefined) code.vop("v_min_u32", v(12), LAST_THREAD, v(12));
    else if (threads % waveSize !== 0) code.vop("v_min_u32", v(12), Operand.Literal, v(12), threads - 1);
    code.vop("v_lshlrev_b32", v(12), int(3), v(12));
    code.ds("ds_read_b32", { addr: v(12), dst: v(13) });
    code.sopp("s_waitcnt", 0);
    code.vop("v_xor_b32", v(load), v(13), v(load));
    if (barrier) code.sopp("s_barrier");
  }

  #call(callee: number, short: boolean): void {
    const code = this.#code, label = this.#callees[callee];
    if (short) return code.branch("s_call_b64", label, RETURN);
    // s_getpc, the distance, s_swappc. The distance is known when the code is complete: a literal that is patched.
    code.sop1("s_getpc_b64", 8, 0);
    const from = code.at;
    code.sop2("s_add_u32", 8, 8, Operand.Literal, 0);
    code.far(code.at - 1, from, label);
    code.sop2("s_addc_u32", 9, 9, int(0));
    code.sop1("s_swappc_b64", RETURN, 8);
  }

  /** Comparisons that jump into a row of blocks, which fall through: a switch. */
  #ladder(scalar: number, steps: readonly Statement[][]): void {
    const code = this.#code;
    const labels = steps.map(() => code.label()), end = code.label();
    code.sop2("s_and_b32", 8, scalar, int(7));
    labels.forEach((label, k) => {
      code.sopc("s_cmp_eq_u32", 8, int(k));
      code.branch("s_cbranch_scc1", label);
    });
    code.branch("s_branch", end);
    steps.forEach((step, k) => {
      code.bind(labels[k]);
      this.#inner(step);
    });
    code.bind(end);
  }
}
