/**
 * Image loads, stores, atomics and size queries (AMD RDNA2 ISA, section 12.16), with addresses and conversions computed here: the module knows guest memory
 * only. The descriptors' classes must be known when the program is recompiled: see image_descriptor.ts. Samples: image/sample.ts.
 */
import { Flag, type Instruction } from "../../rdna/instruction.ts";
import { OPCODES } from "../../rdna/table.ts";
import { AtomicKind, hasTwoOperands, Op, Type } from "../ir/ops.ts";
import type { Lifter } from "./context.ts";
import type { Define } from "./dispatch.ts";
import { imageAddress } from "./image/address.ts";
import {
  type ImageOperands,
  imageOperands,
  namedComponents,
  readTexel,
  selectComponents,
  writeData,
  writeTexel,
} from "./image/texel.ts";
import { ImageType } from "../../rdna/image_type.ts";
import { Dim, type Level, type Place } from "./image/view.ts";
import { atomicKind, joinDwords, splitDwords, vectorDwords } from "./memory.ts";
import { refuse } from "./refusal.ts";
import { underExec } from "./under_exec.ts";
import { REFUSED_NAMES } from "./unsupported.ts";

/** Adds the handlers of this class. */
export function defineImage(define: Define): void {
  for (const { image, name, words } of OPCODES) {
    if (image === undefined) continue;
    if (REFUSED_NAMES.has(name)) continue;
    if (image === "load") define(name, (l, i) => load(l, i, words.has("mip")));
    else if (image === "store") define(name, (l, i) => store(l, i, words.has("mip")));
    else if (image === "atomic") define(name, (l, i) => atomic(l, i, name.replace("image_atomic_", "")));
    else if (image === "resinfo") define(name, sizes);
  }
}

/** Place and level of a load, store or atomic. */
function placeOf(
  l: Lifter,
  i: Instruction,
  { view }: ImageOperands,
  hasMip: boolean,
): { place: Place; level: Level; exists: number } {
  view.requireDimension(i.dim);
  const { coordinates: [x, y, z, w], lod } = imageAddress(l, i, false);
  if (hasMip && view.hasSamples) refuse("levels of an image with several samples");
  const zero = l.u(0);
  const place: Place = i.dim === Dim.D1
    ? [x, zero, zero]
    : i.dim === Dim.D2
    ? [x, y, zero]
    : i.dim === Dim.D1Array
    ? [x, zero, y]
    : i.dim === Dim.D2Msaa
    ? [x, y, zero, l.asU(underExec(l, z))]
    : i.dim === Dim.D2MsaaArray
    ? [x, y, z, l.asU(underExec(l, w))]
    : [x, y, z];
  if (!hasMip) {
    const level = view.levelOf(zero);
    return { place, level, exists: view.contains(place, level) };
  }
  const hasLevel = l.ir.emit(Op.ULe, lod, l.u(view.lastLevel));
  const level = view.levelOf(lod);
  return { place, level, exists: l.and(hasLevel, view.contains(place, level)) };
}

/** What does not exist reads as zeros, to which DST_SEL applies. */
function load(l: Lifter, i: Instruction, hasMip: boolean): void {
  const operands = imageOperands(l, i);
  if (operands === undefined) return;
  const { view } = operands;
  const { place, level, exists } = placeOf(l, i, operands, hasMip);
  const components = readTexel(l, i, view, view.address(place, level), l.and(l.exec(), exists));
  const mask = i.mode === 0 ? 1 : i.mode;
  const values = selectComponents(l, view, components, mask);
  writeData(l, i, view.format.isFloat, namedComponents(mask).map((c) => values[c]));
}

function store(l: Lifter, i: Instruction, hasMip: boolean): void {
  const operands = imageOperands(l, i);
  if (operands === undefined) return;
  const { place, level, exists } = placeOf(l, i, operands, hasMip);
  writeTexel(l, i, operands.view, place, level, l.and(l.exec(), exists));
}

/** Atomics work on texels of 32 or 64 bits, whatever their format; DMASK names the registers of the data. */
function atomic(l: Lifter, i: Instruction, name: string): void {
  const operands = imageOperands(l, i);
  if (operands === undefined) return;
  const { view } = operands;
  const { bytes } = view.format;
  const wide = bytes === 8;
  const kind = atomicKind(name, wide);
  const registers = (bytes / 4) * (hasTwoOperands(kind) ? 2 : 1);
  if ((bytes !== 4 && bytes !== 8) || i.mode !== (1 << registers) - 1) {
    refuse(`an atomic on texels of ${bytes} bytes with component mask ${i.mode}`);
  }
  const { place, level, exists } = placeOf(l, i, operands, false);
  const data = joinDwords(l, vectorDwords(l, i.data, registers));
  const old = l.ir.append(
    Op.Atomic,
    (kind & AtomicKind.Wide) !== 0 ? Type.V2 : Type.U32,
    view.address(place, level),
    l.and(l.exec(), exists),
    data,
    kind,
  );
  if (i.dst >= 0) l.setVectors(i.dst, splitDwords(l, old, bytes / 4));
}

/** image_get_resinfo: width, height, depth or layers of a level, and the number of levels; zeros for a level that does not exist. */
function sizes(l: Lifter, i: Instruction): void {
  if (i.dim === Dim.D1Array && i.mode & 6) refuse("the layers of a one-dimensional array");
  if (i.flags & Flag.D16) refuse("D16 sizes");
  const operands = imageOperands(l, i);
  if (operands === undefined) return;
  const { view } = operands;
  if (view.hasSamples) refuse("sizes of images with several samples");
  const mip = l.asU(l.source(i.addr));
  const exists = l.ir.emit(Op.ULe, mip, l.u(view.lastLevel));
  const level = view.levelOf(mip);
  const last = view.fields.type === ImageType.D3 ? view.size(2, level) : view.layers;
  const found = [view.size(0, level), view.size(1, level), last].map((size) => l.select(exists, size, l.u(0)));
  const values = [...found, l.u(view.lastLevel + 1)];
  const mask = i.mode === 0 ? 1 : i.mode;
  l.setVectors(i.dst, namedComponents(mask).map((c) => values[c]));
}
