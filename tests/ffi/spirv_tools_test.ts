import { assert, assertEquals, assertThrows } from "@std/assert";
import { openSpirvTools, SpirvTools } from "../../ffi/spirv_tools.ts";
import { HostError, InvalidInputError } from "../../src/errors.ts";
import { buildSpirvTools } from "../../tools/spirv_tools/build.ts";

await buildSpirvTools();

const empty = `
  OpCapability Shader
  OpMemoryModel Logical GLSL450
  OpEntryPoint GLCompute %main "main"
  OpExecutionMode %main LocalSize 1 1 1
  %void = OpTypeVoid
  %fn = OpTypeFunction %void
  %main = OpFunction %void None %fn
  %l = OpLabel
  OpReturn
  OpFunctionEnd`;

Deno.test("assembly, validation and disassembly agree on a module", () => {
  const tools = openSpirvTools();
  const words = tools.assemble(empty);
  assertEquals(words[0], 0x0723_0203);
  assertEquals(words[1], 0x0001_0600); // vulkan1.3 takes SPIR-V 1.6
  assertEquals(tools.validate(words), []);
  const text = tools.disassemble(words);
  assert(text.includes("%void = OpTypeVoid"), text);
  assert(/%\d+ = OpTypeVoid/.test(tools.disassemble(words, { rawIds: true })));
  assertEquals(tools.assemble(text), words);
});

Deno.test("an invalid module is reported with the rule that it breaks", () => {
  const tools = openSpirvTools();
  const words = tools.assemble(empty.replace("OpCapability Shader", "OpCapability Kernel"));
  const diagnostics = tools.validate(words);
  assertEquals(diagnostics.length, 1);
  assertEquals(diagnostics[0].level, "error");
  assert(diagnostics[0].message.includes("requires one of these capabilities: Shader"), diagnostics[0].message);
  assertThrows(() => tools.requireValid(words, "the test module"), Error, "the test module is not valid SPIR-V: ");
  assertEquals(tools.validate(words.subarray(0, 3)).length, 1);
});

Deno.test("bad assembly text is reported with line and column", () => {
  assertThrows(
    () => openSpirvTools().assemble("OpCapability Shader\n  OpNoSuchThing"),
    InvalidInputError,
    "line 2, column 3",
  );
});

Deno.test("the optimizer removes what is dead and keeps the module valid", () => {
  const tools = openSpirvTools();
  const words = tools.assemble(
    empty.replace(
      "%l = OpLabel",
      `%l = OpLabel
     %dead = OpIAdd %u32 %one %one`,
    ).replace("%fn =", "%u32 = OpTypeInt 32 0\n%one = OpConstant %u32 1\n%fn ="),
  );
  const optimized = tools.optimize(words, ["-O"]);
  assert(optimized.length < words.length);
  assert(!tools.disassemble(optimized).includes("OpIAdd"));
  assertEquals(tools.validate(optimized), []);
  assertEquals(tools.optimize(words, []), words);
});

Deno.test("an optimizer flag that does not exist is refused", () => {
  const tools = openSpirvTools();
  assertThrows(() => tools.optimize(tools.assemble(empty), ["--no-such-pass"]), InvalidInputError, "--no-such-pass");
});

Deno.test("modules in shared memory are accepted", () => {
  const tools = openSpirvTools();
  const words = tools.assemble(empty);
  const shared = new Uint32Array(new SharedArrayBuffer(words.byteLength));
  shared.set(words);
  assertEquals(tools.validate(shared), []);
  assertEquals(tools.optimize(shared, []), words);
});

Deno.test("a library that is missing names what to do", () => {
  const error = assertThrows(
    () => new SpirvTools("/nowhere/libanyagc-spirv-tools.so"),
    HostError,
    "tools/spirv_tools/build.ts",
  );
  assertEquals((error as HostError).code, "host.library-missing");
});

Deno.test("without any library the error names the Debian packages", async () => {
  const module = new URL("../../ffi/spirv_tools.ts", import.meta.url);
  // A copy of the tree without .cache: only the files that the module imports.
  const root = Deno.makeTempDirSync();
  for (
    const file of [
      "ffi/spirv_tools.ts",
      "ffi/libc.ts",
      "ffi/library.ts",
      "src/build_stamp.ts",
      "src/errors.ts",
      "src/switches.ts",
    ]
  ) {
    Deno.mkdirSync(`${root}/${file.split("/")[0]}`, { recursive: true });
    Deno.copyFileSync(new URL(`../${file}`, module), `${root}/${file}`);
  }
  const script =
    `import("file://${root}/ffi/spirv_tools.ts").then((m) => m.openSpirvTools()).catch((e) => console.log(e.message))`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", script],
    env: { ANYAGC_SPIRV_TOOLS_LIB: "" },
  }).output();
  Deno.removeSync(root, { recursive: true });
  assert(new TextDecoder().decode(stdout).includes("apt install g++ spirv-tools"), new TextDecoder().decode(stdout));
});
