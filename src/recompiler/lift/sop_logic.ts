/** Scalar bitwise operations and moves: the instructions that make and combine lane masks, so they carry shadows along. */
import { type Instruction, Operand } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";

/** A 32-bit scalar with what is known of it as (half of) a lane mask. */
interface Masked {
  readonly id: number;
  /** This lane's bit, 0 if not at hand. */
  readonly shadow: number;
}

/** A bitwise operation of two operands; `x` is negated first where the mnemonic says n1, `y` where it says n2. */
interface Logic {
  readonly op: "And" | "Or" | "Xor";
  readonly notX?: boolean;
  readonly notY?: boolean;
  readonly notResult?: boolean;
}

const LOGIC: Readonly<Record<string, Logic>> = {
  and: { op: "And" },
  or: { op: "Or" },
  xor: { op: "Xor" },
  andn1: { op: "And", notX: true },
  andn2: { op: "And", notY: true },
  orn1: { op: "Or", notX: true },
  orn2: { op: "Or", notY: true },
  nand: { op: "And", notResult: true },
  nor: { op: "Or", notResult: true },
  xnor: { op: "Xor", notResult: true },
};

/** Adds the handlers of this class. */
export function defineScalarLogic(define: Define): void {
  for (const name of ["and", "or", "xor", "andn2", "orn2", "nand", "nor", "xnor"]) {
    const logic = LOGIC[name];
    define(`s_${name}_b32`, (l, i) => {
      const result = combine(l, logic, read(l, i.src0, i.dst), read(l, i.src1, i.dst));
      write(l, i.dst, result);
      l.scc = notZero(l, result);
    });
    define(`s_${name}_b64`, (l, i) => {
      const [low, high] = combinePairs(l, logic, readPair(l, i.src0), readPair(l, i.src1));
      writePair(l, i.dst, low, high);
      l.scc = pairNotZero(l, low, high);
    });
  }
  for (const name of Object.keys(LOGIC)) {
    const logic = LOGIC[name];
    define(`s_${name}_saveexec_b32`, (l, i) => saveExec(l, i.src0, i.dst, logic, false));
    define(`s_${name}_saveexec_b64`, (l, i) => saveExec(l, i.src0, i.dst, logic, true));
  }
  for (const name of ["andn1", "andn2"]) {
    define(`s_${name}_wrexec_b32`, (l, i) => writeExec(l, i, LOGIC[name], false));
    define(`s_${name}_wrexec_b64`, (l, i) => writeExec(l, i, LOGIC[name], true));
  }
  define("s_not_b32", (l, i) => {
    const result = invert(l, read(l, i.src0, i.dst));
    write(l, i.dst, result);
    l.scc = notZero(l, result);
  });
  define("s_not_b64", (l, i) => {
    const [low, high] = readPair(l, i.src0);
    const a = invert(l, low), b = invertLike(l, high, low, a);
    writePair(l, i.dst, a, b);
    l.scc = pairNotZero(l, a, b);
  });
  define("s_mov_b32", (l, i) => write(l, i.dst, read(l, i.src0, i.dst)));
  define("s_mov_b64", (l, i) => writePair(l, i.dst, ...readPair(l, i.src0)));
  define(
    "s_movk_i32",
    (l, i) => l.setScalar(i.dst, l.u(i.imm), i.imm === 0 ? l.false : i.imm === -1 ? l.true : 0),
  );
  define("s_cmov_b32", (l, i) => write(l, i.dst, choose(l, read(l, i.src0, i.dst), read(l, i.dst, i.dst))));
  define("s_cmov_b64", (l, i) => choosePairs(l, i.dst, readPair(l, i.src0), readPair(l, i.dst)));
  define("s_cselect_b32", (l, i) => write(l, i.dst, choose(l, read(l, i.src0, i.dst), read(l, i.src1, i.dst))));
  define("s_cselect_b64", (l, i) => choosePairs(l, i.dst, readPair(l, i.src0), readPair(l, i.src1)));
}

/** Reads a 32-bit operand that goes to register `to`: in wave 64 a shadow belongs to one half of the wave. */
function read(l: Lifter, operand: number, to: number): Masked {
  const id = l.scalar(operand);
  if (operand < 128 && operand !== Operand.Null && operand !== Operand.M0) {
    const sameHalf = !l.wave64 || (operand & 1) === (to & 1);
    const shadow = l.shadow(operand);
    return { id, shadow: sameHalf || isKnown(l, shadow) ? shadow : 0 };
  }
  return constantMask(l, id);
}

function readPair(l: Lifter, operand: number): [Masked, Masked] {
  const [low, high] = l.scalarPair(operand);
  if (operand < 128 && operand !== Operand.Null && operand !== Operand.M0) {
    return [
      { id: low, shadow: l.shadow(operand) },
      { id: high, shadow: l.shadow(operand + 1) },
    ];
  }
  return [constantMask(l, low), constantMask(l, high)];
}

function constantMask(l: Lifter, id: number): Masked {
  const { ir } = l;
  if (ir.op[id] !== Op.Const) return { id, shadow: 0 };
  const bits = ir.a[id];
  return { id, shadow: bits === 0 ? l.false : bits === -1 ? l.true : 0 };
}

function isKnown(l: Lifter, shadow: number): boolean {
  return shadow === l.true || shadow === l.false;
}

function write(l: Lifter, register: number, value: Masked): void {
  l.setScalar(register, value.id, value.shadow);
}

function writePair(l: Lifter, register: number, low: Masked, high: Masked): void {
  if (register === Operand.Null) return;
  write(l, register, low);
  write(l, register + 1, high);
}

function combine(l: Lifter, logic: Logic, first: Masked, second: Masked): Masked {
  const [x, y] = withShadows(l, first, second);
  return {
    id: combineIds(l, logic, x.id, y.id),
    shadow: combineShadows(l, logic, x.shadow, y.shadow),
  };
}

/** Both halves at once: where the halves' shadows are one Bool, so is the result's. */
function combinePairs(
  l: Lifter,
  logic: Logic,
  first: [Masked, Masked],
  second: [Masked, Masked],
): [Masked, Masked] {
  const halves = [0, 1].map((k) => withShadows(l, first[k], second[k]));
  const [x, y] = [0, 1].map((k) => [halves[0][k], halves[1][k]]);
  const low = combine(l, logic, x[0], y[0]);
  const same = x[0].shadow === x[1].shadow && y[0].shadow === y[1].shadow;
  const high: Masked = {
    id: combineIds(l, logic, x[1].id, y[1].id),
    shadow: same ? low.shadow : combineShadows(l, logic, x[1].shadow, y[1].shadow),
  };
  return [low, high];
}

function combineIds(l: Lifter, logic: Logic, x: number, y: number): number {
  const { ir } = l;
  if (logic.notX) x = ir.emit(Op.Not, x);
  if (logic.notY) y = ir.emit(Op.Not, y);
  const result = ir.emit(Op[logic.op], x, y);
  return logic.notResult ? ir.emit(Op.Not, result) : result;
}

/** Of a lane mask and a number the result is a lane mask: the number's bits are made into one. 0 and -1 are no less numbers than masks. */
function withShadows(l: Lifter, x: Masked, y: Masked): [Masked, Masked] {
  if ((x.shadow === 0) === (y.shadow === 0) || isKnown(l, x.shadow || y.shadow)) return [x, y];
  const made = (value: Masked) => value.shadow === 0 ? { id: value.id, shadow: l.bitOf(value.id) } : value;
  return [made(x), made(y)];
}

function combineShadows(l: Lifter, logic: Logic, x: number, y: number): number {
  if (x !== 0 && logic.notX) x = l.not(x);
  if (y !== 0 && logic.notY) y = l.not(y);
  let result: number;
  if (logic.op === "And") result = x === l.false || y === l.false ? l.false : x === 0 || y === 0 ? 0 : l.and(x, y);
  else if (logic.op === "Or") result = x === l.true || y === l.true ? l.true : x === 0 || y === 0 ? 0 : l.or(x, y);
  else result = x === 0 || y === 0 ? 0 : l.xor(x, y);
  return result !== 0 && logic.notResult ? l.not(result) : result;
}

function invert(l: Lifter, x: Masked): Masked {
  return { id: l.ir.emit(Op.Not, x.id), shadow: x.shadow === 0 ? 0 : l.not(x.shadow) };
}

function invertLike(l: Lifter, x: Masked, other: Masked, inverted: Masked): Masked {
  return {
    id: l.ir.emit(Op.Not, x.id),
    shadow: x.shadow === other.shadow ? inverted.shadow : invert(l, x).shadow,
  };
}

function choose(l: Lifter, x: Masked, y: Masked): Masked {
  const shadow = x.shadow === 0 || y.shadow === 0 ? 0 : chooseBool(l, x.shadow, y.shadow);
  return { id: l.select(l.scc, x.id, y.id), shadow };
}

function choosePairs(l: Lifter, register: number, x: [Masked, Masked], y: [Masked, Masked]): void {
  const low = choose(l, x[0], y[0]);
  const same = x[0].shadow === x[1].shadow && y[0].shadow === y[1].shadow;
  const high = choose(l, x[1], y[1]);
  writePair(l, register, low, same ? { ...high, shadow: low.shadow } : high);
}

/** scc ? a : b for Bools. */
function chooseBool(l: Lifter, a: number, b: number): number {
  const { scc } = l;
  if (a === l.true && b === l.false) return scc;
  if (a === l.false && b === l.true) return l.not(scc);
  if (a === l.false) return l.and(l.not(scc), b);
  if (b === l.false) return l.and(scc, a);
  return l.select(scc, a, b);
}

/** SCC of a 32-bit result. */
function notZero(l: Lifter, value: Masked): number {
  if (!l.wave64 && value.shadow !== 0 && !isKnown(l, value.shadow)) {
    return l.ir.emit(Op.Any, value.shadow);
  }
  return l.ir.emit(Op.INe, value.id, l.u(0));
}

/** SCC of a 64-bit result. */
function pairNotZero(l: Lifter, low: Masked, high: Masked): number {
  if (l.wave64 && low.shadow !== 0 && high.shadow !== 0) {
    const mask = l.ofHalves(low.shadow, high.shadow);
    if (!isKnown(l, mask)) return l.ir.emit(Op.Any, mask);
  }
  return l.pairNotZero([low.id, high.id]);
}

/** D = EXEC; EXEC = S0 op EXEC; SCC = EXEC != 0. */
function saveExec(l: Lifter, source: number, to: number, logic: Logic, wide: boolean): void {
  if (wide) {
    const exec = readPair(l, Operand.Exec);
    const [low, high] = combinePairs(l, logic, readPair(l, source), exec);
    writePair(l, to, ...exec);
    writePair(l, Operand.Exec, low, high);
    l.scc = pairNotZero(l, low, high);
    return;
  }
  const exec = read(l, Operand.Exec, to);
  const result = combine(l, logic, read(l, source, Operand.Exec), read(l, Operand.Exec, Operand.Exec));
  write(l, to, exec);
  write(l, Operand.Exec, result);
  l.scc = notZero(l, result);
}

/** EXEC = S0 op EXEC; D = EXEC; SCC = EXEC != 0. */
function writeExec(l: Lifter, i: Instruction, logic: Logic, wide: boolean): void {
  saveExec(l, i.src0, Operand.Null, logic, wide);
  if (wide) writePair(l, i.dst, ...readPair(l, Operand.Exec));
  else write(l, i.dst, read(l, Operand.Exec, i.dst));
}
