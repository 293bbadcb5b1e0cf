import { HARDWARE_REGISTERS } from "../hardware_registers.ts";
import type { DisassemblyContext } from "./context.ts";

const XNACK_MASK = 22;
const SHADER_CYCLES = 29;

/** Text of a hardware register operand: register 5:0, offset 10:6, size - 1 in 15:11. */
export function hardwareRegisterText(imm: number, context: DisassemblyContext): string {
  const register = imm & 0x3f;
  const offset = imm >>> 6 & 0x1f;
  const size = (imm >>> 11 & 0x1f) + 1;
  let name: string | undefined = HARDWARE_REGISTERS[register];
  if (register === XNACK_MASK && context.target !== "gfx1013") name = undefined;
  if (register === SHADER_CYCLES && context.target !== "gfx1030") name = undefined;
  const text = name === undefined ? String(register) : `HW_REG_${name}`;
  return offset === 0 && size === 32 ? `hwreg(${text})` : `hwreg(${text}, ${offset}, ${size})`;
}

const MESSAGES: Readonly<Record<number, string>> = {
  1: "MSG_INTERRUPT",
  2: "MSG_GS",
  3: "MSG_GS_DONE",
  4: "MSG_SAVEWAVE",
  5: "MSG_STALL_WAVE_GEN",
  6: "MSG_HALT_WAVES",
  7: "MSG_ORDERED_PS_DONE",
  8: "MSG_EARLY_PRIM_DEALLOC",
  9: "MSG_GS_ALLOC_REQ",
  10: "MSG_GET_DOORBELL",
  11: "MSG_GET_DDID",
  15: "MSG_SYSMSG",
};
const GS_OPERATIONS = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];
const SYSTEM_OPERATIONS: Readonly<Record<number, string>> = {
  1: "SYSMSG_OP_ECC_ERR_INTERRUPT",
  2: "SYSMSG_OP_REG_RD",
  4: "SYSMSG_OP_TTRACE_PC",
};

/** Text of a message operand: message 3:0, operation 6:4, stream 9:8. */
export function messageText(imm: number): string {
  const message = imm & 15;
  const operation = imm >>> 4 & 7;
  const stream = imm >>> 8 & 3;
  const symbolic = symbolicMessage(message, operation, stream);
  if (symbolic !== undefined) return symbolic;
  return (message | operation << 4 | stream << 8) === imm
    ? `sendmsg(${message}, ${operation}, ${stream})`
    : String(imm);
}

function symbolicMessage(message: number, operation: number, stream: number): string | undefined {
  const name = MESSAGES[message];
  if (name === undefined) return undefined;
  if (message === 2 || message === 3) {
    if (operation > 3) return undefined;
    // MSG_GS needs an operation; MSG_GS_DONE without one has no stream.
    if (operation === 0) return message === 3 && stream === 0 ? `sendmsg(${name}, GS_OP_NOP)` : undefined;
    return `sendmsg(${name}, ${GS_OPERATIONS[operation]}, ${stream})`;
  }
  if (stream !== 0) return undefined;
  if (message === 15) {
    const text = SYSTEM_OPERATIONS[operation];
    return text === undefined ? undefined : `sendmsg(${name}, ${text})`;
  }
  return operation === 0 ? `sendmsg(${name})` : undefined;
}

/** Text of the s_waitcnt operand: vmcnt 15:14 and 3:0, expcnt 6:4, lgkmcnt 13:8; counters that do not wait are left out unless none waits. */
export function waitText(imm: number): string {
  const vm = imm & 15 | (imm >>> 14 & 3) << 4;
  const exp = imm >>> 4 & 7;
  const lgkm = imm >>> 8 & 0x3f;
  const parts: string[] = [];
  const all = vm === 63 && exp === 7 && lgkm === 63;
  if (vm !== 63 || all) parts.push(`vmcnt(${vm})`);
  if (exp !== 7 || all) parts.push(`expcnt(${exp})`);
  if (lgkm !== 63 || all) parts.push(`lgkmcnt(${lgkm})`);
  return parts.join(" ");
}

interface CounterField {
  readonly name: string;
  readonly shift: number;
  readonly max: number;
}

/** Fields of s_waitcnt_depctr, in the order in which they are written; hold_cnt exists on gfx10.3 only. */
const DEPENDENCY_FIELDS: readonly CounterField[] = [
  { name: "hold_cnt", shift: 7, max: 1 },
  { name: "sa_sdst", shift: 0, max: 1 },
  { name: "va_vdst", shift: 12, max: 15 },
  { name: "va_sdst", shift: 9, max: 7 },
  { name: "va_ssrc", shift: 8, max: 1 },
  { name: "va_vcc", shift: 1, max: 1 },
  { name: "vm_vsrc", shift: 2, max: 7 },
];

/** Text of the s_waitcnt_depctr operand. */
export function dependencyText(imm: number, context: DisassemblyContext): string {
  const fields = context.target === "gfx1030" ? DEPENDENCY_FIELDS : DEPENDENCY_FIELDS.slice(1);
  const known = fields.reduce((mask, field) => mask | field.max << field.shift, 0);
  if ((imm & ~known) !== 0) return "0x" + imm.toString(16);
  const all = fields.every((field) => (imm >>> field.shift & field.max) === field.max);
  const written = fields.filter((field) => all || (imm >>> field.shift & field.max) !== field.max);
  return written.map((field) => `depctr_${field.name}(${imm >>> field.shift & field.max})`).join(" ");
}

/** Text of the ds_swizzle_b32 pattern (AMD RDNA2 ISA, section 12.12, DS_SWIZZLE_B32). */
export function swizzleText(imm: number): string {
  if ((imm & 0xff00) === 0x8000) {
    return `swizzle(QUAD_PERM,${imm & 3},${imm >>> 2 & 3},${imm >>> 4 & 3},${imm >>> 6 & 3})`;
  }
  if (imm & 0x8000) return String(imm);
  const and = imm & 0x1f;
  const or = imm >>> 5 & 0x1f;
  const xor = imm >>> 10 & 0x1f;
  if (and === 0x1f && or === 0 && xor !== 0) {
    if ((xor & xor - 1) === 0) return `swizzle(SWAP,${xor})`;
    if ((xor & xor + 1) === 0) return `swizzle(REVERSE,${xor + 1})`;
  }
  const group = 0x20 - and;
  if (group > 1 && (group & group - 1) === 0 && or < group && xor === 0) return `swizzle(BROADCAST,${group},${or})`;
  let mask = "";
  for (let bit = 4; bit >= 0; bit--) {
    const zero = (or ^ xor) >>> bit & 1;
    const one = (and | or) >>> bit & 1 ^ xor >>> bit & 1;
    mask += zero === one ? String(zero) : zero === 0 ? "p" : "i";
  }
  return `swizzle(BITMASK_PERM,"${mask}")`;
}
