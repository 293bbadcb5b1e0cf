/**
 * NGG programs as vertex programs. A merged wave has vertices and primitives in its lanes; how many of each stands in an SGPR (merged_wave_info: vertices
 * 7:0, primitives 15:8, the wave's number in its group 27:24, waves of the group 31:28). A host makes primitives itself, so the program must be a
 * pass-through one: it asks for as much space as it was given (gs_tg_info: vertices 20:12, primitives 30:22), and every lane with a primitive exports the
 * word that it got. Then the lanes with vertices are the vertex program, and all the rest is gone when this pass and the usual ones are done.
 *
 * Fields and messages: AMD RDNA2 ISA, "S_SENDMSG" and chapter 11; Mesa, radv_shader_args.c and ac_nir_lower_ngg.c.
 *
 * @module
 */
import { RefusedError } from "../../errors.ts";
import type { Ir } from "../ir/ir.ts";
import { InputKind, Op, OPS, Type } from "../ir/ops.ts";
import { VALUE_OPERANDS } from "../spirv/usage.ts";
import type { RecompileRequest } from "../request.ts";
import { PureFunction } from "./pure_function.ts";
import type { VertexState } from "./state.ts";

/** SGPRs of a merged wave. */
const TG_INFO = 2, WAVE_INFO = 3;

/**
 * Makes the vertex program of an NGG program that has been simplified, in place: truths that tell which lanes have vertices are true. Simplify and clean the program
 * afterwards, and give it to {@linkcode checkVertexOnly}.
 *
 * @throws RefusedError `recompiler.ngg` that says what is not passed through
 */
export function keepVertices(ir: Ir, request: RecompileRequest): void {
  const { passthrough } = request.graphics as VertexState;
  const allocations = placesOf(ir, Op.GsAllocate), primitives = placesOf(ir, Op.GsPrimitive);
  if (allocations.length === 0) {
    throw refused(request, 0, "the program asks for no space for vertices (MSG_GS_ALLOC_REQ): it is not a whole one");
  }
  if (primitives.length === 0) throw refused(request, 0, "the program exports no primitive");
  if (!passthrough) {
    throw refused(request, ir.pc[primitives[0]], "the primitives are the program's own (PRIMGEN_PASSTHRU_EN is off)");
  }
  for (const i of allocations) {
    if (!asksForAll(ir, ir.a[i])) {
      throw refused(
        request,
        ir.pc[i],
        "the space that the program asks for is not that of its group: it culls or makes vertices",
      );
    }
  }
  const roles = new Roles(ir, request.waveSize);
  for (let i = 1; i < ir.length; i++) {
    if (roles.isPure(i)) continue;
    const operands = VALUE_OPERANDS[ir.op[i]];
    if (operands & 16) { for (let k = 0; k < ir.b[i]; k++) roles.settle(ir.pool[ir.a[i] + k]); }
    if (operands & 1) roles.settle(ir.a[i]);
    if (operands & 2) roles.settle(ir.b[i]);
    if (operands & 4) roles.settle(ir.c[i]);
    if (operands & 8) roles.settle(ir.d[i]);
  }
  for (const i of primitives) {
    const pc = ir.pc[i], value = ir.a[i], exec = ir.b[i];
    const passes = ir.op[value] === Op.Input && ir.a[value] === InputKind.PrimitiveInput && ir.b[value] === 0;
    if (!passes) throw refused(request, pc, "the primitive that is exported is not the one that the lane got");
    if (ir.op[exec] !== Op.Input || ir.a[exec] !== InputKind.PrimitiveThread) {
      throw refused(request, pc, "the lanes that export primitives are not those that have one");
    }
  }
  for (const i of [...allocations, ...primitives]) {
    ir.op[i] = Op.Nop;
    ir.a[i] = ir.b[i] = 0;
  }
}

function placesOf(ir: Ir, op: number): number[] {
  const places: number[] = [];
  for (let i = 1; i < ir.length; i++) if (ir.op[i] === op) places.push(i);
  return places;
}

/** Checks that nothing of the merged wave is left. @throws RefusedError `recompiler.ngg` */
export function checkVertexOnly(ir: Ir, request: RecompileRequest): void {
  for (let i = 1; i < ir.length; i++) {
    if (ir.op[i] !== Op.Input) continue;
    const what = LEFT[ir.a[i]];
    if (what === undefined) continue;
    const user = firstUser(ir, i);
    throw refused(
      request,
      ir.pc[user],
      `${what} (${OPS[ir.op[user]].name}): only pass-through programs are vertex programs`,
    );
  }
}

const LEFT: Readonly<Record<number, string>> = {
  [InputKind.MergedWave]: "the program computes with the numbers of vertices and primitives of its wave",
  [InputKind.PrimitiveInput]: "the program computes with a primitive's registers",
  [InputKind.PrimitiveThread]: "lanes with primitives do more than export them",
  [InputKind.FirstWave]: "the first wave of a group does more than ask for space",
};

function firstUser(ir: Ir, value: number): number {
  for (let i = value + 1; i < ir.length; i++) {
    const operands = VALUE_OPERANDS[ir.op[i]];
    const values = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]];
    if (values.some((each, k) => (operands >> k & 1) !== 0 && each === value)) return i;
  }
  return value;
}

/** Whether M0 is what the group has: a union of shifted fields of gs_tg_info, so that its single bits tell all. */
function asksForAll(ir: Ir, m0: number): boolean {
  const f = PureFunction.of(ir, m0);
  if (f === undefined || f.inputs().some(({ kind, index }) => kind !== InputKind.MergedWave || index !== TG_INFO)) {
    return false;
  }
  if (f.operations().some((name) => !["And", "Or", "Shl", "Shr", "UBfe"].includes(name))) return false;
  const at = (bits: number) => f.evaluate(() => bits >>> 0);
  const expected = (bits: number) => ((bits >>> 22 & 0x1ff) << 12 | bits >>> 12 & 0x1ff) >>> 0;
  if (at(0) !== 0) return false;
  for (let bit = 0; bit < 32; bit++) if (at(1 << bit) !== expected(1 << bit)) return false;
  return true;
}

/** Which truths are functions of merged_wave_info and the lane, and what they say. */
class Roles {
  /** 1: depends on merged_wave_info and is a function of it, the lane and constants alone. */
  private readonly pure: Uint8Array;
  private readonly settled = new Set<number>();

  constructor(private readonly ir: Ir, private readonly waveSize: number) {
    const pure = this.pure = new Uint8Array(ir.length), harmless = new Uint8Array(ir.length);
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] === Op.Const) harmless[i] = 1;
    }
    for (let i = 1; i < ir.length; i++) {
      if (ir.op[i] === Op.Const) continue;
      if (ir.op[i] === Op.Input) {
        if (ir.a[i] === InputKind.LaneId) harmless[i] = 1;
        if (ir.a[i] === InputKind.MergedWave && ir.b[i] === WAVE_INFO) pure[i] = 1;
        continue;
      }
      const { effect, structure, exchange, operands, name } = OPS[ir.op[i]];
      if (effect || structure || exchange || !/^v+$/.test(operands) || name.includes("Phi")) continue;
      const values = [ir.a[i], ir.b[i], ir.c[i], ir.d[i]].slice(0, operands.length);
      if (!values.every((value) => pure[value] === 1 || harmless[value] === 1)) continue;
      if (values.some((value) => pure[value] === 1)) pure[i] = 1;
      else harmless[i] = 1;
    }
  }

  isPure(i: number): boolean {
    return this.pure[i] === 1;
  }

  /** A truth that the program uses becomes what it says. */
  settle(value: number): void {
    const { ir } = this;
    if (this.pure[value] !== 1 || ir.type[value] !== Type.Bool || this.settled.has(value)) return;
    this.settled.add(value);
    const role = this.roleOf(value);
    if (role === undefined) return;
    ir.op[value] = role.input < 0 ? Op.Const : Op.Input;
    ir.a[value] = role.input < 0 ? 1 : role.input;
    ir.b[value] = role.negated ? 1 : 0;
    ir.c[value] = ir.d[value] = 0;
    this.pure[value] = 0;
  }

  /** What a truth says of a lane: it has a vertex (-1), a primitive, or is in the first wave; tried out for every value of the field it depends on. */
  private roleOf(value: number): { input: number; negated?: boolean } | undefined {
    const { ir, waveSize } = this;
    const f = PureFunction.of(ir, value);
    if (f === undefined) return undefined;
    const info = f.inputs().find(({ kind }) => kind === InputKind.MergedWave);
    if (info === undefined) return undefined;
    const bits = f.bitsOf(info.id);
    const fields = FIELDS.filter(({ shift, width }) => (bits >>> shift & 2 ** width - 1) !== 0);
    if (fields.length !== 1 || (bits & ~(2 ** fields[0].width - 1 << fields[0].shift)) !== 0) return undefined;
    const [{ shift, input, most }] = fields;
    const holds = (test: (count: number, lane: number) => boolean) => {
      for (let count = 0; count <= most(waveSize); count++) {
        for (let lane = 0; lane < waveSize; lane++) {
          const result = f.evaluate((kind) => kind === InputKind.LaneId ? lane : count << shift >>> 0);
          if ((result === 1) !== test(count, lane)) return false;
        }
      }
      return true;
    };
    if (input === InputKind.FirstWave) {
      if (holds((wave) => wave === 0)) return { input };
      return holds((wave) => wave !== 0) ? { input, negated: true } : undefined;
    }
    // A wave has its vertices, or primitives, in its first lanes; whether there are any is true wherever a lane has one.
    return holds((count, lane) => lane < count) || holds((count) => count > 0) ? { input } : undefined;
  }
}

/** Fields of merged_wave_info with what a truth of each says; -1: the lane has a vertex, which it always has here. */
const FIELDS: readonly { shift: number; width: number; input: number; most: (waveSize: number) => number }[] = [
  { shift: 0, width: 8, input: -1, most: (waveSize) => waveSize },
  { shift: 8, width: 8, input: InputKind.PrimitiveThread, most: (waveSize) => waveSize },
  { shift: 24, width: 4, input: InputKind.FirstWave, most: () => 15 },
];

function refused(request: RecompileRequest, pc: number, why: string): RefusedError {
  return new RefusedError("recompiler.ngg", why, {
    pc,
    guestAddress: BigInt.asUintN(64, request.codeAddress + BigInt(pc)),
  });
}
