import { assert, assertEquals } from "@std/assert";
import { chain, CHAIN_KINDS, type ChainKind } from "../../bench/programs/chains.ts";
import { chainRequest } from "../../bench/programs/request.ts";
import { floatInputs, verifyChains } from "../../bench/verify_chains.ts";
import { openSpirvTools } from "../../ffi/spirv_tools.ts";
import { decode } from "../../src/rdna/decode.ts";
import { OPCODES } from "../../src/rdna/table.ts";
import { recompile } from "../../src/recompiler/recompile.ts";
import { missingDevice } from "../support/vulkan.ts";

/** Names of the first instructions of a program. */
function names(code: Uint32Array, count: number): string[] {
  const list: string[] = [];
  for (let pc = 0; list.length < count;) {
    const instruction = decode(code, pc, "gfx1013");
    list.push(OPCODES[instruction.op].name);
    pc += instruction.size * 4;
  }
  return list;
}

function inlinedWords(kind: ChainKind, count: number, floatMode: number): number {
  const { spirv } = recompile(chainRequest(chain(kind, count), floatMode));
  return openSpirvTools().optimize(spirv, ["--strip-debug", "--inline-entry-points-exhaustive"]).length;
}

Deno.test("chains are what their description says", () => {
  assertEquals(names(chain("A", 4), 15).slice(11), ["v_mul_f32", "v_add_f32", "v_fma_f32", "v_sub_f32"]);
  assertEquals(names(chain("queue", 4), 6), [
    "v_lshlrev_b32",
    "v_lshlrev_b32",
    "buffer_load_dwordx4",
    "s_waitcnt",
    "v_mov_b32",
    "v_mul_f32",
  ]);
  assertEquals(names(chain("loader", 3), 5), ["v_mov_b32", "v_mul_f32", "v_add_f32", "v_max_f32", "s_endpgm"]);
  for (const kind of CHAIN_KINDS) assertEquals(chain(kind, 64).at(-1), 0xbf81_0000);
});

Deno.test("program A takes at most six words an operation in every float mode, everything inlined", () => {
  for (const mode of [0x00, 0xc0, 0xf0]) {
    const slope = (inlinedWords("A", 2048, mode) - inlinedWords("A", 1024, mode)) / 1024;
    assert(slope > 5 && slope <= 6, `FLOAT_MODE ${mode}: ${slope}`);
  }
});

Deno.test("a chain of 262,144 operations, more than 1 MiB of code, is recompiled, and its words grow linearly", () => {
  const words = (count: number) => recompile(chainRequest(chain("A", count), 0xf0)).spirv.length;
  const [half, whole] = [words(131_072), words(262_144)];
  assertEquals(chain("A", 262_144).byteLength > 1 << 20, true);
  assert(whole - half <= 6 * 131_072 + 64, `${half} and ${whole} words`);
});

Deno.test({
  name: `on 10^5 numbers, denormals among them, the device gives what the interpreter gives${
    missingDevice === undefined ? "" : ` (ignored: ${missingDevice})`
  }`,
  ignore: missingDevice !== undefined,
  fn() {
    const { inputs, denormals, outputs, different } = verifyChains(undefined, [8]);
    assert(inputs >= 100_000 && denormals > 20_000, `${inputs} numbers, ${denormals} denormals`);
    assertEquals([outputs, different], [3 * inputs, 0]);
    assertEquals(floatInputs(64, 1), floatInputs(64, 1));
  },
});
