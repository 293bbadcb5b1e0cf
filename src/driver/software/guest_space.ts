import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { type MemoryWindow, Permission } from "../../guest/memory/window.ts";
import { type CodeSegment, FaultReason, type MemorySpace } from "../../rdna/interpreter/mod.ts";

/** The windows of guest memory as the interpreter reaches them. Made anew when the windows change. */
export class GuestSpace implements MemorySpace {
  view: DataView = new DataView(new ArrayBuffer(0));
  offset = 0;
  /** Windows by rising base; bases are signed 64-bit numbers, which 48-bit addresses fit. */
  readonly #windows: readonly MemoryWindow[];
  readonly #bases: Float64Array;
  #last = 0;

  constructor(memory: GuestMemory) {
    this.#windows = memory.windows;
    this.#bases = Float64Array.from(memory.windows, ({ base }) => Number(BigInt.asIntN(64, base)));
  }

  locate(address: number, bytes: number, access: number): number {
    const index = this.#find(address);
    if (index < 0) return FaultReason.Unmapped;
    const window = this.#windows[index];
    const offset = address - this.#bases[index];
    if (offset + bytes > window.byteLength) return FaultReason.Unmapped;
    if ((window.permissions & access) !== access) return FaultReason.Permission;
    this.view = window.data;
    this.offset = offset;
    return FaultReason.None;
  }

  /** The executable window around an address. */
  code(address: number): CodeSegment | undefined {
    const index = this.#find(address);
    if (index < 0 || (this.#windows[index].permissions & Permission.Execute) === 0) return undefined;
    return { base: this.#bases[index], words: this.#windows[index].words };
  }

  /** Index of the window that holds an address, -1 for none. */
  #find(address: number): number {
    if (this.#holds(this.#last, address)) return this.#last;
    for (let index = 0; index < this.#windows.length; index++) {
      if (this.#holds(index, address)) return this.#last = index;
    }
    return -1;
  }

  #holds(index: number, address: number): boolean {
    if (index >= this.#windows.length) return false;
    const offset = address - this.#bases[index];
    return offset >= 0 && offset < this.#windows[index].byteLength;
  }
}
