import type { Ir } from "../ir/ir.ts";
import { Op } from "../ir/ops.ts";
import { LaneModeRefusal } from "./pack/shape.ts";
import type { StructureIndex } from "./structure.ts";
import { classifyUniformity, Uniformity, type UniformityResult } from "./uniformity.ts";

/**
 * Barriers of the guest that not all waves of the workgroup come to. On the console a barrier only counts: it lets go when as many waves have come to one,
 * whichever, as there are that have not ended (AMD RDNA2 ISA, "S_BARRIER"). A host's barrier is a place that everybody must come to.
 *
 * Where waves part, and one of the two ways leads to no barrier any more, the waves on that way might as well go through the barriers of the others, without
 * an effect: nobody waits for them, and they for nobody. So each wave takes part in the first barriers of the same row.
 *
 * @returns whether there are such barriers, and the waves that do not come to them may be led through
 */
export function barriersMayBePassed(
  ir: Ir,
  structure: StructureIndex,
  { value, flow }: UniformityResult,
): boolean {
  let parted = false;
  for (let i = 1; i < ir.length; i++) if (isOwn(ir, i) && flow[i] !== Uniformity.Workgroup) parted = true;
  if (!parted) return false;
  const reach = new Reach(ir, structure);
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.If || value[ir.a[i]] === Uniformity.Workgroup) continue;
    if (flow[i] === Uniformity.Lane || value[ir.a[i]] === Uniformity.Lane) {
      if (reach.partsAt(i)) return false;
      continue;
    }
    const middle = structure.elseOf[i], close = structure.endOf[i];
    const second = middle === close ? close : middle;
    if (reach.partsAt(i) && reach.from(i + 1) && reach.from(second + 1)) return false;
  }
  return true;
}

/** Whether an operation is a barrier of the guest's. */
export function isOwn(ir: Ir, i: number): boolean {
  return ir.op[i] === Op.Barrier && ir.a[i] === 0;
}

/** Which places lead to a barrier of the guest. */
class Reach {
  /** Number of barriers before each operation. */
  readonly #before: Int32Array;
  readonly #known = new Map<number, boolean>();

  constructor(private readonly ir: Ir, private readonly structure: StructureIndex) {
    this.#before = new Int32Array(ir.length + 1);
    for (let i = 0; i < ir.length; i++) this.#before[i + 1] = this.#before[i] + (isOwn(ir, i) ? 1 : 0);
  }

  #within(start: number, end: number): boolean {
    return this.#before[end] > this.#before[start];
  }

  /** Whether the ways from an If lead past different barriers before they meet: there are some inside, or in a loop that one way leaves, or a round of it. */
  partsAt(branch: number): boolean {
    const { ir, structure } = this;
    const end = structure.endOf[branch];
    if (this.#within(branch, end)) return true;
    for (let i = branch; i < end; i++) {
      if (ir.op[i] !== Op.Break && ir.op[i] !== Op.Continue) continue;
      const loop = structure.loopOf[i];
      if (loop < branch && this.#within(loop, structure.endOf[loop])) return true;
    }
    return false;
  }

  /** Whether there is a barrier on a way from an operation on. */
  from(start: number): boolean {
    const known = this.#known.get(start);
    if (known !== undefined) return known;
    this.#known.set(start, false); // what comes back here has nothing else to find
    const found = this.#look(start);
    this.#known.set(start, found);
    return found;
  }

  #look(start: number): boolean {
    const { ir, structure } = this;
    for (let i = start; i < ir.length; i++) {
      switch (ir.op[i]) {
        case Op.Barrier:
          if (isOwn(ir, i)) return true;
          break;
        case Op.If:
        case Op.Loop: {
          const end = structure.endOf[i];
          if (this.#within(i, end)) return true;
          for (let k = i; k < end; k++) {
            if ((ir.op[k] === Op.Break || ir.op[k] === Op.Continue) && structure.loopOf[k] < i && this.#leaves(k)) {
              return true;
            }
          }
          i = end;
          break;
        }
        case Op.Break:
        case Op.Continue:
          return this.#leaves(i);
        case Op.Else:
          i = structure.endOf[i];
          break;
        case Op.LoopCont: {
          const loop = structure.loopOf[i];
          if (this.#within(loop, structure.endOf[loop])) return true;
          i = structure.endOf[loop];
          break;
        }
      }
    }
    return false;
  }

  /** The way of a Break or Continue. */
  #leaves(i: number): boolean {
    const { ir, structure } = this;
    const loop = structure.loopOf[i], end = structure.endOf[loop];
    if (ir.op[i] === Op.Continue && this.#within(loop, end)) return true;
    return this.from(end + 1);
  }
}

/**
 * Checks that every barrier of the guest stands where the whole workgroup comes by. This is the only place where a program is refused for one;
 * spirv/convergence.ts looks at what was emitted, and finds mistakes of the passes.
 *
 * @param oneWave the workgroup is one wave
 * @throws LaneModeRefusal naming the first one that does not
 */
export function checkGuestBarriers(ir: Ir, oneWave: boolean, codeAddress: bigint): void {
  if (!ir.op.subarray(0, ir.length).includes(Op.Barrier)) return;
  const { flow } = classifyUniformity(ir, oneWave);
  for (let i = 1; i < ir.length; i++) {
    if (!isOwn(ir, i) || flow[i] === Uniformity.Workgroup) continue;
    throw new LaneModeRefusal(
      "recompiler.barrier",
      oneWave
        ? "s_barrier in control flow that the lanes of the wave do not share"
        : "s_barrier in control flow that the waves of the workgroup do not share, and with other barriers on the ways of those that do not come to it",
      { pc: ir.pc[i], guestAddress: BigInt.asUintN(64, codeAddress + BigInt(ir.pc[i])) },
    );
  }
}
