import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { Op } from "../../../src/recompiler/ir/ops.ts";

/** Where the parts of every If and Loop of a program stand, found in one scan. All arrays have one entry per operation of the program. */
export interface Structure {
  /** If: index of its Else, or of its EndIf when there is none. Loop: index of its LoopCont. Break, Continue, LoopCont, EndLoop: their Loop. Otherwise 0. */
  readonly middle: Int32Array;
  /** If, Else: index of the EndIf. Loop, LoopCont: index of the EndLoop. EndIf: index of its If. Break, Continue: their number in stream order among those of the loop. Otherwise 0. */
  readonly end: Int32Array;
  /** Loop: number of Continue operations that mean it. Otherwise 0. */
  readonly continues: Int32Array;
}

/** Finds the structure of a program that satisfies the grammar (see ir.ts). @throws Error when Ifs and Loops do not nest. */
export function findStructure(ir: Ir): Structure {
  const middle = new Int32Array(ir.length), end = new Int32Array(ir.length), continues = new Int32Array(ir.length);
  const open: number[] = [];
  const loops: { loop: number; breaks: number; continues: number }[] = [];
  const innermost = (i: number) => {
    const loop = loops.at(-1);
    if (loop === undefined) throw new Error(`operation ${i}: not inside a loop`);
    return loop;
  };
  const top = (i: number, what: number) => {
    const at = open.at(-1);
    if (at === undefined || ir.op[at] !== what) throw new Error(`operation ${i}: control structure does not nest`);
    return at;
  };
  for (let i = 0; i < ir.length; i++) {
    switch (ir.op[i]) {
      case Op.If:
        open.push(i);
        break;
      case Op.Else: {
        const start = top(i, Op.If);
        if (middle[start] !== 0) throw new Error(`operation ${i}: second Else of one If`);
        middle[start] = i;
        break;
      }
      case Op.EndIf: {
        const start = top(i, Op.If);
        open.pop();
        if (middle[start] === 0) middle[start] = i;
        else end[middle[start]] = i;
        end[start] = i;
        end[i] = start;
        break;
      }
      case Op.Loop:
        open.push(i);
        loops.push({ loop: i, breaks: 0, continues: 0 });
        break;
      case Op.Break:
        middle[i] = innermost(i).loop;
        end[i] = innermost(i).breaks++;
        break;
      case Op.Continue:
        middle[i] = innermost(i).loop;
        end[i] = innermost(i).continues++;
        break;
      case Op.LoopCont: {
        const loop = top(i, Op.Loop);
        if (middle[loop] !== 0) throw new Error(`operation ${i}: second LoopCont of one Loop`);
        middle[loop] = i;
        middle[i] = loop;
        break;
      }
      case Op.EndLoop: {
        const loop = top(i, Op.Loop);
        if (middle[loop] === 0) throw new Error(`operation ${i}: loop without LoopCont`);
        open.pop();
        end[loop] = i;
        end[middle[loop]] = i;
        middle[i] = loop;
        continues[loop] = loops.pop()!.continues;
        break;
      }
    }
  }
  if (open.length !== 0) throw new Error(`operation ${open.at(-1)}: control structure is not closed`);
  return { middle, end, continues };
}
