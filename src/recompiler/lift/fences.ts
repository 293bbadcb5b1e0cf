/**
 * What programs put between accesses to memory whose order they count on: waits, and looking at memory anew (AMD RDNA2 ISA, S_WAITCNT and its relatives;
 * LLVM, AMDGPUUsage, "Memory Model GFX10-GFX11").
 */
import { Encoding, Flag, type Instruction } from "../../rdna/instruction.ts";
import type { Cfg } from "../cfg/cfg.ts";
import { OPCODES } from "../../rdna/table.ts";
import { FenceKind } from "../ir/ops.ts";
import { isGds } from "./gds.ts";

/** Kind of fence of each such instruction. Scalar stores are there for others when the scalar cache was written back. */
export const FENCES: Readonly<Record<string, number>> = {
  s_waitcnt: FenceKind.Results,
  s_waitcnt_vmcnt: FenceKind.Results,
  s_waitcnt_lgkmcnt: FenceKind.Results,
  s_waitcnt_vscnt: FenceKind.Stores,
  s_wait_idle: FenceKind.SharedCaches,
  s_dcache_inv: FenceKind.SharedCaches,
  s_dcache_wb: FenceKind.SharedCaches,
  s_gl1_inv: FenceKind.SharedCaches,
  buffer_gl0_inv: FenceKind.Caches,
  buffer_gl1_inv: FenceKind.SharedCaches,
};

/** Counters by which programs wait for what they ask of memory; bits. */
const Counter = { Vm: 1, Lgkm: 2 } as const;

/**
 * The counters that count loads which see other workgroups' data (GLC, DLC, GDS) and atomic operations with a result. Programs have waits everywhere, since
 * the values are needed; only those for such counters can say anything to others.
 */
export function answerCounters(instructions: readonly Instruction[]): number {
  let counters = 0;
  for (const i of instructions) {
    if (isGds(i)) counters |= Counter.Lgkm;
    else if ((i.flags & (Flag.Glc | Flag.Dlc)) !== 0 && !OPCODES[i.op].name.includes("store")) {
      counters |= i.encoding === Encoding.Smem ? Counter.Lgkm : Counter.Vm;
    }
  }
  return counters;
}

/** Whether a wait is one for such counters. @param imm the instruction's: of s_waitcnt vmcnt in bits 3:0 and 15:14, lgkmcnt in 13:8, all ones for no wait */
export function waitsForAnswers(counters: number, name: string, imm: number): boolean {
  const vm = name === "s_waitcnt_vmcnt" || name === "s_waitcnt" && ((imm & 0xf) !== 0xf || (imm >>> 14 & 3) !== 3);
  const lgkm = name === "s_waitcnt_lgkmcnt" || name === "s_waitcnt" && (imm >>> 8 & 0x3f) !== 0x3f;
  return vm && (counters & Counter.Vm) !== 0 || lgkm && (counters & Counter.Lgkm) !== 0;
}

/** What has come before a place on some way to it, of loads and then s_dcache_inv. */
const Before = { Nothing: 0, Loaded: 1, Anew: 2 } as const;

const LOADS = /load|atomic|sample|gather/;

/**
 * Scalar loads that look at memory anew: behind s_dcache_inv, before which the program has loaded something that may have told it to. They see what other
 * workgroups have written since the dispatch began, as those with GLC do, so the host cannot know their values before.
 */
export function scalarLoadsAnew(cfg: Cfg): ReadonlySet<Instruction> {
  const anew = new Set<Instruction>();
  if (!cfg.instructions.some(({ op }) => OPCODES[op].name === "s_dcache_inv")) return anew;
  const entry = new Uint8Array(cfg.blockCount), work = [...entry.keys()].reverse();
  while (work.length > 0) {
    const block = work.pop()!;
    let before: number = entry[block];
    for (let k = cfg.blockStart[block]; k < cfg.blockEnd[block]; k++) {
      const instruction = cfg.instructions[k], { name } = OPCODES[instruction.op];
      if (name === "s_dcache_inv" && before === Before.Loaded) before = Before.Anew;
      else if (LOADS.test(name)) {
        if (before === Before.Anew && instruction.encoding === Encoding.Smem) anew.add(instruction);
        before = Math.max(before, Before.Loaded);
      }
    }
    for (const next of cfg.successors.subarray(2 * block, 2 * block + 2)) {
      if (next < 0 || entry[next] >= before) continue;
      entry[next] = before;
      work.push(next);
    }
  }
  return anew;
}
