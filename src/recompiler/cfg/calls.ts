/**
 * Programs with `s_setpc_b64`, `s_swappc_b64` or `s_call_b64`: jump targets are computed by following known register values, and called code
 * is cloned for each call site. A clone is a **context**: the chain of call sites that led to it.
 */
import { RefusedError } from "../../errors.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import { hex } from "../../errors.ts";
import { opcodeId, OPCODES } from "../../rdna/table.ts";
import { follow, knownPair, type KnownRegisters, meet } from "./constants.ts";
import { branchTarget, type CodeScan, Flow, flow } from "./scan.ts";

/** A basic block in a context. */
export interface Place {
  readonly context: number;
  /** Word index of the block's first instruction. */
  readonly word: number;
  /** Registers known at the block's start. */
  readonly known: KnownRegisters;
  /** Where the indirect jump or call at the block's end leads to. */
  target: Place | null;
  queued: boolean;
}

/** The call that a context stands for; context 0 is the program itself. */
interface Context {
  readonly parent: number;
  /** Word index of the called code. */
  readonly callee: number;
  /** Word index behind the call. */
  readonly returnWord: number;
}

/** Blocks after inlining; more are refused. */
const MAX_PLACES = 1 << 18;

const call = opcodeId("s_call_b64");

/** All blocks of all contexts that can be reached from word `entry`. @param known registers that are known there */
export function inlineCalls(
  scan: CodeScan,
  entry: number,
  codeAddress: bigint,
  known: ReadonlyMap<number, number> = new Map(),
): Map<number, Place> {
  while (true) {
    const splits = scan.splits;
    const places = new CallInliner(scan, entry, codeAddress, known).run();
    // A jump into the middle of a block that had been followed as a whole: the block boundaries are known now, so start over.
    if (scan.splits === splits) return places;
  }
}

/** Key of a block in a context. */
export function placeKey(scan: CodeScan, context: number, word: number): number {
  return context * scan.code.length + word;
}

class CallInliner {
  private readonly places = new Map<number, Place>();
  private readonly contexts: Context[];
  private readonly contextOfCall = new Map<string, number>();
  private readonly work: Place[] = [];

  constructor(
    private readonly scan: CodeScan,
    entry: number,
    private readonly codeAddress: bigint,
    known: ReadonlyMap<number, number>,
  ) {
    this.contexts = [{ parent: -1, callee: entry, returnWord: -1 }];
    this.arrive(0, entry, new Map(known));
  }

  run(): Map<number, Place> {
    while (this.work.length > 0) this.followBlock(this.work.pop()!);
    return this.places;
  }

  private arrive(context: number, word: number, known: KnownRegisters): Place {
    const key = placeKey(this.scan, context, word);
    let place = this.places.get(key);
    if (place === undefined) {
      if (this.places.size === MAX_PLACES) {
        throw new RefusedError("recompiler.program-size", `inlined calls make more than ${MAX_PLACES} blocks`, {
          pc: word * 4,
        });
      }
      place = { context, word, known: new Map(known), target: null, queued: false };
      this.places.set(key, place);
    } else if (!meet(place.known, known)) {
      return place;
    }
    if (!place.queued) {
      place.queued = true;
      this.work.push(place);
    }
    return place;
  }

  private followBlock(place: Place): void {
    place.queued = false;
    const { scan } = this;
    const known = new Map(place.known);
    let word = place.word;
    while (true) {
      const instruction = scan.at[word];
      if (instruction === null) return;
      const next = word + instruction.size;
      switch (flow(instruction)) {
        case Flow.Next:
          follow(instruction, this.address(next), known);
          break;
        case Flow.Branch:
          this.arrive(place.context, branchTarget(instruction), known);
          return;
        case Flow.CondBranch:
          this.arrive(place.context, branchTarget(instruction), known);
          this.arrive(place.context, next, known);
          return;
        case Flow.SetPc:
          scan.note(() => this.jump(place, instruction, known));
          return;
        case Flow.Call:
          scan.note(() => this.call(place, instruction, known));
          return;
        default:
          return;
      }
      word = next;
      if (scan.leader[word] === 1) {
        this.arrive(place.context, word, known);
        return;
      }
    }
  }

  private address(word: number): bigint {
    return BigInt.asUintN(64, this.codeAddress + BigInt(word) * 4n);
  }

  private jump(place: Place, instruction: Instruction, known: KnownRegisters): void {
    const word = this.target(instruction, known);
    for (let context = place.context; context > 0; context = this.contexts[context].parent) {
      if (this.contexts[context].returnWord !== word) continue;
      this.lead(place, this.contexts[context].parent, word, instruction, known);
      return;
    }
    this.lead(place, place.context, word, instruction, known);
  }

  private call(place: Place, instruction: Instruction, known: KnownRegisters): void {
    const callee = instruction.op === call ? branchTarget(instruction) : this.target(instruction, known);
    const returnWord = instruction.pc / 4 + instruction.size;
    for (let context = place.context; context >= 0; context = this.contexts[context].parent) {
      if (this.contexts[context].callee !== callee) continue;
      throw new RefusedError(
        "recompiler.recursion",
        `${OPCODES[instruction.op].name} calls the code at byte offset ${hex(callee * 4)} from within itself`,
        { pc: instruction.pc },
      );
    }
    const key = `${place.context} ${returnWord} ${callee}`;
    let context = this.contextOfCall.get(key);
    if (context === undefined) {
      context = this.contexts.length;
      this.contexts.push({ parent: place.context, callee, returnWord });
      this.contextOfCall.set(key, context);
    }
    follow(instruction, this.address(returnWord), known);
    this.lead(place, context, callee, instruction, known);
  }

  private lead(place: Place, context: number, word: number, by: Instruction, known: KnownRegisters): void {
    this.scan.reach(word, by);
    place.target = this.arrive(context, word, known);
  }

  /** Word index that an indirect jump leads to. */
  private target(instruction: Instruction, known: KnownRegisters): number {
    const { name } = OPCODES[instruction.op];
    const address = knownPair(known, instruction.src0);
    if (address === undefined) {
      throw new RefusedError(
        "recompiler.indirect-jump",
        `${name} jumps to an address that is not known before the program runs`,
        { pc: instruction.pc },
      );
    }
    const offset = BigInt.asUintN(64, address - this.codeAddress);
    if (offset % 4n !== 0n || offset >= BigInt(this.scan.code.length) * 4n) {
      throw new RefusedError(
        "recompiler.indirect-jump",
        `${name} jumps to guest address ${hex(address)}, outside of the program`,
        { pc: instruction.pc },
      );
    }
    return Number(offset / 4n);
  }
}
