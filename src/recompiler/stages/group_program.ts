/**
 * Programs of merged groups (group.ts) from registers. Offsets are dwords within the SH bank, fields those of AMD's register headers (gc_10_3_0_sh_mask.h:
 * SPI_SHADER_PGM_RSRC1_GS, RSRC2_GS; of the hull stage SPI_SHADER_PGM_RSRC2_HS, whose LDS_SIZE is 26:18 from gfx10 on, in units of 128 dwords).
 *
 * @module
 */
import { RefusedError } from "../../errors.ts";
import type { Target } from "../../rdna/target.ts";
import type { RecompilerDevice, RecompileRequest } from "../request.ts";
import { GROUP_THREADS, type MergedGroup } from "./group.ts";
import { commonFields, graphicsRequest, type StageProgram, type StageRegisters } from "./registers.ts";

/** Stages whose waves are merged: vertex and geometry (with the domain shader), vertex and hull. */
export type GroupStage = "geometry" | "hull";

/** A merged group: what its registers say. */
export interface GroupProgram extends Omit<StageProgram, "state"> {
  readonly stage: GroupStage;
  /** Threads of a group, whole waves. */
  readonly threads: number;
  readonly group: MergedGroup;
}

const REGISTERS = {
  geometry: { rsrc1: 0x08a, rsrc2: 0x08b, name: "GS", wave32: 22, lds: { shift: 19, mask: 0xff } },
  hull: { rsrc1: 0x10a, rsrc2: 0x10b, name: "HS", wave32: 21, lds: { shift: 18, mask: 0x1ff } },
} as const;

/** MODE of RSRC1: FLOAT_MODE 19:12, DX10_CLAMP 21, IEEE_MODE 23. */
const MODE_BITS = 0xff << 12 | 1 << 21 | 1 << 23;

/**
 * The program that registers describe.
 *
 * @param halves registers of a program's two halves, or of a whole program
 * @param stages VGT_SHADER_STAGES_EN: GS_W32_EN is bit 22, HS_W32_EN bit 21
 * @param next how the first half goes on with the second one
 * @param threads of a group at most, whole waves
 * @throws RefusedError `recompiler.stage-registers` for registers that are missing, and for halves that want different float modes
 */
export function groupProgram(
  stage: GroupStage,
  halves: readonly StageRegisters[],
  stages: number,
  next?: MergedGroup["next"],
  threads = GROUP_THREADS,
): GroupProgram {
  const { rsrc1, rsrc2, name, wave32, lds } = REGISTERS[stage];
  const read = (offset: number, register: string) =>
    halves.map((registers) => {
      const value = registers.sh(offset);
      if (value !== undefined) return value;
      throw refused(`SPI_SHADER_PGM_${register}_${name} is not set: nothing says what is in the program's registers`);
    });
  const firsts = read(rsrc1, "RSRC1"), seconds = read(rsrc2, "RSRC2");
  if (firsts.some((word) => ((word ^ firsts[0]) & MODE_BITS) !== 0)) {
    throw refused(`the halves of the program want different float modes (SPI_SHADER_PGM_RSRC1_${name})`);
  }
  const fields = seconds.map((second) => commonFields(firsts[0], second));
  return {
    ...fields[0],
    stage,
    userSgprCount: Math.max(...fields.map(({ userSgprCount }) => userSgprCount)),
    scratch: fields.some(({ scratch }) => scratch),
    waveSize: stages >>> wave32 & 1 ? 32 : 64,
    ldsBytes: 512 * Math.max(...seconds.map((second) => second >>> lds.shift & lds.mask)),
    threads,
    group: next === undefined ? {} : { next },
  };
}

/** The recompiler's request for a merged group. `code` are the words from the entry point on. */
export function groupRequest(
  program: GroupProgram,
  code: Uint32Array,
  codeAddress: bigint,
  target: Target,
  device: RecompilerDevice,
): RecompileRequest {
  return { ...graphicsRequest(program, program.threads, code, codeAddress, target, device), group: program.group };
}

function refused(why: string): RefusedError {
  return new RefusedError("recompiler.stage-registers", why);
}
