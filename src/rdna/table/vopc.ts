/** Comparison names in the order of their numbers (AMD RDNA2 ISA, section 12.9). */
const FLOAT = "f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru".split(" ");
const INTEGER = "f lt eq le gt ne ge t".split(" ");

/** A run of comparisons of one type with consecutive numbers; the v_cmpx run of the same type starts at `first` + 0x10. */
export interface CompareRun {
  /** Number of the first v_cmp. */
  readonly first: number;
  /** Operand type. */
  readonly type: string;
  /** Names of the conditions, from `first` on. */
  readonly conditions: readonly string[];
}

/** VOPC: vector comparisons (AMD RDNA2 ISA, section 12.9). The VOP3 form has the same number; v_cmpx has 0x10 more and writes EXEC. */
export const VOPC_RUNS: readonly CompareRun[] = [
  { first: 0x00, type: "f32", conditions: FLOAT },
  { first: 0x20, type: "f64", conditions: FLOAT },
  { first: 0x80, type: "i32", conditions: INTEGER },
  { first: 0x88, type: "f32", conditions: ["class"] },
  { first: 0x89, type: "i16", conditions: INTEGER.slice(1, 7) },
  { first: 0x8f, type: "f16", conditions: ["class"] },
  { first: 0xa0, type: "i64", conditions: INTEGER },
  { first: 0xa8, type: "f64", conditions: ["class"] },
  { first: 0xa9, type: "u16", conditions: INTEGER.slice(1, 7) },
  { first: 0xc0, type: "u32", conditions: INTEGER },
  { first: 0xc8, type: "f16", conditions: FLOAT.slice(0, 8) },
  { first: 0xe0, type: "u64", conditions: INTEGER },
  { first: 0xe8, type: "f16", conditions: FLOAT.slice(8) },
];
