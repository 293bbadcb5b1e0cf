/** Image samples, gathers and the level-of-detail query (AMD RDNA2 ISA, section 12.16). */
import { Flag, type Instruction } from "../../instruction.ts";
import { IMAGE_DIMS } from "../../image.ts";
import { type Opcode, OPCODES } from "../../table.ts";
import { f32Bits } from "../float/bits.ts";
import type { Define, Handler } from "../handler.ts";
import { refuse } from "../machine/refuse.ts";
import type { Wave } from "../machine/wave.ts";
import { ImageAddress } from "./address.ts";
import { ImageResource, Sampler } from "./resource.ts";
import { gatherAt, sampleAt, type SampleContext, SAMPLED, sampleGood } from "./sample.ts";
import { checkDimension, writeData } from "./texel.ts";

/** Adds the handlers of this class. */
export function defineImageSamples(define: Define): void {
  for (const opcode of OPCODES) {
    if (opcode.image !== "sample" && opcode.image !== "gather") continue;
    if (opcode.name === "image_gather4h") {
      define(opcode.name, (w, i) => refuse(w, i, "a gather along a row is not documented well enough"));
    } else define(opcode.name, handlerOf(opcode));
  }
}

const image = new ImageResource();
const sampler = new Sampler();
const address = new ImageAddress();
const context: SampleContext = {
  w: undefined as unknown as Wave,
  i: undefined as unknown as Instruction,
  image,
  sampler,
  address,
  unnormalized: false,
  compares: false,
  mask: 0,
};

/** Levels of detail of the lanes. */
const LODS = new Float64Array(64);

function handlerOf(opcode: Opcode): Handler {
  const { words } = opcode;
  const isGather = opcode.image === "gather";
  const isQuery = words.has("lod");
  return (w, i) => {
    w.activateExec();
    image.read(w, i);
    sampler.read(w, i.soffset);
    if (image.hasSamples) refuse(w, i, "images with several samples are not filtered");
    checkDimension(w, i, image);
    context.w = w;
    context.i = i;
    context.unnormalized = sampler.unnormalized || (i.flags & Flag.Unorm) !== 0;
    context.compares = words.has("c");
    context.mask = i.mode === 0 ? 1 : i.mode;
    address.offset = 0;
    computeLods(w, i, opcode);
    for (let lane = 0; lane < w.size; lane++) {
      if (!w.isActive(lane)) continue;
      address.read(w, i, lane, true);
      if (isQuery) {
        const raw = LODS[lane];
        const levels = image.lastLevel - image.baseLevel;
        SAMPLED[0] = f32Bits(Math.max(0, Math.min(levels, limitLod(raw, words))));
        SAMPLED[1] = f32Bits(raw);
        writeData(w, i, image, lane, SAMPLED, context.mask & 3, true);
      } else if (isGather) {
        gatherAt(context, limitLod(LODS[lane], words));
        writeData(w, i, image, lane, SAMPLED, 15, sampleGood);
      } else {
        sampleAt(context, limitLod(LODS[lane], words));
        writeData(w, i, image, lane, SAMPLED, context.mask, sampleGood);
      }
    }
  };
}

/** The sampler's limits, then the instruction's own lower limit, which is none when it is a NaN. */
function limitLod(lod: number, words: ReadonlySet<string>): number {
  const limited = Math.max(sampler.minLod, Math.min(sampler.maxLod, lod));
  return words.has("cl") && address.lodClamp > limited ? address.lodClamp : limited;
}

/** Level of detail of every lane, before limits. NaN counts as 0. */
function computeLods(w: Wave, i: Instruction, opcode: Opcode): void {
  const { words } = opcode;
  const explicit = words.has("l"), zero = words.has("lz") || context.unnormalized;
  const given = words.has("d") || words.has("cd");
  for (let lane = 0; lane < w.size; lane++) {
    if (!w.isActive(lane)) continue;
    address.read(w, i, lane, true);
    if (zero) LODS[lane] = 0;
    else if (explicit) LODS[lane] = address.lod + sampler.lodBias;
    else {
      const bias = sampler.lodBias + (words.has("b") ? address.bias : 0);
      if (!given) quadDerivatives(w, i, lane);
      LODS[lane] = lodOfDerivatives() + bias;
    }
    if (LODS[lane] !== LODS[lane]) LODS[lane] = 0;
  }
}

const OWN = new Float64Array(3);

/** Derivatives across the lane's quad: lanes 0 and 1 lie side by side, 2 and 3 below them. Registers of lanes outside EXEC are read as they are. */
function quadDerivatives(w: Wave, i: Instruction, lane: number): void {
  const count = IMAGE_DIMS[i.dim].derivative;
  const { coordinates, derivatives } = address;
  const right = lane & ~1, below = lane & ~2;
  for (let axis = 0; axis < 2; axis++) {
    const first = axis === 0 ? right : below;
    address.read(w, i, first, true);
    for (let c = 0; c < count; c++) OWN[c] = coordinates[c];
    address.read(w, i, first + (axis === 0 ? 1 : 2), true);
    for (let c = 0; c < count; c++) derivatives[axis * 3 + c] = coordinates[c] - OWN[c];
  }
}

/** log2 of the longer derivative in texels of the view's first level. */
function lodOfDerivatives(): number {
  const { derivatives } = address;
  const sizes = [
    image.levelWidth(image.baseLevel),
    image.levelHeight(image.baseLevel),
    image.levelDepth(image.baseLevel),
  ];
  const count = IMAGE_DIMS[context.i.dim].derivative;
  let longest = 0;
  for (let axis = 0; axis < 2; axis++) {
    let square = 0;
    for (let c = 0; c < count; c++) square += (derivatives[axis * 3 + c] * sizes[c]) ** 2;
    if (square > longest) longest = square;
  }
  return longest === 0 ? -1000 : Math.log2(longest) / 2;
}
