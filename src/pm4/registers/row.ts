/**
 * One row of a register table: a register, or an array of equal registers.
 *
 * `offset` is in 32-bit words from the start of the bank. A `#` in the name stands for the index in an array. `fields` lists the bit fields as
 * `NAME:low-high`, separated by spaces; a register without fields is one number.
 */
export type RegisterRow = readonly [offset: number, name: string, fields?: string, more?: RegisterRowMore];

/** The rest of a row, where it differs from a single register that is zero after CLEAR_STATE. */
export interface RegisterRowMore {
  /** Number of registers in the array (1 when absent). */
  readonly count?: number;
  /** Words from one register of the array to the next (1 when absent). */
  readonly stride?: number;
  /** Value after CLEAR_STATE (0 when absent). */
  readonly reset?: number;
  /** Writing starts an action of the command processor, which is not executed: the reason for the refusal. */
  readonly action?: string;
}
