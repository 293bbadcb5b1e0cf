import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { Permission } from "../../guest/memory/window.ts";
import { type CodeSegment, WindowSpace } from "../../rdna/interpreter/mod.ts";

/** The windows of guest memory as the interpreter reaches them. Made anew when the windows change. */
export class GuestSpace extends WindowSpace {
  constructor(memory: GuestMemory) {
    super();
    for (const { base, bytes, permissions } of memory.windows) this.add(base, bytes, permissions);
  }

  /** The executable window around an address (signed 64-bit). */
  code(address: number): CodeSegment | undefined {
    const window = this.find(address);
    if (window === undefined || (window.access & Permission.Execute) === 0) return undefined;
    const { buffer, byteOffset, byteLength } = window.view;
    return { base: window.base, words: new Uint32Array(buffer, byteOffset, byteLength / 4) };
  }
}
