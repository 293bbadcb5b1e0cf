/** Descriptors of buffers, images and samplers (AMD RDNA2 ISA: "Buffer resource descriptor", "Image resource descriptor", "Image sampler"). */

/** Row pitch of linear images, in bytes (measured on the console). */
const LINEAR_PITCH_ALIGNMENT = 256;

/** Word 3 of a raw buffer: selectors R, G, B, A, unified format 22 (32 FLOAT), resource level 1, OOB_SELECT 3 (checked by bytes). */
const RAW_BUFFER_WORD3 = 0x31016FAC;
const SELECT_RGBA = 0xFAC;

/** A raw buffer of `bytes` bytes: stride 0. */
export function rawBufferDescriptor(address: bigint, bytes: number): number[] {
  return [low(address), high16(address), bytes, RAW_BUFFER_WORD3];
}

/**
 * The V# of private memory that LLVM code expects in s[0:3]: swizzled by lane, so that dword d of lane l lies at `d * waveSize + l` dwords from the
 * wave's part (LLVM "User Guide for AMDGPU Backend", private segment buffer; ISA: SWIZZLE_ENABLE, INDEX_STRIDE, ADD_TID_ENABLE).
 */
export function privateSegmentDescriptor(address: bigint, bytes: number, waveSize: 32 | 64): number[] {
  const swizzle = 0x8000_0000, format32Uint = 20 << 12, indexStride = (waveSize === 64 ? 3 : 2) << 21;
  const addThreadId = 1 << 23, resourceLevel = 1 << 24, outOfBoundsNever = 2 << 28;
  const word3 = SELECT_RGBA | format32Uint | indexStride | addThreadId | resourceLevel | outOfBoundsNever;
  return [low(address), (high16(address) | swizzle) >>> 0, bytes, word3 >>> 0];
}

/** Row pitch in bytes of a linear image. */
export function linearPitch(width: number, texelBytes: number): number {
  return Math.ceil(width * texelBytes / LINEAR_PITCH_ALIGNMENT) * LINEAR_PITCH_ALIGNMENT;
}

/** A linear 2D image of one level. The address must be a multiple of 256. Word 4 holds the pitch in texels, less one, where rows are padded. */
export function linearImageDescriptor(
  address: bigint,
  { width, height, format, texelBytes, dstSel = SELECT_RGBA }: {
    width: number;
    height: number;
    format: number;
    texelBytes: number;
    dstSel?: number;
  },
): number[] {
  const type2d = 9, resourceLevel = 0x8000_0000, performanceModifier = 4 << 20;
  const base = address >> 8n & 0xFF_FFFF_FFFFn, pitch = linearPitch(width, texelBytes) / texelBytes;
  return [
    low(base),
    (Number(base >> 32n) | format << 20 | (width - 1 & 3) << 30) >>> 0,
    (width - 1 >>> 2 | height - 1 << 14 | resourceLevel) >>> 0,
    (dstSel | type2d << 28) >>> 0,
    pitch === width ? 0 : pitch - 1,
    performanceModifier,
    0,
    0,
  ];
}

/** A sampler that takes the nearest texel of level 0 and clamps to the edge. */
export const NEAREST_CLAMP_SAMPLER: readonly number[] = [0x92, 0x00FFF000, 0, 0];

/** Lower 32 bits of an address. */
export function low(address: bigint): number {
  return Number(address & 0xFFFF_FFFFn);
}

/** Bits 63:32 of an address. */
export function high(address: bigint): number {
  return Number(address >> 32n & 0xFFFF_FFFFn);
}

/** Bits 47:32 of an address, as V# and PGM registers hold them. */
function high16(address: bigint): number {
  return Number(address >> 32n & 0xFFFFn);
}
