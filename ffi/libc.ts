/**
 * The few libc calls that AnyAGC needs: mappings for guest memory, in-memory files for generated code, the process environment.
 * x86-64 Linux with glibc. Numbers are from the kernel's public headers (<asm-generic/mman-common.h>, <linux/memfd.h>, <asm/unistd_64.h>).
 */
import { HostError } from "../src/errors.ts";
import { openLibrary } from "./library.ts";

/** Page size of x86-64, in bytes. */
export const PAGE_BYTES = 4096;

/** What may be done with mapped pages; combine with `|`. The values of PROT_*. */
export const Protection = { None: 0, Read: 1, Write: 2, Execute: 4 } as const;

const MAP_PRIVATE = 0x02;
const MAP_ANONYMOUS = 0x20;
const MAP_NORESERVE = 0x4000;
const MAP_FIXED_NOREPLACE = 0x100000;
const MAP_FAILED = 0xffff_ffff_ffff_ffffn;
const MFD_CLOEXEC = 1;
const SYS_GETTID = 186n;

let opened: ReturnType<typeof open>["symbols"] | undefined;

/** Opened on first use, so that commands which make no native call run on any platform. */
function libc(): ReturnType<typeof open>["symbols"] {
  return opened ??= open().symbols;
}

function open() {
  return openLibrary(
    "libc.so.6",
    {
      mmap: { parameters: ["u64", "u64", "i32", "i32", "i32", "i64"], result: "u64" },
      munmap: { parameters: ["u64", "u64"], result: "i32" },
      mprotect: { parameters: ["u64", "u64", "i32"], result: "i32" },
      madvise: { parameters: ["u64", "u64", "i32"], result: "i32" },
      memfd_create: { parameters: ["buffer", "u32"], result: "i32" },
      ftruncate: { parameters: ["i32", "i64"], result: "i32" },
      close: { parameters: ["i32"], result: "i32" },
      memcmp: { parameters: ["u64", "u64", "u64"], result: "i32" },
      malloc_trim: { parameters: ["usize"], result: "i32" },
      setenv: { parameters: ["buffer", "buffer", "i32"], result: "i32" },
      syscall: { parameters: ["i64"], result: "i64" },
      __errno_location: { parameters: [], result: "pointer" },
    },
    "AnyAGC needs a glibc Linux.",
  );
}

/** A range of this process's address space that was mapped by {@linkcode mapAnonymous}. */
export interface Mapping {
  /** First byte's address; a multiple of the page size. */
  readonly address: bigint;
  /** Size in bytes; a multiple of the page size. */
  readonly byteLength: number;
}

/**
 * Maps zeroed private pages. They are committed by the kernel on first touch, so a large mapping costs nothing until it is used.
 *
 * @param byteLength size in bytes, rounded up to whole pages
 * @param protection {@linkcode Protection} flags
 * @param at address to map at, a multiple of the page size; an occupied range is an error, never replaced. Any address when left out
 * @throws {HostError} `host.mmap` when the kernel refuses
 */
export function mapAnonymous(
  byteLength: number,
  protection: number = Protection.Read | Protection.Write,
  at = 0n,
): Mapping {
  const bytes = roundUpToPages(byteLength);
  const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at === 0n ? 0 : MAP_FIXED_NOREPLACE);
  const address = libc().mmap(at, BigInt(bytes), protection, flags, -1, 0n);
  if (address === MAP_FAILED) throw failure("mmap", `of ${bytes} bytes`);
  return { address, byteLength: bytes };
}

/** Gives pages back to the kernel. No ArrayBuffer over them may be touched afterwards: that would be a SIGSEGV. */
export function unmap(mapping: Mapping): void {
  if (libc().munmap(mapping.address, BigInt(mapping.byteLength)) !== 0) {
    throw failure("munmap", `of ${mapping.byteLength} bytes`);
  }
}

/** Changes the protection of whole pages. Touching a page from TypeScript against its protection is a SIGSEGV, not an exception. */
export function protect(address: bigint, byteLength: number, protection: number): void {
  if (libc().mprotect(address, BigInt(byteLength), protection) !== 0) {
    throw failure("mprotect", `of ${byteLength} bytes`);
  }
}

/** Gives the pages' contents back to the kernel; the range stays mapped and reads as zeros. */
export function discardPages(address: bigint, byteLength: number): void {
  const dontNeed = 4;
  if (libc().madvise(address, BigInt(byteLength), dontNeed) !== 0) throw failure("madvise", `of ${byteLength} bytes`);
}

/**
 * An ArrayBuffer over native memory, without a copy. Any isolate of the process may make one over the same address. It is not a
 * SharedArrayBuffer: Atomics read and write it, but `Atomics.wait` refuses it.
 */
export function viewMemory(address: bigint, byteLength: number): ArrayBuffer {
  const pointer = Deno.UnsafePointer.create(address);
  if (pointer === null) throw new HostError("host.null-pointer", "a view over address 0 was asked for");
  return Deno.UnsafePointerView.getArrayBuffer(pointer, byteLength);
}

/** Whether two ranges of this process's memory hold the same bytes. Both must be readable to their ends. */
export function equalBytes(a: bigint, b: bigint, byteLength: bigint): boolean {
  return libc().memcmp(a, b, byteLength) === 0;
}

/**
 * Gives the pages of freed blocks back to the kernel, in the heaps of all threads (malloc_trim(3)). By itself glibc keeps them wherever a block that
 * lives lies behind them, and each thread's heap keeps its own.
 */
export function trimHeaps(): void {
  libc().malloc_trim(0n);
}

/** Address of an ArrayBuffer's first byte. Buffers of a page or more do not move; keep a reference for as long as the address is used. */
export function addressOf(buffer: ArrayBuffer): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer));
}

/** Creates a file that lives in memory only, `byteLength` bytes of zeros. Returns its descriptor. */
export function createMemoryFile(name: string, byteLength: number): number {
  const descriptor = libc().memfd_create(cString(name), MFD_CLOEXEC);
  if (descriptor < 0) throw failure("memfd_create", name);
  if (libc().ftruncate(descriptor, BigInt(byteLength)) !== 0) {
    const error = failure("ftruncate", `to ${byteLength} bytes`);
    libc().close(descriptor);
    throw error;
  }
  return descriptor;
}

/** Closes a descriptor from {@linkcode createMemoryFile}. */
export function closeDescriptor(descriptor: number): void {
  if (libc().close(descriptor) !== 0) throw failure("close", `of descriptor ${descriptor}`);
}

/**
 * Sets a variable in the environment that native libraries read with getenv. Libraries that read it once (the Vulkan loader, drivers)
 * must not have been loaded yet.
 */
export function setNativeEnvironment(name: string, value: string): void {
  if (libc().setenv(cString(name), cString(value), 1) !== 0) throw failure("setenv", name);
}

/** Kernel's number of the calling thread; /proc/self/task/NUMBER exists for as long as the thread lives. */
export function threadId(): number {
  return Number(libc().syscall(SYS_GETTID));
}

/** Rounds up to a whole number of pages; at least one page. */
function roundUpToPages(byteLength: number): number {
  return Math.max(1, Math.ceil(byteLength / PAGE_BYTES)) * PAGE_BYTES;
}

/** The text as UTF-8 with the final zero byte that C wants. Text with a zero inside is an error: C would cut it. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  if (text.includes("\0")) {
    throw new HostError("host.text-with-zero", `text for a native call contains a zero byte: ${JSON.stringify(text)}`);
  }
  return new TextEncoder().encode(text + "\0");
}

/** Reads errno right after the failed call (nothing else of this thread has called libc since) and makes the error. */
function failure(call: string, what: string): HostError {
  const number = new Deno.UnsafePointerView(libc().__errno_location()!).getInt32();
  return new HostError(`host.${call}`, `${call} ${what} failed with errno ${number}`);
}
