import type { Ir } from "../ir/ir.ts";
import { Op, OPS, Type } from "../ir/ops.ts";
import { barriersMayBePassed } from "./guest_barriers.ts";
import { Algebra, Environment, FALSE, TRUE } from "./regions/algebra.ts";
import { type Known, rebuild } from "./regions/rebuild.ts";
import { parkingProblem } from "./regions/parking.ts";
import { type Decision, Walker, type WaveIf, waveIf } from "./regions/walker.ts";
import { countUses, indexStructure, type StructureIndex } from "./structure.ts";
import { classifyUniformity, Uniformity } from "./uniformity.ts";

/** One wave branch and what became of it. */
export interface RegionReport {
  /** pc of the branch. */
  pc: number;
  decision: Decision;
  /** Why it is not `lane`. */
  reason: string;
}

/** Result of {@linkcode chooseRegions}. */
export interface Regions {
  ir: Ir;
  report: RegionReport[];
}

/**
 * Decides for every `If` on a wave condition whether lanes may go their own way (`lane`), whether its region is executed unconditionally with its
 * lanes predicated (`flat`), or whether the wave (`wave`) or the whole workgroup (`group`) must vote; see docs/architecture.md, "If, and when a lane may take its own way".
 * Also replaces Bool operands whose truth follows from the lane's path.
 *
 * @param barrierBefore operations that get a Barrier before them (see lds_hazards.ts); they, barriers and exchanges keep the lanes around them together.
 * @param severalWaves the workgroup may have more than one wave.
 * @param exchangeCost what a vote or another exchange takes, in operations: regions with exchanges that take much longer are not flat, so that waves without
 * lanes skip them.
 */
export function chooseRegions(
  ir: Ir,
  barrierBefore: ReadonlySet<number>,
  severalWaves = false,
  exchangeCost = Infinity,
): Regions {
  const structure = indexStructure(ir);
  const branches = new Map<number, WaveIf>();
  for (let i = 0; i < ir.length; i++) {
    if (ir.op[i] !== Op.If) continue;
    const parts = waveIf(ir, structure, i);
    if (parts !== undefined) branches.set(i, parts);
  }
  const reasons = new Map<number, string>();
  if (branches.size === 0) {
    return {
      ir: barrierBefore.size === 0 ? ir : rebuild(ir, structure, new Map(), branches, new Map(), barrierBefore),
      report: [],
    };
  }
  const together = convergentOperations(ir, branches, barrierBefore);
  const uniformity = severalWaves ? classifyUniformity(ir, false, structure) : undefined;
  const exit = uniformity?.exit ?? new Uint8Array(0);
  const passBarriers = uniformity !== undefined && barriersMayBePassed(ir, structure, uniformity);
  const demoted = new Set<number>();
  const costly = new Set([...branches].filter(([, { active }]) => isCostly(ir, active, exchangeCost)).map(([i]) => i));
  const known: Known = new Map();
  let decisions: Map<number, Decision>;
  for (;;) {
    decisions = initialDecisions(ir, structure, branches, together, demoted, costly, reasons, severalWaves);
    known.clear();
    const failed = walkAlive(ir, structure, decisions, known, exit, passBarriers);
    if (failed.size === 0) break;
    for (const [index, reason] of failed) {
      // Flat it may be.
      if (decisions.get(index) === "group" && costly.delete(index)) continue;
      demoted.add(index);
      reasons.set(index, reason);
      // The vote that remains needs the lanes around it together.
      together.add(conditionAny(ir, index));
    }
  }
  const report = [...decisions].map(([index, decision]) => ({
    pc: ir.pc[index],
    decision,
    reason: decision === "lane" ? "" : reasons.get(index) ?? "",
  }));
  return { ir: rebuild(ir, structure, decisions, branches, known, barrierBefore), report };
}

/** Operations at which all lanes of the wave must be present. */
function convergentOperations(
  ir: Ir,
  branches: ReadonlyMap<number, WaveIf>,
  barrierBefore: ReadonlySet<number>,
): Set<number> {
  const together = new Set<number>(barrierBefore);
  const uses = countUses(ir);
  for (const index of branches.keys()) {
    // The condition's own use does not count; nor does that of a negation that only the branch uses.
    let condition = ir.a[index];
    uses[condition]--;
    while (ir.op[condition] === Op.LNot && uses[condition] === 0) {
      condition = ir.a[condition];
      uses[condition]--;
    }
  }
  for (let i = 0; i < ir.length; i++) {
    const op = ir.op[i];
    if (op === Op.Barrier) together.add(i);
    else if (op === Op.Any ? uses[i] > 0 : OPS[op].exchange) together.add(i);
  }
  return together;
}

function conditionAny(ir: Ir, index: number): number {
  let condition = ir.a[index];
  while (ir.op[condition] === Op.LNot) condition = ir.a[condition];
  return condition;
}

function initialDecisions(
  ir: Ir,
  structure: StructureIndex,
  branches: ReadonlyMap<number, WaveIf>,
  together: ReadonlySet<number>,
  demoted: ReadonlySet<number>,
  costly: ReadonlySet<number>,
  reasons: Map<number, string>,
  severalWaves: boolean,
): Map<number, Decision> {
  // Exchanges and barriers need the whole workgroup: where waves may stay longer than they must, all stay until the last one goes.
  const vote = severalWaves ? "group" : "wave";
  const before = new Int32Array(ir.length + 1);
  for (let i = 0; i < ir.length; i++) before[i + 1] = before[i] + (together.has(i) ? 1 : 0);
  const within = (start: number, end: number) => before[end] - before[start] > 0;
  const decisions = new Map<number, Decision>();
  for (const [index, parts] of branches) {
    const end = structure.endOf[index];
    const loop = structure.loopOf[index];
    const leaves = leavesLoop(ir, structure, index);
    let decision: Decision = "lane";
    if (demoted.has(index)) {
      decision = "wave";
    } else if (within(index, end)) {
      const skipEmpty = parts.skip[0] >= parts.skip[1] || !hasEffects(ir, parts.skip);
      // A loop may count on having lanes: executed with none it might not end.
      decision = leaves || !skipEmpty || hasLoop(ir, parts.active) || costly.has(index) ? vote : "flat";
      reasons.set(index, "lanes exchange or synchronise inside the region");
    } else if (leaves && within(loop, structure.endOf[loop])) {
      decision = vote;
      reasons.set(index, "lanes exchange or synchronise inside the loop");
    }
    decisions.set(index, decision);
  }
  return decisions;
}

function leavesLoop(ir: Ir, structure: StructureIndex, index: number): boolean {
  for (let i = index; i < structure.endOf[index]; i++) {
    if ((ir.op[i] === Op.Break || ir.op[i] === Op.Continue) && structure.loopOf[i] === structure.loopOf[index]) {
      return true;
    }
  }
  return false;
}

function hasEffects(ir: Ir, [start, end]: readonly [number, number]): boolean {
  for (let i = start; i < end; i++) if (OPS[ir.op[i]].effect || OPS[ir.op[i]].structure) return true;
  return false;
}

function hasLoop(ir: Ir, [start, end]: readonly [number, number]): boolean {
  for (let i = start; i < end; i++) if (ir.op[i] === Op.Loop) return true;
  return false;
}

/** Whether an arm has exchanges, and takes so long that waves without lanes had better skip it: the vote is one exchange more for the others. */
function isCostly(ir: Ir, [start, end]: readonly [number, number], exchangeCost: number): boolean {
  if (exchangeCost === Infinity) return false;
  let cost = 0, exchanges = 0;
  for (let i = start; i < end; i++) {
    const op = ir.op[i];
    if (op === Op.Const || op === Op.Nop) continue;
    if (OPS[op].exchange === true && op !== Op.Any) exchanges++;
    else cost += op === Op.Load || op === Op.Store || op === Op.Atomic ? ACCESS_COST : 1;
  }
  return exchanges > 0 && cost + exchanges * exchangeCost >= WORTH_VOTES * exchangeCost;
}

/** Operations that an access takes, and how many times as long as its vote a region must take. */
const ACCESS_COST = 8, WORTH_VOTES = 4;

/** Walks the program as one lane; checks every lane and flat decision and records known truths. Returns the failures. */
function walkAlive(
  ir: Ir,
  structure: StructureIndex,
  decisions: Map<number, Decision>,
  known: Known,
  exit: Uint8Array,
  passBarriers: boolean,
): Map<number, string> {
  const failed = new Map<number, string>();
  const algebra = new Algebra(ir);
  const leavesTogether = (loop: number) => exit[loop] === Uniformity.Workgroup;
  const walker = new Walker(ir, structure, algebra, decisions, leavesTogether, passBarriers);
  const record = (index: number, slot: number, symbol: number) => {
    const key = index * 4 + slot;
    if (symbol === TRUE) known.set(key, true);
    else if (symbol === FALSE) known.set(key, false);
    else known.delete(key);
  };
  walker.beforeWaveIf = (index, parts, env) => {
    let problem = parkingProblem(walker, index, parts, env);
    if (decisions.get(index) === "group") problem ??= parkingProblem(walker, index, parts, env, true);
    if (problem !== null) failed.set(index, problem);
    const b = env.get(parts.b);
    if (b === TRUE) known.set(laneKey(index), true);
    else if (b === FALSE) known.set(laneKey(index), false);
    else known.delete(laneKey(index));
  };
  walker.visit = (index, env) => {
    const row = OPS[ir.op[index]];
    const operands = [ir.a[index], ir.b[index], ir.c[index], ir.d[index]];
    for (let k = 0; k < row.operands.length; k++) {
      if (row.operands[k] === "v" && ir.type[operands[k]] === Type.Bool) record(index, k, env.get(operands[k]));
    }
  };
  walker.visitPhi = (phi, slot, symbol) => {
    if (ir.type[phi] === Type.Bool && slot < 4) record(phi, slot, symbol);
  };
  const nowhere = () => {
    throw new Error("Break or Continue outside a loop");
  };
  walker.walk(0, ir.length, new Environment(algebra, null), { onBreak: nowhere, onContinue: nowhere });
  return failed;
}

/** Key in {@linkcode Known} of the truth of a wave branch's `b` when a lane comes to it. */
function laneKey(index: number): number {
  return -1 - index;
}
