import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { openDevice } from "../../../src/driver/device.ts";
import { HostError } from "../../../src/errors.ts";
import { loadProgram } from "../../../src/guest/load_program.ts";
import { projectFile } from "../../cli/support.ts";
import { chain } from "../queues/programs.ts";
import { juliaReference } from "../../shaders/julia_reference.ts";

const SAMPLE = projectFile("shaders/julia/program.json");

Deno.test("the sample draws its picture in the reference interpreter, bit for bit", () => {
  using device = openDevice({ name: "software" });
  assertEquals(device.description.type, "interpreter");
  const run = device.run(loadProgram(SAMPLE));
  assertEquals(run.result.error, undefined);
  assertEquals(run.result.outcome, "passed");
  assertEquals(run.frame()!.rgba, juliaReference());
  run.close();
});

Deno.test("a started run of the interpreter is its run in turns", async () => {
  using device = openDevice({ name: "software" });
  const { program } = chain(3), started = await device.start(program), run = device.run(program);
  assertEquals([started.result.outcome, started.result.labels], [run.result.outcome, run.result.labels]);
  assertEquals([started.result.waits, started.result.queues], [run.result.waits, [0x30, 0x21, 0]]);
  for (const { base, bytes } of program.memory) {
    assertEquals(started.memory.read(base, bytes), run.memory.read(base, bytes));
  }
  started.close();
  run.close();
});

Deno.test("a machine without a Vulkan driver runs the sample in the interpreter and says why", async () => {
  const { code, stdout: bytes } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", projectFile("src/main.ts"), "run", SAMPLE],
    env: { VK_ICD_FILENAMES: "/nonexistent", VK_DRIVER_FILES: "/nonexistent", NO_COLOR: "1" },
  }).output();
  const stdout = new TextDecoder().decode(bytes);
  assertEquals(code, 0, stdout);
  assertStringIncludes(stdout, "reference interpreter");
  assertStringIncludes(stdout, "Vulkan");
  assertStringIncludes(stdout, "passed");
});

Deno.test("a device that is asked for by name is not replaced by the interpreter", () => {
  assertThrows(() => openDevice({ name: "no such device" }), HostError, "no such device");
});
