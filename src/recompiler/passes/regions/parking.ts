import { Op, OPS } from "../../ir/ops.ts";
import { type Environment, FALSE, TRUE } from "./algebra.ts";
import { type Edge, type Exits, NotParkable, type Walker, type WaveIf } from "./walker.ts";

/** Where a lane waits that has left at a wave branch, and what its live values are there. */
interface Parking {
  kind: "join" | "break" | "continue";
  env: Environment;
  edge: number;
}

/**
 * Decides whether a lane whose `b` is false may leave at the wave branch `index` on its own: whatever the rest of its wave then does until it
 * comes to the same place must not change anything of the lane that is used from there on.
 *
 * @param noLanes the rest of the wave has left as well: its votes are lost, and loops must end all the same
 * @returns the reason why not, or null if it may.
 */
export function parkingProblem(
  walker: Walker,
  index: number,
  parts: WaveIf,
  env: Environment,
  noLanes = false,
): string | null {
  if (env.get(parts.b) === TRUE) return null;
  try {
    const left = env.child();
    left.assume(env.get(parts.b), FALSE);
    const parking = parkingPlace(walker, index, parts, left.child());
    walker.parked(index, parts.b, noLanes, () => checkWalk(walker, index, parts, left, parking));
    return null;
  } catch (error) {
    if (error instanceof NotParkable) return error.message;
    throw error;
  }
}

/** Follows the skip arm of a lane until it joins the others. */
function parkingPlace(walker: Walker, index: number, parts: WaveIf, env: Environment): Parking {
  const { structure } = walker;
  const parking: Parking = { kind: "join", env, edge: -1 };
  let exitsSeen = 0;
  const leave = (kind: "break" | "continue") => (at: number, e: Environment) => {
    if (exitsSeen++ > 0) throw new NotParkable("the skipping arm branches");
    parking.kind = kind;
    parking.env = e;
    parking.edge = structure.edgeOf[at];
  };
  const exits: Exits = { onBreak: leave("break"), onContinue: leave("continue") };
  const activeFalls = !endsWithExit(walker, parts.active);
  walker.quietly(() => {
    requirePure(walker, parts.skip[0], parts.skip[1]);
    let falls = walker.walk(parts.skip[0], parts.skip[1], env, exits);
    if (falls && exitsSeen > 0) throw new NotParkable("the skipping arm branches");
    if (falls && !activeFalls) {
      walker.phisFrom(structure.endOf[index], env, env, !parts.activeIsThen);
      falls = climb(walker, index, env, exits, true);
      if (falls) {
        parking.kind = "continue";
        parking.edge = structure.continueCount[structure.loopOf[index]];
      }
    }
  });
  return parking;
}

/** Walks what the wave does while the lane waits, and compares at every arrival. */
function checkWalk(walker: Walker, index: number, parts: WaveIf, env: Environment, parking: Parking): void {
  const { ir, structure } = walker;
  const end = structure.endOf[index];
  const active = env.child();
  if (parking.kind === "join") {
    const falls = walker.walk(parts.active[0], parts.active[1], active, refuseExits);
    if (!falls) throw new NotParkable("the region does not come to its end");
    for (let i = end + 1; i < ir.length && ir.op[i] === Op.Phi; i++) {
      const [a, s] = parts.activeIsThen ? [ir.a[i], ir.b[i]] : [ir.b[i], ir.a[i]];
      same(active.get(a), parking.env.get(s), ir.pc[i]);
    }
    return;
  }
  const loop = structure.loopOf[index];
  const cont = structure.contOf[loop];
  const continues: Edge[] = [];
  const breakPhis = phisAfter(walker, structure.endOf[loop], Op.BreakPhi);
  const loopPhis = phisAfter(walker, loop, Op.LoopPhi);
  let exits: Exits;
  if (parking.kind === "break") {
    const waiting = breakPhis.map((phi) => walker.edgeSymbol(phi, [{ number: parking.edge, env: parking.env }]));
    exits = {
      onBreak: (at, e) =>
        breakPhis.forEach((phi, k) => {
          same(walker.edgeSymbol(phi, [{ number: structure.edgeOf[at], env: e }]), waiting[k], ir.pc[phi]);
        }),
      onContinue: (at, e) => continues.push({ number: structure.edgeOf[at], env: e }),
    };
  } else {
    exits = {
      onBreak: refuseExits.onBreak,
      onContinue: (at, e) => continues.push({ number: structure.edgeOf[at], env: e }),
    };
  }
  let falls = walker.walk(parts.active[0], parts.active[1], active, exits);
  if (falls) {
    walker.phisFrom(end, active, active, parts.activeIsThen);
    falls = climb(walker, index, active, exits, false);
  }
  if (falls) continues.push({ number: structure.continueCount[loop], env: active });
  if (parking.kind === "continue") {
    const waiting = [{ number: parking.edge, env: parking.env }];
    for (const phi of loopPhis) {
      for (const edge of continues) same(walker.backSymbol(phi, [edge]), walker.backSymbol(phi, waiting), ir.pc[phi]);
    }
    return;
  }
  // The wave may go on for any number of iterations: find symbols of the loop's phis that hold in all of them.
  let symbols = loopPhis.map((phi) => walker.backSymbol(phi, continues));
  const generalised = new Set<number>();
  while (continues.length > 0) {
    continues.length = 0;
    const iteration = env.child();
    loopPhis.forEach((phi, k) => iteration.set(phi, symbols[k]));
    if (walker.walk(loop + 1, cont, iteration, exits)) {
      continues.push({ number: structure.continueCount[loop], env: iteration });
    }
    if (continues.length === 0) return;
    let stable = true;
    symbols = symbols.map((symbol, k) => {
      const next = walker.backSymbol(loopPhis[k], continues);
      if (next === symbol || generalised.has(k)) return symbol;
      stable = false;
      generalised.add(k);
      return walker.algebra.fresh();
    });
    if (stable) return;
  }
}

/** Goes on after the construct `index` up to the end of the body of the innermost loop; true if that end is reached. */
function climb(walker: Walker, index: number, env: Environment, exits: Exits, pure: boolean): boolean {
  const { ir, structure } = walker;
  for (let i = index;;) {
    const parent = structure.parentOf[i];
    const from = structure.endOf[i] + 1;
    if (parent < 0) throw new NotParkable("the program ends in the region");
    const isLoop = ir.op[parent] === Op.Loop;
    const middle = isLoop ? structure.contOf[parent] : structure.elseOf[parent];
    const inThen = i < middle;
    const to = isLoop || inThen ? middle : structure.endOf[parent];
    if (pure) requirePure(walker, from, to);
    if (!walker.walk(from, to, env, exits)) return false;
    if (isLoop) return true;
    walker.phisFrom(structure.endOf[parent], env, env, inThen);
    i = parent;
  }
}

const refuseExits: Exits = {
  onBreak: () => {
    throw new NotParkable("the region may leave its loop");
  },
  onContinue: () => {
    throw new NotParkable("the region may start the next iteration");
  },
};

function endsWithExit(walker: Walker, [start, end]: readonly [number, number]): boolean {
  const op = end > start ? walker.ir.op[end - 1] : Op.Nop;
  return op === Op.Break || op === Op.Continue;
}

function requirePure(walker: Walker, start: number, end: number): void {
  for (let i = start; i < end; i++) {
    const row = OPS[walker.ir.op[i]];
    if (row.effect || row.exchange) throw new NotParkable(`the skipping arm has ${row.name}`);
  }
}

function phisAfter(walker: Walker, index: number, op: number): number[] {
  const phis: number[] = [];
  for (let i = index + 1; i < walker.ir.length && walker.ir.op[i] === op; i++) phis.push(i);
  return phis;
}

function same(one: number | undefined, other: number | undefined, pc: number): void {
  if (one === undefined || one !== other) {
    throw new NotParkable(`a value that is used after the region differs (pc 0x${pc.toString(16)})`);
  }
}
