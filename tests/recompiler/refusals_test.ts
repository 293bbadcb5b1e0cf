/** Everything that is refused of a program is named in one error: control flow, instructions, and what the device cannot do. */
import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { AnyAgcError, InvalidInputError, RefusedError } from "../../src/errors.ts";
import { recompile } from "../../src/recompiler/recompile.ts";
import { Code } from "../fuzz/code.ts";
import { int, v } from "../fuzz/encode.ts";
import { makeRequest, PLAIN_DEVICE } from "../support/lift.ts";

const ADDRESS = 0xffff8000_00001000n;
/** VOP1 opcode 0xff, which no target has. */
const NO_INSTRUCTION = 0x7e01fe00;
/** exp mrt0 v0, v0, v0, v0 done. */
const EXP = [0xf800080f, 0];

function refusedBy(code: Code, changes: Parameters<typeof makeRequest>[0] = {}): AnyAgcError {
  const request = makeRequest({
    code: Uint32Array.from(code.words),
    codeAddress: ADDRESS,
    userSgprCount: 8,
    device: PLAIN_DEVICE,
    ...changes,
  });
  return assertThrows(() => recompile(request), AnyAgcError);
}

Deno.test("traps, unknown jumps, words that are no instruction and refused instructions of all paths are in one report", () => {
  const code = new Code();
  const places: number[] = [];
  const here = () => places.push(code.at * 4);
  for (const part of ["trap", "jump", "word", "exp"]) {
    const next = code.label();
    code.sopc("s_cmp_eq_u32", 0, int(places.length));
    code.branch("s_cbranch_scc0", next);
    here();
    if (part === "trap") code.sopp("s_trap", 2);
    else if (part === "jump") code.sop1("s_setpc_b64", 0, 4);
    else if (part === "word") code.emit([NO_INSTRUCTION]);
    else code.emit(EXP);
    code.sopp("s_endpgm");
    code.bind(next);
  }
  here();
  code.sopp("s_sendmsg", 1);
  code.sopp("s_endpgm");
  const error = refusedBy(code);
  assert(error instanceof RefusedError);
  assertStringIncludes(error.summary, "5 instructions that are refused");
  const lines = error.summary.split("\n").slice(1, 6).map((line) => line.trim());
  const hex = (value: number | bigint) => "0x" + value.toString(16);
  assertEquals(
    lines.map((line) => line.replace(/, words .*$/, "")),
    ["s_trap", "s_setpc_b64", "the word", "exp", "s_sendmsg"].map((name, k) =>
      `${name} at pc ${hex(places[k])} (guest address ${hex(ADDRESS + BigInt(places[k]))}`
    ),
  );
  assertMatch(lines[2], /words 0x7e01fe00 0x[0-9a-f]{8}\): not an RDNA2 instruction: VOP1 opcode 0xff is unassigned$/);
  assertEquals([error.place.pc, error.place.guestAddress], [places[0], ADDRESS + BigInt(places[0])]);
});

Deno.test("one refusal keeps its own code, and a program that is nothing but wrong words is invalid input", () => {
  const trap = new Code();
  trap.sopp("s_nop");
  trap.sopp("s_trap", 2);
  const error = refusedBy(trap);
  assertEquals([error.code, error.place.pc, error.place.words], ["recompiler.control-flow", 4, [trap.words[1]]]);
  const wrong = new Code();
  wrong.emit([NO_INSTRUCTION]);
  assert(refusedBy(wrong) instanceof InvalidInputError);
});

Deno.test("what the device cannot do is in one report, too", () => {
  const code = new Code();
  const atomic = (name: string) => code.flat(name, { addr: v(2), data: v(4), saddr: 0 });
  atomic("global_atomic_add_x2");
  code.vop("v_add_nc_u32", v(0), v(0), v(0));
  atomic("global_atomic_umax_x2");
  code.sopp("s_endpgm");
  const error = refusedBy(code, { device: { ...PLAIN_DEVICE, bufferInt64Atomics: false } });
  assertEquals(error.code, "recompiler.atomic64");
  assertStringIncludes(error.summary, "2 instructions");
  for (const pc of ["0x0", "0xc"]) assertStringIncludes(error.summary, `Atomic at pc ${pc} (`);
});
