/**
 * Barriers of the guest that not all waves of a workgroup come to. On the console a barrier only counts waves: those that have ended are not waited for, and
 * any s_barrier goes with any. What the waves tell each other goes through guest memory here, since the frame has barriers of its own where there is LDS.
 */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { type Check, test, testChecks, WAVES } from "./check.ts";
import { assertWordsEqual, interpreted, onHost, randomInput, type WaveCase } from "./frame.ts";
import { INPUTS } from "./guest.ts";
import { expectedOutput, type ModelWave } from "./model.ts";

const STORED = ["s_waitcnt_vscnt null, 0x0", "s_barrier", "buffer_gl0_inv"];

/** v45: the address of the same lane's input words in the other wave of each pair; s20: number of the wave's first thread in its workgroup. */
function before(waveSize: 32 | 64, threads: number): string[] {
  return [
    `v_xor_b32_e32 v45, 0x${(32 * waveSize).toString(16)}, v42`,
    "v_readfirstlane_b32 s20, v41",
    `s_and_b32 s20, s20, 0x${(threads - 1).toString(16)}`,
  ];
}

/** Stores v1, waits, and loads what the other wave has stored. */
const EXCHANGE = [
  "global_store_dword v42, v1, s[0:1] offset:16",
  ...STORED,
  "global_load_dword v3, v45, s[0:1] offset:16",
  "s_waitcnt vmcnt(0)",
];

/** Word `k` of the input of lane `lane` of a wave, or of the other wave of its pair. */
function inputOf(input: Uint32Array, w: ModelWave, lane: number, k: number, other = false): number {
  return input[((other ? w.first ^ w.size : w.first) + lane) * INPUTS + k];
}

type Shape = Omit<Check, "model" | "input">;

function withInput(c: Shape, seed: number, model: (input: Uint32Array) => Check["model"]): Check {
  const input = randomInput(c, seed);
  return { ...c, input, model: model(input) };
}

const THREADS = 4;

function firstThread(w: ModelWave): number {
  return w.first % (THREADS * w.size);
}

const ended = WAVES.flatMap((waveSize): Check[] => {
  const threads = THREADS * waveSize, wide = waveSize === 64;
  const shape = { waveSize, threads, groups: 2 };
  const [b, exec, vcc, s24] = wide ? ["b64", "exec", "vcc", "s[24:25]"] : ["b32", "exec_lo", "vcc_lo", "s24"];
  const takesPart = (w: ModelWave) => firstThread(w) >= 2 * waveSize;
  return [
    withInput(
      {
        ...shape,
        name: "two of four waves end before a barrier",
        lines: [
          ...before(waveSize, threads),
          `s_cmp_lt_u32 s20, 0x${(2 * waveSize).toString(16)}`,
          "s_cbranch_scc1 end",
          ...EXCHANGE,
          "end:",
          "s_cmp_lg_u32 s6, s6",
        ],
      },
      1,
      (input) => (w) => {
        w.s[20] = firstThread(w);
        if (takesPart(w)) w.write(3, (lane) => inputOf(input, w, lane, 1, true));
      },
    ),
    withInput(
      {
        ...shape,
        name: "lanes from a limit on return before barriers, whole waves of them",
        laneMode: "laneless",
        lines: [
          `v_xor_b32_e32 v45, 0x${(32 * waveSize).toString(16)}, v42`,
          `s_mov_${b} ${s24}, ${exec}`,
          `v_and_b32_e32 v47, 0x${(threads - 1).toString(16)}, v41`,
          `v_cmp_gt_u32_e32 ${vcc}, 0x${(2 * waveSize - 5).toString(16)}, v47`,
          `s_and_${b} ${exec}, ${exec}, ${vcc}`,
          "s_cbranch_execz end",
          ...EXCHANGE,
          "s_barrier",
          "global_store_dword v42, v3, s[0:1] offset:16",
          "end:",
          `s_mov_${b} ${exec}, ${s24}`,
          "s_cmp_lg_u32 s6, s6",
        ],
      },
      2,
      (input) => (w) => {
        const runs = (first: number, lane: number) => first + lane < 2 * waveSize - 5;
        const first = firstThread(w);
        for (let lane = 0; lane < w.size; lane++) {
          if (!runs(first, lane)) continue;
          w.v[3][lane] = inputOf(input, w, lane, runs(first ^ w.size, lane) ? 1 : 4, true);
        }
      },
    ),
    withInput(
      {
        ...shape,
        name: "waves leave a loop with barriers one pair after the other",
        lines: [
          ...before(waveSize, threads),
          `s_lshr_b32 s21, s20, ${wide ? 7 : 6}`,
          "loop:",
          "global_store_dword v42, v1, s[0:1] offset:16",
          ...STORED,
          "global_load_dword v3, v45, s[0:1] offset:16",
          "s_waitcnt vmcnt(0)",
          "v_add_nc_u32_e32 v1, v1, v3",
          "s_barrier",
          "s_sub_u32 s21, s21, 1",
          "s_cbranch_scc0 loop",
          "s_mov_b32 s21, 0",
          "s_cmp_lg_u32 s6, s6",
        ],
      },
      3,
      (input) => (w) => {
        w.s[20] = firstThread(w);
        let own = Array.from({ length: w.size }, (_, lane) => inputOf(input, w, lane, 1));
        let other = own.map((_, lane) => inputOf(input, w, lane, 1, true));
        for (let trip = firstThread(w) / (2 * w.size); trip >= 0; trip = trip < 1 ? -1 : trip - 1) {
          w.write(3, (lane) => other[lane]);
          [own, other] = [own.map((a, lane) => a + other[lane] >>> 0), other.map((a, lane) => a + own[lane] >>> 0)];
        }
        w.write(1, (lane) => own[lane]);
      },
    ),
  ];
});
testChecks("Waves that end before others come to a barrier", ended);

test("packed waves that end before others come to a barrier do what the ISA says on hosts of 8, 16, 32 and 64 lanes", () => {
  ended.forEach((c, k) => {
    for (const width of [8, 16, 32, 64] as const) {
      if (width > c.waveSize) continue;
      const { output, laneMode } = onHost(width, c, c.input!.slice(), k, "packed");
      assertWordsEqual(c, output, expectedOutput(c, c.input!, c.model), `${c.name}, ${width} lanes`);
      assert(laneMode === "packed" || c.laneMode === "laneless", laneMode);
    }
  });
});

/** A barrier in each arm of a branch that a pair of waves takes, and what they tell each other there. */
function apart(waveSize: 32 | 64): WaveCase {
  const threads = 2 * waveSize;
  return {
    waveSize,
    threads,
    lines: [
      ...before(waveSize, threads),
      "s_cmp_eq_u32 s20, 0",
      "s_cbranch_scc1 first",
      ...EXCHANGE,
      "s_branch end",
      "first:",
      ...EXCHANGE,
      "v_add_nc_u32_e32 v3, v3, v3",
      "end:",
      "s_cmp_lg_u32 s6, s6",
    ],
  };
}

/** A loop that waves leave apart, and a barrier behind it. */
function behind(waveSize: 32 | 64): WaveCase {
  const threads = 2 * waveSize;
  return {
    waveSize,
    threads,
    lines: [
      ...before(waveSize, threads),
      "loop:",
      "s_barrier",
      "s_sub_u32 s20, s20, 1",
      "s_cbranch_scc0 loop",
      ...EXCHANGE,
      "s_mov_b32 s20, 0",
      "s_cmp_lg_u32 s6, s6",
    ],
  };
}

test("waves that wait at different barriers are refused by name in every mode; the interpreter counts them", () => {
  for (const waveSize of WAVES) {
    const c = apart(waveSize), input = randomInput(c, 5);
    assertWordsEqual(
      c,
      interpreted(c, input.slice()),
      expectedOutput(c, input, (w) => {
        w.s[20] = w.first;
        w.write(3, (lane) => inputOf(input, w, lane, 1, true) * (w.first === 0 ? 2 : 1));
      }),
      "interpreter",
    );
    for (const width of [8, 16, 32, 64] as const) {
      for (const mode of [undefined, "spanned", ...(width <= waveSize ? ["packed" as const] : [])] as const) {
        for (const guest of [c, behind(waveSize)]) {
          const error = assertThrows(() => onHost(width, guest, input.slice(), 1, mode), RefusedError);
          assertEquals(error.code, "recompiler.barrier", `${width} lanes, ${mode}: ${error.message}`);
          assert(error.place.pc !== undefined, "no pc");
        }
      }
    }
  }
});
