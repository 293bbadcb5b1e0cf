import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import type { Ir } from "../../../src/recompiler/ir/ir.ts";
import { IfKind, Op } from "../../../src/recompiler/ir/ops.ts";
import { EvalMemory, type EvalOptions, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { cleaned, liftCode, makeRequest } from "../../support/lift.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { asm, asm64, assembled, type Dialect } from "./assembled.ts";

const OUT = 0x1_0000_0000n;

/**
 * Runs a program that stores v1 at s[0:1] + v0 * 4 in the end (v0 is the thread id), on the IR as lifted and on the cleaned one.
 * A label is a line that ends with a colon; branches name labels.
 */
function outputs(
  dialect: Dialect,
  lines: readonly string[],
  changes: Partial<RecompileRequest> = {},
  userData: number[] = [],
  more: Partial<EvalOptions> = {},
): number[] {
  const request = makeRequest({
    code: Uint32Array.from(program(dialect, lines)),
    waveSize: dialect.endsWith("64") ? 64 : 32,
    workgroupSize: [dialect.endsWith("64") ? 64 : 32, 1, 1],
    userSgprCount: 4,
    ...changes,
  });
  const lifted = liftCode(request);
  const [x, y, z] = request.workgroupSize;
  const results = [lifted, cleaned(lifted)].map((ir) => {
    const memory = new EvalMemory();
    const view = memory.mapWords(OUT, new Uint32Array(x * y * z));
    const { faults } = evaluateWorkgroup(ir, {
      waveSize: request.waveSize,
      workgroupSize: request.workgroupSize,
      userData: [0, 1, ...userData],
      memory,
      threadLimit: request.partialThreads ? [userData[0], 1, 1] : undefined,
      ...more,
    });
    assertEquals(faults, []);
    return [...view];
  });
  assertEquals(results[1], results[0], "the simplified program gives other results");
  return results[0];
}

/** Assembles lines; "s_cbranch_scc1 name" and the like get the offset of the label "name:". */
function program(dialect: Dialect, lines: readonly string[]): number[] {
  const all = [...lines, "v_lshlrev_b32_e32 v0, 2, v0", "global_store_dword v0, v1, s[0:1]", "s_endpgm"];
  const words: number[] = [];
  const labels = new Map<string, number>();
  const jumps: [number, string][] = [];
  for (const line of all) {
    if (line.endsWith(":")) labels.set(line.slice(0, -1), words.length);
    else {
      const branch = /^(s_c?branch\w*) ([a-z]\w*)$/.exec(line);
      if (branch !== null) jumps.push([words.length, branch[2]]);
      words.push(...assembled(dialect, [branch === null ? line : `${branch[1]} 0`]));
    }
  }
  for (const [at, label] of jumps) words[at] |= (labels.get(label)! - at - 1) & 0xffff;
  return words;
}

const range = (n: number) => Array.from({ length: n }, (_, i) => i);

Deno.test("arms of a masked branch join with phis, and inactive lanes keep their registers", () => {
  const lines = [
    "v_mov_b32_e32 v1, 7",
    "v_cmp_gt_u32_e32 vcc_lo, s2, v0",
    "s_and_saveexec_b32 s4, vcc_lo",
    "s_cbranch_execz skip",
    "v_add_nc_u32_e32 v1, 100, v0",
    "skip:",
    "s_or_b32 exec_lo, exec_lo, s4",
  ];
  for (const limit of [0, 5, 40]) {
    assertEquals(outputs("gfx1030 w32", lines, {}, [limit]), range(32).map((i) => i < limit ? 100 + i : 7));
  }
});

Deno.test("if, else and end if of a compiler, in wave 64", () => {
  const lines = [
    "v_cmp_gt_u32_e32 vcc, s2, v0",
    "s_and_saveexec_b64 s[4:5], vcc",
    "s_xor_b64 s[4:5], exec, s[4:5]",
    "s_cbranch_execz else",
    "v_mul_u32_u24_e32 v1, 3, v0",
    "else:",
    "s_andn2_saveexec_b64 s[4:5], s[4:5]",
    "s_cbranch_execz end",
    "v_sub_nc_u32_e32 v1, 1000, v0",
    "end:",
    "s_or_b64 exec, exec, s[4:5]",
  ].map((line) => line.replace("1000", "0x3e8"));
  for (const limit of [0, 33, 64]) {
    assertEquals(outputs("gfx1030 w64", lines, {}, [limit]), range(64).map((i) => i < limit ? 3 * i : 1000 - i));
  }
});

Deno.test("a loop whose lanes leave one by one; scalars count the wave's trips", () => {
  const lines = [
    "v_mov_b32_e32 v1, 0",
    "v_mov_b32_e32 v2, v0",
    "s_mov_b32 s4, 0",
    "s_mov_b32 s5, exec_lo",
    "loop:",
    "v_cmpx_lt_u32_e32 s2, v2",
    "s_cbranch_execz done",
    "s_add_u32 s4, s4, 1",
    "v_add_nc_u32_e32 v1, 10, v1",
    "v_subrev_nc_u32_e32 v2, s3, v2",
    "s_branch loop",
    "done:",
    "s_mov_b32 exec_lo, s5",
    "s_lshl_b32 s4, s4, 16",
    "v_or_b32_e32 v1, s4, v1",
  ];
  // Lane i makes one trip per 4 above 5; the wave as many as its longest lane.
  const trips = (i: number) => Math.max(0, Math.ceil((i - 5) / 4));
  assertEquals(outputs("gfx1030 w32", lines, {}, [5, 4]), range(32).map((i) => trips(31) * 65536 + trips(i) * 10));
});

Deno.test("nested scalar loops and a scalar condition", () => {
  const lines = [
    "s_mov_b32 s4, 0",
    "s_mov_b32 s6, 0",
    "outer:",
    "s_mov_b32 s5, 0",
    "inner:",
    "s_add_u32 s6, s6, s5",
    "s_add_u32 s5, s5, 1",
    "s_cmp_lt_u32 s5, s2",
    "s_cbranch_scc1 inner",
    "s_bitcmp1_b32 s4, 0",
    "s_cbranch_scc0 even",
    "s_add_u32 s6, s6, 0x64",
    "even:",
    "s_add_u32 s4, s4, 1",
    "s_cmp_lt_u32 s4, s3",
    "s_cbranch_scc1 outer",
    "v_mov_b32_e32 v1, s6",
  ];
  assertEquals(outputs("gfx1030 w32", lines, {}, [4, 5])[3], 5 * 6 + 200);
});

Deno.test("float values that go around a loop next to integers keep their bits", () => {
  const lines = [
    "v_mov_b32_e32 v1, 0",
    "v_mov_b32_e32 v2, 0",
    "s_mov_b32 s4, 0",
    "loop:",
    "v_add_f32_e32 v2, 0.5, v2",
    "v_xor_b32_e32 v1, v1, v2",
    "s_add_u32 s4, s4, 1",
    "s_cmp_lt_u32 s4, s2",
    "s_cbranch_scc1 loop",
    "v_add_nc_u32_e32 v1, v1, v2",
  ];
  const bits = (x: number) => new Uint32Array(new Float32Array([x]).buffer)[0];
  let xor = 0;
  for (let k = 1; k <= 6; k++) xor ^= bits(k / 2);
  assertEquals(outputs("gfx1030 w32", lines, {}, [6])[0], ((xor >>> 0) + bits(3)) >>> 0);
});

Deno.test("lanes that do not exist: a partial last wave, and a dispatch limited in threads", () => {
  // s4 = EXEC as a number, s5 = lanes that compare, s6 = whether any does.
  const lines = [
    "s_mov_b32 s4, exec_lo",
    "v_cmp_le_u32_e64 s5, s2, v0",
    "s_bcnt1_i32_b32 s5, s5",
    "s_not_b32 s6, exec_lo",
    "s_cmp_lg_u32 s6, 0",
    "s_cselect_b32 s6, 1, 0",
    "s_lshl_b32 s5, s5, 8",
    "s_bcnt1_i32_b32 s4, s4",
    "s_or_b32 s4, s4, s5",
    "s_lshl_b32 s6, s6, 16",
    "s_or_b32 s4, s4, s6",
    "v_mov_b32_e32 v1, s4",
  ];
  const partialWave = outputs("gfx1030 w32", lines, { workgroupSize: [40, 1, 1] }, [36]);
  assertEquals([partialWave[0], partialWave[39]], [32, 8 | (4 << 8) | (1 << 16)]);
  const partialDispatch = outputs("gfx1030 w32", lines, { partialThreads: true }, [20]);
  assertEquals(partialDispatch.slice(18, 22), [20 | (1 << 16), 20 | (1 << 16), 0, 0]);
});

Deno.test("branches on EXEC, VCC and mask results of scalar operations are wave branches, others scalar ones", () => {
  const kinds = (lines: string[], changes: Partial<RecompileRequest> = {}) => {
    const ir = liftCode(
      makeRequest({ code: Uint32Array.from(program("gfx1030 w32", lines)), userSgprCount: 4, ...changes }),
    );
    return ifKinds(ir);
  };
  const compare = "v_cmp_gt_u32_e32 vcc_lo, s2, v0";
  const body = ["v_mov_b32_e32 v1, 1", "skip:"];
  assertEquals(kinds([compare, "s_cbranch_vccz skip", ...body]), [IfKind.Wave]);
  assertEquals(kinds([compare, "s_and_b32 exec_lo, exec_lo, vcc_lo", "s_cbranch_execz skip", ...body]), [IfKind.Wave]);
  assertEquals(kinds([compare, "s_and_b32 s4, exec_lo, vcc_lo", "s_cbranch_scc0 skip", ...body]), [IfKind.Wave]);
  assertEquals(kinds(["s_and_b32 s4, s2, s3", "s_cbranch_scc0 skip", ...body]), [IfKind.Scalar]);
  assertEquals(kinds(["s_cmp_lt_u32 s2, s3", "s_cbranch_scc0 skip", ...body]), [IfKind.Scalar]);
  // The complement of a mask has bits of lanes without threads, too; those lanes are there.
  const complement = [compare, "s_not_b32 s4, vcc_lo", "s_cbranch_scc0 skip", ...body];
  assertEquals([kinds(complement), kinds(complement, { workgroupSize: [40, 1, 1] })], [[IfKind.Wave], [IfKind.Wave]]);
});

function ifKinds(ir: Ir): number[] {
  return range(ir.length).filter((i) => ir.op[i] === Op.If).map((i) => ir.b[i]);
}

Deno.test("where EXEC is full, vector writes need no selection, and no ballot survives that nobody reads", () => {
  const code = Uint32Array.from(program("gfx1030 w32", [
    "v_add_nc_u32_e32 v1, s2, v0",
    "v_cmp_gt_u32_e32 vcc_lo, s2, v0",
    "v_cndmask_b32_e32 v1, v1, v0, vcc_lo",
  ]));
  const ir = cleaned(liftCode(makeRequest({ code, userSgprCount: 4 })));
  const ops = [...ir.op.subarray(0, ir.length)];
  assertEquals(ops.filter((op) => op === Op.Select).length, 1);
  assert(!ops.includes(Op.BallotLo));
});

Deno.test("all refused instructions of a program are named in one error, with places and words", () => {
  const code = Uint32Array.from(asm(
    "s_memtime s[2:3]",
    "v_mov_b32_e32 v1, v0",
    "s_sethalt 1",
    "s_setkill 1",
    "s_endpgm",
  ));
  let error: unknown;
  try {
    liftCode(makeRequest({ code, codeAddress: 0xffff8000_00001000n }));
  } catch (e) {
    error = e;
  }
  assert(error instanceof RefusedError);
  assertEquals(error.code, "recompiler.unsupported-instruction");
  assertEquals([error.place.pc, error.place.guestAddress], [0, 0xffff8000_00001000n]);
  for (
    const text of [
      "3 instructions",
      "s_memtime at pc 0x0",
      "s_sethalt at pc 0xc",
      "s_setkill at pc 0x10",
      "0xffff80000000100c",
      "0xbf8d0001",
    ]
  ) {
    assertStringIncludes(error.message, text);
  }
});

Deno.test("the scratch offset that the dispatcher loads comes behind the workgroup ids", () => {
  const offsets = (request: Partial<RecompileRequest>) =>
    outputs("gfx1030 w32", ["v_lshl_or_b32 v1, v1, 16, s4"], { scratch: true, ...request }, [], {
      scratchOffset: (wave) => 0x400 * (5 + wave),
    });
  const lanes = (value: number) => new Array(32).fill(value);
  assertEquals(offsets({ workgroupSize: [64, 1, 1] }), [...lanes(0x1400), ...lanes(0x1800)]);
});

Deno.test("TG_SIZE holds the number of waves, the wave's number and whether it is the first", () => {
  const loaded = (threads: number) =>
    outputs("gfx1030 w32", ["v_lshl_or_b32 v1, v1, 16, s4"], { tgSize: true, workgroupSize: [threads, 1, 1] });
  const lanes = (value: number) => new Array(32).fill(value);
  assertEquals(loaded(32), lanes(0x8000_0001));
  assertEquals(loaded(96), [...lanes(0x8000_0003), ...lanes(0x43), ...lanes(0x83)]);
});

Deno.test("user data, workgroup ids and thread ids land in the registers that the resource words say", () => {
  const lines = ["s_lshl_b32 s5, s5, 8", "s_or_b32 s4, s4, s5", "v_lshl_or_b32 v1, v1, 16, s4"];
  const request = makeRequest({
    code: Uint32Array.from(program("gfx1030 w32", lines)),
    userSgprCount: 4,
    workgroupIds: [true, false, true],
    threadIdCount: 2,
    workgroupSize: [8, 4, 1],
  });
  const memory = new EvalMemory();
  const view = memory.mapWords(OUT, new Uint32Array(8));
  evaluateWorkgroup(liftCode(request), {
    waveSize: 32,
    workgroupSize: [8, 4, 1],
    userData: [0, 1],
    workgroupId: [3, 9, 5],
    memory,
  });
  // All rows write the same words; the last one wins.
  assertEquals([...view], Array(8).fill(3 | (5 << 8) | (3 << 16)));
});

Deno.test("wave 32 leaves VCC_HI free, wave 64 pairs keep one Bool through a loop", () => {
  assertEquals(
    outputs("gfx1030 w32", ["s_mov_b32 vcc_hi, s2", "v_cmp_gt_u32_e32 vcc_lo, 1, v0", "v_mov_b32_e32 v1, vcc_hi"], {}, [
      77,
    ])[5],
    77,
  );
  const lines = [
    "v_mov_b32_e32 v1, 0",
    "s_mov_b64 s[4:5], 0",
    "s_mov_b64 s[6:7], exec",
    "loop:",
    "v_add_nc_u32_e32 v1, 1, v1",
    "v_cmp_ge_u32_e32 vcc, v1, v0",
    "s_or_b64 s[4:5], vcc, s[4:5]",
    "s_andn2_b64 exec, exec, s[4:5]",
    "s_cbranch_execnz loop",
    "s_mov_b64 exec, s[6:7]",
  ];
  assertEquals(outputs("gfx1030 w64", lines), range(64).map((i) => Math.max(i, 1)));
  const ir = cleaned(
    liftCode(
      makeRequest({
        code: Uint32Array.from(program("gfx1030 w64", lines)),
        waveSize: 64,
        workgroupSize: [64, 1, 1],
        userSgprCount: 2,
      }),
    ),
  );
  assertEquals(range(ir.length).filter((i) => ir.op[i] === Op.LoopPhi).length, 3, "v1, s[4:5], exec");
  assertEquals(asm64("s_endpgm").length, 1);
});
