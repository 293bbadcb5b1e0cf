import { assertEquals, assertThrows } from "@std/assert";
import { hostCompiler, HostKernels, type KernelSignature } from "./opencl_oracle.ts";

const SOURCE = new URL("opencl_oracle/own.cl", import.meta.url).pathname;
const u32s = (type: string) => ({ kind: "global_buffer", type });
const KERNELS: KernelSignature[] = [
  { name: "reverse", arguments: [u32s("u32*"), u32s("u32*"), { kind: "by_value", type: "u32" }] },
  { name: "skewed", arguments: [u32s("u32*")] },
];

Deno.test({
  name: "the OpenCL oracle runs work-items in phases between barriers, and reports a barrier that some skip",
  ignore: hostCompiler === undefined,
  fn: () => {
    const kernels = new HostKernels(SOURCE, KERNELS);
    const input = Uint32Array.from({ length: 16 }, (_, i) => i), output = new Uint32Array(17).fill(9);
    kernels.run("reverse", 2, 8, [input, output, Uint32Array.of(100)]);
    assertEquals([...output], [107, 106, 105, 104, 103, 102, 101, 100, 115, 114, 113, 112, 111, 110, 109, 108, 9]);
    assertThrows(() => kernels.run("skewed", 1, 8, [output]), Error, "not all work-items reach the same barrier");
    assertThrows(() => kernels.run("reverse", 1, 8, [input]), Error, "with 1 arguments");
  },
});
