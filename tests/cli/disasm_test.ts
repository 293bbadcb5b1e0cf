import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { corpusFile, corpusTest } from "../support/corpus.ts";
import { anyagc, projectFile } from "./support.ts";

const PROGRAM = projectFile("shaders/julia/program.json"), BINARY = projectFile("shaders/julia/julia.bin");

Deno.test("disasm of a program shows its streams and the code that they dispatch", async () => {
  const { code, lines } = await anyagc("disasm", PROGRAM);
  assertEquals(code, 0);
  for (
    const line of [
      "submission 1 (draw): queue 0x20, 42 words",
      "0x001d: 0xc0031502 DISPATCH_DIRECT 5 words compute",
      "submission 0 (wait): queue 0x0, 12 words",
      "COMPUTE program at 0x200000000, 128 words (gfx1013, wave32)",
      ">0x0090: 100e0904           v_mul_f32_e32 v7, v4, v4",
      " 0x00d8: bf85ffed           s_cbranch_scc1 65517  ; to 0x0090",
    ]
  ) assert(lines.includes(line), line);
});

Deno.test("disasm --json has instructions as data", async () => {
  const { text } = await anyagc("disasm", PROGRAM, "--json");
  const data = JSON.parse(text);
  assertEquals([data.schema, data.kind, data.submissions.length, data.shaders.length], [
    "anyagc.disasm/1",
    "program",
    2,
    1,
  ]);
  const [shader] = data.shaders;
  assertEquals([shader.address, shader.waveSize, shader.target], ["0x200000000", 32, "gfx1013"]);
  assertEquals(shader.instructions.at(-1), { pc: 508, words: [0xbf810000], text: "s_endpgm" });
});

Deno.test("disasm --raw takes plain machine code", async () => {
  const { code, lines } = await anyagc("disasm", BINARY, "--raw", "gfx1013", "--wave", "32");
  assertEquals(code, 0);
  assertEquals(lines.length, 1 + 92);
  assertEquals(lines.at(-1), " 0x01fc: bf810000           s_endpgm");
});

Deno.test("disasm says what is wrong with its input or options", async () => {
  for (
    const [args, message] of [
      [[BINARY], /no known format/],
      [[projectFile("no-such-file")], /no such file/],
      [[BINARY, "--raw", "gfx9"], /--raw is gfx1013 or gfx1030, not gfx9/],
      [[BINARY, "--raw", "gfx1013", "--wave", "16"], /--wave is 32 or 64/],
      [[projectFile("LICENSE"), "--raw", "gfx1013"], /no whole words/],
    ] as const
  ) {
    const { code, errors, text } = await anyagc("disasm", ...args);
    assertEquals(code, 2, errors);
    assertEquals(text, "");
    assertMatch(errors, message);
  }
});

corpusTest("disasm of a shader record shows its code", "openagc", async () => {
  const { code, text } = await anyagc("disasm", corpusFile("openagc", "fill_color.sb"));
  assertEquals(code, 0);
  assertStringIncludes(text, "compute shader fill_color");
  assertStringIncludes(text, "global_store_dword v[2:3], v0, off");
});
