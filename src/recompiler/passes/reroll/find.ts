/**
 * Where a program may repeat itself: places whose surroundings look alike, at one distance from each other.
 */
import type { Ir } from "../../ir/ir.ts";
import { Op, OPS } from "../../ir/ops.ts";

/** Part of a stream that may consist of rounds. */
export interface Candidate {
  /** An If or Loop of the first round. */
  readonly anchor: number;
  /** Operations of a round. */
  readonly period: number;
  /** How often the anchor comes. */
  readonly rounds: number;
}

/** Operations before and behind an anchor that must look alike. */
const NEIGHBOURS = 6;

/** Anchors that look alike and belong to one round, at most. */
const MOST_APART = 3;

/** Anchors that look alike: each has the same distance from the one that stands `apart` before it. */
class Chain {
  private readonly places: number[] = [];
  private period = 0;
  private count = 0;

  constructor(private readonly apart: number, private readonly least: number) {}

  add(i: number, found: Candidate[]): void {
    const { places, apart } = this;
    places.push(i);
    if (places.length <= apart) return;
    const period = i - places[places.length - 1 - apart];
    if (period !== this.period) {
      this.finish(found);
      // The distance is that of places: those before do not count any more.
      places.splice(0, places.length - 1 - apart);
      [this.period, this.count] = [period, 0];
    }
    this.count++;
  }

  finish(found: Candidate[]): void {
    const rounds = Math.floor(this.count / this.apart) + 1;
    if (rounds >= this.least) found.push({ anchor: this.places[0], period: this.period, rounds });
  }
}

/** A hash of what an operation is, its value operands left out. */
function shapeHash(ir: Ir, i: number): number {
  const op = ir.op[i], kinds = OPS[op].operands;
  let hash = Math.imul(op * 16 + ir.type[i], 0x9e3779b1);
  if (kinds[0] === "i") hash = Math.imul(hash ^ ir.a[i], 0x85ebca6b);
  if (kinds[1] === "i") hash = Math.imul(hash ^ ir.b[i], 0xc2b2ae35);
  if (kinds[2] === "i") hash = Math.imul(hash ^ ir.c[i], 0x27d4eb2f);
  if (kinds[3] === "i") hash = Math.imul(hash ^ ir.d[i], 0x165667b1);
  return hash ^ (hash >>> 15);
}

/** Whether two operations are the same but for their value operands; operands in the pool are as many. */
export function sameShape(ir: Ir, i: number, k: number): boolean {
  const op = ir.op[i];
  if (op !== ir.op[k] || ir.type[i] !== ir.type[k]) return false;
  const kinds = OPS[op].operands;
  if (kinds === "pn") return ir.b[i] === ir.b[k];
  return (kinds[0] !== "i" || ir.a[i] === ir.a[k]) && (kinds[1] !== "i" || ir.b[i] === ir.b[k]) &&
    (kinds[2] !== "i" || ir.c[i] === ir.c[k]) && (kinds[3] !== "i" || ir.d[i] === ir.d[k]);
}

/**
 * Candidates with at least `least` rounds, those with the most operations first. Control structure marks the rounds: straight code is left as it is,
 * and costs nothing here.
 */
export function findCandidates(ir: Ir, least: number): Candidate[] {
  const chains = new Map<number, Chain[]>();
  const found: Candidate[] = [];
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.If && ir.op[i] !== Op.Loop) continue;
    let hash = 0;
    for (let k = Math.max(1, i - NEIGHBOURS); k < Math.min(ir.length, i + NEIGHBOURS); k++) {
      hash = Math.imul(hash ^ shapeHash(ir, k), 0x9e3779b1);
      hash ^= hash >>> 13;
    }
    let alike = chains.get(hash);
    if (alike === undefined) {
      alike = [];
      for (let apart = 1; apart <= MOST_APART; apart++) alike.push(new Chain(apart, least));
      chains.set(hash, alike);
    }
    for (const chain of alike) chain.add(i, found);
  }
  for (const alike of chains.values()) for (const chain of alike) chain.finish(found);
  return found.sort((x, y) => y.rounds * y.period - x.rounds * x.period || x.anchor - y.anchor);
}
