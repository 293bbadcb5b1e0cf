/**
 * Finds SPIR-V modules inside other files. A module carries no length, so its end comes from its structure (SPIR-V specification, section 2.4
 * "Logical Layout of a Module"): after the last OpFunctionEnd nothing follows that could begin or decorate another function.
 *
 * @module
 */
import { HEADER_WORDS, MAGIC, Op } from "./numbers.ts";

/** A module in a file. */
export interface FoundModule {
  /** Byte offset of the magic number. */
  readonly offset: number;
  /** Bytes of the whole module. */
  readonly byteLength: number;
}

/** A place with the magic number that is no module. */
export interface RejectedPlace {
  /** Byte offset. */
  readonly offset: number;
  /** What is wrong there. */
  readonly reason: string;
}

const MAGIC_BYTES = [0x03, 0x02, 0x23, 0x07];
const HIGHEST_BOUND = 0x3fffff; // universal limit of the specification, section 2.17

/** Every module in the bytes, in order, at any alignment; and the places that only look like one. */
export function findModules(bytes: Uint8Array): { modules: FoundModule[]; rejected: RejectedPlace[] } {
  const modules: FoundModule[] = [], rejected: RejectedPlace[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = bytes.indexOf(MAGIC_BYTES[0]); at >= 0;) {
    let next = at + 1;
    if (at + 4 <= bytes.length && view.getUint32(at, true) === MAGIC) {
      const end = moduleEnd(view, at);
      if (typeof end === "number") {
        modules.push({ offset: at, byteLength: end - at });
        next = end;
      } else {
        rejected.push({ offset: at, reason: end });
      }
    }
    at = bytes.indexOf(MAGIC_BYTES[0], next);
  }
  return { modules, rejected };
}

/** Byte offset behind the module that starts at `start`, or why there is none. */
function moduleEnd(view: DataView, start: number): number | string {
  if (start + HEADER_WORDS * 4 > view.byteLength) return "the header is cut off";
  const word = (at: number) => view.getUint32(at, true);
  const version = word(start + 4), bound = word(start + 12);
  if ((version & 0xff0000ff) !== 0 || version >>> 16 !== 1) return `version word 0x${version.toString(16)}`;
  if (bound === 0 || bound > HIGHEST_BOUND) return `bound ${bound}`;
  if (word(start + 16) !== 0) return `schema ${word(start + 16)}`;
  let at = start + HEADER_WORDS * 4;
  let first = true, open = false, end: number | undefined;
  while (at + 4 <= view.byteLength) {
    const opcode = word(at) & 0xffff, length = (word(at) >>> 16) * 4;
    if (first && opcode !== Op.Capability) return `the first instruction is opcode ${opcode}, not a capability`;
    first = false;
    if (end !== undefined && !continues(opcode, length)) return end;
    if (length === 0) break;
    if (at + length > view.byteLength) break;
    if (opcode === Op.Function) {
      if (open) return "a function inside a function";
      open = true;
      end = undefined;
    }
    at += length;
    if (opcode === Op.FunctionEnd) {
      if (!open) return "the end of a function outside of one";
      open = false;
      end = at;
    }
  }
  if (end !== undefined) return end;
  return `no whole instruction at ${at - start} bytes, ${open ? "inside a function" : "before any function"}`;
}

/** Whether an instruction behind OpFunctionEnd may belong to the module: another function, or a line that is told before one. */
function continues(opcode: number, bytes: number): boolean {
  if (opcode === Op.Function) return bytes === 20;
  return (opcode === Op.Line && bytes === 16) || (opcode === Op.NoLine && bytes === 4);
}
