/** Texels: finding, reading and writing one, and the registers that image data take (AMD RDNA2 ISA, section 8.2). */
import { Flag, type Instruction } from "../../instruction.ts";
import { Access } from "../machine/memory.ts";
import { refuse } from "../machine/refuse.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { COMPONENTS, readElement, writeElement } from "../memory/formats.ts";
import { fromD16, resolveSelectors, selectedComponent, storedComponents, toD16 } from "../memory/selectors.ts";
import { vectorRow } from "../memory/transfer.ts";
import { Dim } from "./address.ts";
import { ImageType } from "../../image_type.ts";
import type { ImageResource } from "./resource.ts";

/** Place of a texel in an image: x, y, and the layer or slice. */
export interface Place {
  x: number;
  y: number;
  z: number;
  /** Number of the sample. */
  sample: number;
}

/** The place that integer coordinates mean, by the instruction's dimension. */
export function placeOf(w: Wave, i: Instruction, image: ImageResource, coordinates: Float64Array, out: Place): void {
  out.x = coordinates[0];
  out.y = out.z = out.sample = 0;
  switch (i.dim) {
    case Dim.D1:
      break;
    case Dim.D2:
      out.y = coordinates[1];
      break;
    case Dim.D1Array:
      out.z = coordinates[1];
      break;
    case Dim.D3:
    case Dim.D2Array:
    case Dim.Cube:
      out.y = coordinates[1];
      out.z = coordinates[2];
      break;
    case Dim.D2Msaa:
      out.y = coordinates[1];
      out.sample = coordinates[2];
      break;
    case Dim.D2MsaaArray:
      out.y = coordinates[1];
      out.z = coordinates[2];
      out.sample = coordinates[3];
      break;
  }
  checkDimension(w, i, image);
  if (contains(image, out, image.baseLevel) && (out.sample < 0 || out.sample >= image.samples)) {
    refuse(w, i, `sample ${out.sample} of an image with ${image.samples}: no document tells what that is`);
  }
}

/** Refuses an instruction whose dimension does not fit the image. */
export function checkDimension(w: Wave, i: Instruction, image: ImageResource): void {
  if ((i.dim === Dim.D3) !== (image.type === ImageType.D3)) {
    refuse(w, i, `dimension ${i.dim} does not fit the image's type ${image.type}`);
  }
  if ((i.dim === Dim.D2Msaa || i.dim === Dim.D2MsaaArray) !== image.hasSamples) {
    refuse(w, i, `dimension ${i.dim} does not fit the image's type ${image.type}`);
  }
  const isLine = i.dim === Dim.D1 || i.dim === Dim.D1Array;
  if (isLine !== (image.type === ImageType.D1 || image.type === ImageType.D1Array)) {
    refuse(w, i, `dimension ${i.dim} does not fit the image's type ${image.type}`);
  }
}

/** Whether a place exists at a level of the chain. */
export function contains(image: ImageResource, { x, y, z }: Place, level: number): boolean {
  const slices = image.type === ImageType.D3 ? image.levelDepth(level) : image.layers;
  return x >= 0 && y >= 0 && z >= 0 && x < image.levelWidth(level) && y < image.levelHeight(level) && z < slices;
}

/** Finds a texel's bytes; false when the access fails. Its place must exist. */
export function locateTexel(
  w: Wave,
  i: Instruction,
  image: ImageResource,
  { x, y, z, sample }: Place,
  level: number,
  access: number,
): boolean {
  const address = image.address(x, y, z + image.baseLayer, level, sample);
  const hi = Math.floor(address / 0x1_0000_0000);
  const { bytes } = image.format;
  // Elements of three dwords have the alignment of one.
  const alignment = access === Access.Read ? 1 : Math.min(4, bytes & -bytes);
  return w.group.memory.locate(hi, address - hi * 0x1_0000_0000, 0, bytes, access, alignment, i.pc);
}

/** Reads a texel into the format's components; all zeros when it does not exist or cannot be read. */
export function readTexel(w: Wave, i: Instruction, image: ImageResource, place: Place, level: number): boolean {
  if (!contains(image, place, level)) {
    COMPONENTS.fill(0);
    return true;
  }
  const good = locateTexel(w, i, image, place, level, Access.Read);
  if (good) readElement(image.format, w.group.memory.view, w.group.memory.offset);
  else COMPONENTS.fill(0);
  return good;
}

/** Writes the format's components, chosen from the data registers by DST_SEL, to a texel that exists. */
export function writeTexel(w: Wave, i: Instruction, image: ImageResource, place: Place, level: number, lane: number) {
  const count = readData(w, i, image, lane);
  storedComponents(image.dstSel, count);
  if (!locateTexel(w, i, image, place, level, Access.Write)) return;
  writeElement(image.format, w.group.memory.view, w.group.memory.offset);
}

/** Data registers of a store into the first components; DMASK says which components they are. Returns the mask. */
function readData(w: Wave, i: Instruction, image: ImageResource, lane: number): number {
  const row = vectorRow(i.data) + lane;
  const d16 = (i.flags & Flag.D16) !== 0;
  let register = 0;
  for (let c = 0; c < 4; c++) {
    COMPONENTS[c] = 0;
    if ((i.mode >>> c & 1) === 0) continue;
    if (!d16) COMPONENTS[c] = w.vgpr[row + register * LANES];
    else {
      const bits = w.vgpr[row + (register >> 1) * LANES] >>> (register & 1) * 16 & 0xffff;
      COMPONENTS[c] = fromD16(bits, image.format);
    }
    register++;
  }
  return i.mode;
}

/** Writes up to four values to the data registers that DMASK names, packed with D16, and the status that TFE or LWE ask for. */
export function writeData(
  w: Wave,
  i: Instruction,
  image: ImageResource,
  lane: number,
  values: Int32Array,
  mask: number,
  good: boolean,
): void {
  const row = vectorRow(i.dst) + lane;
  const d16 = (i.flags & Flag.D16) !== 0;
  let register = 0;
  for (let c = 0; c < 4; c++) {
    if ((mask >>> c & 1) === 0) continue;
    if (!d16) w.vgpr[row + register * LANES] = values[c];
    else {
      const at = row + (register >> 1) * LANES;
      const bits = toD16(values[c], image.format);
      w.vgpr[at] = register & 1 ? w.vgpr[at] & 0xffff | bits << 16 : bits;
    }
    register++;
  }
  if (i.flags & (Flag.Tfe | Flag.Lwe)) {
    const registers = d16 ? register + 1 >> 1 : register;
    w.vgpr[row + Math.max(1, registers) * LANES] = good ? 0 : 1;
  }
}

/** Values of the four selected components. */
export const SELECTED_VALUES = new Int32Array(4);

/** Applies DST_SEL to the format's components. */
export function selectComponents(w: Wave, i: Instruction, image: ImageResource, mask: number): void {
  const selected = resolveSelectors(w, i, image.dstSel, image.format, mask);
  for (let c = 0; c < 4; c++) {
    if (mask >>> c & 1) SELECTED_VALUES[c] = selectedComponent(selected[c], image.format);
  }
}
