/** Packets that change which packets are executed, or with which state: COND_EXEC, INDIRECT_BUFFER, CLEAR_STATE, CONTEXT_CONTROL. */
import { packetAddress } from "../address.ts";
import type { PacketChecker, PacketExecute } from "./definition.ts";
import { checkAddress } from "./memory.ts";

/** Layout of COND_EXEC. */
export const COND_EXEC_LAYOUT = ["ADDRESS_LO", "ADDRESS_HI", "", "EXEC_COUNT:0-13"];

/** COND_EXEC: an aligned address, and a part that ends with a packet. */
export function checkCondExec(packet: PacketChecker): void {
  checkAddress(packet, packet.word(1), packet.word(2), 4);
  packet.guard(packet.at + packet.size + packet.word(4));
}

/** COND_EXEC: the next EXEC_COUNT words are left out when the word in memory is zero now. */
export const executeCondExec: PacketExecute = (machine, words, at) => {
  if (machine.sink.readU32(packetAddress(words[at + 1], words[at + 2])) === 0) machine.skip(words[at + 4]);
  return true;
};

const INDIRECT_BUFFER_LAYOUT = [
  "ADDRESS_LO",
  "ADDRESS_HI",
  "IB_SIZE:0-19 CHAIN:20-20 VALID:23-23 CACHE_POLICY:28-29",
];
/** Layouts by size: 14 words are the form with a condition. */
export function indirectBufferLayout(words: number): readonly string[] {
  return words === 14 ? [] : INDIRECT_BUFFER_LAYOUT;
}
const SIZE_MASK = 0xfffff;
const CHAIN = 1 << 20;

/** INDIRECT_BUFFER: an aligned address; the words there are looked at, too. */
export function checkIndirectBuffer(packet: PacketChecker): void {
  if (packet.size === 14) {
    packet.refuse("the form with a condition (COND_INDIRECT_BUFFER) is not executed");
    return;
  }
  const lo = packet.word(1), hi = packet.word(2), control = packet.word(3);
  checkAddress(packet, lo, hi, 4);
  if ((lo & 3) === 0) packet.enter(packetAddress(lo, hi), control & SIZE_MASK, (control & CHAIN) !== 0);
}

/** INDIRECT_BUFFER: goes on there, and comes back unless it is a chain. */
export const executeIndirectBuffer: PacketExecute = (machine, words, at) => {
  const control = words[at + 3];
  machine.enter(packetAddress(words[at + 1], words[at + 2]), control & SIZE_MASK, (control & CHAIN) !== 0);
  return true;
};

/** CLEAR_STATE: the CONTEXT registers get their defaults. */
export const executeClearState: PacketExecute = (machine) => {
  machine.registers.clearContext();
  return true;
};

/** Layout of CONTEXT_CONTROL. */
export const CONTEXT_CONTROL_LAYOUT = [
  "LOAD_GLOBAL_CONFIG:0-0 LOAD_PER_CONTEXT_STATE:1-1 LOAD_GLOBAL_UCONFIG:15-15 LOAD_GFX_SH_REGS:16-16 LOAD_CS_SH_REGS:24-24 LOAD_CE_RAM:28-28 " +
  "UPDATE_LOAD_ENABLES:31-31",
  "SHADOW_GLOBAL_CONFIG:0-0 SHADOW_PER_CONTEXT_STATE:1-1 SHADOW_GLOBAL_UCONFIG:15-15 SHADOW_GFX_SH_REGS:16-16 SHADOW_CS_SH_REGS:24-24 " +
  "UPDATE_SHADOW_ENABLES:31-31",
];
const UPDATE_ENABLES = 0x80000000;

/** CONTEXT_CONTROL is accepted where it turns loading and shadowing of registers off: they always are. */
export function checkContextControl(packet: PacketChecker): void {
  if ((packet.word(1) & ~UPDATE_ENABLES) !== 0 || (packet.word(2) & ~UPDATE_ENABLES) !== 0) {
    packet.refuse("loads registers from memory, or shadows them there");
  }
}

/** CONTEXT_CONTROL: nothing is to be done for what {@linkcode checkContextControl} accepts. */
export const executeContextControl: PacketExecute = () => true;
