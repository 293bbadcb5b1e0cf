/** Class of an operand's data: float, unsigned, signed, plain bits, lane mask, memory address. */
export type DataKind = "f" | "u" | "i" | "b" | "mask" | "addr";

/** Type of one operand of an opcode. */
export interface DataType {
  /** As written in the table, for example "f32", "2f16", "mask". */
  readonly name: string;
  /** Class of the elements. */
  readonly kind: DataKind;
  /** Width of one element in bits; 0 for masks and addresses. */
  readonly bits: number;
  /** Elements packed in the operand. */
  readonly count: number;
  /** Registers taken, in 32-bit words; 0 for masks (1 in wave32, 2 in wave64) and addresses. */
  readonly dwords: number;
}

const known = new Map<string, DataType>();

/** Returns the one object that stands for the data type written as `name`; throws on a malformed name. */
export function dataType(name: string): DataType {
  let type = known.get(name);
  if (type === undefined) {
    type = parse(name);
    known.set(name, type);
  }
  return type;
}

function parse(name: string): DataType {
  if (name === "mask" || name === "addr") return { name, kind: name, bits: 0, count: 1, dwords: 0 };
  const match = /^(\d*)([fuib])(\d+)$/.exec(name);
  if (match === null) throw new Error(`malformed data type "${name}" in the opcode table`);
  const count = match[1] === "" ? 1 : Number(match[1]);
  const bits = Number(match[3]);
  return { name, kind: match[2] as DataKind, bits, count, dwords: Math.ceil(count * bits / 32) };
}
