import { assert, assertEquals } from "@std/assert";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { Op } from "../../../src/recompiler/ir/ops.ts";
import { Body } from "../../../src/recompiler/spirv/body.ts";
import { BuiltIn, Code, Decoration } from "../../../src/recompiler/spirv/codes.ts";
import { Module, T } from "../../../src/recompiler/spirv/module.ts";
import { verifyModule } from "../../support/verify_module.ts";
import { Words } from "../../../src/recompiler/spirv/words.ts";
import { Random } from "../../support/random.ts";
import { INPUT, Lanes } from "./programs.ts";
import { StructuredProgram } from "./structured_programs.ts";
import { emitValid, request } from "./support.ts";

Deno.test("a list of words grows and keeps what it holds", () => {
  const words = new Words(2);
  for (let i = 0; i < 100; i++) words.put3(7, i, i + 1);
  words.put(9, [1, 2, 3, 4]);
  assertEquals(words.length, 305);
  assertEquals([...words.data.subarray(297, 305)], [(3 << 16) | 7, 99, 100, (5 << 16) | 9, 1, 2, 3, 4]);
});

Deno.test("types, constants, pointers and function types are declared once", () => {
  const module = new Module();
  assertEquals(module.type(T.V3), module.type(T.V3));
  assertEquals(module.u32(7), module.u32(7));
  assert(module.u32(0x3f800000) !== module.constant(T.F32, 0x3f800000), "the type is part of a constant");
  assertEquals(module.u64(2 ** 40), module.constant64(T.U64, 0, 256));
  assertEquals(module.pointer(6, T.U32), module.pointer(6, T.U32));
  assertEquals(module.functionType(T.Void, [T.U32]), module.functionType(T.Void, [T.U32]));
  assertEquals(module.undef(T.U32), module.undef(T.U32));
  assertEquals(module.zero(T.V4), module.zero(T.V4));
  assertEquals(module.builtIn(BuiltIn.WorkgroupId), module.builtIn(BuiltIn.WorkgroupId));
});

Deno.test("many decorations of one kind become a group of one word each, also when one instruction cannot hold them", () => {
  const build = (count: number) => {
    const module = new Module();
    const body = Body.start(module, module.main, T.Void);
    const sums: number[] = [];
    const one = module.constant(T.F32, 0x3f800000);
    for (let k = 0; k < count; k++) sums.push(body.op2(Code.FAdd, T.F32, one, one));
    body.return();
    body.finish();
    module.decorateAll(sums, Decoration.NoContraction);
    const words = module.finish([1, 1, 1]);
    assertEquals(openSpirvTools().validate(words), []);
    assertEquals(verifyModule(words), []);
    return words.length;
  };
  assertEquals(build(3) - build(2), 5 + 3);
  assertEquals(build(1001) - build(1000), 5 + 1);
  assert(build(140_000) > 140_000 * 6);
});

/** A module to damage. */
function sample(): Uint32Array {
  const p = new StructuredProgram(new Random(77), 32).build();
  return emitValid(p.ir, request()).spirv;
}

function places(words: Uint32Array, opcode: number): number[] {
  const found: number[] = [];
  for (let at = 5; at < words.length; at += words[at] >>> 16) if ((words[at] & 0xffff) === opcode) found.push(at);
  return found;
}

Deno.test("the verifier finds damage: ids, blocks, phis, opcodes, lengths", () => {
  const good = sample();
  assertEquals(verifyModule(good), []);
  const damaged = (change: (words: Uint32Array) => void) => {
    const words = good.slice();
    change(words);
    return verifyModule(words).length;
  };
  const last = (opcode: number) => places(good, opcode).at(-1)!;
  assert(damaged((w) => w[0]++) > 0, "header");
  assert(damaged((w) => w[last(Code.IAdd) + 3] = w[3] - 1 + 5) > 0, "id out of bounds");
  assert(damaged((w) => w[last(Code.IAdd) + 2] = w[last(Code.IAdd) - 3]) > 0, "id defined twice or not at all");
  assert(damaged((w) => w[last(Code.Branch)] = (2 << 16) | Code.Label) > 0, "label in a block");
  assert(damaged((w) => w[last(Code.Phi) + 4] = w[places(w, Code.Label)[0] + 1]) > 0, "phi with a wrong predecessor");
  assert(damaged((w) => w[last(Code.IAdd)] = (5 << 16) | 4095) > 0, "unknown opcode");
  assert(damaged((w) => w[last(Code.IAdd)] = (4 << 16) | Code.IAdd) > 0, "too few operands");
  assert(damaged((w) => w[w.length - 1] = (9 << 16) | Code.FunctionEnd) > 0, "behind the end");
  assertEquals(verifyModule(good.subarray(0, good.length - 1)), ["the last function does not end"]);
});

Deno.test("every id that a module names is defined, for many modules", () => {
  for (let seed = 1; seed <= 100; seed++) {
    const { ir } = new StructuredProgram(new Random(seed), 64).build();
    assertEquals(verifyModule(emitValid(ir, request({ workgroupSize: [64, 1, 1] })).spirv), []);
  }
});

Deno.test("the same program gives the same words", () => {
  const build = () => emitValid(new StructuredProgram(new Random(5), 32).build().ir, request()).spirv;
  assertEquals(build(), build());
});

Deno.test("a module declares only what it uses", () => {
  const nothing = new Ir();
  nothing.emit(Op.End);
  const empty = emitValid(nothing, request()).spirv;
  assertEquals(
    [Code.TypeInt, Code.Variable, Code.ExtInstImport, Code.Constant].map((code) => places(empty, code).length),
    [
      0,
      0,
      0,
      0,
    ],
  );
  const q = new Lanes(32);
  q.store(q.address(INPUT, q.index, 1, 0), q.index, 4);
  q.ir.emit(Op.End);
  const { spirv } = emitValid(q.ir, request());
  assertEquals(places(spirv, Code.ExtInstImport).length, 0);
  assertEquals(places(spirv, Code.TypeFloat).length, 0);
});
