/** All that the instruction fuzzer can execute: each opcode in each of its forms, in groups that cost about the same. */
import { type Opcode, OPCODES, Trait } from "../../src/rdna/table.ts";
import { TARGETS } from "../../src/rdna/target.ts";
import type { Random } from "../support/random.ts";
import type { BatchSettings, Instance, Spotlight } from "./frame.ts";
import { bufferInstance, isBufferOpcode } from "./instances/buffer.ts";
import { controlInstance, isControlOpcode, isLaneAddressOpcode, laneAddressInstance } from "./instances/control.ts";
import { imageInstance, isImageOpcode } from "./instances/image.ts";
import { isLdsOpcode, LDS_BYTES, ldsInstance } from "./instances/lds.ts";
import { isMemoryOpcode, memoryInstance } from "./instances/memory.ts";
import { isScalarOpcode, scalarInstance } from "./instances/scalar.ts";
import {
  apertureInstance,
  isApertureOpcode,
  isPrivateBufferOpcode,
  isScratchOpcode,
  privateBufferInstance,
  scratchInstance,
} from "./instances/scratch.ts";
import { vectorForms, vectorInstance, vectorSpotlights } from "./instances/vector.ts";

/** What a batch is made of. */
export const GROUPS = ["alu", "lanes", "memory", "lds"] as const;
/** Name of a group. */
export type GroupName = (typeof GROUPS)[number];

/** Instances of a batch: lane exchange and memory make long modules. */
export const BATCH_SIZE: Readonly<Record<GroupName, number>> = { alu: 40, lanes: 16, memory: 24, lds: 4 };

/** What the instances of each group can be told to have. */
export const SPOTLIGHTS: Readonly<Record<GroupName, readonly Spotlight[]>> = {
  alu: ["signs", "clamp", "omod", "opsel", "exec"],
  lanes: ["rows", "edges", "signs", "exec"],
  memory: ["exec", "offset", "image"],
  lds: ["exec", "offset"],
};

/** An opcode in a form. */
export interface Card {
  opcode: Opcode;
  form: string;
  /** What its instances can be told to have. */
  spotlights: readonly Spotlight[];
  make(settings: BatchSettings, random: Random): Instance;
}

/** The cards of a group that suit the settings. */
export function cardsOf(group: GroupName, settings: BatchSettings): Card[] {
  const bit = TARGETS.indexOf(settings.target);
  return OPCODES.filter(({ targets }) => targets >> bit & 1).flatMap((opcode) => cards(opcode, group, settings));
}

function cards(opcode: Opcode, group: GroupName, settings: BatchSettings): Card[] {
  const memory: readonly Spotlight[] = ["exec", "offset"];
  const one = (form: string, make: Card["make"], spotlights = memory): Card[] => [{ opcode, form, spotlights, make }];
  switch (group) {
    case "alu":
    case "lanes": {
      if (group === "alu" && isControlOpcode(opcode)) {
        return one("control", (set, random) => controlInstance(opcode, set, random), []);
      }
      const scalar = group === "alu" && isScalarOpcode(opcode)
        ? one("scalar", (set, random) => scalarInstance(opcode, set, random), [])
        : [];
      const forms = vectorForms(opcode).filter((form) =>
        (form.startsWith("dpp") || (opcode.traits & Trait.Lanes) !== 0) === (group === "lanes")
      );
      return [
        ...scalar,
        ...forms.map((form): Card => ({
          opcode,
          form,
          spotlights: vectorSpotlights(opcode, form),
          make: (set, random) => vectorInstance(opcode, form, set, random),
        })),
      ];
    }
    case "memory":
      if (isBufferOpcode(opcode)) {
        const own = isPrivateBufferOpcode(opcode)
          ? one("private", (set, random) => privateBufferInstance(opcode, set, random))
          : [];
        return [...one("buffer", (set, random) => bufferInstance(opcode, set, random)), ...own];
      }
      if (isImageOpcode(opcode)) return one("image", (set, random) => imageInstance(opcode, set, random), ["image"]);
      if (isLaneAddressOpcode(opcode, settings)) {
        return one("lane", (set, random) => laneAddressInstance(opcode, set, random));
      }
      if (isScratchOpcode(opcode)) return one("scratch", (set, random) => scratchInstance(opcode, set, random));
      if (isApertureOpcode(opcode)) {
        return [
          ...one("memory", (set, random) => memoryInstance(opcode, set, random)),
          ...one("aperture", (set, random) => apertureInstance(opcode, set, random)),
        ];
      }
      return isMemoryOpcode(opcode, settings)
        ? one("memory", (set, random) => memoryInstance(opcode, set, random))
        : [];
    case "lds":
      return isLdsOpcode(opcode, settings) ? one("lds", (set, random) => ldsInstance(opcode, set, random)) : [];
  }
}

/** FLOAT_MODE: rounding to nearest even everywhere; denormals kept or flushed, for f32 and for f16 and f64; now and then sources or results alone. */
const FLOAT_MODES = [0x00, 0xc0, 0xf0, 0x30, 0x00, 0xc0, 0xf0, 0x30, 0x10, 0x20, 0x40, 0x80, 0x90, 0x60];

/** Random settings of a batch of a group. */
export function randomSettings(group: GroupName, random: Random): BatchSettings {
  return {
    target: random.pick(TARGETS),
    waveSize: random.pick([32, 64] as const),
    groups: 8,
    floatMode: random.pick(FLOAT_MODES),
    ieee: random.chance(0.3),
    dx10Clamp: random.chance(0.7),
    ldsBytes: group === "lds" ? LDS_BYTES : 0,
  };
}
