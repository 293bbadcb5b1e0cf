import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type AnyAgcError, InvalidInputError, RefusedError } from "../../../src/errors.ts";
import { buildCfg, type Cfg, Condition, dumpCfg, Terminator } from "../../../src/recompiler/cfg/cfg.ts";
import { MAX_PROGRAM_BYTES } from "../../../src/recompiler/cfg/scan.ts";
import { Random } from "../structurize/graphs.ts";
import { assemble } from "./assemble.ts";
import { CODE_ADDRESS, runCfg, runWords } from "./run.ts";

function build(text: string): Cfg {
  return buildCfg(assemble(text), { target: "gfx1030", codeAddress: CODE_ADDRESS });
}

/** Builds a program that must fail; checks class, code, pc and a part of the message. */
function fails(
  text: string,
  type: typeof RefusedError | typeof InvalidInputError,
  code: string,
  pc: number,
  part: string,
) {
  const error = assertThrows(() => build(text), type) as AnyAgcError;
  assertEquals(error.code, code);
  assertEquals(error.place.pc, pc);
  assertStringIncludes(error.message, part);
}

/** The blocks as text: pc, straight-line instructions, successors. */
function blocks(cfg: Cfg): string[] {
  return Array.from({ length: cfg.blockCount }, (_, b) => {
    const pcs: number[] = [];
    for (let i = cfg.blockStart[b]; i < cfg.blockEnd[b]; i++) pcs.push(cfg.instructions[i].pc);
    const to = [...cfg.successors.subarray(2 * b, 2 * b + 2)].filter((t) => t >= 0);
    return `${cfg.blockPc[b]}: [${pcs}] ${cfg.terminatorPc[b]} -> ${to.join("/") || "end"}`;
  });
}

Deno.test("a straight program is one block, and what follows s_endpgm is never decoded", () => {
  const cfg = build(`
    s_nop 0
    s_mov_b32 s0, 0x12345678
    s_endpgm
    word 0xffffffff`);
  assertEquals(blocks(cfg), ["0: [0,4] 12 -> end"]);
  assertEquals(cfg.terminator[0], Terminator.End);
});

Deno.test("conditional branches end blocks; the first successor is the one taken when the condition holds", () => {
  const cfg = build(`
    s_nop 0
    s_cbranch_execz join
    s_nop 1
    join:
    s_nop 2
    top:
    s_nop 3
    s_cbranch_scc1 top
    s_endpgm`);
  assertEquals(blocks(cfg), [
    "0: [0] 4 -> 2/1",
    "8: [8] 12 -> 2",
    "12: [12] 16 -> 3",
    "16: [16] 20 -> 3/4",
    "24: [] 24 -> end",
  ]);
  assertEquals(cfg.condition[0], Condition.Execz);
  assertEquals(cfg.condition[3], Condition.Scc1);
});

Deno.test("every conditional branch has its own condition kind", () => {
  const names = ["scc0", "scc1", "vccz", "vccnz", "execz", "execnz"];
  const kinds = names.map((name) => build(`s_cbranch_${name} 1\ns_nop 0\ns_endpgm`).condition[0]);
  assertEquals(kinds, [
    Condition.Scc0,
    Condition.Scc1,
    Condition.Vccz,
    Condition.Vccnz,
    Condition.Execz,
    Condition.Execnz,
  ]);
});

Deno.test("a conditional branch to the next instruction is a plain jump", () => {
  const cfg = build("s_cbranch_scc0 0\ns_endpgm");
  assertEquals(cfg.terminator[0], Terminator.Jump);
  assertEquals(blocks(cfg), ["0: [] 0 -> 1", "4: [] 4 -> end"]);
});

Deno.test("the entry may lie behind code that it jumps back to; it is block 0 all the same", () => {
  const code = assemble("back:\ns_nop 0\ns_endpgm\ns_nop 1\ns_branch back");
  const cfg = buildCfg(code, { target: "gfx1030", codeAddress: 0n, entry: 8 });
  assertEquals(blocks(cfg), ["8: [8] 12 -> 1", "0: [0] 4 -> end"]);
});

Deno.test("all ways to end a program end a block", () => {
  for (const name of ["s_endpgm", "s_endpgm_saved"]) assertEquals(build(name).terminator[0], Terminator.End);
});

Deno.test("control that leaves the program is an error with the pc of the branch", () => {
  fails("s_nop 0\ns_branch 1", InvalidInputError, "recompiler.branch-outside", 4, "byte offset 12");
  fails("s_nop 0\ns_branch -3", InvalidInputError, "recompiler.branch-outside", 4, "byte offset -4");
  fails("s_nop 0\ns_nop 0", InvalidInputError, "recompiler.no-end", 4, "s_endpgm");
  fails("s_nop 0\ns_cbranch_scc0 -2", InvalidInputError, "recompiler.no-end", 4, "s_endpgm");
});

Deno.test("a branch into the middle of an instruction is an error, whichever of the two is found first", () => {
  fails("s_mov_b32 s0, 0xbf800000\ns_branch -2", InvalidInputError, "recompiler.overlapping-code", 8, "byte offset 0");
  fails(
    "s_cbranch_scc0 inner\ns_mov_b32 s0, 0xbf810000\ns_endpgm".replace("inner", "1"),
    InvalidInputError,
    "recompiler.overlapping-code",
    0,
    "byte offset",
  );
});

Deno.test("instructions that are no control flow of user programs are refused by name", () => {
  for (
    const line of [
      "s_trap 1",
      "s_cbranch_cdbgsys 0",
      "s_cbranch_cdbguser 0",
      "s_cbranch_cdbgsys_or_user 0",
      "s_cbranch_cdbgsys_and_user 0",
      "s_rfe_b64 s4",
      "s_subvector_loop_begin s4, 0",
      "s_subvector_loop_end s4, 0",
    ]
  ) {
    fails(`s_nop 0\n${line}\ns_endpgm`, RefusedError, "recompiler.control-flow", 4, line.split(" ")[0]);
  }
  fails("s_nop 0\ns_code_end", InvalidInputError, "recompiler.code-end", 4, "s_code_end");
});

Deno.test("words that are no instruction are the decoder's error", () => {
  const error = assertThrows(() => build("s_nop 0\nword 0xffffffff"), InvalidInputError) as AnyAgcError;
  assertEquals(error.place.pc, 4);
});

Deno.test("programs over 4 MiB are refused", () => {
  const code = new Uint32Array(MAX_PROGRAM_BYTES / 4 + 1).fill(0xbf810000);
  const error = assertThrows(() => buildCfg(code, { target: "gfx1030", codeAddress: 0n }), RefusedError) as AnyAgcError;
  assertEquals(error.code, "recompiler.program-size");
});

Deno.test("262,144 instructions in 131,072 blocks are one cfg", () => {
  const code = new Uint32Array(1 << 18).fill(0xbf800000);
  for (let i = 1; i + 2 < code.length; i += 2) code[i] = 0xbf840000 | (code.length - 2 - i);
  // The immediate has 16 bits: far branches go two words on instead.
  for (let i = 1; i + 2 < code.length; i += 2) if (code.length - 2 - i > 0x7fff) code[i] = 0xbf840001;
  code[code.length - 1] = 0xbf810000;
  const cfg = buildCfg(code, { target: "gfx1030", codeAddress: 0n });
  assertEquals(cfg.blockCount > 131_000, true);
  assertEquals(runCfg(cfg, 1, 1 << 20).ended, true);
});

Deno.test("a jump to a computed address is resolved: forwards, backwards, and through other registers", () => {
  for (
    const jump of [
      "s_getpc_b64 s4\ns_add_u32 s4, s4, @far\ns_addc_u32 s5, s5, 0\ns_setpc_b64 s4",
      "s_getpc_b64 s4\ns_mov_b32 s8, @far\ns_add_u32 s6, s4, s8\ns_addc_u32 s7, s5, 0\ns_mov_b64 s10, s6\ns_setpc_b64 s10",
      "s_getpc_b64 s4\ns_sub_u32 s4, s4, @-far\ns_subb_u32 s5, s5, 0xffffffff\ns_setpc_b64 s4",
    ]
  ) {
    const text = `s_branch start\nword 0xffffffff\nstart:\n${jump}\nword 0xffffffff\nfar:\ns_nop 7\ns_endpgm`;
    const cfg = build(text);
    assertEquals(cfg.terminator.length, 3);
    const trace = runWords(assemble(text), 0, 100);
    assert(trace.ended);
    assertEquals(runCfg(cfg, 0, 100), trace);
  }
});

Deno.test("a computed jump back into the middle of a block splits the block", () => {
  const text = `
    s_nop 0
    s_nop 1
    middle:
    s_nop 2
    s_cbranch_scc1 out
    s_getpc_b64 s4
    s_sub_u32 s4, s4, @-middle
    s_subb_u32 s5, s5, 0
    s_setpc_b64 s4
    out:
    s_endpgm`;
  const cfg = build(text);
  assertEquals(blocks(cfg)[0], "0: [0,4] 8 -> 1");
  for (let seed = 0; seed < 20; seed++) {
    assertEquals(runCfg(cfg, seed, 200), runWords(assemble(text), seed, 200));
  }
});

Deno.test("called code is cloned per call site, and returns to its own caller", () => {
  const text = `
    s_nop 0
    s_getpc_b64 s4
    s_add_u32 s4, s4, @callee
    s_addc_u32 s5, s5, 0
    s_swappc_b64 s30, s4
    s_nop 1
    s_swappc_b64 s30, s4
    s_nop 2
    s_call_b64 s30, callee
    s_endpgm
    callee:
    s_nop 3
    s_cbranch_scc0 skip
    s_nop 4
    skip:
    s_setpc_b64 s30`;
  const cfg = build(text);
  // Four blocks of the caller, three clones of the callee's three.
  assertEquals(cfg.blockCount, 4 + 3 * 3);
  const call = cfg.instructions[cfg.blockEnd[0] - 1];
  assertEquals(call.pc, 20);
  for (let seed = 0; seed < 20; seed++) {
    assertEquals(runCfg(cfg, seed, 200), runWords(assemble(text), seed, 200));
  }
});

Deno.test("calls nest when the callee keeps its return address elsewhere, and a tail jump returns to the first caller", () => {
  const text = `
    s_call_b64 s30, outer
    s_nop 1
    s_call_b64 s30, outer
    s_endpgm
    outer:
    s_mov_b64 s34, s30
    s_call_b64 s30, inner
    s_nop 2
    s_mov_b64 s30, s34
    s_branch tail
    inner:
    s_nop 3
    s_setpc_b64 s30
    tail:
    s_nop 4
    s_setpc_b64 s30`;
  const cfg = build(text);
  assertEquals(runCfg(cfg, 0, 100), runWords(assemble(text), 0, 100));
  assert(runCfg(cfg, 0, 100).ended);
});

Deno.test("jumps to unknown addresses are refused by name and pc", () => {
  fails("s_nop 0\ns_setpc_b64 s4", RefusedError, "recompiler.indirect-jump", 4, "s_setpc_b64");
  fails("s_nop 0\ns_swappc_b64 s30, s4", RefusedError, "recompiler.indirect-jump", 4, "s_swappc_b64");
  // The return address differs by path.
  fails(
    `
    s_getpc_b64 s4
    s_cbranch_scc0 other
    s_add_u32 s4, s4, 8
    other:
    s_setpc_b64 s4`,
    RefusedError,
    "recompiler.indirect-jump",
    12,
    "s_setpc_b64",
  );
  // The callee destroys its return address.
  fails(
    `
    s_call_b64 s30, callee
    s_endpgm
    callee:
    s_and_saveexec_b64 s30, s0
    s_setpc_b64 s30`,
    RefusedError,
    "recompiler.indirect-jump",
    12,
    "s_setpc_b64",
  );
  fails(
    "s_getpc_b64 s4\ns_add_u32 s4, s4, 0x1000\ns_addc_u32 s5, s5, 0\ns_setpc_b64 s4",
    RefusedError,
    "recompiler.indirect-jump",
    16,
    "0xffff800012350f04",
  );
});

Deno.test("a carry that another instruction may have changed is not taken for known", () => {
  for (const between of ["s_and_saveexec_b64 s8, s0", "s_and_b32 s8, s9, s10", "s_add_u32 s8, s9, 1"]) {
    fails(
      `s_getpc_b64 s4\ns_add_u32 s4, s4, 8\n${between}\ns_addc_u32 s5, s5, 0\ns_setpc_b64 s4\ns_endpgm`,
      RefusedError,
      "recompiler.indirect-jump",
      16,
      "s_setpc_b64",
    );
  }
});

Deno.test("an address that a loop changes is not taken for known", () => {
  fails(
    `
    s_getpc_b64 s4
    top:
    s_nop 0
    s_cbranch_scc0 out
    s_add_u32 s4, s4, 4
    s_branch top
    out:
    s_setpc_b64 s4`,
    RefusedError,
    "recompiler.indirect-jump",
    20,
    "s_setpc_b64",
  );
});

Deno.test("recursion is refused", () => {
  fails(
    `
    s_call_b64 s30, callee
    s_endpgm
    callee:
    s_nop 0
    s_call_b64 s30, other
    s_endpgm
    other:
    s_call_b64 s30, callee
    s_endpgm`,
    RefusedError,
    "recompiler.recursion",
    20,
    "byte offset 0x8",
  );
});

Deno.test("calls that double at each level are refused before they fill the memory", () => {
  const levels = 24;
  const text = ["s_call_b64 s40, f0", "s_endpgm"];
  for (let i = 0; i < levels; i++) {
    text.push(`f${i}:`);
    if (i + 1 < levels) text.push(`s_call_b64 s${42 + 2 * i}, f${i + 1}`, `s_call_b64 s${42 + 2 * i}, f${i + 1}`);
    text.push(`s_setpc_b64 s${40 + 2 * i}`);
  }
  const error = assertThrows(() => build(text.join("\n")), RefusedError) as AnyAgcError;
  assertEquals(error.code, "recompiler.program-size");
});

/**
 * What clang 19 makes (gfx1030, wave32, -O2, relocations applied) of
 *
 *     static noinline unsigned leaf(unsigned a, unsigned b) { for (unsigned i = 0; i < b; i++) a = a * 33 + i; return a; }
 *     kernel void kc(global unsigned *o, unsigned n) { id = work item; o[id] = leaf(id, n); o[id + 64] = leaf(id + 3, n + 1); }
 */
const COMPILED_CALLS = `
  80060906 bea00380 82078007 b986f814 b987f815 80000900 bfa10001 f40001c2
  fa000008 f4040202 fa000000 82018001 7e060300 be8a1f00 800aff0a 00000048
  820bff0b 00000000 bf8cc07f 7e020207 be9e210a 34080682 4a020683 81078107
  dc708000 00080004 7e000301 7e020207 be9e210a dc708100 00080004 bf810000
  bf8c0000 be850380 be84037e 7daa0280 bf88000d be860380 d7460002 04010b00
  4a000406 81068106 7d840206 d76d0002 03040d02 8805056a 8a7e057e bf89fff6
  887e057e 7e000302 887e047e be80201e`;

Deno.test("a compiler's calls of a function are inlined, each with its own return", () => {
  const code = Uint32Array.from(COMPILED_CALLS.trim().split(/\s+/), (word) => parseInt(word, 16));
  const cfg = buildCfg(code, { target: "gfx1030", codeAddress: CODE_ADDRESS });
  // The kernel's three pieces, then twice the function's: head, loop preheader, loop, after the loop, return.
  assertEquals([...cfg.blockPc], [0x0, 0x54, 0x74, 0x80, 0x94, 0x98, 0xc0, 0xc8, 0x80, 0x94, 0x98, 0xc0, 0xc8]);
  assertEquals(
    [...cfg.successors],
    [
      [3, -1],
      [8, -1],
      [-1, -1],
      [7, 4],
      [5, -1],
      [5, 6],
      [7, -1],
      [1, -1],
      [12, 9],
      [10, -1],
      [10, 11],
      [12, -1],
      [2, -1],
    ].flat(),
  );
});

Deno.test("random programs with branches and calls run alike word by word and along their cfg", () => {
  let ended = 0;
  let inlined = 0;
  for (let seed = 0; seed < 400; seed++) {
    const random = new Random(seed);
    const functions = random.below(3);
    const text: string[] = [];
    for (let f = 0; f <= functions; f++) {
      // Function f may call those behind it; its link register is s[30+2f].
      const size = 3 + random.below(12);
      text.push(`f${f}:`);
      for (let i = 0; i < size; i++) {
        text.push(`f${f}_${i}:`);
        const target = `f${f}_${random.chance(75) ? Math.min(size, i + 1 + random.below(4)) : random.below(size)}`;
        const kind = random.below(10);
        if (kind < 4) text.push(`s_nop ${random.below(16)}`);
        else if (kind < 7) text.push(`s_cbranch_${["scc0", "scc1", "vccz", "execnz"][random.below(4)]} ${target}`);
        else if (kind === 7) text.push(`s_branch ${target}`);
        else if (f < functions) {
          const callee = f + 1 + random.below(functions - f);
          const link = `s${30 + 2 * callee}`;
          if (random.chance(50)) text.push(`s_call_b64 ${link}, f${callee}`);
          else {
            text.push(
              "s_getpc_b64 s4",
              `s_add_u32 s4, s4, @f${callee}`,
              "s_addc_u32 s5, s5, 0",
              `s_swappc_b64 ${link}, s4`,
            );
          }
        }
      }
      text.push(`f${f}_${size}:`, f === 0 ? "s_endpgm" : `s_setpc_b64 s${30 + 2 * f}`);
    }
    const code = assemble(text.join("\n"));
    const cfg = buildCfg(code, { target: "gfx1030", codeAddress: CODE_ADDRESS });
    if (new Set(cfg.blockPc).size < cfg.blockCount) inlined++;
    for (let run = 0; run < 5; run++) {
      const trace = runWords(code, run, 300);
      assertEquals(runCfg(cfg, run, 300), trace, `seed ${seed}\n${text.join("\n")}`);
      if (trace.ended) ended++;
    }
  }
  // Most programs end, and a good part has code that is called twice.
  assert(ended > 1000, `only ${ended} runs ended`);
  assert(inlined > 50, `only ${inlined} programs had clones`);
});

Deno.test("the dump names blocks, loops, dominators and branches", () => {
  const text = dumpCfg(build("s_nop 0\ntop:\ns_nop 1\ns_cbranch_vccnz top\ns_endpgm"));
  assertEquals(
    text,
    `cfg: 3 blocks, 2 instructions, 1 loops, 0 irreducible
b0: pc 0x0
    0x0000 s_nop
    0x0004 -> b1
b1: pc 0x4, idom b0, loop depth 1 entry
    0x0004 s_nop
    0x0008 -> vccnz ? b1 : b2
b2: pc 0xc, idom b1
    0x000c -> end
`,
  );
});
