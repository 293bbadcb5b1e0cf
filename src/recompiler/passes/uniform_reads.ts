import type { Ir } from "../ir/ir.ts";
import { Op, OPS } from "../ir/ops.ts";
import { indexStructure } from "./structure.ts";
import { classifyUniformity, Uniformity } from "./uniformity.ts";

/**
 * Finds reads of the first active lane whose answer every lane knows: the value is computed from what is the same in the whole wave, as compilers do where
 * only the vector ALU has an operation (divisions, conversions), and some lane is active, so that nothing of what the registers held before is read.
 *
 * A load counts as varying: lanes of the host load apart from each other, and somebody may write in between.
 */
export class UniformReads {
  private readonly found = new Set<number>();
  /** Uniformity of every value. */
  private readonly uniform: Uint8Array;

  constructor(private readonly ir: Ir) {
    const structure = indexStructure(ir);
    this.uniform = classifyUniformity(ir, false, structure, true).value;
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] !== Op.ReadFirstLane) continue;
      const active = ir.b[i];
      if (!someActive(ir, structure, i, active)) continue;
      if (this.known(ir.a[i], active, new Map())) this.found.add(i);
    }
  }

  /** Whether there is a read of the first lane at all. */
  static wanted(ir: Ir): boolean {
    return ir.op.subarray(0, ir.length).includes(Op.ReadFirstLane);
  }

  /** Whether the read can be replaced. */
  has(read: number): boolean {
    return this.found.has(read);
  }

  /**
   * What an active lane takes for a value: the operand itself, or an operation that must be made anew because its operands have such values.
   *
   * @param use the new value of an old one
   * @param make appends an operation like the old one `i`, with new operands
   * @param truth the constant that stands for "active"
   */
  rewrite(
    read: number,
    use: (old: number) => number,
    make: (i: number, operands: number[]) => number,
    truth: number,
  ): number {
    const { ir } = this;
    const active = ir.b[read];
    const done = new Map<number, number>();
    const value = (i: number): number => {
      const known = done.get(i);
      if (known !== undefined) return known;
      let result: number;
      if (i === 0) return 0; // an operand that is left out
      if (i === active) return truth;
      if (this.chosen(i, active)) result = value(ir.b[i]);
      else if (this.uniform[i] !== Uniformity.Lane) result = use(i);
      else result = make(i, operandsOf(ir, i).map(value));
      done.set(i, result);
      return result;
    };
    return value(ir.a[read]);
  }

  /** A Select whose condition is that the lane is active. */
  private chosen(i: number, active: number): boolean {
    return this.ir.op[i] === Op.Select && this.ir.a[i] === active;
  }

  /** Whether all active lanes compute the same value. */
  private known(i: number, active: number, seen: Map<number, boolean>): boolean {
    const { ir } = this;
    const before = seen.get(i);
    if (before !== undefined) return before;
    let result: boolean;
    if (i === active) return true;
    if (this.chosen(i, active)) result = this.known(ir.b[i], active, seen);
    else if (this.uniform[i] !== Uniformity.Lane) result = true;
    else {
      const operands = operandsOf(ir, i);
      result = isPure(ir.op[i]) && operands.length > 0 && operands.every((each) => this.known(each, active, seen));
    }
    seen.set(i, result);
    return result;
  }
}

/** Whether the place is reached only while some lane is active: in the arm of a branch that asks for it. */
export function someActive(ir: Ir, structure: ReturnType<typeof indexStructure>, at: number, active: number): boolean {
  if (ir.op[active] === Op.Const) return ir.a[active] !== 0;
  for (let inner = at, p = structure.parentOf[at]; p >= 0; inner = p, p = structure.parentOf[p]) {
    if (ir.op[p] !== Op.If || inner >= structure.elseOf[p]) continue;
    const condition = ir.a[p];
    if (ir.op[condition] === Op.Any && ir.a[condition] === active) return true;
  }
  return false;
}

function isPure(op: number): boolean {
  const { effect, structure, exchange, name, operands } = OPS[op];
  return !effect && !structure && !exchange && !name.includes("Phi") && !name.includes("Load") && operands !== "" &&
    !["Input", "Undef", "Const"].includes(name) && operands[0] !== "p";
}

function operandsOf(ir: Ir, i: number): number[] {
  const { operands } = OPS[ir.op[i]];
  return [ir.a[i], ir.b[i], ir.c[i], ir.d[i]].filter((_, k) => operands[k] === "v");
}
