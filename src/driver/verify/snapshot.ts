/** Copies of guest memory. */
import { ArrayAllocator } from "../../guest/memory/allocator.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";

/** A second guest memory with the same windows, in ordinary buffers. */
export function shadowOf(memory: GuestMemory): GuestMemory {
  const shadow = new GuestMemory(new ArrayAllocator());
  for (const { base, byteLength, permissions, name } of memory.windows) shadow.map(base, byteLength, permissions, name);
  copyWindows(memory, shadow);
  return shadow;
}

/** Copies the contents of all windows, whatever their permissions. Both memories have the same windows. */
export function copyWindows(from: GuestMemory, to: GuestMemory): void {
  from.windows.forEach(({ bytes }, index) => to.windows[index].bytes.set(bytes));
}
