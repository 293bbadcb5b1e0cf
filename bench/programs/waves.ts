/** Wave programs: workgroups of one wave of 64 lanes that exchange in all the ways that compilers use, over and over. */
import { launch } from "../../src/guest/harness.ts";
import { loadFile } from "../../src/guest/loaders/load_file.ts";
import type { Program } from "../../src/guest/program.ts";
import { guestOf, randomInput, type WaveCase } from "../../tests/recompiler/waves/guest.ts";
import { corpusFile, corpusHas } from "../../tests/support/corpus.ts";
import { integerWords } from "../../tests/support/inputs.ts";

/** A program that can be dispatched in any number of workgroups. */
export interface WaveProgram {
  readonly name: string;
  readonly waveSize: 32 | 64;
  /** The guest for so many workgroups, and where its results are. */
  make(groups: number): { program: Program; output: { address: bigint; bytes: number } };
}

const WAIT = "s_waitcnt lgkmcnt(0)";
const repeat = (count: number, lines: (round: number) => readonly string[]): string[] =>
  Array.from({ length: count }, (_, round) => lines(round)).flat();

/** What is repeated, by name. */
const ROUNDS: Readonly<Record<string, (round: number) => readonly string[]>> = {
  /** Two words of a comparison's mask. */
  "ballots": () => [
    "v_cmp_lt_u32_e32 vcc, v1, v2",
    "s_bcnt1_i32_b64 s20, vcc",
    "v_add_nc_u32_e32 v2, s20, v2",
    "v_xor_b32_e32 v1, v1, v2",
  ],
  /** A prefix sum in rows, and the sums of the halves. */
  "DPP prefix sums": () => [
    ...[1, 2, 4, 8].map((n) => `v_add_nc_u32_dpp v1, v1, v1 row_shr:${n} row_mask:0xf bank_mask:0xf`),
    "v_readlane_b32 s20, v1, 31",
    "v_readlane_b32 s21, v1, 63",
    "v_add_nc_u32_e32 v2, s20, v2",
    "v_add_nc_u32_e32 v2, s21, v2",
    "v_xor_b32_e32 v1, v1, v2",
  ],
  /** Sums of all lanes of a half by exchanges with the lane 1, 2, 4, 8, 16 further. */
  "butterfly swizzles": () =>
    [1055, 2079, 4127, 8223, 16415].flatMap((offset) => [
      `ds_swizzle_b32 v3, v1 offset:${offset}`,
      WAIT,
      "v_add_nc_u32_e32 v1, v1, v3",
    ]),
  /** Values of lanes that memory names. */
  "shuffles to anywhere": () => [
    "ds_bpermute_b32 v3, v4, v1",
    WAIT,
    "v_add_nc_u32_e32 v1, v1, v3",
    "v_add_nc_u32_e32 v4, v4, v1",
  ],
  /** A trip for each value among the lanes. */
  "waterfall loops": (round) => [
    "v_and_b32_e32 v3, 7, v1",
    "s_mov_b32 s20, 0",
    `loop${round}:`,
    "v_readfirstlane_b32 s21, v3",
    "v_cmp_eq_u32_e32 vcc, s21, v3",
    "s_and_saveexec_b64 s[24:25], vcc",
    "v_mov_b32_e32 v4, s20",
    "s_add_u32 s20, s20, 1",
    "s_xor_b64 exec, exec, s[24:25]",
    `s_cbranch_execnz loop${round}`,
    "s_mov_b64 exec, s[30:31]",
    "v_xor_b32_e32 v1, v1, v2",
    "v_add_nc_u32_e32 v2, s20, v2",
  ],
  /** The wave passes data through LDS without a barrier. */
  "LDS in lockstep": () => [
    "ds_write_b32 v44, v1",
    "ds_read_b32 v3, v44 offset:16",
    WAIT,
    "v_add_nc_u32_e32 v1, v1, v3",
    "v_xor_b32_e32 v2, v1, v2",
  ],
  /** A comparison's mask among 24 other operations. */
  "ballots among arithmetic": () => [
    "v_cmp_lt_u32_e32 vcc, v1, v2",
    "s_bcnt1_i32_b64 s20, vcc",
    "v_add_nc_u32_e32 v2, s20, v2",
    ...repeat(4, () => [
      "v_mul_u32_u24_e32 v3, v1, v2",
      "v_xor_b32_e32 v1, v1, v2",
      "v_add_nc_u32_e32 v2, v2, v1",
      "v_add_nc_u32_e32 v1, v1, v3",
      "v_xor_b32_e32 v2, v1, v2",
    ]),
  ],
};

/** Rounds that a program needs of another number than asked for: a divisor. */
const FEWER: Readonly<Record<string, number>> = { "waterfall loops": 4, "butterfly swizzles": 2, "DPP prefix sums": 2 };

/** All programs, their rounds repeated so often; those of the corpus where it is there. */
export function wavePrograms(rounds: number): WaveProgram[] {
  const own = Object.entries(ROUNDS).map(([name, round]): WaveProgram => ({
    name,
    waveSize: 64,
    make: (groups) => {
      const lines = repeat(Math.max(1, Math.floor(rounds / (FEWER[name] ?? 1))), round);
      const c: WaveCase = { waveSize: 64, groups, lines, lds: name.startsWith("LDS") };
      return guestOf(c, randomInput(c, 7));
    },
  }));
  return [...own, ...corpusPrograms()];
}

function corpusShader(folder: string, name: string) {
  const loaded = loadFile(corpusFile(folder, name));
  if (loaded.kind !== "shader") throw new Error(`${name} holds no shader`);
  return loaded.shader;
}

function corpusPrograms(): WaveProgram[] {
  const buffer = (data: Uint32Array<ArrayBuffer>) => ({ kind: "buffer" as const, data });
  const programs: WaveProgram[] = [];
  if (corpusHas("llvm")) {
    programs.push({
      name: "k.w64.reduce",
      waveSize: 64,
      make: (groups) => {
        const { program, resources } = launch({
          shader: corpusShader("llvm", "k.w64.reduce.json"),
          grid: [groups, 1, 1],
          workgroupSize: [64, 1, 1],
          resources: { "0": buffer(integerWords(groups * 64, 5)), "1": buffer(new Uint32Array(groups + 3)) },
        });
        return { program, output: resources.get("1")! };
      },
    });
  }
  if (corpusHas("aco")) {
    programs.push({
      name: "subgroup.w64",
      waveSize: 64,
      make: (groups) => {
        const { program, resources } = launch({
          shader: corpusShader("aco", "subgroup.w64.comp.json"),
          grid: [groups, 1, 1],
          resources: { "0.0": buffer(integerWords(groups * 64, 5)), "0.1": buffer(new Uint32Array(groups * 64 * 8)) },
        });
        return { program, output: resources.get("0.1")! };
      },
    });
  }
  return programs;
}
