import { assertEquals, assertThrows } from "@std/assert";
import { programCandidates, shaderCandidate } from "../../../src/cli/recompile/candidates.ts";
import { RefusedError } from "../../../src/errors.ts";
import type { LoadedProgram } from "../../../src/guest/program.ts";
import type { ShaderSource } from "../../../src/guest/shader_source.ts";
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import {
  COMPUTE,
  dispatchDirect,
  releaseMem32,
  setComputeProgram,
  setComputeRegisters,
  waitMemoryEquals,
} from "../../../tools/shaders/packets.ts";

const BASE = 0x2_0000_0000n, LABEL = BASE + 0x800n;
const device = {} as RecompilerDevice; // passed through, never looked at

function program(...submissions: [number, number[]][]): LoadedProgram {
  return {
    name: "test",
    target: "gfx1013",
    memory: [{
      name: "all",
      base: BASE,
      bytes: 0x1000,
      permissions: 7,
      contents: [{ offset: 0, data: Uint8Array.of(0, 0, 0x81, 0xbf) }],
    }],
    submissions: submissions.map(([queue, words]) => ({ queue, words: Uint32Array.from(words) })),
    expectations: [],
    untouched: [],
    shaders: [],
    notes: [],
  };
}

const launch = (threads: number, wave: 32 | 64) => [
  ...setComputeProgram(BASE),
  ...setComputeRegisters(COMPUTE.NUM_THREAD_X, threads, 1, 1),
  ...setComputeRegisters(COMPUTE.PGM_RSRC1, 0xf0 << 12 | 1 << 21, 3 << 1 | 1 << 7 | 1 << 9),
  ...dispatchDirect([1, 1, 1], wave),
];

Deno.test("each program that the streams dispatch is a candidate once, with the registers that decide", () => {
  const { list, notes } = programCandidates(program([0x20, [...launch(64, 32), ...launch(64, 32), ...launch(32, 64)]]));
  assertEquals(notes, []);
  assertEquals(list.map((c) => c.name), ["0x200000000", "0x200000000#2"]);
  const { code, ...request } = list[0].request(device);
  assertEquals([code.length, code[0]], [0x400, 0xbf810000]);
  assertEquals<unknown>(request, {
    codeAddress: BASE,
    target: "gfx1013",
    waveSize: 32,
    workgroupSize: [64, 1, 1],
    userSgprCount: 3,
    workgroupIds: [true, false, true],
    tgSize: false,
    scratch: false,
    threadIdCount: 1,
    ldsBytes: 0,
    floatMode: 0xf0,
    ieee: false,
    dx10Clamp: true,
    partialThreads: false,
    device,
  });
  assertEquals([list[1].request(device).waveSize, list[1].request(device).workgroupSize], [64, [32, 1, 1]]);
});

Deno.test("a queue that waits for another queue's label is followed after it", () => {
  const { list, notes } = programCandidates(program(
    [0, [...waitMemoryEquals(LABEL, 7), ...launch(32, 32)]],
    [0x20, releaseMem32(LABEL, 7)],
  ));
  assertEquals([list.length, notes], [1, []]);
});

Deno.test("a queue that waits for what only a shader could write is named", () => {
  const { list, notes } = programCandidates(
    program([0, [...launch(32, 32), ...waitMemoryEquals(LABEL, 7), ...launch(64, 32)]]),
  );
  assertEquals(list.length, 1);
  assertEquals(notes, ["queue 0x0 waits for what a shader would write; its later dispatches are not seen"]);
});

Deno.test("a dispatch that is refused is named, and the other queues go on", () => {
  const { list, notes } = programCandidates(program([0x20, launch(2000, 32)], [0x21, launch(64, 32)]));
  assertEquals(list.length, 1);
  assertEquals(notes.length, 1);
});

const shader: ShaderSource = {
  name: "s",
  file: "s.sb",
  target: "gfx1030",
  stage: "compute",
  code: Uint32Array.of(0xbf810000),
  codeFileOffset: 0,
  execBytes: 4,
  waveSize: 64,
  workgroupSize: [8, 8, 1],
  userSgprs: [],
  userSgprCount: 6,
  systemSgprs: [],
  rsrc1: 0xc0 << 12,
  rsrc2: 6 << 1,
  ldsBytes: 512,
  abi: { kind: "llvm", arguments: [], kernargBytes: 0, scratchBytesPerLane: 0 },
};

Deno.test("a shader record is a candidate by its own RSRC words", () => {
  const { name, request } = shaderCandidate(shader, 32);
  const { waveSize, workgroupSize, ldsBytes, floatMode, userSgprCount, target } = request(device);
  assertEquals([name, waveSize, workgroupSize, ldsBytes, floatMode, userSgprCount, target], [
    "s",
    64,
    [8, 8, 1],
    512,
    0xc0,
    6,
    "gfx1030",
  ]);
});

Deno.test("a record that leaves out what a launch needs is refused, and says what", () => {
  assertThrows(() => shaderCandidate({ ...shader, stage: "pixel" }, 32), RefusedError, "SPI_SHADER_PGM_RSRC1_PS");
  assertThrows(() => shaderCandidate({ ...shader, rsrc2: undefined }, 32), RefusedError, "RSRC");
  assertThrows(() => shaderCandidate({ ...shader, waveSize: undefined }, undefined), RefusedError, "--wave");
  assertThrows(() => shaderCandidate({ ...shader, workgroupSize: undefined }, 32), RefusedError, "workgroup size");
});
