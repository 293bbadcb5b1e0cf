/**
 * Runs single instructions through the lift and the IR evaluator: registers in, registers out. Every run is made twice, on the IR as lifted and on
 * the simplified one, and the results must agree; so must every lane mask's number and its per-lane Bool.
 */
import { assertEquals } from "@std/assert";
import { decode } from "../../src/rdna/decode.ts";
import { Operand } from "../../src/rdna/instruction.ts";
import type { Ir } from "../../src/recompiler/ir/ir.ts";
import { InputKind, Op, Type } from "../../src/recompiler/ir/ops.ts";
import { validateIrVerbosely } from "../../src/recompiler/ir/validate.ts";
import { Lifter } from "../../src/recompiler/lift/context.ts";
import { HANDLERS } from "../../src/recompiler/lift/dispatch.ts";
import { isShadowSlot, Slot } from "../../src/recompiler/lift/slots.ts";
import type { RecompileRequest } from "../../src/recompiler/request.ts";
import { type EvalFault, EvalMemory, evaluateWorkgroup } from "./ir_eval.ts";
import { cleaned, makeRequest } from "./lift.ts";

/** Registers before the instructions. Vector registers: one value for all lanes or one per lane. */
export interface Before {
  s?: Readonly<Record<number, number>>;
  v?: Readonly<Record<number, number | readonly number[]>>;
  scc?: boolean;
  /** EXEC as a number (wave 32) or bigint (wave 64); all lanes without it. */
  exec?: number | bigint;
  vcc?: number | bigint;
  memory?: EvalMemory;
  request?: Partial<RecompileRequest>;
}

/** Registers after the instructions. */
export interface After {
  /** Vector register of a lane. */
  v(register: number, lane?: number): number;
  /** Scalar register (also 106 VCC, 126 EXEC ...). */
  s(register: number): number;
  scc: boolean;
  faults: EvalFault[];
}

const INPUT_BASE = 0x5000_0000, OUTPUT_BASE = 0x6000_0000;

/** Executes machine code without branches. */
export function execute(words: readonly number[], before: Before = {}): After {
  const waveSize = before.request?.waveSize ?? 32;
  const request = makeRequest({
    workgroupSize: [waveSize, 1, 1],
    ...before.request,
    code: Uint32Array.from(words),
    threadIdCount: 0,
  });
  const [x, y, z] = request.workgroupSize;
  const lanes = x * y * z;
  const l = new Lifter(request, 0);
  const given = before.memory ?? new EvalMemory();
  const memory = given.copy();
  const index = l.ir.append(Op.Input, Type.U32, InputKind.LocalIndex);
  fill(l, index, lanes, before, memory);
  const initial = l.state.values.slice();
  for (let pc = 0; pc < words.length * 4;) {
    const instruction = decode(request.code, pc, request.target);
    const handler = HANDLERS[instruction.op];
    if (handler === undefined) throw new Error(`no handler at pc ${pc}`);
    l.instruction = instruction;
    l.ir.currentPc = pc;
    handler(l, instruction);
    pc += instruction.size * 4;
  }
  const slots = observed(l, initial);
  slots.forEach((slot, k) => storeSlot(l, index, lanes, slot, k));
  l.ir.emit(Op.End);
  validateIrVerbosely(l.ir);

  const run = (ir: Ir) => {
    const scratch = memory.copy();
    const output = scratch.mapWords(BigInt(OUTPUT_BASE), new Uint32Array(slots.length * lanes));
    const { faults } = evaluateWorkgroup(ir, {
      waveSize,
      workgroupSize: request.workgroupSize,
      memory: scratch,
      ldsBytes: request.ldsBytes,
      userData: userData(before),
      scratchOffset: () => 0,
    });
    return { output, faults, scratch };
  };
  const plain = run(l.ir);
  const simple = run(cleaned(l.ir));
  assertEquals([...simple.output], [...plain.output], "the simplified program gives other results");
  assertEquals(simple.scratch.contents(), plain.scratch.contents(), "the simplified program leaves other memory");
  given.take(plain.scratch);

  const value = (slot: number, lane: number) => {
    const k = slots.indexOf(slot);
    if (k >= 0) return plain.output[k * lanes + lane];
    throw new Error(`slot ${slot} was not observed`);
  };
  const uniform = (slot: number) => {
    for (let lane = 1; lane < lanes; lane++) {
      assertEquals(value(slot, lane), value(slot, 0), "a scalar differs between lanes");
    }
    return value(slot, 0);
  };
  for (const slot of slots) if (isShadowSlot(slot)) checkShadow(slot, lanes, waveSize, value);
  return {
    v: (register, lane = 0) => value(Slot.Vgpr0 + register, lane),
    s: uniform,
    scc: uniform(Slot.Scc) !== 0,
    faults: plain.faults,
  };
}

/** Each lane's Bool must be its bit of the number. */
function checkShadow(
  slot: number,
  lanes: number,
  waveSize: number,
  value: (slot: number, lane: number) => number,
): void {
  const register = slot - Slot.Shadow0;
  for (let lane = 0; lane < lanes; lane++) {
    if (waveSize === 64 && (lane >= 32) !== (register % 2 === 1)) continue;
    const bit = (value(register, lane) >>> (lane & 31)) & 1;
    assertEquals(value(slot, lane), bit, `lane ${lane}: the shadow of scalar register ${register} is not its bit`);
  }
}

function userData(before: Before): number[] {
  const data: number[] = [];
  for (const [register, value] of Object.entries(before.s ?? {})) data[Number(register)] = value >>> 0;
  return data;
}

function fill(l: Lifter, index: number, lanes: number, before: Before, memory: EvalMemory): void {
  for (const register of Object.keys(before.s ?? {}).map(Number)) {
    l.setScalar(register, l.ir.append(Op.Input, Type.U32, InputKind.UserData, register));
  }
  const vectors = Object.entries(before.v ?? {});
  const contents = new Uint32Array(Math.max(vectors.length, 1) * lanes);
  vectors.forEach(([register, values], k) => {
    for (let lane = 0; lane < lanes; lane++) {
      contents[k * lanes + lane] = typeof values === "number" ? values : values[lane] ?? 0;
    }
    const address = l.pack([laneAddress(l, index, lanes, INPUT_BASE, k), l.u(0)]);
    l.state.set(Slot.Vgpr0 + Number(register), l.ir.append(Op.Load, Type.U32, address, l.true, 4));
  });
  memory.mapWords(BigInt(INPUT_BASE), contents);
  setMask(l, Operand.Vcc, before.vcc);
  setMask(l, Operand.Exec, before.exec);
  if (before.scc !== undefined) {
    // A value that the lift cannot see through.
    const one = l.ir.emit(Op.UMin, l.ir.emit(Op.Or, index, l.u(1)), l.u(1));
    l.scc = l.ir.emit(Op.IEq, one, l.u(before.scc ? 1 : 0));
  }
}

function setMask(l: Lifter, register: number, mask: number | bigint | undefined): void {
  if (mask === undefined) return;
  const bits = BigInt.asUintN(64, BigInt(mask));
  const half = (n: bigint) => l.u(Number((bits >> n) & 0xffffffffn));
  // Through an opaque addition, so that nothing folds.
  const hide = (id: number) => l.ir.emit(Op.IAdd, id, l.ir.emit(Op.Shr, l.lane, l.u(6)));
  l.setScalar(register, hide(half(0n)));
  if (l.wave64) l.setScalar(register + 1, hide(half(32n)));
}

function laneAddress(l: Lifter, index: number, lanes: number, base: number, k: number): number {
  return l.ir.emit(Op.IAdd, l.ir.emit(Op.Shl, index, l.u(2)), l.u(base + k * lanes * 4));
}

/** SCC, everything that changed, all masks' halves, and v0..v9, s0..s9. */
function observed(l: Lifter, initial: Int32Array): number[] {
  const slots = new Set<number>([Slot.Scc, 106, 107, 126, 127]);
  for (let r = 0; r < 10; r++) slots.add(r).add(Slot.Vgpr0 + r);
  initial.forEach((id, slot) => {
    if (l.state.values[slot] !== id) slots.add(slot);
  });
  for (let r = 0; r < 128; r++) {
    const shadow = Slot.Shadow0 + r;
    if (l.state.values[shadow] === 0) slots.delete(shadow);
    else slots.add(shadow).add(r);
  }
  return [...slots];
}

function storeSlot(l: Lifter, index: number, lanes: number, slot: number, k: number): void {
  const id = l.state.values[slot];
  const value = l.ir.type[id] === Type.Bool ? l.boolToU(id) : l.asU(id);
  l.ir.emit(Op.Store, l.pack([laneAddress(l, index, lanes, OUTPUT_BASE, k), l.u(0)]), l.true, value, 4);
}
