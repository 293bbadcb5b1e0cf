import { assertEquals } from "@std/assert";
import { launch } from "../../../src/guest/harness.ts";
import { A, acoRequest, acoShader, B0, dispatched, LLVM, userData } from "../support/launches.ts";

Deno.test("the stream sets registers like a console stream, dispatches, flushes and writes the marker", () => {
  const { program, codeAddress, marker } = launch(acoRequest());
  const set = Number(BigInt(userData(launch(acoRequest()))[2]));
  assertEquals([...program.submissions[0].words], [
    ...[0xC0037600, 0x204, 0, 0, 0],
    ...[0xC0037600, 0x207, 64, 1, 1],
    ...[0xC0027600, 0x20C, Number(codeAddress >> 8n & 0xFFFFFFFFn), 0],
    ...[0xC0027600, 0x212, 0x602C0001, 0x8A],
    ...[0xC0017600, 0x215, 0],
    ...[0xC0017600, 0x228, 0],
    ...[0xC0057600, 0x240, 0, 0, set, 10, 0xFFFFFFFF],
    ...[0xC0031500, 3, 2, 1, 0x8041],
    ...[0xC0004600, 0x407],
    ...[0xC0064900, 0x0030C528, 0x20000000, Number(marker.address & 0xFFFFFFFFn), 2, marker.value, 0, 0],
  ]);
  assertEquals([program.submissions[0].queue, codeAddress % 256n], [0, 0n]);
});

Deno.test("wave64, a grid in threads and a compute queue show in the dispatch", () => {
  const built = launch(
    acoRequest(acoShader({}, { waveSize: 64 }), { grid: [100, 1, 1], gridUnit: "threads", queue: 0x21 }),
  );
  const { words, queue } = built.program.submissions[0];
  const at = words.indexOf(0xC0031500);
  assertEquals([...words.subarray(at, at + 5), queue], [0xC0031500, 100, 1, 1, 0x61, 0x21]);
});

Deno.test("LDS_SIZE of LLVM code is what the kernel asks for, in units of 512 bytes", () => {
  const rsrc2 = (ldsBytes: number, value: number) => {
    const { words } = launch({
      shader: { ...LLVM, ldsBytes, rsrc2: value },
      grid: [1, 1, 1],
      workgroupSize: [64, 1, 1],
      resources: {
        0: { kind: "buffer", data: A },
        1: { kind: "buffer", data: B0 },
        2: { kind: "value", data: Float32Array.of(1.5) },
      },
    }).program.submissions[0];
    return words[words.indexOf(0x212) + 2];
  };
  assertEquals([0, 4, 512, 513, 65536].map((bytes) => rsrc2(bytes, 0x91) - 0x91 >>> 15), [0, 1, 1, 2, 128]);
  assertEquals(rsrc2(4, 0x91 | 3 << 15), 0x91 | 3 << 15);
});

Deno.test("the command processor takes the stream and sees the launch that was meant", () => {
  const built = launch(acoRequest());
  assertEquals(dispatched(built), {
    userData: userData(built),
    address: built.codeAddress,
    groups: [3, 2, 1],
    waveSize: 32,
    threads: [64, 1, 1],
  });
});
