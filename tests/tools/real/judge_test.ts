/** What a difference is called, on small programs that have one reason each to differ. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { SoftwareDevice } from "../../../src/driver/software/software_device.ts";
import { VulkanDevice } from "../../../src/driver/vulkan/vulkan_device.ts";
import type { Device } from "../../../src/driver/device.ts";
import { Operand } from "../../../src/rdna/instruction.ts";
import { HANDLERS } from "../../../src/rdna/interpreter/handlers.ts";
import { Workgroup } from "../../../src/rdna/interpreter/machine/workgroup.ts";
import { DeviceFunctions } from "../../../tools/real/device_functions.ts";
import { type Case, judge, type Judgement } from "../../../tools/real/judge.ts";
import type { Results } from "../../../tools/real/module_runs.ts";
import { Code } from "../../fuzz/code.ts";
import { ds, int, opcodeOf, v } from "../../fuzz/encode.ts";
import { computeState, GuestProgram, words64 } from "../../support/guest_program.ts";
import { dispatchDirect } from "../../support/packets.ts";
import { deviceTest } from "../../support/vulkan.ts";

/** Threads of the programs: two waves. */
const THREADS = 128;

/** Runs a program that has its thread's input (a dword) in v2, and the byte offset of its own output in v1. */
function run(
  body: (code: Code) => void,
  inputs: readonly number[] = [],
  device: Device = new SoftwareDevice(),
): Results {
  const code = new Code();
  code.vop("v_lshlrev_b32", v(1), int(2), v(0));
  code.flat("global_load_dword", { dst: v(2), addr: v(1), saddr: 0 });
  code.sopp("s_waitcnt");
  body(code);
  code.sopp("s_endpgm");
  const guest = new GuestProgram("judge", { target: "gfx1030" });
  const at = guest.code(Uint32Array.from(code.words));
  const data = new Uint32Array(THREADS).map((_, k) => inputs.length === 0 ? k : inputs[k % inputs.length]);
  const input = guest.buffer(data), output = guest.buffer(new Uint32Array(THREADS));
  guest.submit(
    0,
    computeState({
      code: at,
      userData: [...words64(input.address), ...words64(output.address)],
      threads: [THREADS, 1, 1],
      ldsBytes: 1024,
      floatMode: 0xf0,
    }),
    dispatchDirect([1, 1, 1], { waveSize: 64 }),
  );
  const ran = device.run(guest.program);
  try {
    if (ran.result.error !== undefined) throw ran.result.error;
    return new Map([["0.0", new Uint32Array(ran.memory.read(output.address, output.bytes).slice().buffer)]]);
  } finally {
    ran.close();
  }
}

const store = (code: Code, register: number, address = 1) =>
  code.flat("global_store_dword", { addr: v(address), data: v(register), saddr: 2 });

/** Results with words changed. */
function changed(results: Results, words: Readonly<Record<number, number>>): Results {
  const copy = results.get("0.0")!.slice();
  for (const [at, value] of Object.entries(words)) copy[Number(at)] = value;
  return new Map([["0.0", copy]]);
}

/** Judges a program of which one side's words are others. */
function judgeProgram(
  body: (code: Code) => void,
  { actual, original, inputs, inexact = [], partial = [], outside = [] }: {
    actual?: Readonly<Record<number, number>>;
    original?: Readonly<Record<number, number>>;
    inputs?: readonly number[];
    inexact?: readonly string[];
    partial?: readonly string[];
    /** Words of the original's runs with indices led back inside. */
    outside?: readonly Readonly<Record<number, number>>[];
  },
): Judgement {
  const interpret = () => run(body, inputs), base = interpret();
  const given: Case = {
    actual: changed(base, actual ?? {}),
    original: original === undefined ? undefined : changed(base, original),
    interpret,
    inexact,
    partial,
    outside: () => outside.map((words) => changed(changed(base, original ?? {}), words)),
  };
  return judge(given);
}

/** Stores three times the input: nothing about it is open. */
const plain = (code: Code) => {
  code.vop3("v_mul_lo_u32", { dst: v(3), src: [v(2), int(3)] });
  store(code, 3);
};

Deno.test("recompiled code that does not do what its machine code does is wrong, by a single bit", () => {
  const judgement = judgeProgram(plain, { actual: { 5: 14 } });
  assertEquals(judgement.kind, "wrong");
  assert("where" in judgement);
  assertStringIncludes(judgement.where, "0.0[5]: 0xe, the interpreter has 0xf");
});

Deno.test("an original that differs for no reason that anybody knows is unexplained", () => {
  assertEquals(judgeProgram(plain, { original: { 5: 14 } }).kind, "unexplained");
  assertEquals(judgeProgram(plain, { original: { 5: 14 }, inexact: ["Exp2", "Dot"] }).kind, "unexplained");
  assertEquals(judgeProgram(plain, { original: { 5: 14 }, partial: ["UDiv", "ConvertFToS"] }).kind, "unexplained");
});

Deno.test("equal results are the same, with or without an original; the bits of NaN do not count", () => {
  assertEquals(judgeProgram(plain, {}), { kind: "same" });
  assertEquals(judgeProgram(plain, { original: {} }), { kind: "same" });
  const nan = (code: Code) => {
    code.vop("v_mov_b32", v(3), Operand.Literal, -1, 0x7fc00000);
    store(code, 3);
  };
  assertEquals(judgeProgram(nan, { actual: { 0: 0xffc00001 } }), { kind: "same" });
  assertEquals(judgeProgram(nan, { actual: { 0: 0x7f800000 } }).kind, "wrong", "infinity is no NaN");
});

Deno.test("workgroup memory that nobody wrote is open, and what was written is not", () => {
  const reads = (code: Code) => {
    code.emit(ds(opcodeOf("ds_write_b32"), { addr: v(1), data: v(2), offset: 512 }));
    code.emit(ds(opcodeOf("ds_read_b32"), { addr: v(1), dst: v(3), offset: 0 }));
    code.sopp("s_waitcnt");
    store(code, 3);
  };
  assertEquals(judgeProgram(reads, { actual: { 7: 99 } }), {
    kind: "open",
    causes: ["workgroup memory that nobody wrote"],
  });
  const readsOwn = (code: Code) => {
    code.emit(ds(opcodeOf("ds_write_b32"), { addr: v(1), data: v(2), offset: 512 }));
    code.emit(ds(opcodeOf("ds_read_b32"), { addr: v(1), dst: v(3), offset: 512 }));
    code.sopp("s_waitcnt");
    store(code, 3);
  };
  assertEquals(judgeProgram(readsOwn, { actual: { 7: 99 } }).kind, "wrong");
});

Deno.test("the order of waves is open where they meet without a barrier, and not behind one", () => {
  // Each wave exchanges one word with its number; the old value goes to the first word.
  const meet = (barrier: boolean) => (code: Code) => {
    code.vop("v_mov_b32", v(4), int(0));
    code.vop("v_lshrrev_b32", v(5), int(6), v(0));
    code.emit(ds(opcodeOf("ds_write_b32"), { addr: v(4), data: v(5) }));
    if (barrier) {
      code.sopp("s_waitcnt");
      code.sopp("s_barrier");
      code.emit(ds(opcodeOf("ds_write_b32"), { addr: v(4), data: v(4) }));
      code.sopp("s_waitcnt");
      code.sopp("s_barrier");
    }
    code.emit(ds(opcodeOf("ds_read_b32"), { addr: v(4), dst: v(3) }));
    code.sopp("s_waitcnt");
    code.sopp("s_barrier");
    code.emit(ds(opcodeOf("ds_read_b32"), { addr: v(4), dst: v(3) }));
    code.sopp("s_waitcnt");
    store(code, 3);
  };
  assertEquals(judgeProgram(meet(false), { actual: { 0: 0 } }), { kind: "open", causes: ["the order of waves"] });
  assertEquals(judgeProgram(meet(true), { actual: { 0: 1 } }).kind, "wrong");
});

Deno.test("the order of lanes is open in stores to one word and in atomics whose old value counts, not in their sum", () => {
  const collide = (code: Code) => {
    code.vop("v_mov_b32", v(4), int(0));
    // One wave only.
    code.vop("v_cmpx_gt_u32", -1, Operand.Literal, v(0), 64);
    store(code, 2, 4);
  };
  assertEquals(judgeProgram(collide, { actual: { 0: 3 } }), {
    kind: "open",
    causes: ["the order of lanes in a store or an atomic operation"],
  });
  const count = (returned: boolean) => (code: Code) => {
    code.vop("v_mov_b32", v(4), int(0));
    code.vop("v_mov_b32", v(6), int(1));
    code.vop("v_cmpx_gt_u32", -1, Operand.Literal, v(0), 64);
    code.emit(ds(opcodeOf("ds_write_b32"), { addr: v(4), data: v(4) }));
    code.emit(ds(opcodeOf("ds_add_rtn_u32"), { addr: v(4), data: v(6), dst: v(3) }));
    code.emit(ds(opcodeOf("ds_read_b32"), { addr: v(4), dst: v(5) }));
    code.sopp("s_waitcnt");
    store(code, returned ? 3 : 5);
  };
  assertEquals(judgeProgram(count(true), { actual: { 0: 63, 63: 0 } }), {
    kind: "open",
    causes: ["the order of lanes in a store or an atomic operation"],
  });
  assertEquals(judgeProgram(count(false), { actual: { 0: 63 } }).kind, "wrong");
});

Deno.test("a function's result may be off by what its bound makes of it, and by no more; only where the original has such a function", () => {
  const body = (code: Code) => {
    code.vop("v_exp_f32", v(3), v(2));
    store(code, 3);
  };
  const inputs = [0x3f900000]; // 2^1.125
  const word = run(body, inputs).get("0.0")![3];
  const judgement = judgeProgram(body, { inputs, original: { 3: word + 3 }, inexact: ["Exp2"] });
  assertEquals(judgement, { kind: "bounded", causes: ["the precision of functions"], ulp: 3 });
  assertEquals(judgeProgram(body, { inputs, original: { 3: word + 64 }, inexact: ["Exp2"] }).kind, "unexplained");
  assertEquals(judgeProgram(body, { inputs, original: { 3: word + 3 } }).kind, "unexplained");
  assertEquals(judgeProgram(body, { inputs, actual: { 3: word + 3 }, inexact: ["Exp2"] }).kind, "wrong");
});

Deno.test("what grows an error grows the bound: a difference of two exponentials that are nearly equal", () => {
  const body = (code: Code) => {
    code.vop("v_exp_f32", v(3), v(2));
    code.vop("v_sub_f32", v(3), Operand.Literal, v(3), 0x400b95c2);
    store(code, 3);
  };
  const inputs = [0x3f900000];
  const word = run(body, inputs).get("0.0")![3];
  // The difference is some 10^-8: a unit of the function is millions of units of the result.
  const judgement = judgeProgram(body, { inputs, original: { 3: word + 0x100000 }, inexact: ["Exp"] });
  assertEquals(judgement.kind, "bounded");
});

Deno.test("dot products may be fused and summed up in any order: units of the largest term", () => {
  const body = (code: Code) => {
    code.vop("v_mov_b32", v(3), int(0));
    for (let k = 0; k < 4; k++) code.vop3("v_fma_f32", { dst: v(3), src: [v(2), v(2), v(3)] });
    store(code, 3);
  };
  const inputs = [0x3f8ccccd];
  const word = run(body, inputs).get("0.0")![3];
  const judgement = judgeProgram(body, { inputs, original: { 3: word + 2 }, inexact: ["Dot"] });
  assertEquals(judgement, { kind: "bounded", causes: ["order and rounding inside of dot products"], ulp: 2 });
  assertEquals(judgeProgram(body, { inputs, original: { 3: word + 100 }, inexact: ["Dot"] }).kind, "unexplained");
  assertEquals(judgeProgram(body, { inputs, original: { 3: word + 2 } }).kind, "unexplained");
});

Deno.test("a number that no integer holds may become any integer, and an integer divided by zero anything", () => {
  const convert = (code: Code) => {
    code.vop("v_cvt_i32_f32", v(3), v(2));
    store(code, 3);
  };
  const inputs = [0x7f800000, 0x40400000]; // infinity, 3
  assertEquals(judgeProgram(convert, { inputs, original: { 2: 0 }, partial: ["ConvertFToS"] }), {
    kind: "open",
    causes: ["conversions of numbers that the integer type cannot hold"],
  });
  assertEquals(judgeProgram(convert, { inputs, original: { 3: 0 }, partial: ["ConvertFToS"] }).kind, "unexplained");
  const divide = (code: Code) => {
    code.vop("v_cvt_f32_u32", v(3), v(2));
    code.vop("v_rcp_iflag_f32", v(3), v(3));
    store(code, 3);
  };
  const original = { 2: 0 };
  assertEquals(judgeProgram(divide, { inputs: [0, 7], original, partial: ["UMod"] }), {
    kind: "open",
    causes: ["a division of integers by zero"],
  });
  assertEquals(judgeProgram(divide, { inputs: [5, 7], original, partial: ["UMod"] }).kind, "unexplained");
});

Deno.test("a word that changes with where an index outside of an array leads is open, and no other one", () => {
  const open = { kind: "open", causes: ["accesses outside of arrays and buffers"] } as const;
  const several: Record<number, number>[] = [{}, { 5: 1 }, { 5: 2 }],
    one: Record<number, number>[] = [{ 5: 1 }, { 5: 1 }];
  const original = { 5: 14 };
  for (const outside of [several, one]) {
    assertEquals(judgeProgram(plain, { original, outside }), open);
    assertEquals(judgeProgram(plain, { original: { 6: 14 }, outside }).kind, "unexplained");
    assertEquals(judgeProgram(plain, { original: { 5: 14, 6: 14 }, outside }).kind, "unexplained");
    assertEquals(judgeProgram(plain, { actual: original, outside }).kind, "wrong", "machine code has no arrays");
  }
  // Another compilation may compute a function otherwise: the runs are compared with each other then.
  assertEquals(judgeProgram(plain, { original, outside: several, inexact: ["Exp2"] }), open);
  assertEquals(judgeProgram(plain, { original, outside: one, inexact: ["Exp2"] }).kind, "unexplained");
});

Deno.test("judging leaves the interpreter as it was", () => {
  const handlers = [...HANDLERS], groups = Workgroup.prototype.run;
  judgeProgram(plain, { original: { 5: 14 }, inexact: ["Exp2", "Dot"], partial: ["UDiv", "ConvertFToS"] });
  assert(handlers.every((handler, id) => handler === HANDLERS[id]));
  assertEquals(Workgroup.prototype.run, groups);
});

deviceTest("with the device's own functions the interpreter gives the device's bits", (gpu) => {
  const body = (code: Code) => {
    code.vop("v_exp_f32", v(3), v(2));
    code.vop("v_sin_f32", v(4), v(3));
    code.vop("v_log_f32", v(3), v(3));
    code.vop("v_add_f32", v(3), v(3), v(4));
    store(code, 3);
  };
  const inputs = Array.from({ length: THREADS }, (_, k) => new Uint32Array(Float32Array.of(k * 0.173 - 9).buffer)[0]);
  const device = new VulkanDevice(gpu, "automatic");
  const actual = run(body, inputs, device);
  const functions = new DeviceFunctions(device, 0xf0);
  const takeBack = functions.install();
  const expected = run(body, inputs);
  takeBack();
  assertEquals(actual.get("0.0"), expected.get("0.0"));
  assert(functions.asked >= THREADS, "each operand is asked for");
  const asked = functions.asked;
  const again = functions.install();
  try {
    run(plain);
  } finally {
    again();
  }
  assertEquals(functions.asked, asked, "a program without such functions asks for nothing");
});
