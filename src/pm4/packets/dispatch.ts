/** DISPATCH_DIRECT, DISPATCH_INDIRECT, and the base address of the latter. */
import { GuestFaultError, hex, RefusedError } from "../../errors.ts";
import { isAddressHigh, packetAddress } from "../address.ts";
import { HeaderFlag } from "../header.ts";
import { Reg, type RegisterName } from "../registers.ts";
import type { Machine, PacketChecker, PacketExecute } from "./definition.ts";

/** Bits of COMPUTE_DISPATCH_INITIATOR that are understood beside {@linkcode INITIATOR_BASE}. */
const Initiator = {
  /** The dimensions count threads. */
  ThreadDimensions: 0x20,
  /** Tunnelling: a priority, without effect on results. */
  Tunnel: 0x2000,
  /** Waves have 32 lanes. */
  Wave32: 0x8000,
} as const;
const INITIATOR_FREE = Initiator.ThreadDimensions | Initiator.Tunnel | Initiator.Wave32;
/** COMPUTE_SHADER_EN and ORDER_MODE: always set in AGC's dispatches. */
const INITIATOR_BASE = 0x41;

/** Layout of the initiator word (register COMPUTE_DISPATCH_INITIATOR). */
export const INITIATOR_LAYOUT =
  "COMPUTE_SHADER_EN:0-0 PARTIAL_TG_EN:1-1 FORCE_START_AT_000:2-2 ORDERED_APPEND_ENBL:3-3 ORDERED_APPEND_MODE:4-4 USE_THREAD_DIMENSIONS:5-5 " +
  "ORDER_MODE:6-6 SCALAR_L1_INV_VOL:10-10 VECTOR_L1_INV_VOL:11-11 TUNNEL_ENABLE:13-13 RESTORE:14-14 CS_W32_EN:15-15";

/** Layouts of DISPATCH_INDIRECT: offset from SET_BASE (3 words) or an address (4 words). */
export function dispatchIndirectLayout(words: number): readonly string[] {
  return words === 3 ? ["OFFSET", INITIATOR_LAYOUT] : ["ADDRESS_LO", "ADDRESS_HI", INITIATOR_LAYOUT];
}

/** DISPATCH_DIRECT: the initiator has only bits that are understood. */
export function checkDispatch(packet: PacketChecker): void {
  checkInitiator(packet, packet.word(4));
}

/** DISPATCH_INDIRECT: the same, and arguments at an aligned address of 48 bits. */
export function checkDispatchIndirect(packet: PacketChecker): void {
  if ((packet.word(1) & 3) !== 0) packet.malformed("the arguments must lie at a multiple of 4");
  if (packet.size === 4 && !isAddressHigh(packet.word(2))) {
    packet.malformed("the arguments' address has more than 48 bits");
  }
  checkInitiator(packet, packet.word(packet.size - 1));
}

function checkInitiator(packet: PacketChecker, initiator: number): void {
  if ((initiator & ~INITIATOR_FREE) !== INITIATOR_BASE) {
    packet.refuse(
      `initiator ${
        hex(initiator, 8)
      }: bits other than 0x0020 (threads), 0x2000 (tunnel) and 0x8000 (wave32) must be 0x0041`,
    );
  }
}

/** DISPATCH_DIRECT: hands the registers and the size over; a size of zero dispatches nothing. */
export const executeDispatch: PacketExecute = (machine, words, at) => {
  const x = words[at + 1], y = words[at + 2], z = words[at + 3], initiator = words[at + 4];
  if (x === 0 || y === 0 || z === 0) return true;
  checkState(machine);
  machine.sink.dispatch({
    registers: machine.registers,
    initiator,
    waveSize: (initiator & Initiator.Wave32) !== 0 ? 32 : 64,
    partialThreads: (initiator & Initiator.ThreadDimensions) !== 0,
    source: machine.source(),
    x,
    y,
    z,
  });
  return true;
};

/** DISPATCH_INDIRECT: hands the registers and the address of the size over. @throws GuestFaultError without a SET_BASE where the address is an offset from it */
export const executeDispatchIndirect: PacketExecute = (machine, words, at, size) => {
  const initiator = words[at + size - 1];
  const address = size === 4
    ? packetAddress(words[at + 1], words[at + 2])
    : requireBase(machine) + BigInt(words[at + 1]);
  checkState(machine);
  machine.sink.dispatchIndirect({
    registers: machine.registers,
    initiator,
    waveSize: (initiator & Initiator.Wave32) !== 0 ? 32 : 64,
    partialThreads: (initiator & Initiator.ThreadDimensions) !== 0,
    source: machine.source(),
    address,
  });
  return true;
};

function requireBase(machine: Machine): bigint {
  if (machine.dispatchBase === null) {
    throw new GuestFaultError(
      "pm4.dispatch-base",
      "DISPATCH_INDIRECT uses the dispatch base, but no SET_BASE has set it",
      machine.place(),
    );
  }
  return machine.dispatchBase;
}

const NUM_THREAD = Reg.COMPUTE_NUM_THREAD_X;
const START = Reg.COMPUTE_START_X;

/** What a dispatch of any kind needs of the registers. */
function checkState(machine: Machine): void {
  const sh = machine.registers.sh;
  for (let axis = 0; axis < 3; axis++) {
    const name = (register: string) => `COMPUTE_${register}_${"XYZ"[axis]}` as RegisterName;
    if ((sh[NUM_THREAD + axis] & 0xffff) === 0) {
      throw new GuestFaultError(
        "pm4.dispatch-state",
        `a dispatch with ${name("NUM_THREAD")} = 0: groups would have no threads`,
        machine.place(),
      );
    }
    if (sh[START + axis] !== 0) {
      throw new RefusedError(
        "pm4.dispatch-state",
        `a dispatch that starts at a group other than 0: ${name("START")} = ${hex(sh[START + axis])}`,
        machine.place(),
      );
    }
  }
}

/** SET_BASE: base 1 is where indirect arguments lie. */
export function checkSetBase(packet: PacketChecker): void {
  if (packet.word(1) !== 1) packet.refuse(`base index ${packet.word(1)}: only 1 (indirect arguments) is known`);
  if ((packet.word(2) & 7) !== 0) packet.malformed("the base must be a multiple of 8");
  if (!isAddressHigh(packet.word(3))) packet.malformed("the base has more than 48 bits");
}

/** SET_BASE: the shader type bit of the header says whether dispatches or draws use it. */
export const executeSetBase: PacketExecute = (machine, words, at) => {
  const base = packetAddress(words[at + 2], words[at + 3]);
  if ((words[at] & HeaderFlag.Compute) !== 0) machine.dispatchBase = base;
  else machine.drawBase = base;
  return true;
};
