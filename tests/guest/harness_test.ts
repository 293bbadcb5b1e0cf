import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { type AnyAgcError, RefusedError, UsageError } from "../../src/errors.ts";
import { launch, type LaunchRequest } from "../../src/guest/harness.ts";
import { loadFile } from "../../src/guest/loaders/load_file.ts";
import { loadSb } from "../../src/guest/loaders/sb.ts";
import { compareResults } from "../../src/guest/map_program.ts";
import { corpusFile, corpusNames, corpusTest } from "../support/corpus.ts";
import { A, acoRequest, acoShader, dispatched, LLVM, mapped, userData } from "./support/launches.ts";

Deno.test("a launch's own checks notice a missing end and writes beside the buffers or into code and descriptors", () => {
  const built = launch(acoRequest()), memory = mapped(built);
  assertEquals(compareResults(built.program, memory).map((each) => each.address), [built.marker.address]);
  memory.writeU32(built.marker.address, built.marker.value);
  assertEquals(compareResults(built.program, memory), []);
  const placed = built.resources.get("A")!;
  memory.writeU32(placed.address, 99);
  assertEquals(compareResults(built.program, memory), []);
  const setAddress = 0xFFFF_8000_0000_0000n + BigInt(userData(built)[2]);
  for (const address of [placed.address + BigInt(placed.bytes), built.codeAddress, setAddress, setAddress + 60n]) {
    const before = memory.readU32(address);
    memory.writeU32(address, before ^ 1);
    assertEquals(compareResults(built.program, memory).map((each) => [each.kind, each.address]), [[
      "untouched",
      address,
    ]]);
    memory.writeU32(address, before);
  }
});

Deno.test("a request that does not fit is refused with the reason", () => {
  const refused = (request: LaunchRequest, type: typeof AnyAgcError, message: string) => {
    assertStringIncludes(assertThrows(() => launch(request), type).message, message);
  };
  const usage = UsageError as typeof AnyAgcError, refusal = RefusedError as typeof AnyAgcError;
  refused(acoRequest(acoShader({}, { stage: "pixel" })), refusal, "launches compute shaders");
  refused(acoRequest(acoShader({}, { rsrc2: undefined })), refusal, "no PGM_RSRC1 and PGM_RSRC2");
  refused(acoRequest(acoShader({}, { rsrc2: 0x88 })), usage, "RSRC2 asks for 4 user SGPRs, the description for 5");
  refused(acoRequest(undefined, { grid: [0, 1, 1] }), usage, "grid 0x1x1");
  refused(acoRequest(undefined, { grid: [1.5, 1, 1] }), usage, "grid 1.5x1x1");
  refused(acoRequest(undefined, { waveSize: 64 }), usage, "is wave32 code");
  refused(acoRequest(undefined, { workgroupSize: [32, 1, 1] }), usage, "compiled for 64x1x1 threads, not 32x1x1");
  refused(acoRequest(acoShader({}, { workgroupSize: undefined })), usage, "does not say its workgroup size");
  refused(
    acoRequest(acoShader({}, { workgroupSize: undefined }), { workgroupSize: [1025, 1, 1] }),
    usage,
    "1 to 1024 threads",
  );
  refused(acoRequest(undefined, { pushConstants: [1, 2] }), usage, "reads push-constant dword 2, only 2 are given");
  refused(
    acoRequest(undefined, { pushConstants: [1, 2, 3, 4] }),
    usage,
    "4 push-constant dwords, but the shader has 12 bytes",
  );
  refused(acoRequest(undefined, { pushConstants: [1.5, 2, 3] }), usage, "1.5 is no 32-bit value");
  refused(acoRequest(undefined, { resources: { A: { kind: "buffer", data: A } } }), usage, "a resource named B or 0.1");
  refused(
    acoRequest(undefined, { resources: { ...acoRequest().resources, extra: { kind: "buffer", data: A } } }),
    usage,
    "named extra",
  );
  refused(
    acoRequest(undefined, { resources: { ...acoRequest().resources, A: { kind: "sampler", words: [] } } }),
    usage,
    "resource A is a sampler",
  );
  refused(
    acoRequest(undefined, { resources: { ...acoRequest().resources, A: { kind: "buffer", data: new Uint8Array() } } }),
    usage,
    "buffer A is empty",
  );
  refused(
    acoRequest(acoShader({}, { userSgprs: [{ name: "view_index", sgpr: 0, count: 1 }] })),
    refusal,
    "user SGPR view_index",
  );
  refused(
    acoRequest(acoShader({}, { userSgprs: [{ name: "ring_offsets", sgpr: 4, count: 2 }] })),
    usage,
    "ring_offsets needs 2 SGPRs",
  );
  const llvm = (resources: LaunchRequest["resources"]) =>
    ({ shader: LLVM, grid: [1, 1, 1], workgroupSize: [64, 1, 1], resources }) as LaunchRequest;
  const buffer = { kind: "buffer", data: A } as const;
  refused(llvm({ 0: buffer, 1: buffer, 2: buffer }), usage, "argument 2 is a value of 4 bytes, not a buffer");
  refused(llvm({ 0: buffer, 1: buffer, 2: { kind: "value", data: A } }), usage, "argument 2 has 4 bytes, not 12");
  refused(llvm({ 0: buffer }), usage, "a resource named 1");
});

corpusTest("every compute shader of the corpus can be launched with buffers that its description names", "llvm", () => {
  let launched = 0;
  for (const folder of ["aco", "llvm"]) {
    for (const name of corpusNames(folder, /\.json$/)) {
      const loaded = loadFile(corpusFile(folder, name));
      assert(loaded.kind === "shader");
      const { shader } = loaded;
      if (shader.stage !== "compute") continue;
      const resources: Record<string, LaunchRequest["resources"][string]> = {};
      const data = new Uint8Array(4096), { abi } = shader;
      if (abi.kind === "aco") {
        for (const { name, type } of abi.bindings) {
          resources[name] = type.endsWith("buffer")
            ? { kind: "buffer", data }
            : { kind: "image", width: 16, height: 16, format: 20, texelBytes: 4 };
        }
      } else if (abi.kind === "llvm") {
        abi.arguments.forEach(({ kind, size }, index) =>
          resources[index] = kind === "by_value"
            ? { kind: "value", data: data.subarray(0, size) }
            : { kind: "buffer", data }
        );
      }
      const pushConstants = abi.kind === "aco" ? new Array(abi.pushConstantBytes / 4).fill(1) : [];
      const built = launch({
        shader,
        grid: [2, 1, 1],
        workgroupSize: shader.workgroupSize ?? [64, 1, 1],
        resources,
        pushConstants,
      });
      const seen = dispatched(built);
      assertEquals([seen.address, seen.waveSize, seen.userData], [built.codeAddress, shader.waveSize, userData(built)]);
      launched++;
    }
  }
  assertEquals(launched, 16 + 20);
});

corpusTest("the compute records of the corpus launch with the ABI that their disassembly shows", "openagc", () => {
  const sb = (name: string) => loadSb(name, Deno.readFileSync(corpusFile("openagc", `${name}.sb`)));
  const buffer = { kind: "buffer", data: new Uint8Array(256) } as const;
  const binding = (index: number, offset: number, type: string, name: string) => ({
    set: 0,
    binding: index,
    type,
    count: 1,
    offset,
    stride: 16,
    name,
  });
  const requests: LaunchRequest[] = [
    {
      shader: sb("fill_color"),
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { buf: buffer },
      pushConstants: [{ addressOf: "buf" }, 64, 0xFF],
    },
    {
      shader: sb("fill_color_native"),
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { out: buffer },
      bindings: [binding(0, 0, "storage_buffer", "out")],
      pushConstants: [64, 0xFF],
    },
    {
      shader: sb("copy_consume_native"),
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { in: buffer, out: buffer },
      bindings: [binding(0, 0, "storage_buffer", "in"), binding(1, 16, "storage_buffer", "out")],
      pushConstants: [64],
    },
    {
      shader: sb("render_consume_native"),
      grid: [8, 8, 1],
      workgroupSize: [8, 8, 1],
      resources: {
        in: { kind: "image", width: 64, height: 64, format: 56, texelBytes: 4 },
        out: { kind: "buffer", data: new Uint8Array(16384) },
      },
      bindings: [binding(0, 0, "sampled_image", "in"), binding(1, 64, "storage_buffer", "out")],
    },
    {
      shader: sb("htile_rmw"),
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: { w: buffer },
      pushConstants: [{ addressOf: "w" }, 64, 0xF0, 0xFF],
    },
  ];
  for (const request of requests) {
    const built = launch(request), seen = dispatched(built);
    assertEquals([seen.address, seen.waveSize, seen.userData], [built.codeAddress, 32, userData(built)]);
  }
  const htile = launch(requests[4]), { address } = htile.resources.get("w")!;
  assertEquals(userData(htile), [0, 0, Number(address & 0xFFFFFFFFn), 2, 64, 0xF0, 0xFF]);
});
