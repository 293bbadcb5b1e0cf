/** Packets that write registers: SET_*_REG with values in the packet, and SET_*_REG_INDIRECT with a table in memory. */
import { InvalidInputError, RefusedError } from "../../errors.ts";
import { isAddressHigh, packetAddress } from "../address.ts";
import { Bank, BANKS, registerAt, registerName } from "../registers.ts";
import type { Machine, PacketChecker, PacketExecute } from "./definition.ts";

/** Bits of the offset word that are ignored: 30..28 choose a way of writing that does not change the value. */
const OFFSET_MODE = 0x70000000;
/** Word 3 of the indirect form: bit 31 says that the table holds (offset, value) pairs. */
export const PAIRS = 0x80000000;
/** The only register of SET_UCONFIG_REG_INDEX, with index 2 in bits 31..28: VGT_INDEX_TYPE. */
const INDEX_TYPE_WORD = 0x20000243;

/** Layout of the offset word. */
export const OFFSET_LAYOUT = "REG_OFFSET:0-15 INDEX:28-30";

/** Checks that a SET_*_REG stays inside its bank and starts nothing. */
export function checkSetRegisters(bank: Bank): (packet: PacketChecker) => void {
  return (packet) => {
    const offset = packet.word(1) & ~OFFSET_MODE & 0xffff;
    const count = packet.size - 2;
    const { name, words } = BANKS[bank];
    if (offset + count > words) {
      packet.malformed(
        `${count} registers from ${registerName(bank, offset)} on leave the ${name} bank, which has ${words} registers`,
      );
      return;
    }
    for (let i = 0; i < count; i++) {
      const action = registerAt(bank, offset + i)?.action;
      if (action !== undefined) packet.refuse(`${registerName(bank, offset + i)}: ${action}`);
    }
  };
}

/** SET_SH_REG. */
export const executeSetSh: PacketExecute = (machine, words, at, size) => {
  machine.registers.writeSh(words[at + 1] & 0xffff, words, at + 2, size - 2);
  return true;
};

/** SET_CONTEXT_REG. */
export const executeSetContext: PacketExecute = (machine, words, at, size) => {
  machine.registers.context.set(words.subarray(at + 2, at + size), words[at + 1] & 0xffff);
  return true;
};

/** SET_UCONFIG_REG and SET_UCONFIG_REG_INDEX. */
export const executeSetUconfig: PacketExecute = (machine, words, at, size) => {
  machine.registers.uconfig.set(words.subarray(at + 2, at + size), words[at + 1] & 0xffff);
  return true;
};

/** SET_UCONFIG_REG_INDEX is accepted for VGT_INDEX_TYPE only: what its index does to other registers is not known. */
export function checkSetUconfigIndex(packet: PacketChecker): void {
  if (packet.word(1) !== INDEX_TYPE_WORD) {
    packet.refuse("only VGT_INDEX_TYPE with index 2 (word 0x20000243) is known");
  }
}

/** Layout of SET_*_REG_INDIRECT. */
export const INDIRECT_LAYOUT = ["ADDRESS_LO", "ADDRESS_HI", "REG_OFFSET:0-15 PAIRS:31-31", "COUNT:0-13"];

/** Checks a SET_*_REG_INDIRECT; the table itself is read when the packet executes. */
export function checkSetIndirect(packet: PacketChecker): void {
  if ((packet.word(1) & 3) !== 0) packet.malformed("the table's address must be a multiple of 4");
  if (!isAddressHigh(packet.word(2))) packet.malformed("the table's address has more than 48 bits");
  if (packet.word(3) !== PAIRS) {
    packet.refuse("only tables of (offset, value) pairs are known: word 3 must be 0x80000000");
  }
}

/**
 * SET_*_REG_INDIRECT: reads `count` pairs of offset and value at execution, as the console does, and writes them. All pairs are checked before the
 * first is written.
 */
export function executeSetIndirect(bank: Bank): PacketExecute {
  return (machine, words, at) => {
    const address = packetAddress(words[at + 1], words[at + 2]);
    const count = words[at + 4];
    if (count === 0) return true;
    const table = machine.sink.readWords(address, count * 2);
    checkTable(machine, bank, table, address);
    if (bank === Bank.Sh) {
      for (let i = 0; i < table.length; i += 2) machine.registers.writeSh(table[i], table, i + 1, 1);
    } else {
      const registers = machine.registers.bank(bank);
      for (let i = 0; i < table.length; i += 2) registers[table[i]] = table[i + 1];
    }
    return true;
  };
}

function checkTable(machine: Machine, bank: Bank, table: Uint32Array, address: bigint): void {
  const limit = BANKS[bank].words;
  for (let i = 0; i < table.length; i += 2) {
    const place = () => ({ ...machine.place(), guestAddress: address + BigInt(i * 4) });
    if (table[i] >= limit) {
      throw new InvalidInputError(
        "pm4.register-range",
        `pair ${i / 2} of the register table names register ${table[i]} of the ${
          BANKS[bank].name
        } bank, which has ${limit}`,
        place(),
      );
    }
    const action = registerAt(bank, table[i])?.action;
    if (action !== undefined) {
      throw new RefusedError(
        "pm4.register-action",
        `pair ${i / 2} of the register table writes ${registerName(bank, table[i])}: ${action}`,
        place(),
      );
    }
  }
}
