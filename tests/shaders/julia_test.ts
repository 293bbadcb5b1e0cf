import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { VulkanDevice } from "../../src/driver/vulkan/vulkan_device.ts";
import type { GpuDevice } from "../../src/gpu/device.ts";
import { loadProgram } from "../../src/guest/load_program.ts";
import type { Program } from "../../src/guest/program.ts";
import { deviceTest } from "../support/vulkan.ts";
import { JULIA, juliaReference } from "./julia_reference.ts";

const FILE = decodeURIComponent(new URL("../../shaders/julia/program.json", import.meta.url).pathname);
/** c = -0.4 + 0.6 i, as the machine code holds it. */
const RE_LITERAL = 0xbecccccd, HALF_LITERAL = 0xbf000000;

function runFrame(gpu: GpuDevice, program: Program) {
  const run = new VulkanDevice(gpu, "automatic").run(program);
  try {
    assertEquals(run.result.error?.message, undefined);
    return { result: run.result, picture: run.frame()! };
  } finally {
    run.close();
  }
}

deviceTest(
  "the sample draws exactly the picture that the CPU computes, and both labels are written in order",
  (gpu) => {
    const { result, picture } = runFrame(gpu, loadProgram(FILE));
    assertEquals(result.outcome, "passed");
    assertEquals([picture.width, picture.height], [JULIA.width, JULIA.height]);
    assertEquals(picture.rgba, juliaReference());
    assertEquals(result.labels.map((label) => [label.queue, label.address, label.value]), [[
      0x20,
      0x2_0001_0000n,
      0x4a554c49n,
    ]]);
    assertEquals(result.waits, [{ queue: 0, address: 0x2_0001_0000n, reference: 0x4a554c49n }]);
  },
);

deviceTest(
  "another literal in the guest's machine code gives another picture: the one that the CPU computes for it",
  (gpu) => {
    const program = loadProgram(FILE);
    const { data } = program.memory.find((window) => window.name === "code")!.contents[0];
    const code = new Uint32Array(data.buffer, data.byteOffset, data.length / 4);
    const places = [...code.keys()].filter((i) => code[i] === RE_LITERAL);
    assertEquals(places.length, 1);
    code[places[0]] = HALF_LITERAL;
    const { picture } = runFrame(gpu, program);
    assertNotEquals(picture.rgba, juliaReference());
    assertEquals(picture.rgba, juliaReference({ ...JULIA, re: -0.5 }));
  },
);

deviceTest("the iteration limit comes from the user data of the stream", (gpu) => {
  const program = loadProgram(FILE);
  const { words } = program.submissions.find((submission) => submission.queue === 0x20)!;
  const at = words.indexOf(160);
  assert(at > 0 && words.indexOf(160, at + 1) < 0);
  words[at] = 1;
  assertEquals(runFrame(gpu, program).picture.rgba, juliaReference({ ...JULIA, iterations: 1 }));
});
