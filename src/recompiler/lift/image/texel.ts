/** Texels: reading, writing, and the registers that image data take (AMD RDNA2 ISA, section 8.2). */
import { imageDataDwords } from "../../../rdna/image.ts";
import { Flag, type Instruction } from "../../../rdna/instruction.ts";
import { OPCODES } from "../../../rdna/table.ts";
import { Op } from "../../ir/ops.ts";
import type { Lifter } from "../context.ts";
import { packElement } from "../formats/pack.ts";
import { fromD16, selectComponent, storedComponents, toD16 } from "../formats/selectors.ts";
import { unpackElement } from "../formats/unpack.ts";
import { imageFields, samplerFields } from "../image_descriptor.ts";
import type { SamplerClass } from "../image_descriptor.ts";
import { coherence, joinDwords, splitDwords, vectorType, writeStatus } from "../memory.ts";
import { refuse } from "../refusal.ts";
import { ImageView, type Level, type Place } from "./view.ts";

/** Components that a mask names, lowest first. */
export function namedComponents(mask: number): number[] {
  return [0, 1, 2, 3].filter((c) => (mask >> c) & 1);
}

/** The view of an instruction, and its sampler. */
export interface ImageOperands {
  readonly view: ImageView;
  /** Of instructions that sample. */
  readonly sampler: SamplerClass;
}

/** What an instruction works on; undefined while its descriptors are not known (which is noted), and then its result is zeros. */
export function imageOperands(l: Lifter, i: Instruction): ImageOperands | undefined {
  const { image } = OPCODES[i.op];
  if (i.flags & (Flag.Tfe | Flag.Lwe) && image !== "load" && image !== "sample" && image !== "gather") {
    refuse("TFE or LWE (a status result) of this instruction is not implemented");
  }
  const half = (i.flags & Flag.R128) !== 0;
  const words = Array.from({ length: 8 }, (_, k) => half && k > 3 ? l.u(0) : l.scalar(i.srsrc + k));
  if (image === "sample" || image === "gather") {
    for (let k = 0; k < 4; k++) words.push(l.scalar(i.soffset + k));
  }
  const found = l.request.imageDescriptors?.get(i.pc);
  if (found === undefined) {
    l.imageNeeds.push({ pc: i.pc, words });
    if (i.dst >= 0) l.setVectors(i.dst, Array.from({ length: imageDataDwords(i) }, () => l.u(0)));
    return undefined;
  }
  return { view: new ImageView(l, words, imageFields(found)), sampler: samplerFields(found) };
}

/** The format's components of a texel; zeros where not `active`. */
export function readTexel(
  l: Lifter,
  i: Instruction,
  view: ImageView,
  address: number,
  active: number,
): number[] {
  const { format } = view;
  const dwords = Math.max(1, format.bytes / 4);
  const loaded = l.ir.append(Op.Load, vectorType(dwords), address, active, format.bytes | coherence(i));
  return unpackElement(l, format, splitDwords(l, loaded, dwords));
}

/** Applies DST_SEL to the format's components: the values of the components that `mask` names, by number. */
export function selectComponents(l: Lifter, view: ImageView, components: readonly number[], mask: number): number[] {
  const values = [0, 0, 0, 0];
  for (const c of namedComponents(mask)) values[c] = selectComponent(l, view.format, view.fields.dstSel, c, components);
  return values;
}

/** Writes values to consecutive data registers, packed in pairs with D16; an unpaired last one leaves the high half zero. */
export function writeData(l: Lifter, i: Instruction, isFloat: boolean, values: readonly number[]): void {
  writeStatus(l, i, i.flags & Flag.D16 ? (values.length + 1) >> 1 : values.length);
  if ((i.flags & Flag.D16) === 0) return l.setVectors(i.dst, values);
  const halves = values.map((value) => toD16(l, isFloat, value));
  for (let k = 0; k < halves.length; k += 2) {
    const pair = k + 1 < halves.length
      ? l.ir.emit(Op.Or, halves[k], l.ir.emit(Op.Shl, halves[k + 1], l.u(16)))
      : halves[k];
    l.setVector(i.dst + k / 2, pair);
  }
}

/** Writes the data registers that DMASK names to a texel, through DST_SEL. */
export function writeTexel(
  l: Lifter,
  i: Instruction,
  view: ImageView,
  place: Place,
  level: Level,
  active: number,
): void {
  const { format, fields } = view;
  const d16 = (i.flags & Flag.D16) !== 0;
  const data: (number | undefined)[] = [undefined, undefined, undefined, undefined];
  namedComponents(i.mode).forEach((c, register) => {
    const value = l.asU(l.source(i.data + (d16 ? register >> 1 : register)));
    data[c] = d16 ? fromD16(l, format, l.ir.emit(Op.UBfe, value, l.u((register & 1) * 16), l.u(16))) : value;
  });
  const dwords = packElement(l, format, storedComponents(l, fields.dstSel, data));
  l.ir.emit(Op.Store, view.address(place, level), active, joinDwords(l, dwords), format.bytes | coherence(i));
}
