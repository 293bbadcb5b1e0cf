/**
 * A look over a captured command stream that finds the memory it names, so that a loader can map what a capture leaves out (render targets, marker
 * pages) and say what is missing (code, tables). It executes nothing and judges nothing: the command processor is the authority.
 *
 * Packet layouts and register numbers: AMD's published PM4 and register headers, as used by the packets in the captures.
 */
import { hex } from "../../errors.ts";
import { canonicalAddress, joinAddress } from "../memory/address.ts";

/** What a stream does with a range. */
export interface NamedUse {
  what: string;
  address: bigint;
  bytes: number;
  /** True for memory that the stream writes or waits on, which a capture need not contain; false for memory that it reads contents from. */
  target: boolean;
}

/** A colour target of four bytes per pixel. */
export interface ColourTarget {
  address: bigint;
  width: number;
  height: number;
  format: "rgba8" | "bgra8";
}

/** Value that the last RELEASE_MEM of a stream writes. */
export interface EndMarker {
  address: bigint;
  value: bigint;
  bytes: 4 | 8;
}

/** What {@linkcode scanStream} found. */
export interface StreamScan {
  uses: NamedUse[];
  /** Colour target 0 at the end of the stream, when it is one that can be shown. */
  frame?: ColourTarget;
  endMarker?: EndMarker;
  /** Things that were seen but not understood. */
  notes: string[];
}

const Op = {
  IndexBase: 0x26,
  DrawIndex2: 0x27,
  WriteData: 0x37,
  WaitRegMem: 0x3C,
  ReleaseMem: 0x49,
  ShIndirect: 0x63,
  UconfigIndirect: 0x64,
  SetContext: 0x69,
  WaitRegMem64: 0x93,
  ContextIndirect: 0x9F,
} as const;

const Context = {
  DepthSize: 0x007,
  ZInfo: 0x010,
  StencilInfo: 0x011,
  ZReadBase: 0x012,
  StencilReadBase: 0x013,
  ZWriteBase: 0x014,
  StencilWriteBase: 0x015,
  ZReadBaseHi: 0x01A,
  Colour0Base: 0x318,
  ColourStride: 0xF,
  ColourBaseHi: 0x390,
  ColourAttrib2: 0x3B0,
  ColourAttrib3: 0x3B8,
} as const;

/** Bytes per pixel by CB_COLOR_INFO format. */
const COLOUR_BYTES: Readonly<Record<number, number>> = {
  1: 1,
  2: 2,
  3: 2,
  4: 4,
  5: 4,
  6: 4,
  9: 4,
  10: 4,
  11: 8,
  12: 8,
  14: 16,
};
/** Pixels (width, height) of a 64 KiB block by bytes per pixel. */
const BLOCK: Readonly<Record<number, [number, number]>> = {
  1: [256, 256],
  2: [256, 128],
  4: [128, 128],
  8: [128, 64],
  16: [64, 64],
};
/** Surfaces are allocated in whole 2 MiB units on the console. */
const SURFACE_UNIT = 2 << 20;
const SWIZZLE_64KB_Z_X = 24;
const SWIZZLE_64KB_R_X = 27;

/**
 * Scans the stream. `readWords` gives captured memory, undefined where there is none. `fail` reports a packet that does not fit in the stream
 * (word index, reason).
 */
export function scanStream(
  words: Uint32Array,
  readWords: (address: bigint, count: number) => Uint32Array | undefined,
  fail: (word: number, reason: string) => never,
): StreamScan {
  const scan: StreamScan = { uses: [], notes: [] };
  const context = new Map<number, number>();
  const use = (what: string, address: bigint, bytes: number, target: boolean) =>
    scan.uses.push({ what, address: canonicalAddress(address), bytes, target });
  for (let at = 0; at < words.length;) {
    const header = words[at];
    if (header >>> 30 !== 3) fail(at, `word ${hex(header, 8)} is no type 3 packet header`);
    const length = (header >>> 16 & 0x3FFF) + 2, opcode = header >>> 8 & 0xFF;
    if (at + length > words.length) {
      fail(at, `packet ${hex(opcode)} needs ${length} words, the stream has ${words.length - at} left`);
    }
    const body = words.subarray(at + 1, at + length);
    // An optional packet word reads as undefined in a short packet; the command processor refuses those.
    const address = (low: number) => joinAddress(body[low] ?? 0, (body[low + 1] ?? 0) & 0xFFFF);
    switch (opcode) {
      case Op.ReleaseMem: {
        const select = body[1] >>> 29;
        if (select === 0) break;
        const bytes = select === 1 ? 4 : 8;
        use("marker", address(2), bytes, true);
        if (select === 1 || select === 2) {
          const value = select === 1 ? BigInt(body[4]) : joinAddress(body[4], body[5]);
          scan.endMarker = { address: canonicalAddress(address(2)), value, bytes };
        } else scan.endMarker = undefined;
        break;
      }
      case Op.WaitRegMem:
      case Op.WaitRegMem64:
        if (body[0] & 0x10) use("label", address(1), opcode === Op.WaitRegMem ? 4 : 8, true);
        break;
      case Op.WriteData:
        if ([1, 2, 5].includes(body[0] >>> 8 & 0xF)) use("label", address(1), 4 * (body.length - 3), true);
        break;
      case Op.DrawIndex2:
        use("indices", address(1), 2, false);
        break;
      case Op.SetContext:
        for (let i = 1; i < body.length; i++) context.set((body[0] & 0xFFFF) + i - 1, body[i]);
        noteTargets(scan, context);
        break;
      case Op.ContextIndirect:
      case Op.UconfigIndirect:
      case Op.ShIndirect: {
        const count = body[3] & 0x3FFF;
        const table = readWords(canonicalAddress(address(0)), 2 * count);
        use("register table", address(0), 8 * count, false);
        if (table === undefined) break;
        for (let i = 0; i < count; i++) {
          const register = table[2 * i] & 0xFFFF, value = table[2 * i + 1];
          if (opcode === Op.ContextIndirect) context.set(register, value);
          if (opcode === Op.ShIndirect && [0x008, 0x088, 0x0C8, 0x108, 0x148].includes(register) && value !== 0) {
            const hi = table[2 * i] + 1 === table[2 * i + 2] ? table[2 * i + 3] & 0xFF : 0;
            use("shader code", BigInt(value) << 8n | BigInt(hi) << 40n, 4, false);
          }
        }
        if (opcode === Op.ContextIndirect) noteTargets(scan, context);
      }
    }
    at += length;
  }
  return scan;
}

function noteTargets(scan: StreamScan, context: ReadonlyMap<number, number>): void {
  for (let index = 0; index < 8; index++) {
    const bank = Context.Colour0Base + index * Context.ColourStride;
    const info = context.get(bank + 4) ?? 0, base = context.get(bank) ?? 0, format = info >>> 2 & 0x1F;
    if (base === 0 || format === 0) continue;
    const address = BigInt(base) << 8n | BigInt((context.get(Context.ColourBaseHi + index) ?? 0) & 0xFF) << 40n;
    const size = context.get(Context.ColourAttrib2 + index) ?? 0,
      swizzle = (context.get(Context.ColourAttrib3 + index) ?? 0) >>> 14 & 0x1F;
    const width = (size >>> 14 & 0x3FFF) + 1, height = (size & 0x3FFF) + 1, texel = COLOUR_BYTES[format];
    if (swizzle !== SWIZZLE_64KB_R_X || texel === undefined) {
      noteOnce(
        scan,
        `colour target ${index} at ${
          hex(address)
        } (format ${format}, swizzle mode ${swizzle}) is not mapped: its size is not known`,
      );
      continue;
    }
    addTarget(scan, `colour target ${index}`, address, surfaceBytes(width, height, texel));
    const swap = info >>> 11 & 3;
    if (index === 0) {
      scan.frame = format === 10 && swap < 2
        ? { address: canonicalAddress(address), width, height, format: swap === 0 ? "rgba8" : "bgra8" }
        : undefined;
    }
  }
  noteDepth(scan, context);
}

function noteDepth(scan: StreamScan, context: ReadonlyMap<number, number>): void {
  const zInfo = context.get(Context.ZInfo) ?? 0,
    stencilInfo = context.get(Context.StencilInfo) ?? 0,
    size = context.get(Context.DepthSize) ?? 0;
  const width = (size & 0x3FFF) + 1, height = (size >>> 16 & 0x3FFF) + 1;
  const planes: [string, number, number, number][] = [
    ["depth target", zInfo, ({ 1: 2, 3: 4 } as Record<number, number>)[zInfo & 3] ?? 0, Context.ZReadBase],
    ["stencil target", stencilInfo, stencilInfo & 1, Context.StencilReadBase],
  ];
  for (const [what, info, texel, register] of planes) {
    if (texel === 0) continue;
    const known = (info >>> 4 & 0x1F) === SWIZZLE_64KB_Z_X && (zInfo >>> 2 & 3) === 0;
    // Read and write base: registers n and n + 2; their upper halves start at 0x1a in the same order.
    for (const low of [register, register + 2]) {
      const high = context.get(Context.ZReadBaseHi + low - Context.ZReadBase) ?? 0;
      const address = BigInt(context.get(low) ?? 0) << 8n | BigInt(high & 0xFF) << 40n;
      if (address === 0n) continue;
      if (known) addTarget(scan, what, address, surfaceBytes(width, height, texel));
      else noteOnce(scan, `${what} at ${hex(address)} (info ${hex(info)}) is not mapped: its size is not known`);
    }
  }
}

function addTarget(scan: StreamScan, what: string, address: bigint, bytes: number): void {
  const canonical = canonicalAddress(address);
  if (!scan.uses.some((use) => use.address === canonical && use.bytes === bytes)) {
    scan.uses.push({ what, address: canonical, bytes, target: true });
  }
}

function noteOnce(scan: StreamScan, note: string): void {
  if (!scan.notes.includes(note)) scan.notes.push(note);
}

/** Bytes of a surface in 64 KiB blocks, rounded up to the console's allocation unit. */
function surfaceBytes(width: number, height: number, texel: number): number {
  const [blockWidth, blockHeight] = BLOCK[texel];
  const bytes = Math.ceil(width / blockWidth) * Math.ceil(height / blockHeight) * 0x10000;
  return Math.ceil(bytes / SURFACE_UNIT) * SURFACE_UNIT;
}
