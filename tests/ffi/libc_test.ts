import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  discardPages,
  mapAnonymous,
  PAGE_BYTES,
  protect,
  Protection,
  setNativeEnvironment,
  threadId,
  trimHeaps,
  unmap,
  viewMemory,
} from "../../ffi/libc.ts";
import { HostError } from "../../src/errors.ts";

Deno.test("an anonymous mapping is page-aligned, zeroed, writable and seen by every view of it", () => {
  const mapping = mapAnonymous(5000);
  assertEquals(mapping.address % BigInt(PAGE_BYTES), 0n);
  assertEquals(mapping.byteLength, 2 * PAGE_BYTES);
  const a = new Uint32Array(viewMemory(mapping.address, mapping.byteLength));
  const b = new Uint32Array(viewMemory(mapping.address + 4096n, 4096));
  assert(a.every((word) => word === 0));
  a[1024] = 42;
  assertEquals(b[0], 42);
  discardPages(mapping.address + 4096n, 4096);
  assertEquals(b[0], 0);
  unmap(mapping);
});

Deno.test("mapping at a fixed address never replaces what is there", () => {
  const mapping = mapAnonymous(PAGE_BYTES);
  const error = assertThrows(() => mapAnonymous(PAGE_BYTES, Protection.Read, mapping.address), HostError, "errno 17"); // EEXIST
  assertEquals((error as HostError).code, "host.mmap");
  unmap(mapping);
});

Deno.test("a mapping larger than memory costs nothing until it is touched", () => {
  const mapping = mapAnonymous(64 * 2 ** 30, Protection.None);
  protect(mapping.address + (32n << 30n), PAGE_BYTES, Protection.Read | Protection.Write);
  const page = new Uint8Array(viewMemory(mapping.address + (32n << 30n), PAGE_BYTES));
  page[4095] = 1;
  assertEquals(page[4095], 1);
  unmap(mapping);
});

Deno.test("writing to a page without write permission ends the process with SIGSEGV, so protections are real", async () => {
  const libc = new URL("../../ffi/libc.ts", import.meta.url).href;
  const script = `const { mapAnonymous, Protection, viewMemory } = await import(${JSON.stringify(libc)});
    const page = new Uint8Array(viewMemory(mapAnonymous(4096, Protection.Read).address, 4096));
    console.log("read " + page[0]); page[0] = 1; console.log("written");`;
  const { signal, stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", script] }).output();
  assertEquals(new TextDecoder().decode(stdout), "read 0\n");
  assertEquals(signal, "SIGSEGV");
});

Deno.test("the kernel's number of this thread is in /proc/self/task, and a worker has another", async () => {
  const own = threadId();
  assert(Deno.statSync(`/proc/self/task/${own}`).isDirectory);
  const libc = new URL("../../ffi/libc.ts", import.meta.url).href;
  const code = `import { threadId } from ${JSON.stringify(libc)}; postMessage(threadId()); close();`;
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(code)}`, { type: "module" });
  const other = await new Promise<number>((resolve) => worker.onmessage = (event) => resolve(event.data));
  assert(other !== own && other > 0);
});

Deno.test("a variable set for native code is seen by native code", () => {
  setNativeEnvironment("ANYAGC_TEST_NATIVE_VARIABLE", "yes");
  const libc = Deno.dlopen("libc.so.6", { getenv: { parameters: ["buffer"], result: "pointer" } });
  const value = libc.symbols.getenv(new TextEncoder().encode("ANYAGC_TEST_NATIVE_VARIABLE\0"));
  assertEquals(new Deno.UnsafePointerView(value!).getCString(), "yes");
  libc.close();
});

Deno.test("pages of freed blocks go back to the kernel, also those before a block that lives", () => {
  // Blocks below M_MMAP_THRESHOLD (128 KiB at the start, mallopt(3)) come from the thread's heap.
  const blocks = 1024, bytes = 64 * 1024;
  const libc = Deno.dlopen("libc.so.6", {
    malloc: { parameters: ["usize"], result: "u64" },
    free: { parameters: ["u64"], result: "void" },
  });
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync("/proc/self/status"))![1]) * 1024;
  const taken = Array.from({ length: blocks }, () => libc.symbols.malloc(BigInt(bytes)));
  for (const block of taken) new Uint8Array(viewMemory(block, bytes)).fill(1);
  for (const block of taken.slice(0, -1)) libc.symbols.free(block);
  const kept = resident();
  trimHeaps();
  const left = resident();
  libc.symbols.free(taken[blocks - 1]);
  libc.close();
  assert(kept - left > blocks * bytes / 2, `${kept} bytes before, ${left} after`);
});
