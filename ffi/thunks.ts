/**
 * Fast calls to functions whose address is known only at run time.
 *
 * Deno compiles calls to `Deno.dlopen` symbols into direct machine calls, but `Deno.UnsafeFnPointer` goes the slow way: about 1,400 ns
 * instead of 50 ns. So this module writes a small shared object whose symbols are `jmp [slot]` instructions to the given addresses, puts it
 * into an in-memory file, and opens that. File format: "System V ABI", chapters 4 and 5, and its AMD64 supplement.
 */
import { HostError } from "../src/errors.ts";
import { closeDescriptor, createMemoryFile, PAGE_BYTES } from "./libc.ts";
import { openLibrary } from "./library.ts";

/** An opened thunk library. */
export interface ThunkLibrary<S extends Deno.ForeignLibraryInterface> {
  /** The functions, at the speed of ordinary `Deno.dlopen` symbols. */
  readonly symbols: Deno.StaticForeignLibraryInterface<S>;
  /** Unloads the library; its functions must not be called afterwards. */
  close(): void;
}

/**
 * Makes the functions at `addresses` callable.
 *
 * @param symbols C signatures by name, as for `Deno.dlopen`
 * @param addresses one address per name in `symbols`
 * @throws {HostError} `host.thunk-address` when an address is missing or 0
 */
export function openThunks<S extends Deno.ForeignLibraryInterface>(
  symbols: S,
  addresses: { readonly [K in keyof S]: bigint },
): ThunkLibrary<S> {
  const image = thunkImage(Object.keys(symbols).map((name) => [name, addresses[name]]));
  const descriptor = createMemoryFile("anyagc-thunks", image.length);
  // The descriptor stays open as long as the library: the dynamic loader knows libraries by path, and would take a second library with a
  // recycled descriptor number for the first one.
  const path = `/proc/self/fd/${descriptor}`;
  Deno.writeFileSync(path, image, { create: false });
  const library = openLibrary(path, symbols, "The system must allow executable in-memory files (memfd_create).");
  return {
    symbols: library.symbols,
    close() {
      library.close();
      closeDescriptor(descriptor);
    },
  };
}

const FILE_HEADER_BYTES = 64;
const PROGRAM_HEADER_BYTES = 56;
const SYMBOL_BYTES = 24;
const DYNAMIC_ENTRY_BYTES = 16;
const THUNK_BYTES = 16;

const PT_LOAD = 1, PT_DYNAMIC = 2, PT_GNU_STACK = 0x6474e551;
const PF_EXECUTE = 1, PF_WRITE = 2, PF_READ = 4;
const DT_NULL = 0, DT_HASH = 4, DT_STRTAB = 5, DT_SYMTAB = 6, DT_STRSZ = 10, DT_SYMENT = 11;

/**
 * The bytes of an ELF shared object with one exported function per entry. Two segments: headers, symbols and code are read-execute; the
 * dynamic section is read-write, since glibc before 2.36 relocates it in place.
 *
 * @param functions names (ASCII) and addresses
 */
function thunkImage(functions: readonly (readonly [name: string, address: bigint])[]): Uint8Array<ArrayBuffer> {
  for (const [name, address] of functions) {
    if (address === undefined || address === 0n) {
      throw new HostError("host.thunk-address", `no address is known for the function ${name}`);
    }
  }
  const strings = new TextEncoder().encode("\0" + functions.map(([name]) => name + "\0").join(""));
  const symbolCount = functions.length + 1; // symbol 0 is reserved

  const programHeaders = FILE_HEADER_BYTES;
  const symbolTable = programHeaders + 4 * PROGRAM_HEADER_BYTES;
  const hashTable = symbolTable + symbolCount * SYMBOL_BYTES;
  const stringTable = hashTable + 4 * (2 + 1 + symbolCount);
  const code = alignUp(stringTable + strings.length, THUNK_BYTES);
  const textEnd = code + functions.length * THUNK_BYTES;
  const dynamic = alignUp(textEnd, PAGE_BYTES);
  const dynamicEntries = [
    [DT_HASH, hashTable],
    [DT_STRTAB, stringTable],
    [DT_SYMTAB, symbolTable],
    [DT_STRSZ, strings.length],
    [DT_SYMENT, SYMBOL_BYTES],
    [DT_NULL, 0],
  ];
  const dynamicBytes = dynamicEntries.length * DYNAMIC_ENTRY_BYTES;

  const bytes = new Uint8Array(dynamic + dynamicBytes);
  const view = new DataView(bytes.buffer);
  const u16 = (at: number, value: number) => view.setUint16(at, value, true);
  const u32 = (at: number, value: number) => view.setUint32(at, value, true);
  const u64 = (at: number, value: number | bigint) => view.setBigUint64(at, BigInt(value), true);

  // File header: ELF, 64 bits, little-endian, version 1; a shared object for x86-64.
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  u16(16, 3);
  u16(18, 62);
  u32(20, 1);
  u64(32, programHeaders);
  u16(52, FILE_HEADER_BYTES);
  u16(54, PROGRAM_HEADER_BYTES);
  u16(56, 4);

  const segment = (index: number, type: number, flags: number, offset: number, size: number, alignment: number) => {
    const at = programHeaders + index * PROGRAM_HEADER_BYTES;
    u32(at, type);
    u32(at + 4, flags);
    for (const field of [8, 16, 24]) u64(at + field, offset); // file offset, virtual and physical address are the same
    for (const field of [32, 40]) u64(at + field, size); // size in the file and in memory
    u64(at + 48, alignment);
  };
  segment(0, PT_LOAD, PF_READ | PF_EXECUTE, 0, textEnd, PAGE_BYTES);
  segment(1, PT_LOAD, PF_READ | PF_WRITE, dynamic, dynamicBytes, PAGE_BYTES);
  segment(2, PT_DYNAMIC, PF_READ | PF_WRITE, dynamic, dynamicBytes, 8);
  segment(3, PT_GNU_STACK, PF_READ | PF_WRITE, 0, 0, 16); // without it, glibc would make the stacks executable

  dynamicEntries.forEach(([tag, value], i) => {
    u64(dynamic + i * DYNAMIC_ENTRY_BYTES, tag);
    u64(dynamic + i * DYNAMIC_ENTRY_BYTES + 8, value);
  });

  // One hash bucket, so the whole table is one chain: symbol 1, 2, ... n, end.
  u32(hashTable, 1);
  u32(hashTable + 4, symbolCount);
  u32(hashTable + 8, functions.length === 0 ? 0 : 1);
  for (let i = 1; i < functions.length; i++) u32(hashTable + 12 + 4 * i, i + 1);
  bytes.set(strings, stringTable);

  let nameOffset = 1;
  functions.forEach(([name, address], i) => {
    const symbol = symbolTable + (i + 1) * SYMBOL_BYTES;
    const thunk = code + i * THUNK_BYTES;
    u32(symbol, nameOffset);
    bytes[symbol + 4] = 0x12; // global function
    u16(symbol + 6, 1); // defined (any section number will do)
    u64(symbol + 8, thunk);
    u64(symbol + 16, THUNK_BYTES);
    bytes.set([0xff, 0x25, 2, 0, 0, 0], thunk); // jmp [rip + 2]: the slot starts at byte 8 of the thunk
    u64(thunk + 8, address);
    nameOffset += name.length + 1;
  });
  return bytes;
}

function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}
