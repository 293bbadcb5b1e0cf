/**
 * What becomes of every opcode in the decoder, the disassembler, the interpreter and the recompiler: found out by asking them.
 *
 * @module
 */
import { AnyAgcError, RefusedError } from "../../src/errors.ts";
import { decode } from "../../src/rdna/decode.ts";
import { disassemble } from "../../src/rdna/disassemble.ts";
import { Encoding, Instruction } from "../../src/rdna/instruction.ts";
import { HANDLERS as INTERPRETER } from "../../src/rdna/interpreter/handlers.ts";
import type { Wave } from "../../src/rdna/interpreter/machine/wave.ts";
import { type Opcode, OPCODES } from "../../src/rdna/table.ts";
import { type Target, TARGETS } from "../../src/rdna/target.ts";
import { FLOW_REASONS } from "../../src/recompiler/cfg/refused_flow.ts";
import { Flow, flow } from "../../src/recompiler/cfg/scan.ts";
import { HANDLERS as RECOMPILER } from "../../src/recompiler/lift/dispatch.ts";
import { REFUSED_NAMES } from "../../src/recompiler/lift/unsupported.ts";

/** "done", "flow" (done by the control flow graph), or why not. */
export type Status = { readonly done: true; readonly how: string } | { readonly done: false; readonly why: string };

/** An opcode with what becomes of it. */
export interface CoverageRow {
  readonly opcode: Opcode;
  readonly encoding: string;
  readonly targets: readonly Target[];
  readonly decoder: boolean;
  readonly disassembler: boolean;
  readonly interpreter: Status;
  readonly recompiler: Status;
}

const NAMES = Object.fromEntries(Object.entries(Encoding).map(([name, value]) => [value, name.toUpperCase()]));

/** Words of an opcode with vector register 0, or scalar register 0, as every operand (AMD RDNA2 ISA, section 13 "Microcode formats"). */
export function plainWords({ encoding, numbers, segment, words }: Opcode): Uint32Array {
  const number = numbers[encoding]!;
  // Three sources of VOP3, each v0; literals and further words are zeros.
  const sources = 0x100 | 0x100 << 9 | 0x100 << 18;
  const pairs: Record<number, readonly [number, number]> = {
    [Encoding.Sop1]: [0xbe800000 | number << 8, 0],
    [Encoding.Sop2]: [2 << 30 | number << 23, 0],
    [Encoding.Sopk]: [0xb << 28 | number << 23, 0],
    [Encoding.Sopc]: [0xbf000000 | number << 16, 0],
    [Encoding.Sopp]: [0xbf800000 | number << 16, 0],
    [Encoding.Smem]: [0x3d << 26 | number << 18, 0x7d << 25],
    [Encoding.Vop1]: [0x7e000000 | number << 9 | 0x100, 0],
    [Encoding.Vop2]: [number << 25 | 0x100, 0],
    [Encoding.Vop3]: [0x35 << 26 | number << 16, words.has("scalarDst") ? 0 : sources],
    [Encoding.Vop3p]: [0x33 << 26 | number << 16, sources],
    [Encoding.Vopc]: [0x7c000000 | number << 17 | 0x100, 0],
    [Encoding.Vintrp]: [0x32 << 26 | number << 16, 0],
    [Encoding.Ds]: [0x36 << 26 | number << 18, 0],
    [Encoding.Flat]: [0x37 << 26 | number << 18 | segment << 14, 0x7d << 16],
    [Encoding.Mubuf]: [0x38 << 26 | number << 18, 0x80 << 24],
    [Encoding.Mtbuf]: [0x3a << 26 | (number & 7) << 16 | 22 << 19, 0x80 << 24 | number >> 3 << 21],
    [Encoding.Mimg]: [0x3c << 26 | (number & 0x7f) << 18 | number >> 7 | 1 << 8 | 1 << 3, 0],
    [Encoding.Exp]: [0x3e << 26, 0],
  };
  return Uint32Array.of(...pairs[encoding], 0, 0, 0, 0);
}

function decoded(opcode: Opcode, target: Target): Instruction | undefined {
  const words = plainWords(opcode);
  // Sources that must be scalar registers instead of vector registers.
  for (const mask of [0xffffffff, 0xfffffeff, 0xfffc01ff, 0xfffc00ff, 0x1ff, 0]) {
    const tried = words.slice();
    if (opcode.encoding === Encoding.Vop3 || opcode.encoding === Encoding.Vop3p) tried[1] &= mask;
    else if (mask === 0xfffffeff) tried[0] &= mask;
    else if (mask !== 0xffffffff) continue;
    try {
      const instruction = decode(tried, 0, target);
      if (instruction.op === opcode.id) return instruction;
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
    }
  }
  return undefined;
}

/** A wave that can only be refused: any use of it is an error of another kind. */
const NO_WAVE = { stage: {}, group: { code: { entry: 0, words: () => [] } } } as unknown as Wave;

/** Immediate of s_getreg_b32 and s_setreg_b32 that means all of MODE. */
const MODE_FIELD = 1 | 31 << 11;

function interpreterStatus({ id, name }: Opcode): Status {
  const handler = INTERPRETER[id];
  if (handler === undefined) return { done: false, why: "not implemented" };
  const instruction = new Instruction();
  instruction.op = id;
  // Forms that are no message or register of other parts of the GPU.
  if (name === "s_sendmsg") instruction.imm = 1;
  if (/^s_[gs]etreg_/.test(name)) instruction.imm = MODE_FIELD;
  try {
    handler(NO_WAVE, instruction);
  } catch (error) {
    if (error instanceof RefusedError) return { done: false, why: error.summary.replace(`${name}: `, "") };
  }
  return { done: true, how: "" };
}

function recompilerStatus({ id, name }: Opcode): Status {
  const instruction = new Instruction();
  instruction.op = id;
  const kind = flow(instruction);
  if (kind === Flow.Refused) return { done: false, why: FLOW_REASONS[name] ?? "control flow that is not recompiled" };
  const reason = REFUSED_NAMES.get(name);
  if (reason !== undefined) return { done: false, why: reason };
  if (kind !== Flow.Next) return { done: true, how: "control flow" };
  return RECOMPILER[id] === undefined ? { done: false, why: "not implemented" } : { done: true, how: "" };
}

/** All opcodes, in the order of the table. */
export function coverage(): CoverageRow[] {
  return OPCODES.map((opcode) => {
    const targets = TARGETS.filter((_, bit) => opcode.targets >> bit & 1);
    const forms = targets.map((target) => ({ target, instruction: decoded(opcode, target) }));
    return {
      opcode,
      encoding: NAMES[opcode.encoding],
      targets,
      decoder: forms.every(({ instruction }) => instruction !== undefined),
      disassembler: forms.every(({ target, instruction }) =>
        instruction !== undefined && disassemble(instruction, { target, waveSize: 32 }).startsWith(opcode.name)
      ),
      interpreter: interpreterStatus(opcode),
      recompiler: recompilerStatus(opcode),
    };
  });
}
