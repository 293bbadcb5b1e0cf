import { assert } from "@std/assert";
import { mapAnonymous, Protection, unmap } from "../../../ffi/libc.ts";
import { procMemory } from "../../../src/driver/compile_cost/peak_memory.ts";

const MIB = 1 << 20;

/** Maps memory, touches it, and gives it back. */
function touch(bytes: number): void {
  const mapping = mapAnonymous(bytes, Protection.Read | Protection.Write);
  const view = new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(
    Deno.UnsafePointer.create(mapping.address)!,
    mapping.byteLength,
  ));
  for (let at = 0; at < bytes; at += 4096) view[at] = 1;
  unmap(mapping);
}

const able = procMemory.beginPeak();

Deno.test({
  name: "the peak since a moment holds what was taken and given back meanwhile, and nothing from before" +
    (able ? "" : " (ignored: this kernel cannot begin a peak, /proc/self/clear_refs)"),
  ignore: !able,
  fn() {
    touch(512 * MIB);
    assert(procMemory.beginPeak());
    const before = procMemory.resident();
    touch(128 * MIB);
    const grown = procMemory.peak() - before;
    assert(grown > 120 * MIB && grown < 400 * MIB, `${grown / MIB} MiB`);
    assert(procMemory.resident() - before < 64 * MIB, "it was given back");
  },
});
