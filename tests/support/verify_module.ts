import { Code, CODE_NAMES, OPERANDS } from "../../src/recompiler/spirv/codes.ts";

/**
 * Checks the structure of a module that the emitter wrote: known opcodes, operand counts, every id defined once and somewhere, every block begun by a
 * label and ended by one jump or return, phis at the beginning of blocks with predecessors that jump there. A net for the emitter's own mistakes; it does
 * not replace SPIRV-Tools.
 *
 * @returns what is wrong, in words; empty when nothing is.
 */
export function verifyModule(words: Uint32Array): string[] {
  return new Verifier(words).run();
}

const TERMINATORS: ReadonlySet<number> = new Set([
  Code.Branch,
  Code.BranchConditional,
  Code.Kill,
  Code.Return,
  Code.ReturnValue,
  Code.Unreachable,
]);

class Verifier {
  private readonly problems: string[] = [];
  private readonly defined: Uint8Array;
  private readonly used: Uint8Array;
  /** Label of the open block; 0 between blocks. */
  private block = 0;
  private inFunction = false;
  /** Jumps of the current function, "from:to", and phis to check against them. */
  private jumps = new Set<string>();
  private phis: { block: number; predecessors: number[] }[] = [];
  private onlyPhis = false;

  constructor(private readonly words: Uint32Array) {
    const bound = Math.min(words[3] ?? 0, words.length);
    this.defined = new Uint8Array(bound);
    this.used = new Uint8Array(bound);
  }

  run(): string[] {
    const { words } = this;
    if (words.length < 5 || words[0] !== 0x07230203) return ["no SPIR-V header"];
    for (let at = 5; at < words.length;) {
      const count = words[at] >>> 16;
      if (count === 0 || at + count > words.length) {
        this.report(at, "instruction does not fit");
        break;
      }
      this.instruction(at, words[at] & 0xffff, count);
      at += count;
    }
    if (this.inFunction) this.problems.push("the last function does not end");
    for (let id = 1; id < this.used.length; id++) {
      if (this.used[id] !== 0 && this.defined[id] === 0) this.problems.push(`id ${id} is used and never defined`);
    }
    return this.problems;
  }

  private report(at: number, why: string): void {
    const opcode = this.words[at] & 0xffff;
    this.problems.push(`word ${at} (${CODE_NAMES.get(opcode) ?? opcode}): ${why}`);
  }

  private instruction(at: number, opcode: number, count: number): void {
    const shape = OPERANDS.get(opcode);
    if (shape === undefined) return this.report(at, "unknown opcode");
    this.operands(at, shape, count);
    this.control(at, opcode, count);
  }

  private operands(at: number, shape: string, count: number): void {
    const repeats = shape.endsWith("*");
    const letters = repeats ? shape.slice(0, -1) : shape;
    // A letter before * stands for zero or more words.
    const least = repeats ? letters.length - 1 : letters.length;
    if (count - 1 < least || (!repeats && count - 1 > least)) return this.report(at, `${count - 1} operands`);
    for (let k = 0; k < count - 1; k++) {
      const letter = letters[Math.min(k, letters.length - 1)];
      if (letter === "l") continue;
      const id = this.words[at + 1 + k];
      if (id === 0 || id >= this.defined.length) this.report(at, `id ${id} is out of bounds`);
      else if (letter !== "r") this.used[id] = 1;
      else if (this.defined[id] !== 0) this.report(at, `id ${id} is defined twice`);
      else this.defined[id] = 1;
    }
  }

  private control(at: number, opcode: number, count: number): void {
    const { words } = this;
    if (opcode === Code.Function) {
      if (this.inFunction) this.report(at, "function in a function");
      this.inFunction = true;
      this.jumps = new Set();
      this.phis = [];
    } else if (opcode === Code.FunctionEnd) {
      if (this.block !== 0) this.report(at, "the last block does not end");
      this.inFunction = false;
      this.block = 0;
      for (const { block, predecessors } of this.phis) {
        const missing = predecessors.find((from) => !this.jumps.has(`${from}:${block}`));
        if (missing !== undefined) {
          this.problems.push(`a phi in block ${block} names ${missing}, which does not jump there`);
        }
      }
    } else if (opcode === Code.Label) {
      if (this.block !== 0) this.report(at, `block ${this.block} does not end`);
      this.block = words[at + 1];
      this.onlyPhis = true;
    } else if (this.inFunction && opcode !== Code.FunctionParameter) {
      if (this.block === 0) this.report(at, "stands in no block");
      if (opcode !== Code.Phi) this.onlyPhis = false;
      else this.phi(at, count);
      if (TERMINATORS.has(opcode)) this.terminate(at, opcode);
    }
  }

  private phi(at: number, count: number): void {
    if (!this.onlyPhis) this.report(at, "a phi behind other instructions");
    const predecessors: number[] = [];
    for (let k = 4; k < count; k += 2) predecessors.push(this.words[at + k]);
    this.phis.push({ block: this.block, predecessors });
  }

  private terminate(at: number, opcode: number): void {
    const { words } = this;
    if (opcode === Code.Branch) this.jumps.add(`${this.block}:${words[at + 1]}`);
    if (opcode === Code.BranchConditional) {
      this.jumps.add(`${this.block}:${words[at + 2]}`);
      this.jumps.add(`${this.block}:${words[at + 3]}`);
    }
    this.block = 0;
  }
}
