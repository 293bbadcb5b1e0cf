/** Image loads, stores, atomics and size queries (AMD RDNA2 ISA, section 12.16). */
import { Flag, type Instruction } from "../../instruction.ts";
import { OPCODES } from "../../table.ts";
import type { Define, Handler } from "../handler.ts";
import { Access } from "../machine/memory.ts";
import { refuse } from "../machine/refuse.ts";
import { LANES, type Wave } from "../machine/wave.ts";
import { atomicName, ATOMICS32, ATOMICS64 } from "../memory/atomics.ts";
import { COMPONENTS } from "../memory/formats.ts";
import { quadAt, setQuadAt, vectorRow } from "../memory/transfer.ts";
import { Dim, ImageAddress } from "./address.ts";
import { ImageType } from "../../image_type.ts";
import { ImageResource } from "./resource.ts";
import {
  contains,
  locateTexel,
  type Place,
  placeOf,
  readTexel,
  selectComponents,
  SELECTED_VALUES,
  writeData,
  writeTexel,
} from "./texel.ts";

/** Adds the handlers of this class. */
export function defineImageAccess(define: Define): void {
  for (const opcode of OPCODES) {
    const { image, name, words } = opcode;
    if (name.includes("_pck")) define(name, (w, i) => refuse(w, i, "unconverted texels are not implemented"));
    else if (words.has("msaa")) define(name, (w, i) => refuse(w, i, "all samples of a texel at once"));
    else if (image === "load") define(name, load(words.has("mip")));
    else if (image === "store") define(name, store(words.has("mip")));
    else if (image === "atomic") define(name, atomic(atomicName(name)));
    else if (image === "resinfo") define(name, sizes);
    else if (image === "bvh") define(name, (w, i) => refuse(w, i, "ray intersection is not implemented"));
  }
}

const image = new ImageResource();
const address = new ImageAddress();
const place: Place = { x: 0, y: 0, z: 0, sample: 0 };

/** Level that the instruction means, counted from the start of the chain; -1 when the view lacks it. */
function levelOf(hasMip: boolean): number {
  if (!hasMip) return image.baseLevel;
  const level = image.baseLevel + address.lod;
  return address.lod >= 0 && level <= image.lastLevel ? level : -1;
}

/** Does something for every active lane, with `place` and the level set. */
function forLanes(w: Wave, i: Instruction, hasMip: boolean, each: (lane: number, level: number) => void): void {
  w.activateExec();
  image.read(w, i);
  if (hasMip && image.hasSamples) refuse(w, i, "levels of an image with several samples");
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    address.read(w, i, lane, false);
    placeOf(w, i, image, address.coordinates, place);
    each(lane, levelOf(hasMip));
  }
}

/** What does not exist reads as zeros, to which DST_SEL applies. */
function load(hasMip: boolean): Handler {
  return (w, i) => {
    const mask = i.mode === 0 ? 1 : i.mode;
    forLanes(w, i, hasMip, (lane, level) => {
      if (level < 0) COMPONENTS.fill(0);
      const good = level < 0 || readTexel(w, i, image, place, level);
      selectComponents(w, i, image, mask);
      writeData(w, i, image, lane, SELECTED_VALUES, mask, good);
    });
  };
}

function store(hasMip: boolean): Handler {
  return (w, i) => {
    forLanes(w, i, hasMip, (lane, level) => {
      if (level >= 0 && contains(image, place, level)) writeTexel(w, i, image, place, level, lane);
    });
  };
}

/** Atomics work on texels of 32 or 64 bits, whatever their format; DMASK names the registers of the data. */
function atomic(name: string): Handler {
  const compares = name.endsWith("cmpswap");
  return (w, i) => {
    if (i.flags & (Flag.Tfe | Flag.Lwe)) refuse(w, i, "TFE or LWE on an atomic");
    forLanes(w, i, false, (lane, level) => {
      const { bytes } = image.format;
      const registers = bytes / 4 * (compares ? 2 : 1);
      if ((bytes !== 4 && bytes !== 8) || i.mode !== (1 << registers) - 1) {
        refuse(w, i, `an atomic on texels of ${bytes} bytes with component mask ${i.mode}`);
      }
      const data = vectorRow(i.data) + lane;
      const access = Access.Read | Access.Write;
      const good = contains(image, place, level) && locateTexel(w, i, image, place, level, access);
      const { view, offset } = w.group.memory;
      if (bytes === 4) {
        const old = good ? view.getInt32(offset, true) : 0;
        const compare = compares ? w.vgpr[data + LANES] : 0;
        if (good) view.setInt32(offset, ATOMICS32[name](old, w.vgpr[data], compare), true);
        if (i.dst >= 0) w.vgpr[vectorRow(i.dst) + lane] = old;
      } else {
        const old = good ? view.getBigUint64(offset, true) : 0n;
        const compare = compares ? quadAt(w, data + 2 * LANES) : 0n;
        if (good) view.setBigUint64(offset, ATOMICS64[name](old, quadAt(w, data), compare), true);
        if (i.dst >= 0) setQuadAt(w, vectorRow(i.dst) + lane, old);
      }
    });
  };
}

/** image_get_resinfo: width, height, depth or layers of a level, and the number of levels; zeros for a level that does not exist. */
function sizes(w: Wave, i: Instruction): void {
  w.activateExec();
  image.read(w, i);
  if (image.hasSamples) refuse(w, i, "sizes of images with several samples");
  if (i.dim === Dim.D1Array && i.mode & 6) refuse(w, i, "the layers of a one-dimensional array");
  const row = vectorRow(i.addr);
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    const mip = w.vgpr[row + lane] >>> 0;
    const level = image.baseLevel + mip;
    const exists = level <= image.lastLevel;
    SELECTED_VALUES[0] = exists ? image.levelWidth(level) : 0;
    SELECTED_VALUES[1] = exists ? image.levelHeight(level) : 0;
    SELECTED_VALUES[2] = !exists ? 0 : image.type === ImageType.D3 ? image.levelDepth(level) : image.layers;
    SELECTED_VALUES[3] = image.lastLevel - image.baseLevel + 1;
    if (i.flags & Flag.D16) refuse(w, i, "D16 sizes");
    writeData(w, i, image, lane, SELECTED_VALUES, i.mode === 0 ? 1 : i.mode, true);
  }
}
