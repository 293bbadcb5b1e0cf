/**
 * Instances of image instructions: linear and tiled images of all types in memory of the instance's own, in every format, with descriptors that are constants
 * but for the base. Loads and samples go anywhere in and around the image, stores and atomics to a texel of the thread's own.
 */
import { type Format, FORMAT_NUMBERS, formatOf } from "../../../src/rdna/formats.ts";
import { IMAGE_DIMS, imageAddress, imageDataDwords } from "../../../src/rdna/image.ts";
import { Encoding, Flag, Instruction, Operand } from "../../../src/rdna/instruction.ts";
import type { Opcode } from "../../../src/rdna/table.ts";
import { tileEquation } from "../../../src/rdna/tiling.ts";
import type { Random } from "../../support/random.ts";
import type { Code } from "../code.ts";
import { exact, float32, halves } from "../compare.ts";
import { int, v } from "../encode.ts";
import { asksFor, type BatchSettings, type Compare, DESTINATION, type Instance, THREADS } from "../frame.ts";
import { BASE, baseOfRegion, memoryCompare, vectorsCheck } from "./memory.ts";
import { Preparation } from "./operands.ts";

/** First scalar register of the T#, and of the S#. */
const RESOURCE = 88, SAMPLER = 96;
/** First vector register of the address, and of a thread's own data. */
const ADDRESS = 48, DATA = 60;
/** Words of the T#, by number, that the program computes: base. */
const TYPE = { D1: 8, D2: 9, D3: 10, Cube: 11, D1Array: 12, D2Array: 13 } as const;
const DIM_OF_TYPE: Readonly<Record<number, number>> = { 8: 0, 9: 1, 10: 2, 11: 3, 12: 4, 13: 5 };
const TILES = [1, 2, 5, 6, 9, 10, 21, 22, 24, 25, 26, 27];
/** Clamp modes that are implemented. */
const CLAMPS = [0, 1, 2, 3, 6, 7];

/** Whether this generator makes instances of an opcode. */
export function isImageOpcode({ encoding, image, name, words }: Opcode): boolean {
  return encoding === Encoding.Mimg && image !== "bvh" && !name.includes("_pck") && !words.has("msaa") &&
    name !== "image_gather4h";
}

/** An image: sizes in texels, and the bytes that it takes. */
interface Image {
  type: number;
  format: Format;
  number: number;
  tile: number;
  width: number;
  height: number;
  depth: number;
  baseLayer: number;
  pitch: number;
  baseLevel: number;
  lastLevel: number;
  maxMip: number;
  dstSel: number;
  /** Bits of the base inside a block, which rotate banks; -1 for linear images. */
  rotation: number;
  bytes: number;
}

/** MIMG words. */
function encode(
  opcode: Opcode,
  f: { dim: number; dmask: number; data: number; flags: number },
): number[] {
  const number = opcode.numbers[Encoding.Mimg]!;
  const flag = (bit: number, at: number) => f.flags & bit ? 1 << at : 0;
  const low = 0x3c << 26 | number >> 7 | (number & 0x7f) << 18 | f.dim << 3 | f.dmask << 8 |
    flag(Flag.Unorm, 12) | flag(Flag.Glc, 13) | flag(Flag.Tfe, 16) | flag(Flag.Lwe, 17);
  const high = ADDRESS | f.data - Operand.Vgpr0 << 8 | RESOURCE / 4 << 16 | SAMPLER / 4 << 21 |
    flag(Flag.A16, 30) | flag(Flag.D16, 31);
  return [low >>> 0, high >>> 0];
}

function isOwn({ image }: Opcode): boolean {
  return image === "store" || image === "atomic";
}

function randomImage(opcode: Opcode, threads: number, random: Random): Image {
  const own = isOwn(opcode), samples = opcode.image === "sample" || opcode.image === "gather";
  // Clamps and biases of the level of detail show where there are levels.
  const levels = samples && ["cl", "l", "b", "d", "cd"].some((word) => opcode.words.has(word));
  const types = opcode.image === "gather"
    ? [TYPE.D2, TYPE.D2Array]
    : levels && random.chance(0.8)
    ? [TYPE.D1, TYPE.D2]
    : [TYPE.D1, TYPE.D2, TYPE.D2, TYPE.D2, TYPE.D3, TYPE.D1Array, TYPE.D2Array, TYPE.Cube];
  // Filters must stay within a face of a cube.
  const type = random.pick(types.filter((each) => each !== TYPE.Cube || !opcode.words.has("o")));
  const isFace = type === TYPE.Cube && samples;
  const fits = (n: number) => {
    const format = formatOf(n)!;
    if (opcode.image === "atomic") return format.bytes === 4 || format.bytes === 8;
    if (!samples) return true;
    return opcode.words.has("c") ? n === 7 || n === 22 : format.isFloat || random.chance(0.3);
  };
  const number = random.pick(FORMAT_NUMBERS.filter(fits));
  const format = formatOf(number)!;
  const isLine = type === TYPE.D1 || type === TYPE.D1Array;
  const isPlain = type === TYPE.D1 || type === TYPE.D2;
  const tiles = TILES.filter((tile) => tileEquation(tile, format.bytes) !== undefined);
  const tile = tiles.length > 0 && type !== TYPE.D3 && random.chance(levels ? 0.1 : 0.35) ? random.pick(tiles) : 0;
  // A texel for each thread of a store.
  const width = own ? (isLine ? threads : 32) : random.pick(isFace ? [16, 33, 64] : [1, 5, 16, 33, 64]);
  const height = own ? (isLine ? 1 : threads / 32) : isLine ? 1 : random.pick(isFace ? [8, 16] : [1, 3, 8, 16]);
  const depth = isPlain ? 1 : type === TYPE.Cube ? 6 : random.pick([1, 2, 3, 6]);
  const hasLevels = isPlain && tile === 0 && random.chance(levels ? 0.9 : 0.5);
  const pitch = isPlain && tile === 0 && (hasLevels || random.chance(0.3)) ? width + random.pick([1, 3, 64]) : 0;
  const maxMip = hasLevels ? random.pick([1, 2, 5]) : 0;
  const baseLevel = own ? 0 : random.below(maxMip + 1);
  const lastLevel = baseLevel + random.below(maxMip - baseLevel + 1);
  const baseLayer = isPlain || type === TYPE.D3 || type === TYPE.Cube ? 0 : random.below(depth);
  const dstSel = random.chance(0.6) ? 0xfac : random.pick([0xfac & ~7 | 5, 0x924, 0x20c, 4 | 5 << 3 | 6 << 6 | 1 << 9]);
  const image = {
    ...{ type, format, number, tile, width, height, depth, baseLayer, pitch, baseLevel, lastLevel, maxMip },
    dstSel: allowed(format, dstSel),
    rotation: tile === 0 ? -1 : 256 * random.below(tileEquation(tile, format.bytes)!.size / 256),
  };
  return { ...image, bytes: footprint(image) };
}

/** Selectors without the fourth component of three. */
function allowed(format: Format, dstSel: number): number {
  const hasThree = format.kind === "shared" || format.bits.length === 3;
  if (!hasThree) return dstSel;
  return [0, 3, 6, 9].reduce((bits, at) => bits | ((dstSel >>> at & 7) === 7 ? 1 : dstSel >>> at & 7) << at, 0);
}

/** Bytes of an image, at most. */
function footprint({ format, tile, width, height, depth, pitch, maxMip }: Omit<Image, "bytes">): number {
  const block = tile === 0 ? undefined : tileEquation(tile, format.bytes)!;
  if (block !== undefined) {
    // Blocks begin at multiples of their size.
    return Math.ceil(width / block.width) * Math.ceil(height / block.height) * depth * block.size + block.size;
  }
  let bytes = 0;
  for (let level = 0; level <= maxMip; level++) {
    const row = Math.ceil(Math.max(Math.max(1, width >> level), level === 0 ? pitch : 0) * format.bytes / 256) * 256;
    bytes += row * Math.max(1, height >> level);
  }
  return bytes * depth;
}

/** Emits the descriptors. */
function emitDescriptors(code: Code, image: Image, region: number, sampler: readonly number[], minLod: number): void {
  const word = (register: number, value: number) => code.sop1("s_mov_b32", register, Operand.Literal, value);
  const { type, width, height, depth, baseLayer, pitch } = image;
  baseOfRegion(code, BASE, region);
  if (image.rotation >= 0) {
    const { size } = tileEquation(image.tile, image.format.bytes)!;
    code.sop2("s_add_u32", BASE, BASE, Operand.Literal, size - 1);
    code.sop2("s_addc_u32", BASE + 1, BASE + 1, int(0));
    code.sop2("s_and_b32", BASE, BASE, Operand.Literal, ~(size - 1));
    code.sop2("s_or_b32", BASE, BASE, Operand.Literal, image.rotation);
  }
  code.sop2("s_lshr_b32", RESOURCE, BASE, int(8));
  code.sop2("s_lshl_b32", 7, BASE + 1, int(24));
  code.sop2("s_or_b32", RESOURCE, RESOURCE, 7);
  code.sop2("s_lshr_b32", 7, BASE + 1, int(8));
  const w = width - 1;
  code.sop2("s_or_b32", RESOURCE + 1, 7, Operand.Literal, minLod << 8 | image.number << 20 | w << 30);
  word(RESOURCE + 2, w >>> 2 | height - 1 << 14 | 1 << 31);
  word(RESOURCE + 3, image.dstSel | image.baseLevel << 12 | image.lastLevel << 16 | image.tile << 20 | type << 28);
  const isPlain = type === TYPE.D1 || type === TYPE.D2;
  word(RESOURCE + 4, isPlain ? (pitch === 0 ? 0 : pitch - 1) : depth - 1 | baseLayer << 16);
  word(RESOURCE + 5, image.maxMip << 4);
  word(RESOURCE + 6, 0);
  word(RESOURCE + 7, 0);
  sampler.forEach((value, k) => word(SAMPLER + k, value));
}

function randomSampler(image: Image, unnormalized: boolean, random: Random): number[] {
  const filters = image.format.isFloat ? [0, 1, 1] : [0];
  const clamp = [0, 3, 6].reduce((bits, at) => bits | random.pick(CLAMPS) << at, 0);
  const filterMode = random.chance(0.8) ? 0 : random.pick([1, 2]);
  const lods = random.chance(0.7) ? 0xfff << 12 : random.below(512) | random.below(1024) << 12;
  const bias = random.chance(0.7) ? 0 : random.below(512) - 256 & 0x3fff;
  const mip = image.format.isFloat ? random.below(3) : random.below(2);
  const z = image.format.isFloat ? random.below(3) : random.below(2);
  return [
    clamp | random.below(8) << 12 | (unnormalized ? 1 << 15 : 0) | filterMode << 29,
    lods,
    bias | random.pick(filters) << 20 | random.pick(filters) << 22 | z << 24 | mip << 26,
    random.below(3) << 30,
  ];
}

/** Emits a coordinate of a sample into a register, about -1 to 2 images wide. */
function emitFloat(code: Code, register: number, scale: number, source: number, random: Random): void {
  if (random.chance(0.08)) return code.vop("v_mov_b32", register, v(8 + random.below(6)));
  // 0..1023 in 256ths of the image, less one image.
  code.vop("v_and_b32", register, Operand.Literal, source, 0x3ff);
  code.vop("v_cvt_f32_u32", register, register);
  code.vop("v_mul_f32", register, Operand.Literal, register, floatBits(scale * 3 / 1024));
  code.vop("v_add_f32", register, Operand.Literal, register, floatBits(-scale));
}

const view = new DataView(new ArrayBuffer(4));
function floatBits(value: number): number {
  view.setFloat32(0, value);
  return view.getUint32(0);
}

/** A random instance. */
export function imageInstance(opcode: Opcode, settings: BatchSettings, random: Random): Instance {
  const threads = settings.groups * THREADS;
  const own = isOwn(opcode), samples = opcode.image === "sample" || opcode.image === "gather";
  const image = randomImage(opcode, threads, random);
  const dim = image.type === TYPE.Cube && !samples ? 5 : DIM_OF_TYPE[image.type];
  const isAtomic = opcode.image === "atomic", compares = opcode.name.endsWith("cmpswap");
  const unnormalized = samples && image.lastLevel === image.baseLevel && image.type !== TYPE.Cube &&
    random.chance(0.15);
  const dmask = isAtomic
    ? (1 << image.format.bytes / 4 * (compares ? 2 : 1)) - 1
    : opcode.image === "gather"
    ? 1 << random.below(image.format.bits.length)
    : opcode.image === "resinfo" && dim === 4
    ? 1
    : 1 + random.below(15);
  const a16 = !own && !samples && opcode.image !== "resinfo" && random.chance(0.2);
  const d16 = !isAtomic && opcode.image !== "resinfo" && !opcode.words.has("lod") && random.chance(0.2);
  let flags = (a16 ? Flag.A16 : 0) | (d16 ? Flag.D16 : 0) | (isAtomic && random.chance(0.6) ? Flag.Glc : 0) |
    (unnormalized && random.chance(0.5) ? Flag.Unorm : 0);
  const status = opcode.image === "load" || samples ? random.below(10) : 9;
  flags |= status === 0 ? Flag.Tfe : status === 1 ? Flag.Lwe : 0;
  const ins = Object.assign(new Instruction(), { op: opcode.id, encoding: Encoding.Mimg, dim, mode: dmask, flags });
  const dwords = imageDataDwords(ins), { total } = imageAddress(ins);
  const inPlace = isAtomic && (flags & Flag.Glc) !== 0;
  const dst = DESTINATION.vector + random.below(DESTINATION.count - Math.max(1, dwords) + 1);
  const data = opcode.image === "store" ? v(8 + random.below(20)) : isAtomic ? (inPlace ? v(dst) : v(DATA)) : v(dst);
  const prepare = new Preparation(random, settings.waveSize);
  prepare.destinations();
  if (asksFor(settings, "exec") || random.chance(0.25)) prepare.exec();
  const sampler = randomSampler(image, unnormalized, random);
  const minLod = random.chance(0.8) ? 0 : random.below(512);
  const sources = Array.from({ length: 16 }, () => v(random.pick([14, 15, 16, 17, 28, 29, 30, 31])));
  const seed = random.u32();
  const before = (code: Code, region: number) => {
    emitDescriptors(code, image, region, sampler, minLod);
    const own32 = { log: Math.log2(image.width), mask: image.width - 1 };
    const again = new SeededRandom(seed, random);
    for (let k = 0; k < total; k++) code.vop("v_mov_b32", v(ADDRESS + k), int(0));
    // What an instruction with one register more would read: a level that few images have.
    code.vop("v_mov_b32", v(ADDRESS + total), samples ? Operand.Literal : int(3), -1, floatBits(3));
    if (own) {
      code.vop("v_and_b32", v(ADDRESS), Operand.Literal, v(1), own32.mask);
      if (image.height > 1) code.vop("v_lshrrev_b32", v(ADDRESS + 1), int(own32.log), v(1));
      const layers = total - (image.height > 1 || dim === 1 ? 2 : 1);
      if (layers > 0 && dim !== 1 && dim !== 0) {
        const at = dim === 4 ? 1 : 2;
        code.vop("v_and_b32", v(ADDRESS + at), int(1), sources[0]);
      }
      // Every eighth thread is outside of the image.
      code.vop("v_and_b32", v(58), int(7), v(1));
      code.vop3("v_cmp_eq_u32", { dst: -1, sdst: Operand.Vcc, src: [v(58), int(7)] });
      code.vop3("v_cndmask_b32", { dst: v(ADDRESS), src: [v(ADDRESS), int(-1), Operand.Vcc] });
    } else if (samples) emitSampleAddress(code, opcode, image, dim, unnormalized, sources, again.random);
    else {
      for (let k = 0; k < total; k++) {
        const most = a16 ? 0x3f003f : [0x7f, 0x1f, 0xf, 0x7][Math.min(k, 3)];
        code.vop("v_and_b32", v(ADDRESS + k), Operand.Literal, sources[k], most);
      }
      if (opcode.words.has("mip") && !a16) code.vop("v_and_b32", v(ADDRESS + total - 1), int(7), sources[5]);
      if (opcode.image === "resinfo") code.vop("v_and_b32", v(ADDRESS), int(7), sources[0]);
    }
    prepare.emit(code);
    if (isAtomic) {
      for (let k = 0; k < dwords; k++) {
        const float = opcode.name.includes("_f");
        code.vop("v_mov_b32", data + k, v(float ? 8 + k : 14 + k));
      }
    }
  };
  const isFloat = image.format.isFloat && !isAtomic;
  const compare = d16 && image.format.isFloat ? eachHalf : isFloat && samples ? eachFloat : exact;
  const reads = opcode.image !== "store" && (!isAtomic || inPlace);
  // Whole units of 16 bytes for each thread.
  const bytes = Math.max(16, Math.ceil(image.bytes / threads / 16) * 16);
  return {
    name: opcode.name,
    form:
      `${IMAGE_DIMS[dim].name} ${image.format.name} tile ${image.tile} ${image.width}x${image.height}x${image.depth} ` +
      `levels ${image.baseLevel}-${image.lastLevel}/${image.maxMip} sampler ${sampler.map((w) => w.toString(16))}` +
      (unnormalized ? " unnormalized" : ""),
    before,
    words: [encode(opcode, { dim, dmask, data, flags })],
    checks: reads ? [vectorsCheck(dst, dwords, isAtomic ? memoryCompareOf(opcode) : compare)] : [],
    memory: { bytes, compare: isAtomic ? memoryCompareOf(opcode) : exact },
    lanes: opcode.image === "sample",
  };
}

function memoryCompareOf(opcode: Opcode): Compare {
  return opcode.name.includes("_f") ? eachFloat : memoryCompare(opcode);
}

const eachFloat: Compare = (actual, expected, at, words) => {
  for (let k = 0; k < words; k++) if (!float32(actual, expected, at + k, 1)) return false;
  return true;
};

const eachHalf: Compare = (actual, expected, at, words) => {
  for (let k = 0; k < words; k++) if (!halves(actual, expected, at + k, 1)) return false;
  return true;
};

/** The same choices every time the preparation is emitted: a batch is built again when instances are dropped. */
class SeededRandom {
  readonly random: Random;

  constructor(seed: number, like: Random) {
    this.random = new (like.constructor as new (seed: number) => Random)(seed);
  }
}

/** Emits the components of a sample's address in their order. */
function emitSampleAddress(
  code: Code,
  opcode: Opcode,
  image: Image,
  dim: number,
  unnormalized: boolean,
  sources: readonly number[],
  random: Random,
): void {
  const { words } = opcode;
  let at = ADDRESS;
  const next = () => v(at++);
  if (words.has("o")) code.vop("v_mov_b32", next(), sources[0]);
  if (words.has("b")) emitFloat(code, next(), 2, sources[1], random);
  if (words.has("c")) emitFloat(code, next(), 0.7, sources[2], random);
  if (words.has("d") || words.has("cd")) {
    const packed = words.has("g16"), { derivative } = IMAGE_DIMS[dim];
    const registers = packed ? 2 * (derivative + 1 >> 1) : 2 * derivative;
    for (let k = 0; k < registers; k++) {
      const register = next();
      if (packed) code.vop("v_and_b32", register, Operand.Literal, sources[3 + k % 4], 0x3fff3fff);
      else emitFloat(code, register, random.pick([0.01, 0.1, 1]), sources[3 + k % 4], random);
    }
  }
  const sizes = [image.width, image.height, image.depth].map((size) => Math.max(1, size >> image.baseLevel));
  for (let c = 0; c < IMAGE_DIMS[dim].coordinates; c++) {
    const register = next();
    if (dim === 3 && c < 2) {
      // Cube coordinates lie in 1..2; filters stay within the face.
      code.vop("v_and_b32", register, Operand.Literal, sources[8 + c], 0x7f);
      code.vop("v_cvt_f32_u32", register, register);
      code.vop("v_mul_f32", register, Operand.Literal, register, floatBits(0.4 / 128));
      code.vop("v_add_f32", register, Operand.Literal, register, floatBits(1.3));
      continue;
    }
    const isLayer = (dim === 4 && c === 1) || ((dim === 5 || dim === 3) && c === 2);
    emitFloat(code, register, isLayer ? 6 : unnormalized ? sizes[Math.min(c, 2)] : 1, sources[8 + c], random);
  }
  if (words.has("cl")) emitFloat(code, next(), 2, sources[12], random);
  if (words.has("l")) emitFloat(code, next(), 3, sources[13], random);
}
