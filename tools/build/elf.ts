/**
 * As much of the ELF format as it takes to give a program another entry point and one more segment ("System V ABI", chapters 4 and 5,
 * and its AMD64 supplement).
 *
 * @module
 */
import { HostError } from "../../src/errors.ts";

const PT_LOAD = 1, PT_DYNAMIC = 2, PT_PHDR = 6, PF_EXECUTE = 1, PF_READ = 4;
const DT_NULL = 0n, DT_STRTAB = 5n, DT_SYMTAB = 6n, DT_RELA = 7n, DT_RELASZ = 8n;
const R_X86_64_GLOB_DAT = 6n;
const PROGRAM_HEADER_BYTES = 56, RELA_BYTES = 24, SYMBOL_BYTES = 24;
const PAGE_BYTES = 4096;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly fileBytes: number;
  readonly memoryBytes: number;
}

/** A position-independent x86-64 program. */
export class ElfProgram {
  readonly #view: DataView;
  readonly #segments: readonly Segment[];
  readonly #headers: number;

  /** @throws {HostError} `build.elf` when it is something else */
  constructor(readonly bytes: Uint8Array<ArrayBuffer>) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const ident = [0x7f, 0x45, 0x4c, 0x46, 2, 1];
    if (bytes.length < 64 || ident.some((byte, i) => bytes[i] !== byte)) throw unfit("it is no 64-bit ELF file");
    if (this.#u16(16) !== 3 || this.#u16(18) !== 62) throw unfit("it is no position-independent x86-64 program");
    if (this.#u16(54) !== PROGRAM_HEADER_BYTES) throw unfit("its program headers have another size");
    this.#headers = this.#u64(32);
    this.#segments = Array.from({ length: this.#u16(56) }, (_, i) => {
      const at = this.#headers + i * PROGRAM_HEADER_BYTES;
      return {
        type: this.#view.getUint32(at, true),
        offset: this.#u64(at + 8),
        address: this.#u64(at + 16),
        fileBytes: this.#u64(at + 32),
        memoryBytes: this.#u64(at + 40),
      };
    });
  }

  /** Address of the entry point. */
  get entry(): number {
    return this.#u64(24);
  }

  /** Address of the slot that the dynamic loader fills with the address of `symbol`. @throws {HostError} `build.elf` when there is none */
  addressSlot(symbol: string): number {
    const dynamic = this.#segments.find((s) => s.type === PT_DYNAMIC);
    if (dynamic === undefined) throw unfit("it is not dynamically linked");
    const entries = new Map<bigint, number>();
    for (let at = dynamic.offset; this.#view.getBigUint64(at, true) !== DT_NULL; at += 16) {
      entries.set(this.#view.getBigUint64(at, true), this.#u64(at + 8));
    }
    const table = (tag: bigint) => this.#offset(entries.get(tag) ?? 0);
    const relocations = table(DT_RELA), symbols = table(DT_SYMTAB), strings = table(DT_STRTAB);
    const count = (entries.get(DT_RELASZ) ?? 0) / RELA_BYTES;
    for (let i = 0; i < count; i++) {
      const at = relocations + i * RELA_BYTES, info = this.#view.getBigUint64(at + 8, true);
      if ((info & 0xffff_ffffn) !== R_X86_64_GLOB_DAT) continue;
      const name = this.#view.getUint32(symbols + Number(info >> 32n) * SYMBOL_BYTES, true);
      if (this.#text(strings + name) === symbol) return this.#u64(at);
    }
    throw unfit(`it does not use ${symbol}`);
  }

  /**
   * Where another segment goes. Address and file offset are equal, since kernels before 5.18 derive the address of the program headers,
   * which move there, from their file offset.
   */
  get nextSegment(): number {
    const ends = this.#segments.filter((s) => s.type === PT_LOAD).map((s) => s.address + s.memoryBytes);
    return Math.ceil(Math.max(this.bytes.length, ...ends) / PAGE_BYTES) * PAGE_BYTES;
  }

  /** Bytes that the program headers take at the start of the new segment. */
  get headerBytes(): number {
    return Math.ceil((this.#segments.length + 1) * PROGRAM_HEADER_BYTES / 16) * 16;
  }

  /**
   * The program with one more segment (readable, executable) at {@linkcode nextSegment}: the program headers, then `code`, at whose first
   * byte it starts. In parts to be written one after another.
   */
  withEntry(code: Uint8Array): Uint8Array[] {
    const start = this.nextSegment, program = this.bytes.slice();
    const head = new DataView(program.buffer);
    const segment = new Uint8Array(this.headerBytes + code.length), view = new DataView(segment.buffer);
    const count = this.#segments.length, headerBytes = BigInt((count + 1) * PROGRAM_HEADER_BYTES);
    segment.set(program.subarray(this.#headers, this.#headers + count * PROGRAM_HEADER_BYTES));
    this.#segments.forEach(({ type }, i) => {
      if (type !== PT_PHDR) return;
      const at = i * PROGRAM_HEADER_BYTES;
      for (const field of [8, 16, 24]) view.setBigUint64(at + field, BigInt(start), true);
      for (const field of [32, 40]) view.setBigUint64(at + field, headerBytes, true);
    });
    // Loadable segments must be in the order of their addresses: this is the highest.
    const at = count * PROGRAM_HEADER_BYTES;
    view.setUint32(at, PT_LOAD, true);
    view.setUint32(at + 4, PF_READ | PF_EXECUTE, true);
    for (const field of [8, 16, 24]) view.setBigUint64(at + field, BigInt(start), true);
    for (const field of [32, 40]) view.setBigUint64(at + field, BigInt(segment.length), true);
    view.setBigUint64(at + 48, BigInt(PAGE_BYTES), true);
    segment.set(code, this.headerBytes);
    head.setBigUint64(24, BigInt(start + this.headerBytes), true);
    head.setBigUint64(32, BigInt(start), true);
    head.setUint16(56, count + 1, true);
    return [program, new Uint8Array(start - program.length), segment];
  }

  /** File offset of an address. */
  #offset(address: number): number {
    const inside = this.#segments.find((s) =>
      s.type === PT_LOAD && address >= s.address && address < s.address + s.fileBytes
    );
    if (inside === undefined) throw unfit(`address ${address} is not in the file`);
    return address - inside.address + inside.offset;
  }

  #text(offset: number): string {
    return new TextDecoder().decode(this.bytes.subarray(offset, this.bytes.indexOf(0, offset)));
  }

  #u16(offset: number): number {
    return this.#view.getUint16(offset, true);
  }

  #u64(offset: number): number {
    return Number(this.#view.getBigUint64(offset, true));
  }
}

function unfit(why: string): HostError {
  return new HostError("build.elf", `this Deno cannot carry a program: ${why}`);
}
