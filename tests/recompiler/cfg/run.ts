/** Two ways to run a program's control flow: word by word as the hardware does, and block by block along its cfg. */
import { decode } from "../../../src/rdna/decode.ts";
import { OPCODES } from "../../../src/rdna/table.ts";
import { type Cfg, CONDITION_NAMES, Terminator } from "../../../src/recompiler/cfg/cfg.ts";

/** Guest address of the programs. */
export const CODE_ADDRESS = 0xffff_8000_1234_ff00n;

/** Instruction offsets (without branches and ends) in order of execution, and whether the program ended. */
export interface PcTrace {
  pcs: number[];
  ended: boolean;
}

/** Whether the condition `name` ("scc0" ...) holds at the n-th execution of the branch at `pc`. */
function decision(seed: number, pc: number, visit: number, name: string): boolean {
  let h = Math.imul(seed + pc * 31 + visit * 17 + 1, 0x9e3779b1);
  h ^= h >>> 13;
  h = Math.imul(h, 0x85ebca6b);
  const bit = ((h >>> 16) & 1) === 1;
  return name === "scc1" || name === "vccnz" || name === "execnz" ? bit : !bit;
}

class Decisions {
  private readonly visits = new Map<number, number>();

  constructor(private readonly seed: number) {}

  next(pc: number, name: string): boolean {
    const visit = this.visits.get(pc) ?? 0;
    this.visits.set(pc, visit + 1);
    return decision(this.seed, pc, visit, name);
  }
}

/** Runs the words. */
export function runWords(code: Uint32Array, seed: number, limit: number): PcTrace {
  const decisions = new Decisions(seed);
  const registers = new Uint32Array(128);
  let scc = 0;
  const pcs: number[] = [];
  let pc = 0;
  const pair = (register: number) => BigInt(registers[register + 1]) << 32n | BigInt(registers[register]);
  const setPair = (register: number, value: bigint) => {
    registers[register] = Number(BigInt.asUintN(32, value));
    registers[register + 1] = Number(BigInt.asUintN(32, value >> 32n));
  };
  for (let step = 0; step < 20 * limit && pcs.length < limit; step++) {
    const instruction = decode(code, pc, "gfx1030");
    const { name } = OPCODES[instruction.op];
    const { dst, src0, src1, imm, literal } = instruction;
    const next = pc + instruction.size * 4;
    const read = (source: number) => source === 255 ? literal : source >= 128 ? source - 128 : registers[source];
    if (name === "s_endpgm") return { pcs, ended: true };
    if (name === "s_branch") {
      pc = next + imm * 4;
      continue;
    }
    if (name.startsWith("s_cbranch_")) {
      pc = decisions.next(pc, name.slice(10)) ? next + imm * 4 : next;
      continue;
    }
    if (name === "s_setpc_b64") {
      pc = Number(BigInt.asUintN(64, pair(src0) - CODE_ADDRESS));
      continue;
    }
    pcs.push(pc);
    pc = next;
    switch (name) {
      case "s_nop":
        break;
      case "s_mov_b32":
        registers[dst] = read(src0);
        break;
      case "s_mov_b64":
        setPair(dst, pair(src0));
        break;
      case "s_getpc_b64":
        setPair(dst, CODE_ADDRESS + BigInt(next));
        break;
      case "s_add_u32":
      case "s_addc_u32": {
        const sum = read(src0) + read(src1) + (name === "s_addc_u32" ? scc : 0);
        scc = sum > 0xffffffff ? 1 : 0;
        registers[dst] = sum;
        break;
      }
      case "s_sub_u32":
      case "s_subb_u32": {
        const difference = read(src0) - read(src1) - (name === "s_subb_u32" ? scc : 0);
        scc = difference < 0 ? 1 : 0;
        registers[dst] = difference;
        break;
      }
      case "s_swappc_b64": {
        const target = pair(src0);
        setPair(dst, CODE_ADDRESS + BigInt(next));
        pc = Number(BigInt.asUintN(64, target - CODE_ADDRESS));
        break;
      }
      case "s_call_b64":
        setPair(dst, CODE_ADDRESS + BigInt(next));
        pc = next + imm * 4;
        break;
      default:
        throw new Error(`runWords: ${name}`);
    }
  }
  return { pcs, ended: false };
}

/** Follows the cfg of the same program. */
export function runCfg(cfg: Cfg, seed: number, limit: number): PcTrace {
  const decisions = new Decisions(seed);
  const pcs: number[] = [];
  let block = 0;
  for (let step = 0; step < 20 * limit; step++) {
    for (let i = cfg.blockStart[block]; i < cfg.blockEnd[block]; i++) {
      if (pcs.length === limit) return { pcs, ended: false };
      pcs.push(cfg.instructions[i].pc);
    }
    if (cfg.terminator[block] === Terminator.End) return { pcs, ended: true };
    // A branch both ways of which lead to the same place is a jump in the cfg; the words take (and drop) a decision there, for that pc only.
    const other = cfg.terminator[block] === Terminator.Cond &&
      !decisions.next(cfg.terminatorPc[block], CONDITION_NAMES[cfg.condition[block]]);
    block = cfg.successors[2 * block + (other ? 1 : 0)];
  }
  return { pcs, ended: false };
}
