/** An image as its T# describes it: sizes and addresses as values, the rest as constants. What src/rdna/interpreter/image/resource.ts does, as IR. */
import { type Format, formatOf } from "../../../rdna/formats.ts";
import { Tile, type TileEquation, tileEquation } from "../../../rdna/tiling.ts";
import { FaultReason, nowhere } from "../../abi.ts";
import { ImageType } from "../../../rdna/image_type.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import type { ImageClass } from "../image_descriptor.ts";
import { constant64, extend64 } from "../memory.ts";
import { refuse } from "../refusal.ts";
import { tileOffset } from "./tile.ts";

/** Dimensions, by the DIM field of instructions. */
export const Dim = { D1: 0, D2: 1, D3: 2, Cube: 3, D1Array: 4, D2Array: 5, D2Msaa: 6, D2MsaaArray: 7 } as const;

/** Alignment of the rows of linear images, in bytes (measured on the console). */
const LINEAR_ALIGNMENT = 256;

/** A level of the chain: its number, or a value that holds it. */
export type Level = { readonly known: number } | { readonly id: number };

/** What a level is like: U32 sizes in texels, bytes of a row, U64 bytes from the start of its layer. */
interface LevelData {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly rowBytes: number;
  readonly start: number;
}

/** A place: x, y, and the layer of the view or the slice, and of an image with several samples the sample's number; U32. */
export type Place = readonly [x: number, y: number, z: number, sample?: number];

/** An image of an instruction. */
export class ImageView {
  readonly format: Format;
  private readonly block: TileEquation | undefined;
  private readonly levels: LevelData[] = [];
  /** U32: layers of the view (1 for images without), and the first one. */
  readonly layers: number;
  /** Samples of a texel; 1 of images without. */
  readonly samples: number = 1;
  private readonly baseLayer: number;
  /** U32: texels of a row of the first level where word 4 has it (where it is not 0); 0 for images with layers or slices. */
  private readonly pitch: number;
  private readonly width: number;
  private readonly height: number;
  private readonly depth: number;
  /** U64 bytes of all levels of a layer. */
  private chain = 0;

  /** Refuses what is not implemented. @param words values of the T# */
  constructor(private readonly l: Lifter, private readonly words: readonly number[], readonly fields: ImageClass) {
    const { ir } = l;
    const { type, maxMip, tileMode } = fields;
    this.format = formatOf(fields.format) ?? refuse(`the image format ${fields.format} is reserved or not supported`);
    if (type < ImageType.D1) refuse(`the image type ${type} is reserved`);
    if (fields.baseLevel > fields.lastLevel) refuse("an image view without levels");
    if (fields.compressed) refuse("compressed image data (DCC)");
    if (this.hasSamples) this.samples = samplesOf(fields);
    this.block = tileMode === Tile.Linear ? undefined : tileEquation(tileMode, this.format.bytes, this.samples);
    const isPlain = type === ImageType.D1 || type === ImageType.D2;
    if (tileMode !== Tile.Linear) {
      if (this.block === undefined) refuse(`tile mode ${tileMode} with texels of ${this.format.bytes} bytes`);
      if (maxMip > 0 && !this.hasSamples) refuse("a tiled image with several levels");
      if (type === ImageType.D3) refuse("a tiled image in three dimensions");
    } else if (maxMip > 0 && !(isPlain && fields.hasPitch)) {
      refuse("a linear image with several levels, without a pitch or in three dimensions");
    }
    const [, word1, word2, , word4] = words;
    const widthTop = ir.emit(Op.Shl, ir.emit(Op.And, word2, l.u(0xfff)), l.u(2));
    this.width = l.addConstant(ir.emit(Op.Or, widthTop, ir.emit(Op.Shr, word1, l.u(30))), 1);
    const isLine = type === ImageType.D1 || type === ImageType.D1Array;
    this.height = isLine ? l.u(1) : l.addConstant(ir.emit(Op.UBfe, word2, l.u(14), l.u(14)), 1);
    const last = () => ir.emit(Op.And, word4, l.u(0x1fff));
    this.depth = type === ImageType.D3 ? l.addConstant(last(), 1) : l.u(1);
    this.pitch = isPlain ? l.addConstant(ir.emit(Op.And, word4, l.u(0x3fff)), 1) : 0;
    this.layers = l.u(1);
    this.baseLayer = l.u(0);
    if (!isPlain && type !== ImageType.D3 && type !== ImageType.D2Msaa) {
      this.baseLayer = ir.emit(Op.UBfe, word4, l.u(16), l.u(13));
      this.layers = ir.emit(Op.SMax, l.addConstant(ir.emit(Op.ISub, last(), this.baseLayer), 1), l.u(1));
    }
  }

  get isVolume(): boolean {
    return this.fields.type === ImageType.D3;
  }

  /** Refuses an instruction whose dimension does not fit the image. */
  requireDimension(dim: number): void {
    const { type } = this.fields;
    const isLine = dim === Dim.D1 || dim === Dim.D1Array;
    const fits = (dim === Dim.D3) === (type === ImageType.D3) &&
      (dim === Dim.D2Msaa || dim === Dim.D2MsaaArray) === this.hasSamples &&
      isLine === (type === ImageType.D1 || type === ImageType.D1Array);
    if (!fits) refuse(`dimension ${dim} does not fit the image's type ${type}`);
  }

  /** Whether texels have samples; such an image has one level. */
  get hasSamples(): boolean {
    return this.fields.type >= ImageType.D2Msaa;
  }

  /** Levels of the view behind its first. */
  get lastLevel(): number {
    if (this.hasSamples) return 0;
    return this.fields.lastLevel - this.fields.baseLevel;
  }

  /** A level of the view, by a value that counts from its first. */
  levelOf(value: number): Level {
    const { ir } = this.l;
    const { baseLevel } = this.fields;
    if (ir.op[value] === Op.Const) return { known: baseLevel + ir.a[value] };
    return this.lastLevel === 0 ? { known: baseLevel } : { id: this.l.addConstant(value, baseLevel) };
  }

  /** What is known of a level; of a value, the view's levels are chosen from. */
  private at(level: Level): LevelData {
    if ("known" in level) return this.level(level.known);
    const { l } = this;
    const { baseLevel, lastLevel } = this.fields;
    const choose = (of: (data: LevelData) => number) => {
      let value = of(this.level(lastLevel));
      for (let k = lastLevel - 1; k >= baseLevel; k--) {
        value = l.select(l.ir.emit(Op.IEq, level.id, l.u(k)), of(this.level(k)), value);
      }
      return value;
    };
    return {
      width: choose(({ width }) => width),
      height: choose(({ height }) => height),
      depth: choose(({ depth }) => depth),
      rowBytes: choose(({ rowBytes }) => rowBytes),
      start: choose(({ start }) => start),
    };
  }

  /** Levels lie behind each other, the smallest first; layers are whole chains. */
  private level(number: number): LevelData {
    if (this.levels.length === 0) this.makeLevels();
    return this.levels[number];
  }

  private makeLevels(): void {
    const { l, format } = this;
    const { ir } = l;
    const maxMip = this.hasSamples ? 0 : this.fields.maxMip;
    const scaled = (size: number, level: number) => {
      if (level === 0 || ir.op[size] === Op.Const) return size; // constants are 1
      return ir.emit(Op.UMax, ir.emit(Op.Shr, size, l.u(level)), l.u(1));
    };
    let chain = constant64(l, 0n);
    for (let level = maxMip; level >= 0; level--) {
      const width = scaled(this.width, level), height = scaled(this.height, level);
      const bytes = ir.emit(Op.IMul, width, l.u(format.bytes));
      let rowBytes = ir.emit(Op.And, l.addConstant(bytes, LINEAR_ALIGNMENT - 1), l.u(-LINEAR_ALIGNMENT));
      if (level === 0 && this.pitch !== 0) {
        const isGiven = ir.emit(Op.INe, this.words[4], l.u(0));
        rowBytes = l.select(isGiven, ir.emit(Op.IMul, this.pitch, l.u(format.bytes)), rowBytes);
      }
      this.levels[level] = { width, height, depth: scaled(this.depth, level), rowBytes, start: chain };
      const size = ir.emit(Op.UMulWide, rowBytes, height);
      chain = level === maxMip ? size : ir.emit(Op.IAdd64, chain, size);
    }
    this.chain = chain;
  }

  /** U32 size of an axis at a level. */
  size(axis: number, level: Level): number {
    const data = this.at(level);
    return axis === 0 ? data.width : axis === 1 ? data.height : data.depth;
  }

  /** Whether a place exists at a level. */
  contains([x, y, z]: Place, level: Level): number {
    const { l } = this;
    const data = this.at(level);
    const inside = (coordinate: number, size: number) => l.ir.emit(Op.ULt, coordinate, size);
    const slices = this.isVolume ? data.depth : this.layers;
    return l.and(l.and(inside(x, data.width), inside(y, data.height)), inside(z, slices));
  }

  /** U64 guest address of the texel (or its sample) at a place that exists. A sample that it has not gives an address that is none, and says so. */
  address([x, y, z, sample]: Place, level: Level): number {
    const { l, block, format } = this;
    const { ir } = l;
    const layer = this.isVolume ? z : ir.emit(Op.IAdd, z, this.baseLayer);
    if (sample !== undefined && block !== undefined) {
      const known = ir.op[sample] === Op.Const ? ir.a[sample] >>> 0 : undefined;
      if (known !== undefined && known >= this.samples) {
        refuse(`sample ${known} of an image with ${this.samples}: no document tells what that is`);
      }
      const address = this.tiledAddress(block, x, y, layer, sample);
      if (known !== undefined) return address;
      const none = constant64(l, BigInt(nowhere(FaultReason.SampleNumber)) << 32n);
      return l.select(ir.emit(Op.ULt, sample, l.u(this.samples)), address, none);
    }
    if (block !== undefined) return this.tiledAddress(block, x, y, layer, l.u(0));
    const data = this.at(level);
    let address = ir.emit(Op.IAdd64, this.base(), ir.emit(Op.UMulWide, y, data.rowBytes));
    address = ir.emit(Op.IAdd64, address, extend64(l, ir.emit(Op.IMul, x, l.u(format.bytes))));
    if (this.fields.maxMip > 0) address = ir.emit(Op.IAdd64, address, data.start);
    if (ir.op[layer] === Op.Const && ir.a[layer] === 0) return address;
    return ir.emit(Op.IAdd64, address, ir.emit(Op.IMul64, extend64(l, layer), this.chain));
  }

  /** 40 bits in units of 256 bytes, sign-extended. */
  private base(): number {
    const { l, words } = this;
    const { ir } = l;
    const top = ir.emit(Op.Sar, ir.emit(Op.Shl, words[1], l.u(24)), l.u(16));
    return l.pack([
      ir.emit(Op.Shl, words[0], l.u(8)),
      ir.emit(Op.Or, top, ir.emit(Op.Shr, words[0], l.u(24))),
    ]);
  }

  private tiledAddress(block: TileEquation, x: number, y: number, layer: number, sample: number): number {
    const { l } = this;
    const { ir } = l;
    const widthLog = Math.log2(block.width), heightLog = Math.log2(block.height);
    const blocks = (size: number, log: number) => ir.emit(Op.Shr, l.addConstant(size, (1 << log) - 1), l.u(log));
    const { width, height } = this.level(0);
    const row = ir.emit(
      Op.IAdd,
      ir.emit(Op.IMul, layer, blocks(height, heightLog)),
      ir.emit(Op.Shr, y, l.u(heightLog)),
    );
    const index = ir.emit(
      Op.IAdd64,
      ir.emit(Op.UMulWide, row, blocks(width, widthLog)),
      extend64(l, ir.emit(Op.Shr, x, l.u(widthLog))),
    );
    const [low, high] = l.unpack(this.base());
    const inBlock = l.u(block.size - 1);
    // Bits of the base inside a block are a rotation of banks, which enters by XOR.
    const offset = ir.emit(Op.Xor, tileOffset(l, block, [x, y, layer, sample]), ir.emit(Op.And, low, inBlock));
    const start = l.pack([ir.emit(Op.And, low, l.u(~(block.size - 1))), high]);
    const address = ir.emit(Op.IAdd64, start, ir.emit(Op.Shl64, index, l.u(Math.log2(block.size))));
    return ir.emit(Op.IAdd64, address, extend64(l, offset));
  }
}

/**
 * Samples of an image that has several: the fields of the levels have their logarithm (Mesa, radv_image.c, gfx10_make_texture_descriptor).
 */
function samplesOf({ baseLevel, lastLevel, maxMip, tileMode }: ImageClass): number {
  if (tileMode === Tile.Linear) refuse("a linear image with several samples");
  if (baseLevel !== 0 || lastLevel !== maxMip) {
    refuse("an image with several samples whose level fields do not agree on their number");
  }
  if (maxMip > 3) refuse(`an image with ${2 ** maxMip} samples`);
  return 2 ** maxMip;
}
