/** A growable list of 32-bit words that SPIR-V instructions are appended to. No object is made per instruction. */
export class Words {
  /** The words; only the first `length` count. */
  data: Uint32Array;
  /** Words in use. */
  length = 0;

  /** @param capacity expected number of words; the array grows by doubling. */
  constructor(capacity = 64) {
    this.data = new Uint32Array(capacity);
  }

  /** Makes room for `count` more words, and returns the place of the first. */
  reserve(count: number): number {
    const at = this.length;
    this.length = at + count;
    if (this.length > this.data.length) {
      const wider = new Uint32Array(Math.max(this.data.length * 2, this.length));
      wider.set(this.data);
      this.data = wider;
    }
    return at;
  }

  /** Appends an instruction of 1 word. */
  put1(opcode: number): void {
    const at = this.reserve(1);
    this.data[at] = (1 << 16) | opcode;
  }

  /** Appends an instruction of 2 words. */
  put2(opcode: number, a: number): void {
    const at = this.reserve(2);
    const data = this.data;
    data[at] = (2 << 16) | opcode;
    data[at + 1] = a;
  }

  /** Appends an instruction of 3 words. */
  put3(opcode: number, a: number, b: number): void {
    const at = this.reserve(3);
    const data = this.data;
    data[at] = (3 << 16) | opcode;
    data[at + 1] = a;
    data[at + 2] = b;
  }

  /** Appends an instruction of 4 words. */
  put4(opcode: number, a: number, b: number, c: number): void {
    const at = this.reserve(4);
    const data = this.data;
    data[at] = (4 << 16) | opcode;
    data[at + 1] = a;
    data[at + 2] = b;
    data[at + 3] = c;
  }

  /** Appends an instruction of 5 words. */
  put5(opcode: number, a: number, b: number, c: number, d: number): void {
    const at = this.reserve(5);
    const data = this.data;
    data[at] = (5 << 16) | opcode;
    data[at + 1] = a;
    data[at + 2] = b;
    data[at + 3] = c;
    data[at + 4] = d;
  }

  /** Appends an instruction of 6 words. */
  put6(opcode: number, a: number, b: number, c: number, d: number, e: number): void {
    const at = this.reserve(6);
    const data = this.data;
    data[at] = (6 << 16) | opcode;
    data[at + 1] = a;
    data[at + 2] = b;
    data[at + 3] = c;
    data[at + 4] = d;
    data[at + 5] = e;
  }

  /** Appends an instruction with any number of operands. */
  put(opcode: number, operands: readonly number[]): void {
    const at = this.reserve(operands.length + 1);
    this.data[at] = ((operands.length + 1) << 16) | opcode;
    this.data.set(operands, at + 1);
  }
}
