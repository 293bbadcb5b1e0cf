/**
 * Builds AGC shader records byte by byte from the published layout, so that tests of the reader do not depend on the reader.
 */

/** Tables of a record under construction. */
export interface RecordParts {
  type: number;
  sh?: [number, number][];
  cx?: [number, number][];
  inputs?: number[];
  outputs?: number[];
  specials?: boolean;
  /** Bits of the specials' dispatch modifier. */
  dispatchModifier?: number;
  userData?: boolean;
  code?: number[];
  shaderBytes?: number;
  scratchDwords?: number;
}

/** How pointers are written. */
export type Pointers = { form: "file-offset" } | { form: "self-relative" } | { form: "absolute"; base: bigint };

/** Header 0x60, then tables, then code at a multiple of 256. */
export function buildRecord(
  parts: RecordParts,
  pointers: Pointers,
): { bytes: Uint8Array<ArrayBuffer>; codeOffset: number; at: Record<string, number> } {
  const bytes = new Uint8Array(0x400 + 4 * (parts.code?.length ?? 0)),
    view = new DataView(bytes.buffer),
    at: Record<string, number> = {};
  let free = 0x60;
  const take = (name: string, size: number) => {
    at[name] = free;
    free += Math.ceil(size / 8) * 8;
    return at[name];
  };
  const point = (field: number, target: number) => {
    const value = pointers.form === "file-offset"
      ? BigInt(target)
      : pointers.form === "self-relative"
      ? BigInt(target - field)
      : pointers.base + BigInt(target);
    view.setBigUint64(field, BigInt.asUintN(64, value), true);
  };
  view.setUint32(0x00, 0x34333231, true);
  view.setUint32(0x04, 0x18, true);
  view.setUint8(0x5A, parts.type);
  for (const [field, count, name, list] of [[0x20, 0x5C, "sh", parts.sh], [0x18, 0x5B, "cx", parts.cx]] as const) {
    if (list === undefined) continue;
    const table = take(name, 8 * list.length);
    point(field, table);
    view.setUint8(count, list.length);
    list.forEach(([register, value], i) => {
      view.setUint32(table + 8 * i, register, true);
      view.setUint32(table + 8 * i + 4, value, true);
    });
  }
  if (parts.inputs !== undefined) {
    const table = take("inputs", 4 * parts.inputs.length);
    point(0x30, table);
    view.setUint32(0x50, parts.inputs.length, true);
    parts.inputs.forEach((word, i) => view.setUint32(table + 4 * i, word, true));
  }
  if (parts.outputs !== undefined) {
    const table = take("outputs", 4 * parts.outputs.length);
    point(0x38, table);
    view.setUint16(0x56, parts.outputs.length, true);
    parts.outputs.forEach((word, i) => view.setUint32(table + 4 * i, word, true));
  }
  if (parts.specials) {
    const table = take("specials", 0x30);
    point(0x28, table);
    [0x25B, 0x10080, 0x2D5, 0x0040_2010].forEach((word, i) => view.setUint32(table + 4 * i, word, true));
    view.setUint32(table + 0x10, parts.dispatchModifier ?? 0, true);
    view.setUint32(table + 0x20, 0x29B, true);
    view.setUint32(table + 0x24, 2, true);
  }
  if (parts.userData) {
    const block = take("userData", 0x38), direct = take("direct", 6), sharps = take("sharps", 4);
    point(0x08, block);
    point(block, direct);
    point(block + 0x10, sharps);
    view.setUint16(block + 0x28, 7, true);
    view.setUint16(block + 0x2A, 9, true);
    view.setUint16(block + 0x2C, 3, true);
    view.setUint16(block + 0x30, 2, true);
    [4, 0xFFFF, 6].forEach((value, i) => view.setUint16(direct + 2 * i, value, true));
    [0x8002, 0x0003].forEach((value, i) => view.setUint16(sharps + 2 * i, value, true));
  }
  const code = parts.code ?? [0xBF810000];
  const codeOffset = Math.ceil(free / 256) * 256;
  point(0x10, codeOffset);
  if (parts.shaderBytes !== undefined) view.setUint32(0x44, parts.shaderBytes, true);
  if (parts.scratchDwords !== undefined) view.setUint16(0x54, parts.scratchDwords, true);
  code.forEach((word, i) => view.setUint32(codeOffset + 4 * i, word, true));
  return { bytes: bytes.slice(0, codeOffset + 4 * code.length), codeOffset, at };
}
