import { assertEquals, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Ir } from "../../../src/recompiler/ir/ir.ts";
import { InputKind, Op, Type } from "../../../src/recompiler/ir/ops.ts";
import { takeCentroids } from "../../../src/recompiler/stages/centroid.ts";
import { PureFunction } from "../../../src/recompiler/stages/pure_function.ts";
import {
  decodeInterpolant,
  pixelProgram,
  type RegisterEntry,
  registersOf,
  vertexProgram,
} from "../../../src/recompiler/stages/registers.ts";
import { inputVgprs, PsInput, type VertexState } from "../../../src/recompiler/stages/state.ts";

const registers = (sh: Record<number, number>, context: Record<number, number>) => {
  const list = (values: Record<number, number>): RegisterEntry[] =>
    Object.entries(values).map(([offset, value]) => ({ offset: Number(offset), value }));
  return registersOf({ sh: list(sh), context: list(context) });
};
const refuses = (run: () => unknown, why: RegExp) => {
  const { message } = assertThrows(run, RefusedError);
  assertEquals(why.test(message), true, message);
};

Deno.test("SPI_PS_INPUT_CNTL: parameters, constants, flat and custom attributes", () => {
  const plain = { flat: false, custom: false, packedHalves: false, pointSprite: false, cylinderWrap: 0 };
  assertEquals(decodeInterpolant(0x0000_0003), { ...plain, source: { param: 3 } });
  assertEquals(decodeInterpolant(0x0000_041f), { ...plain, source: { param: 31 }, flat: true });
  assertEquals(decodeInterpolant(0x0000_0320), { ...plain, source: { constant: 3 } });
  // The constant's number counts for nothing without bit 5.
  assertEquals(decodeInterpolant(0x0000_0302), { ...plain, source: { param: 2 } });
  assertEquals(decodeInterpolant(0x0000_0421), { ...plain, source: { param: 1 }, flat: true, custom: true });
  assertEquals(decodeInterpolant(1 << 19), { ...plain, source: { param: 0 }, packedHalves: true });
  assertEquals(decodeInterpolant(1 << 17), { ...plain, source: { param: 0 }, pointSprite: true });
  assertEquals(decodeInterpolant(5 << 13), { ...plain, source: { param: 0 }, cylinderWrap: 5 });
});

const PS_SH = { 0x00a: 0x00ac_0000, 0x00b: 0x0800_0085 }, PS_CONTEXT = { 0x1b3: 0x302, 0x1b6: 0x8002 };

Deno.test("a pixel program's state comes from its registers", () => {
  const { state, ...rest } = pixelProgram(registers(PS_SH, {
    ...PS_CONTEXT,
    0x1b4: 0x312,
    0x1b8: 0x0112_0000,
    0x191: 0x401,
    0x1c4: 1,
    0x1c5: 0x49,
    0x08e: 0xff,
    0x08f: 0x7f,
    0x32b: 4 << 8,
    0x203: 0x1 | 1 << 4 | 1 << 12 | 2 << 13,
    0x293: 1 << 16,
  }));
  // FLOAT_MODE 0xc0, DX10_CLAMP and IEEE_MODE; SCRATCH_EN and user SGPRs 2 + 32.
  assertEquals(rest, {
    waveSize: 32,
    ldsBytes: 0,
    userSgprCount: 34,
    scratch: true,
    floatMode: 0xc0,
    dx10Clamp: true,
    ieee: true,
  });
  if (state.stage !== "pixel") throw new Error(state.stage);
  assertEquals([state.inputEna, state.inputAddr, state.waveCount, state.perSample], [0x302, 0x312, true, true]);
  assertEquals([state.positionLocation, state.positionCorner, state.frontFaceAllBits], [2, true, true]);
  assertEquals(state.interpolants.map(({ source, flat }) => ({ source, flat })), [
    { source: { param: 1 }, flat: true },
    // Not set: an attribute is the parameter of its number.
    { source: { param: 1 }, flat: false },
  ]);
  assertEquals(state.colors.slice(0, 3), [
    { format: "32_abgr", number: "float" },
    { format: "fp16_abgr", number: "uint" },
    { format: "zero", number: "float" },
  ]);
  assertEquals([state.targetMask, state.depthFormat], [0x7f, "32_r"]);
  assertEquals(state.depth, {
    exportsDepth: true,
    exportsStencil: false,
    exportsMask: false,
    order: 1,
    beforeShader: true,
    conservative: 2,
    alphaToMask: false,
  });
  const vgprs = inputVgprs(state);
  assertEquals(
    [PsInput.PerspSample, PsInput.PerspCenter, PsInput.LinearSample, PsInput.PositionX, PsInput.PositionY]
      .map((input) => vgprs[input]),
    [-1, 0, 2, 4, 5],
  );
});

Deno.test("registers that a pixel program cannot do without are named", () => {
  for (
    const [bank, offset, name] of [
      ["sh", 0x00a, "SPI_SHADER_PGM_RSRC1_PS"],
      ["sh", 0x00b, "SPI_SHADER_PGM_RSRC2_PS"],
      ["context", 0x1b3, "SPI_PS_INPUT_ENA"],
      ["context", 0x1b6, "SPI_PS_IN_CONTROL"],
    ] as const
  ) {
    const sh: Record<number, number> = { ...PS_SH }, context: Record<number, number> = { ...PS_CONTEXT };
    delete (bank === "sh" ? sh : context)[offset];
    refuses(() => pixelProgram(registers(sh, context)), new RegExp(`^${name} is not set`));
  }
  refuses(() => pixelProgram(registers(PS_SH, { ...PS_CONTEXT, 0x1c5: 0xa })), /COL_FORMAT has the reserved .* 10/);
  refuses(() => pixelProgram(registers(PS_SH, { ...PS_CONTEXT, 0x1c4: 0xf })), /Z_FORMAT has the reserved .* 15/);
});

Deno.test("a vertex program is NGG or of the older stage, as VGT_SHADER_STAGES_EN says", () => {
  const NGG = 1 << 13, W32 = 1 << 22, PASSTHROUGH = 1 << 25;
  const bank = registers(
    { 0x08a: 1 << 29, 0x08b: 3 << 16 | 2 << 19 | 4 << 1, 0x04a: 2 << 24, 0x04b: 8 << 1 },
    { 0x1c3: 0x44, 0x1b1: 3 << 1, 0x207: 0x5 },
  );
  const ngg: VertexState = {
    stage: "vertex",
    form: "ngg",
    passthrough: true,
    vertexVgprs: 3,
    primitiveVgprs: 1,
    positions: 2,
    outControl: 5,
    params: 4,
  };
  const merged = vertexProgram(bank, (NGG | W32 | PASSTHROUGH) >>> 0);
  assertEquals(merged.state, ngg);
  assertEquals([merged.waveSize, merged.userSgprCount, merged.ldsBytes], [32, 4, 1024]);
  const alone = vertexProgram(bank, 1 << 23);
  assertEquals(alone.state, { ...ngg, form: "legacy", passthrough: false, vertexVgprs: 2, primitiveVgprs: 0 });
  assertEquals([alone.waveSize, alone.userSgprCount, alone.ldsBytes], [32, 8, 0]);
  // NO_PC_EXPORT: no parameter counts. Not set: all may.
  const paramsOf = (context: Record<number, number>) => {
    const { state } = vertexProgram(registers({ 0x04a: 0, 0x04b: 0 }, context));
    return state.stage === "vertex" ? state.params : -1;
  };
  assertEquals([paramsOf({ 0x1b1: 1 << 7 }), paramsOf({}), paramsOf({ 0x1b1: 0 })], [0, 32, 1]);
});

Deno.test("other stages and missing registers of a vertex program are named", () => {
  const none = registers({}, {});
  refuses(() => vertexProgram(none, 1 << 5 | 1 << 13), /a geometry shader is part/);
  for (const tessellation of [1, 4, 8]) {
    refuses(() => vertexProgram(none, tessellation | 1 << 13), /a tessellation stage is part/);
  }
  refuses(() => vertexProgram(none, 1 << 13), /^SPI_SHADER_PGM_RSRC1_GS is not set/);
  refuses(() => vertexProgram(none, 0), /^SPI_SHADER_PGM_RSRC1_VS is not set/);
  refuses(() => vertexProgram(registers({ 0x04a: 0 }, {}), 0), /^SPI_SHADER_PGM_RSRC2_VS is not set/);
});

Deno.test("a value of constants and inputs can be tried out; what is of memory cannot", () => {
  const ir = new Ir();
  const info = ir.append(Op.Input, Type.U32, InputKind.PrimitiveMask);
  const field = ir.emit(Op.UBfe, info, ir.constU(8), ir.constU(8));
  const sum = ir.emit(Op.IAdd, field, ir.emit(Op.Shl, info, ir.constU(4)));
  const f = PureFunction.of(ir, sum)!;
  assertEquals(f.inputs().map(({ kind }) => kind), [InputKind.PrimitiveMask]);
  assertEquals(f.operations(), ["UBfe", "Shl", "IAdd"]);
  for (const value of [0, 0x1234, 0xffff_ffff]) {
    assertEquals(f.evaluate(() => value), ((value >>> 8 & 255) + (value << 4 >>> 0)) >>> 0);
  }
  assertEquals(PureFunction.of(ir, sum, 2), undefined);
  const address = ir.emit(Op.Pack64, info, ir.constU(0));
  const loaded = ir.append(Op.Load, Type.U32, address, 0, 4);
  assertEquals(PureFunction.of(ir, ir.emit(Op.IAdd, loaded, info)), undefined);
});

Deno.test("the centre's barycentrics stand for the centroid's only where bit 31 of the primitive mask chooses", () => {
  /** A choice between inputs; whether it becomes the second. */
  const taken = (
    condition: (ir: Ir, mask: number) => number,
    center: number = PsInput.PerspCenter,
    centroid: number = PsInput.PerspCentroid,
    axis = 0,
  ) => {
    const ir = new Ir();
    const mask = ir.append(Op.Input, Type.U32, InputKind.PrimitiveMask);
    const input = (number: number, part: number) =>
      ir.append(Op.Input, Type.U32, InputKind.PixelInput, number << 2 | part);
    const choice = ir.append(Op.Select, Type.U32, condition(ir, mask), input(center, 0), input(centroid, axis));
    takeCentroids(ir);
    return ir.op[choice] === Op.Input && ir.b[choice] === (centroid << 2 | axis);
  };
  const negative = (ir: Ir, mask: number) => ir.emit(Op.SLt, mask, ir.constU(0));
  const bit = (place: number) => (ir: Ir, mask: number) =>
    ir.emit(Op.INe, ir.emit(Op.And, mask, ir.constU(2 ** place)), ir.constU(0));
  assertEquals([taken(negative), taken(bit(31))], [true, true]);
  assertEquals(taken(negative, PsInput.LinearCenter, PsInput.LinearCentroid), true);
  assertEquals([taken(bit(30)), taken((ir, mask) => ir.emit(Op.LNot, negative(ir, mask)))], [false, false]);
  assertEquals(taken((ir) => ir.emit(Op.SLt, ir.constU(0), ir.constU(1))), false);
  assertEquals(taken(negative, PsInput.PerspCenter, PsInput.LinearCentroid), false);
  assertEquals(taken(negative, PsInput.PerspSample, PsInput.PerspCentroid), false);
  assertEquals(taken(negative, PsInput.PerspCenter, PsInput.PerspCentroid, 1), false);
});
