import type { Instruction } from "../instruction.ts";
import type { Wave } from "./machine/wave.ts";

/** Executes one instruction. The wave's pc is already that of the next one. */
export type Handler = (w: Wave, i: Instruction) => void;

/** Registers the handler of an opcode by name; throws when the name is unknown or taken. */
export type Define = (name: string, handler: Handler) => void;
