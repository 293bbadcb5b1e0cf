/** Machine code under construction: instructions by mnemonic, labels, branches. */
import { type Opcode, opcodeId, OPCODES } from "../../src/rdna/table.ts";
import * as encode from "./encode.ts";

/** A place in the code; bound once. */
export interface Label {
  /** Word index, -1 until it is bound. */
  at: number;
  /** Words that hold a branch to it. */
  readonly uses: number[];
  /** Words that hold the distance in bytes from another word. */
  readonly distances: { at: number; from: number }[];
}

/** Machine code under construction. */
export class Code {
  readonly words: number[] = [];

  /** Word index of what comes next. */
  get at(): number {
    return this.words.length;
  }

  /** Appends words. */
  emit(words: readonly number[]): void {
    for (const word of words) this.words.push(word);
  }

  /** SOP2. */
  sop2(name: string, dst: number, a: number, b: number, literal = 0): void {
    this.emit(encode.sop2(opcode(name), dst, a, b, literal));
  }

  /** SOP1. */
  sop1(name: string, dst: number, a: number, literal = 0): void {
    this.emit(encode.sop1(opcode(name), dst, a, literal));
  }

  /** SOPC. */
  sopc(name: string, a: number, b: number, literal = 0): void {
    this.emit(encode.sopc(opcode(name), a, b, literal));
  }

  /** SOPK. */
  sopk(name: string, register: number, immediate: number): void {
    this.emit(encode.sopk(opcode(name), register, immediate));
  }

  /** SOPP. */
  sopp(name: string, immediate = 0): void {
    this.emit(encode.sopp(opcode(name), immediate));
  }

  /** SMEM. */
  smem(name: string, fields: encode.SmemFields): void {
    this.emit(encode.smem(opcode(name), fields));
  }

  /** VOP1, VOP2, VOPC. */
  vop(name: string, dst: number, a: number, b = -1, literal = 0): void {
    this.emit(encode.vop(opcode(name), dst, a, b, literal));
  }

  /** VOP3. */
  vop3(name: string, fields: encode.Vop3Fields): void {
    this.emit(encode.vop3(opcode(name), fields));
  }

  /** DS. */
  ds(name: string, fields: encode.DsFields): void {
    this.emit(encode.ds(opcode(name), fields));
  }

  /** GLOBAL, FLAT, SCRATCH. */
  flat(name: string, fields: encode.FlatFields): void {
    this.emit(encode.flat(opcode(name), fields));
  }

  /** A label to be bound later. */
  label(): Label {
    return { at: -1, uses: [], distances: [] };
  }

  /** Binds a label here. */
  bind(label: Label): void {
    if (label.at >= 0) throw new Error("the label is bound already");
    label.at = this.at;
    for (const use of label.uses) this.#patch(use, label.at);
    for (const { at, from } of label.distances) this.words[at] = (label.at - from) * 4 >>> 0;
  }

  /** A SOPP branch, or s_call_b64 with `register`. */
  branch(name: string, label: Label, register?: number): void {
    const at = this.at;
    if (register === undefined) this.sopp(name);
    else this.sopk(name, register, 0);
    if (label.at >= 0) this.#patch(at, label.at);
    else label.uses.push(at);
  }

  /** The word at `at` becomes the distance in bytes from word `from` to the label. */
  far(at: number, from: number, label: Label): void {
    if (label.at >= 0) this.words[at] = (label.at - from) * 4 >>> 0;
    else label.distances.push({ at, from });
  }

  #patch(at: number, target: number): void {
    const distance = target - (at + 1);
    if (distance < -0x8000 || distance > 0x7fff) throw new Error(`a branch over ${distance} words`);
    this.words[at] = (this.words[at] & 0xffff0000 | distance & 0xffff) >>> 0;
  }
}

function opcode(name: string): Opcode {
  return OPCODES[opcodeId(name)];
}
