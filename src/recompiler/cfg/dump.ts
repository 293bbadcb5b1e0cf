import { hex } from "../../errors.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import { OPCODES } from "../../rdna/table.ts";
import { analyseCfg } from "./analysis.ts";
import { type Cfg, CONDITION_NAMES, Terminator } from "./types.ts";

/**
 * The cfg as text: one line per block, and below it its instructions.
 *
 * @param format Text of an instruction; its mnemonic by default.
 */
export function dumpCfg(cfg: Cfg, format: (instruction: Instruction) => string = mnemonic): string {
  const { order, idom, loopDepth, loopHeader, loopCount, irreducibleCount } = analyseCfg(cfg);
  const lines = [
    `cfg: ${order.length} blocks, ${cfg.instructions.length} instructions, ${loopCount} loops, ${irreducibleCount} irreducible`,
  ];
  for (let b = 0; b < cfg.blockCount; b++) {
    const notes = [`pc ${hex(cfg.blockPc[b])}`];
    if (idom[b] >= 0) notes.push(`idom b${idom[b]}`);
    if (loopDepth[b] > 0) notes.push(`loop depth ${loopDepth[b]}${loopHeader[b] === 1 ? " entry" : ""}`);
    lines.push(`b${b}: ${notes.join(", ")}`);
    for (let i = cfg.blockStart[b]; i < cfg.blockEnd[b]; i++) {
      lines.push(`    ${hex(cfg.instructions[i].pc, 4)} ${format(cfg.instructions[i])}`);
    }
    lines.push(`    ${hex(cfg.terminatorPc[b], 4)} -> ${terminatorText(cfg, b)}`);
  }
  return lines.join("\n") + "\n";
}

function terminatorText(cfg: Cfg, block: number): string {
  const taken = cfg.successors[2 * block];
  switch (cfg.terminator[block] as Terminator) {
    case Terminator.End:
      return "end";
    case Terminator.Jump:
      return `b${taken}`;
    case Terminator.Cond:
      return `${CONDITION_NAMES[cfg.condition[block]]} ? b${taken} : b${cfg.successors[2 * block + 1]}`;
  }
}

function mnemonic(instruction: Instruction): string {
  return OPCODES[instruction.op].name;
}
