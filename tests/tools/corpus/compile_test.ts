import { assert, assertEquals, assertRejects } from "@std/assert";
import { HostError } from "../../../src/errors.ts";
import { loadFile } from "../../../src/guest/loaders/load_file.ts";
import {
  type Compiled,
  compileModule,
  type NotCompiled,
  outputName,
  writeCompiled,
} from "../../../tools/corpus/compile.ts";
import type { Family } from "../../../tools/corpus/radv/environment.ts";
import { RadvProcess } from "../../../tools/corpus/radv/process.ts";
import { treat } from "../../../tools/corpus/spirv/treat.ts";
import type { SpirvModule } from "../../../tools/corpus/spirv/module.ts";
import { corpusFile, corpusHas, corpusNames } from "../../support/corpus.ts";
import { assemble, bytesOf, emptyModule, radvTest, scaleModule, withFolder } from "./support.ts";

const WAVES = [32, 64] as const;

function compiled(outcome: Compiled | NotCompiled): Compiled {
  assert(!("failed" in outcome), Deno.inspect(outcome));
  return outcome;
}

/** Writes a module, compiles it for waves of 32 lanes, and removes it. */
async function compileText(
  module: SpirvModule,
  family: Family = "navi21",
  waveSize: 32 | 64 = 32,
  specialization?: ReadonlyMap<number, bigint>,
): Promise<Compiled> {
  let outcome: Compiled | NotCompiled | undefined;
  await withFolder(async (folder) => {
    await using radv = new RadvProcess({ family });
    Deno.writeFileSync(`${folder}/m.spv`, bytesOf(module));
    outcome = await compileModule(radv, { file: `${folder}/m.spv`, family, waveSize, specialization });
  });
  return compiled(outcome!);
}

radvTest("the corpus's compute shaders come out again, byte for byte, in both wave sizes", async () => {
  const names = corpusNames("aco", /\.comp\.spv$/);
  assertEquals(names.length, 8);
  await using radv = new RadvProcess();
  for (const name of names) {
    for (const waveSize of WAVES) {
      const outcome = compiled(
        await compileModule(radv, { file: corpusFile("aco", name), family: "navi21", waveSize }),
      );
      const base = corpusFile("aco", outputName(name, waveSize));
      assertEquals(outcome.code, Deno.readFileSync(`${base}.rdna.bin`), base);
      // Everything that the corpus says is said again; it may be silent about things.
      const expected = JSON.parse(Deno.readTextFileSync(`${base}.json`)), own = JSON.parse(outcome.description);
      const bindings = own.bindings.map((binding: Record<string, unknown>, i: number) =>
        Object.fromEntries(Object.keys(expected.bindings[i]).map((key) => [key, binding[key]]))
      );
      const same = Object.fromEntries(
        Object.keys(expected).map((key) => [key, key === "bindings" ? bindings : own[key]]),
      );
      assertEquals(same, expected, base);
    }
  }
}, corpusHas("aco") ? undefined : `no ${corpusFile("aco")}; set ANYAGC_CORPUS to the corpus`);

radvTest("what is written is read by the loader of descriptions", async () => {
  await withFolder(async (folder) => {
    await using radv = new RadvProcess({ family: "navi10" });
    const file = `${folder}/scale.comp.spv`;
    Deno.writeFileSync(file, bytesOf(assemble(scaleModule)));
    for (const waveSize of WAVES) {
      const outcome = compiled(await compileModule(radv, { file, family: "navi10", waveSize }));
      const name = outputName(file, waveSize);
      assertEquals(name, `scale.w${waveSize}.comp`);
      writeCompiled(folder, name, outcome);
      const loaded = loadFile(`${folder}/${name}.json`);
      assert(loaded.kind === "shader");
      const { shader } = loaded;
      assertEquals([shader.target, shader.stage, shader.waveSize], ["gfx1013", "compute", waveSize]);
      assertEquals(shader.workgroupSize, [32, 1, 1]);
      assertEquals(new Uint8Array(shader.code.buffer, shader.code.byteOffset, shader.code.byteLength), outcome.code);
      assertEquals(shader.userSgprs.map(({ name, set }) => [name, set]), [
        ["ring_offsets", undefined],
        ["descriptor_set_ptr", 0],
        ["descriptor_set_ptr", 1],
      ]);
      assert(shader.abi.kind === "aco");
      assertEquals(
        shader.abi.bindings.map(({ set, binding, offset, name }) => ({ set, binding, offset, name })),
        [
          { set: 0, binding: 0, offset: 0, name: "Input" },
          { set: 0, binding: 2, offset: 16, name: "output" },
          { set: 1, binding: 3, offset: 0, name: "" },
        ],
      );
    }
  });
});

radvTest("a specialization constant changes the workgroup and is told in the description", async () => {
  const outcome = await compileText(assemble(scaleModule), "navi21", 32, new Map([[0, 96n]]));
  const { local_size, workgroup_size, spec_constants, entry_point } = JSON.parse(outcome.description);
  assertEquals([local_size, workgroup_size, entry_point], [[96, 1, 1], 96, "scale"]);
  assertEquals(spec_constants, [{ id: 0, type: "uint", bits: 32, value: "0x60" }]);
});

radvTest("the treatment keeps denormals and keeps RADV from fusing", async () => {
  const module = assemble(scaleModule);
  const plain = await compileText(module), treated = await compileText(treat(module).module);
  assertEquals([plain.binary.floatMode, treated.binary.floatMode], [0xc0, 0xf0]);
  // Bits 25 to 30 of VOP2: 8 is V_MUL_F32, 3 is V_ADD_F32 (AMD RDNA2 ISA, "VOP2"). Fused they are neither.
  const vop2 = ({ code, binary }: Compiled) =>
    [...new Uint32Array(code.buffer, code.byteOffset, binary.execBytes / 4)].filter((word) => word >>> 31 === 0).map((
      word,
    ) => word >>> 25);
  const [before, after] = [vop2(plain), vop2(treated)];
  assertEquals([8, 3].map((opcode) => [before.includes(opcode), after.includes(opcode)]), [[false, true], [
    false,
    true,
  ]]);
});

radvTest("the families have different grid-size SGPRs: values on navi21, a pointer on navi10", async () => {
  const grid = assemble(
    scaleModule.replace(/%id\b/g, "%groups").replace("BuiltIn GlobalInvocationId", "BuiltIn NumWorkgroups"),
  );
  for (const [family, count] of [["navi21", 3], ["navi10", 2]] as const) {
    const { binary } = await compileText(grid, family);
    assertEquals(binary.userData.find(({ name }) => name === "grid_size")?.count, count, family);
  }
});

radvTest(
  "a crash of RADV is an outcome with RADV's own reason, and the next module is compiled all the same",
  async () => {
    await withFolder(async (folder) => {
      // A capability that this Mesa does not know: CooperativeMatrixKHR.
      const words = assemble(emptyModule).words.slice();
      words[6] = 6022;
      Deno.writeFileSync(`${folder}/bad.spv`, new Uint8Array(words.buffer));
      Deno.writeFileSync(`${folder}/good.spv`, bytesOf(assemble(emptyModule)));
      await using radv = new RadvProcess();
      const compile = (name: string) =>
        compileModule(radv, { file: `${folder}/${name}`, family: "navi21", waveSize: 64 });
      assertEquals(await compile("bad.spv"), {
        failed: "crash",
        reason: "SPIR-V parsing FAILED: Unhandled capability: unknown (6022); SIGSEGV",
      });
      assert(compiled(await compile("good.spv")).code.length > 0);
      assertEquals(
        await compileModule(radv, {
          file: `${folder}/good.spv`,
          family: "navi21",
          waveSize: 64,
          entryPoint: "other",
        }),
        {
          failed: "refused",
          reason: `no compute entry point is named other; the module has: main (file ${folder}/good.spv)`,
        },
      );
    });
  },
);

radvTest("a module that takes too long is ended and counted", async () => {
  await withFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/scale.spv`, bytesOf(assemble(scaleModule)));
    await using radv = new RadvProcess({ timeout: 0 });
    const outcome = await compileModule(radv, { file: `${folder}/scale.spv`, family: "navi21", waveSize: 32 });
    assertEquals(outcome, { failed: "timeout", reason: "it took longer than 0 ms" });
  });
});

radvTest("a family that RADV does not have is an error of the host, not an outcome", async () => {
  await using radv = new RadvProcess({ family: "navi99" as Family });
  await assertRejects(() => radv.start(), HostError, "RADV's null device for navi99 does not start");
});
