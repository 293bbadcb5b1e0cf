/** Machine code that LLVM compiled from own OpenCL kernels (corpus/llvm), against the same source compiled for the host. */
import { assertEquals, assertNotEquals } from "@std/assert";
import { launch } from "../../src/guest/harness.ts";
import { assertWords, corpusShader } from "../support/compare.ts";
import { corpusFile } from "../support/corpus.ts";
import { integerWords } from "../support/inputs.ts";
import { HostKernels, type KernelSignature } from "../support/opencl_oracle.ts";
import { BACKINGS, corpusDeviceTest, runGuestWell } from "../support/run.ts";

const THREADS = 64;
const u32s = { kind: "global_buffer", type: "u32*" };
const SIGNATURES: KernelSignature[] = [
  { name: "collatz", arguments: [u32s, u32s] },
  { name: "reduce", arguments: [u32s, u32s] },
];
let kernels: HostKernels | undefined;
const host = () => kernels ??= new HostKernels(corpusFile("llvm", "k.cl"), SIGNATURES);

for (const waveSize of [32, 64] as const) {
  for (const { name, outputs } of [{ name: "collatz", outputs: 64 }, { name: "reduce", outputs: 1 }]) {
    corpusDeviceTest(`LLVM ${name}, wave${waveSize}, gives what the kernel gives on the host`, "llvm", (device) => {
      for (const [seed, groups] of [1, 7, 50].entries()) {
        const a = integerWords(THREADS * groups, seed + 11);
        const b = new Uint32Array(outputs * groups + 3).fill(0xdead_beef);
        const { program, resources } = launch({
          shader: corpusShader("llvm", `k.w${waveSize}.${name}.json`),
          grid: [groups, 1, 1],
          workgroupSize: [THREADS, 1, 1],
          resources: { "0": { kind: "buffer", data: a.slice() }, "1": { kind: "buffer", data: b.slice() } },
        });
        using run = runGuestWell(device, program, BACKINGS[seed % 2]);
        assertEquals(run.result.outcome, "passed");
        host().run(name, groups, THREADS, [a, b]);
        assertWords(run.words(resources.get("1")!), b, `${name}: b`);
        assertWords(run.words(resources.get("0")!), a, `${name}: a`);
        assertNotEquals(b[outputs * groups - 1], 0xdead_beef);
        assertEquals(b[outputs * groups], 0xdead_beef);
      }
    });
  }
}
