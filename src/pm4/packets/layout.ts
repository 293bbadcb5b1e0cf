/**
 * Layout of a packet's words as text, so that the table stays readable: `"DIM_X"` is one 32-bit number, `"FUNCTION:0-2 MEM_SPACE:4-5"` are bit fields
 * (the other bits are reserved), and an empty text is a word that must be zero.
 */
import type { RegisterField } from "../registers.ts";

/** One word of a layout. */
export interface WordLayout {
  /** Name of the whole word; empty when it has bit fields, or must be zero. */
  readonly name: string;
  readonly fields: readonly RegisterField[];
  /** Bits that no field covers. */
  readonly reserved: number;
}

const cache = new Map<string, WordLayout>();

/** Parses the layout of one word. */
export function wordLayout(text: string): WordLayout {
  let layout = cache.get(text);
  if (layout === undefined) {
    layout = text.includes(":")
      ? parseFields(text)
      : { name: text, fields: [], reserved: text === "" ? 0xffffffff : 0 };
    cache.set(text, layout);
  }
  return layout;
}

function parseFields(text: string): WordLayout {
  let covered = 0;
  const fields = text.split(" ").map((part) => {
    const [name, bits] = part.split(":");
    const [low, high] = bits.split("-").map(Number);
    for (let bit = low; bit <= high; bit++) covered |= 1 << bit;
    return { name, shift: low, width: high - low + 1 };
  });
  return { name: "", fields, reserved: ~covered >>> 0 };
}
