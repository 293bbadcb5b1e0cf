/** Image instructions (AMD RDNA2 ISA, section 12.16): image_load and image_store of linear 2D images, with addresses computed here. */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { Op } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { type ImageClass, imageFields } from "./image_descriptor.ts";
import { coherence, extend64, joinDwords, splitDwords, vectorType } from "./memory.ts";
import { type Format, formatOf } from "../../rdna/formats.ts";
import { packElement } from "./formats/pack.ts";
import { selectComponent } from "./formats/selectors.ts";
import { unpackElement } from "./formats/unpack.ts";
import { refuse } from "./refusal.ts";

/** Adds the handlers of this class. */
export function defineImage(define: Define): void {
  define("image_load", (l, i) => load(l, i));
  define("image_store", (l, i) => store(l, i));
}

const DIM_2D = 1, TYPE_2D = 9, TILE_LINEAR = 0;
const SELECT_X = 4;

interface Image {
  readonly fields: ImageClass;
  readonly format: Format;
  /** U64 address of the texel. */
  readonly address: number;
  /** Bool: active, and inside the image. */
  readonly active: number;
}

/** The image of an instruction, or undefined when its descriptor is not known yet (which is noted). */
function imageOf(l: Lifter, i: Instruction): Image | undefined {
  for (
    const [flag, name] of [[Flag.Tfe, "TFE"], [Flag.Lwe, "LWE"], [Flag.D16, "D16"], [Flag.A16, "A16"], [
      Flag.R128,
      "R128",
    ]] as const
  ) {
    if (i.flags & flag) refuse(`${name} on an image instruction is not implemented`);
  }
  if (i.dim !== DIM_2D) refuse(`image dimension ${i.dim} is not implemented, only 2D`);
  const words = Array.from({ length: 8 }, (_, k) => l.scalar(i.srsrc + k));
  const descriptor = l.request.imageDescriptors?.get(i.pc);
  if (descriptor === undefined) {
    l.imageNeeds.push({ pc: i.pc, words });
    return undefined;
  }
  const fields = imageFields(descriptor);
  const format = formatOf(fields.format);
  if (format === undefined) return refuse(`image format ${fields.format} is not implemented`);
  if (fields.type !== TYPE_2D) refuse(`image type ${fields.type} is not implemented, only 2D (9)`);
  if (fields.tileMode !== TILE_LINEAR) {
    refuse(`tile mode 0x${fields.tileMode.toString(16)} is not implemented, only linear (0)`);
  }
  if (fields.compressed) refuse("a compressed image (DCC) is not implemented");
  if (fields.baseLevel !== 0) refuse(`base level ${fields.baseLevel} of a linear image is not implemented`);
  return { fields, format, ...texel(l, i, words, format.bytes) };
}

/** Rows are a multiple of 256 bytes apart; word 4 holds the pitch where it is wider than the image (reference: fact 37 measured on the console). */
function texel(
  l: Lifter,
  i: Instruction,
  words: readonly number[],
  bytes: number,
): { address: number; active: number } {
  const { ir } = l;
  const [x, y] = coordinates(l, i);
  const low = ir.emit(Op.Shl, words[0], l.u(8));
  const high = ir.emit(
    Op.Or,
    ir.emit(Op.Sar, ir.emit(Op.Shl, words[1], l.u(24)), l.u(16)),
    ir.emit(Op.Shr, words[0], l.u(24)),
  );
  const widthTop = ir.emit(Op.Shl, ir.emit(Op.And, words[2], l.u(0xfff)), l.u(2));
  const lastX = ir.emit(Op.Or, widthTop, ir.emit(Op.Shr, words[1], l.u(30)));
  const lastY = ir.emit(Op.UBfe, words[2], l.u(14), l.u(14));
  const perRow = 256 / bytes;
  const padded = ir.emit(Op.And, l.addConstant(lastX, perRow), l.u(-perRow));
  const given = ir.emit(Op.And, words[4], l.u(0x3fff));
  const pitch = l.select(ir.emit(Op.IEq, given, l.u(0)), padded, l.addConstant(given, 1));
  const index = ir.emit(Op.IAdd, ir.emit(Op.IMul, y, pitch), x);
  const offset = ir.emit(Op.IMul, index, l.u(bytes));
  return {
    address: ir.emit(Op.IAdd64, l.pack([low, high]), extend64(l, offset)),
    active: l.and(l.exec(), l.and(ir.emit(Op.ULe, x, lastX), ir.emit(Op.ULe, y, lastY))),
  };
}

function coordinates(l: Lifter, i: Instruction): [number, number] {
  const second = i.nsa === null ? i.addr + 1 : i.nsa[0];
  return [l.asU(l.source(i.addr)), l.asU(l.source(second))];
}

function dwordsOf(format: Format): number {
  return Math.max(1, format.bytes / 4);
}

/** Components by dmask, lowest first; outside of the image all that memory would give is 0. */
function load(l: Lifter, i: Instruction): void {
  const image = imageOf(l, i);
  const wanted = [0, 1, 2, 3].filter((k) => (i.mode >> k) & 1);
  if (wanted.length === 0) refuse("image_load with an empty dmask");
  if (image === undefined) return l.setVectors(i.dst, wanted.map(() => l.u(0)));
  const { format, fields, address, active } = image;
  const loaded = l.ir.append(Op.Load, vectorType(dwordsOf(format)), address, active, format.bytes | coherence(i));
  const components = unpackElement(l, format, splitDwords(l, loaded, dwordsOf(format)));
  const selectors = fields.selectors.reduce((bits, selector, k) => bits | selector << (k * 3), 0);
  l.setVectors(i.dst, wanted.map((k) => selectComponent(l, format, selectors, k, components)));
}

function store(l: Lifter, i: Instruction): void {
  const image = imageOf(l, i);
  if (image === undefined) return;
  const { format, fields, address, active } = image;
  format.bits.forEach((_, k) => {
    if (fields.selectors[k] !== SELECT_X + k) {
      refuse("image_store through selectors that exchange components is not implemented");
    }
    if (((i.mode >> k) & 1) === 0) {
      refuse(`image_store with dmask 0x${i.mode.toString(16)} to format ${format.name} is not implemented`);
    }
  });
  const dwords = packElement(l, format, format.bits.map((_, k) => l.asU(l.source(i.data + k))));
  l.ir.emit(Op.Store, address, active, joinDwords(l, dwords), format.bytes | coherence(i));
}
