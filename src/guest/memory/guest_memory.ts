import { HostError } from "../../errors.ts";
import { ADDRESS_SPACE_END, isCanonical, joinAddress, PAGE_BYTES } from "./address.ts";
import type { HostAllocator } from "./allocator.ts";
import { GuestMemoryError } from "./fault.ts";
import { MemoryWindow, Permission, permissionText, type WindowDescription, type WindowTableEntry } from "./window.ts";

/**
 * The guest's address space: a small table of windows, sorted by base.
 *
 * Addresses are unsigned 64-bit bigints that hold sign-extended 48-bit addresses. Every access is checked against the table, and what is outside is
 * refused with a {@linkcode GuestMemoryError}; nothing reads as zero by itself. Windows are whole 4 KiB pages, because host memory is imported page by
 * page (VK_EXT_external_memory_host, minImportedHostPointerAlignment).
 *
 * `view` gives one contiguous piece of host memory, so its range must lie in one window; `read`, `write`, `copy`, `fill` also run across windows that
 * adjoin each other.
 */
export class GuestMemory {
  readonly #allocator: HostAllocator;
  readonly #windows: MemoryWindow[] = [];
  /** The window of the last access: most programs have one window, and accesses cluster. */
  #last: MemoryWindow | undefined;
  #generation = 0;

  constructor(allocator: HostAllocator) {
    this.#allocator = allocator;
  }

  /** All windows, by rising base. */
  get windows(): readonly MemoryWindow[] {
    return this.#windows;
  }

  /** Rises with every map, unmap and protect, so that tables made from the windows can tell that they are stale. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Makes `bytes` bytes of zero-filled memory appear at `base`. Both must be multiples of 4 KiB.
   * Refused: zero bytes, overlap with a window, a range that is not canonical or reaches 2^64 (its end would not fit in 64 bits).
   */
  map(base: bigint, bytes: number, permissions: number = Permission.All, name = "window"): MemoryWindow {
    this.#checkNewRange(base, bytes);
    return this.#insert(new MemoryWindow(name, base, bytes, permissions, this.#allocator.allocate(bytes), false));
  }

  /** Adds a window whose memory another isolate of this process owns. The caller keeps the owner alive for as long. */
  attach(description: WindowDescription): MemoryWindow {
    const { base, byteLength, permissions, name, hostPointer, deviceAddress } = description;
    this.#checkNewRange(base, byteLength);
    const block = this.#allocator.attach(hostPointer, byteLength);
    const window = this.#insert(new MemoryWindow(name, base, byteLength, permissions, block, true));
    window.deviceAddress = deviceAddress;
    return window;
  }

  /** What another isolate needs to {@linkcode attach} every window. */
  describe(): WindowDescription[] {
    return this.#windows.map(({ name, base, byteLength, permissions, hostPointer, deviceAddress }) => ({
      name,
      base,
      byteLength,
      permissions,
      hostPointer,
      deviceAddress,
    }));
  }

  /** Removes the window that starts at `base`; its memory goes back to the allocator, and all views of it become empty. */
  unmap(base: bigint): void {
    const index = this.#windows.findIndex((window) => window.base === base);
    if (index < 0) throw new GuestMemoryError("Unmapped", base, 0, "no window starts at the address to unmap");
    const [window] = this.#windows.splice(index, 1);
    if (this.#last === window) this.#last = undefined;
    this.#generation++;
    this.#drop(window);
  }

  /** Removes all windows. */
  clear(): void {
    const windows = this.#windows.splice(0);
    this.#last = undefined;
    this.#generation++;
    for (const window of windows) this.#drop(window);
  }

  /** Sets the permissions of the whole window that starts at `base`. */
  protect(base: bigint, permissions: number): void {
    const window = this.#windows.find((each) => each.base === base);
    if (window === undefined) {
      throw new GuestMemoryError("Unmapped", base, 0, "no window starts at the address to protect");
    }
    window.permissions = permissions;
    this.#generation++;
  }

  /** The window that holds `address`, if any. */
  find(address: bigint): MemoryWindow | undefined {
    const last = this.#last;
    if (last !== undefined && address >= last.base && address < last.end) return last;
    const windows = this.#windows;
    let low = 0, high = windows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (windows[middle].end <= address) low = middle + 1;
      else high = middle;
    }
    if (low === windows.length || windows[low].base > address) return undefined;
    return this.#last = windows[low];
  }

  /** The window that holds the whole range and allows `access` (bits of {@linkcode Permission}); throws otherwise. */
  require(address: bigint, bytes: number, access: number): MemoryWindow {
    const last = this.#last;
    if (last !== undefined && (last.permissions & access) === access) {
      // A difference too large for a number's 53 bits still compares as outside.
      const offset = Number(address - last.base);
      if (
        offset >= 0 && offset < last.byteLength && bytes >= 0 && offset + bytes <= last.byteLength &&
        Number.isInteger(bytes)
      ) {
        return last;
      }
    }
    checkRange(address, bytes);
    const window = this.find(address);
    if (window === undefined) throw new GuestMemoryError("Unmapped", address, bytes, "no window holds the address");
    if ((window.permissions & access) !== access) throw permissionFault(window, address, bytes, access);
    const end = address + BigInt(bytes);
    if (end > window.end) {
      if (this.find(window.end) === undefined) {
        throw new GuestMemoryError(
          "Unmapped",
          address,
          bytes,
          `the range leaves window ${window.name}, which ends ${end - window.end} bytes earlier`,
        );
      }
      throw new GuestMemoryError(
        "Split",
        address,
        bytes,
        `the range leaves window ${window.name} for the next window, but is needed in one piece`,
      );
    }
    return window;
  }

  /** The bytes of a range that lies in one window, not copied. `access` says what the caller will do (bits of {@linkcode Permission}). */
  view(address: bigint, bytes: number, access: number = Permission.Read): Uint8Array<ArrayBuffer> {
    const window = this.require(address, bytes, access);
    const offset = Number(address - window.base);
    return window.bytes.subarray(offset, offset + bytes);
  }

  /** A range of whole 32-bit words in one window, not copied; the address must be a multiple of 4. */
  viewWords(address: bigint, count: number, access: number = Permission.Read): Uint32Array<ArrayBuffer> {
    const window = this.#aligned(address, 4, count * 4, access);
    const index = Number(address - window.base) / 4;
    return window.words.subarray(index, index + count);
  }

  /** Reads a 32-bit word at a multiple of 4: what another isolate writes as one word is seen whole, and what it wrote before that as well. */
  readU32(address: bigint): number {
    const window = this.#aligned(address, 4, 4, Permission.Read);
    return Atomics.load(window.words, Number(address - window.base) / 4);
  }

  /** Writes a 32-bit word at a multiple of 4; see {@linkcode readU32}. */
  writeU32(address: bigint, value: number): void {
    const window = this.#aligned(address, 4, 4, Permission.Write);
    Atomics.store(window.words, Number(address - window.base) / 4, value);
  }

  /** Reads a little-endian 64-bit word at a multiple of 8; see {@linkcode readU32}. */
  readU64(address: bigint): bigint {
    const window = this.#aligned(address, 8, 8, Permission.Read);
    return Atomics.load(window.words64, Number(address - window.base) / 8);
  }

  /** Writes a little-endian 64-bit word at a multiple of 8; bits above 63 are dropped. See {@linkcode readU32}. */
  writeU64(address: bigint, value: bigint): void {
    const window = this.#aligned(address, 8, 8, Permission.Write);
    Atomics.store(window.words64, Number(address - window.base) / 8, value);
  }

  /**
   * For hot loops that hold addresses as 32-bit halves: checks a range like {@linkcode require}, gives the byte offset in its window, and leaves the
   * window in {@linkcode located}. No bigint is made unless the access is refused.
   */
  locate(lo: number, hi: number, bytes: number, access: number): number {
    let window = this.#last;
    let offset = window === undefined ? -1 : window.offsetOf(lo, hi);
    if (window === undefined || offset < 0 || offset >= window.byteLength) {
      window = undefined;
      for (const each of this.#windows) {
        offset = each.offsetOf(lo, hi);
        if (offset >= 0 && offset < each.byteLength) {
          window = each;
          break;
        }
      }
    }
    if (window === undefined || offset + bytes > window.byteLength || (window.permissions & access) !== access) {
      this.require(joinAddress(lo, hi), bytes, access);
      throw new HostError("memory.locate", "guest memory disagrees with itself about a range");
    }
    this.#last = window;
    return offset;
  }

  /** The window that the last successful {@linkcode locate} found. */
  get located(): MemoryWindow {
    return this.#last!;
  }

  /** Reads a 32-bit word at a multiple of 4, given by the halves of its address. */
  loadU32(lo: number, hi: number): number {
    if ((lo & 3) !== 0) checkAlignment(joinAddress(lo, hi), 4, 4);
    const offset = this.locate(lo, hi, 4, Permission.Read);
    return this.#last!.words[offset / 4];
  }

  /** Writes a 32-bit word at a multiple of 4, given by the halves of its address. */
  storeU32(lo: number, hi: number, value: number): void {
    if ((lo & 3) !== 0) checkAlignment(joinAddress(lo, hi), 4, 4);
    const offset = this.locate(lo, hi, 4, Permission.Write);
    this.#last!.words[offset / 4] = value;
  }

  /** Copies a range out of guest memory. The range may run across adjoining windows. */
  read(address: bigint, bytes: number, access: number = Permission.Read): Uint8Array<ArrayBuffer> {
    const pieces = this.pieces(address, bytes, access);
    const result = new Uint8Array(bytes);
    let at = 0;
    for (const piece of pieces) {
      result.set(piece, at);
      at += piece.length;
    }
    return result;
  }

  /** Copies 32-bit words out of guest memory, from a multiple of 4 on. The range may run across adjoining windows. */
  readWords(address: bigint, count: number): Uint32Array<ArrayBuffer> {
    checkAlignment(address, 4, count * 4);
    return new Uint32Array(this.read(address, count * 4).buffer);
  }

  /** Copies bytes into guest memory. The range may run across adjoining windows; nothing is written when any part is refused. */
  write(address: bigint, source: Uint8Array): void {
    let at = 0;
    for (const piece of this.pieces(address, source.length, Permission.Write)) {
      piece.set(source.subarray(at, at + piece.length));
      at += piece.length;
    }
  }

  /** Writes without asking for the write permission: for loaders that fill read-only windows. */
  initialize(address: bigint, source: Uint8Array): void {
    let at = 0;
    for (const piece of this.pieces(address, source.length, 0)) {
      piece.set(source.subarray(at, at + piece.length));
      at += piece.length;
    }
  }

  /** Copies `bytes` bytes inside guest memory as if through a buffer: ranges may overlap. */
  copy(target: bigint, source: bigint, bytes: number): void {
    const to = this.pieces(target, bytes, Permission.Write);
    const from = this.pieces(source, bytes, Permission.Read);
    if (to.length === 1 && from.length === 1) to[0].set(from[0]);
    else this.write(target, this.read(source, bytes));
  }

  /** Fills a range with one byte value. */
  fill(address: bigint, bytes: number, value: number): void {
    for (const piece of this.pieces(address, bytes, Permission.Write)) piece.fill(value);
  }

  /** Fills `count` 32-bit words from a multiple of 4 on. */
  fillU32(address: bigint, count: number, value: number): void {
    checkAlignment(address, 4, count * 4);
    for (const piece of this.pieces(address, count * 4, Permission.Write)) {
      new Uint32Array(piece.buffer, piece.byteOffset, piece.length / 4).fill(value);
    }
  }

  /** The pieces of host memory that make up a range, in order; all of it is checked before anything is given back. */
  pieces(address: bigint, bytes: number, access: number): Uint8Array<ArrayBuffer>[] {
    checkRange(address, bytes);
    const result: Uint8Array<ArrayBuffer>[] = [];
    let at = address, left = bytes;
    do {
      const window = this.find(at);
      if (window === undefined) {
        throw new GuestMemoryError(
          "Unmapped",
          address,
          bytes,
          at === address ? "no window holds the address" : `no window holds byte ${at - address} of the range`,
        );
      }
      if ((window.permissions & access) !== access) throw permissionFault(window, address, bytes, access);
      const offset = Number(at - window.base);
      const length = Math.min(left, window.byteLength - offset);
      result.push(window.bytes.subarray(offset, offset + length));
      at += BigInt(length);
      left -= length;
    } while (left > 0);
    return result;
  }

  /** The rows that a shader needs to translate guest addresses, by rising base. Throws when a window has no device address yet. */
  windowTable(): WindowTableEntry[] {
    return this.#windows.map((window) => {
      if (window.deviceAddress === 0n) {
        throw new HostError("memory.no-device-address", `window ${window.name} has no device address yet`, {
          guestAddress: window.base,
        });
      }
      return {
        base: window.base,
        end: window.end,
        delta: BigInt.asUintN(64, window.deviceAddress - window.base),
        permissions: window.permissions,
      };
    });
  }

  #aligned(address: bigint, alignment: number, bytes: number, access: number): MemoryWindow {
    const window = this.require(address, bytes, access);
    // Windows start on pages, so the offset is as aligned as the address.
    if (Number(address - window.base) % alignment !== 0) checkAlignment(address, alignment, bytes);
    return window;
  }

  #checkNewRange(base: bigint, bytes: number): void {
    if (bytes === 0) throw new GuestMemoryError("Empty", base, bytes, "a window needs at least one page");
    checkRange(base, bytes);
    if (!isCanonical(base)) {
      throw new GuestMemoryError("NonCanonical", base, bytes, "a window's base must be a sign-extended 48-bit address");
    }
    if (base % BigInt(PAGE_BYTES) !== 0n || bytes % PAGE_BYTES !== 0) {
      throw new GuestMemoryError("Unaligned", base, bytes, "a window's base and size must be multiples of 4 KiB");
    }
    const end = base + BigInt(bytes);
    if (end === ADDRESS_SPACE_END) {
      throw new GuestMemoryError("Overflow", base, bytes, "the last page of the address space cannot be mapped");
    }
    if (!isCanonical(end - 1n) || (base >> 63n) !== ((end - 1n) >> 63n)) {
      throw new GuestMemoryError("NonCanonical", base, bytes, "the range leaves the sign-extended 48-bit addresses");
    }
    for (const window of this.#windows) {
      if (base < window.end && window.base < end) {
        throw new GuestMemoryError(
          "Overlap",
          base,
          bytes,
          `the range overlaps window ${window.name} (${permissionText(window.permissions)})`,
        );
      }
    }
  }

  #insert(window: MemoryWindow): MemoryWindow {
    const index = this.#windows.findIndex((each) => each.base > window.base);
    this.#windows.splice(index < 0 ? this.#windows.length : index, 0, window);
    this.#generation++;
    return window;
  }

  #drop(window: MemoryWindow): void {
    if (window.attached) this.#allocator.detach(window.block);
    else this.#allocator.release(window.block);
  }
}

function checkRange(address: bigint, bytes: number): void {
  if (!Number.isSafeInteger(bytes) || bytes < 0) {
    throw new GuestMemoryError("Overflow", address, bytes, "the size is not a whole number of bytes");
  }
  if (address < 0n || address + BigInt(bytes) > ADDRESS_SPACE_END) {
    throw new GuestMemoryError("Overflow", address, bytes, "the range leaves the 64-bit address space");
  }
}

function checkAlignment(address: bigint, alignment: number, bytes: number): void {
  if (address % BigInt(alignment) !== 0n) {
    throw new GuestMemoryError("Unaligned", address, bytes, `the address must be a multiple of ${alignment}`);
  }
}

function permissionFault(window: MemoryWindow, address: bigint, bytes: number, access: number): GuestMemoryError {
  return new GuestMemoryError(
    "Permission",
    address,
    bytes,
    `window ${window.name} is ${permissionText(window.permissions)}, the access needs ${permissionText(access)}`,
  );
}
