/** The shaders of bench/abi_resolve: records and code in guest memory, as a loader finds them. */
import { readShaderRecord } from "../../src/guest/agc_shader.ts";
import type { AgcShaderRecord } from "../../src/guest/loaders/agc_record.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { chain } from "../programs/chains.ts";

const BASE = 0x2_0000_0000n, PAGE = 4096, HEADER_BYTES = 0x400;

/** Guest memory with shaders; `words` can be posted, the memory made of it in any isolate. */
export interface ShaderSet {
  readonly base: bigint;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly pixels: readonly AgcShaderRecord[];
  readonly computes: readonly AgcShaderRecord[];
}

/** Makes pixel shaders with one interpolant (so that registering prepares none) and compute shaders (each prepared when it is registered). */
export function makeShaders(pixels: number, computes: number, operations: number, base = BASE): ShaderSet {
  const stride = Math.ceil((HEADER_BYTES + 4 * (operations + 64)) / PAGE) * PAGE;
  const bytes = new Uint8Array(new SharedArrayBuffer(stride * (pixels + computes)));
  for (let i = 0; i < pixels + computes; i++) {
    const at = base + BigInt(stride * i), record = i < pixels ? pixelRecord(at) : computeRecord(at);
    bytes.set(record, stride * i);
    const words = i < pixels ? pixelCode(operations, i) : chain("loader, stored", operations);
    bytes.set(new Uint8Array(words.buffer), stride * i + HEADER_BYTES);
  }
  const memory = new GuestMemory(new ArrayAllocator());
  addShaders(memory, { base, bytes });
  const read = (_: unknown, i: number) => readShaderRecord(memory, base + BigInt(stride * i), "absolute");
  const all = Array.from({ length: pixels + computes }, read);
  return { base, bytes, pixels: all.slice(0, pixels), computes: all.slice(pixels) };
}

/** v_mov_b32 v0 to v5, literals; the chain over them; exp mrt0 v1, v2, v3, v4 done vm; s_endpgm. */
function pixelCode(operations: number, number: number): Uint32Array<ArrayBuffer> {
  const literal = 0x3f80_0001 + 8 * number, code: number[] = [];
  for (let i = 1; i < 6; i++) code.push(0x7e00_02ff | i << 17, literal + i);
  code.push(...chain("loader", operations, literal).subarray(0, -1), 0xf800_180f, 0x0403_0201, 0xbf81_0000);
  return Uint32Array.from(code);
}

/** The guest's memory over the same bytes. */
export function guestMemory(bytes: Uint8Array<SharedArrayBuffer>): GuestMemory {
  const memory = new GuestMemory(new ArrayAllocator());
  addShaders(memory, { base: BASE, bytes });
  return memory;
}

/** Puts a set into memory. */
export function addShaders(memory: GuestMemory, { base, bytes }: Pick<ShaderSet, "base" | "bytes">): void {
  memory.map(base, bytes.length, 7, "shaders");
  memory.initialize(base, bytes);
}

function pixelRecord(at: bigint): Uint8Array {
  const sh = [[0x008, low(at)], [0x009, high(at)], [0x00a, 0xc0 << 12], [0x00b, 4]];
  const cx = [[0x1b3, 2], [0x1b4, 2], [0x1b6, 0x8001], [0x1c5, 9], [0x08f, 0xf], [0x203, 0x10]];
  return record(at, 1, sh, cx, [0x0f]);
}

function computeRecord(at: bigint): Uint8Array {
  const threads = [[0x207, 64], [0x208, 1], [0x209, 1]];
  return record(at, 0, [...threads, [0x20c, low(at)], [0x20d, high(at)], [0x212, 0xc0 << 12], [0x213, 8 << 1]], [], []);
}

const low = (at: bigint) => Number(at + BigInt(HEADER_BYTES) >> 8n & 0xffff_ffffn);
const high = (at: bigint) => Number(at + BigInt(HEADER_BYTES) >> 40n);

/** The header of a record (layout: src/guest/loaders/agc_record.ts) with its tables behind it; pointers are absolute. */
function record(at: bigint, type: number, sh: number[][], cx: number[][], inputs: number[]): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES), view = new DataView(bytes.buffer);
  view.setUint32(0x00, 0x34333231, true);
  view.setUint32(0x04, 0x18, true);
  view.setUint32(0x50, inputs.length, true);
  view.setUint8(0x5a, type);
  view.setUint8(0x5b, cx.length);
  view.setUint8(0x5c, sh.length);
  let free = 0x60;
  const table = (field: number, words: readonly number[]) => {
    if (words.length === 0) return;
    view.setBigUint64(field, at + BigInt(free), true);
    for (const word of words) view.setUint32(free, word, true), free += 4;
    free = Math.ceil(free / 8) * 8;
  };
  view.setBigUint64(0x10, at + BigInt(HEADER_BYTES), true);
  table(0x20, sh.flat());
  table(0x18, cx.flat());
  table(0x30, inputs);
  // Specials: the dispatch modifier says waves of 32.
  if (type === 0) table(0x28, [0, 0, 0, 0, 0x8000, 0, 0, 0, 0, 0, 0, 0]);
  return bytes;
}
