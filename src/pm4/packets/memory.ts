/** Packets with which the command processor itself moves data: WRITE_DATA, COPY_DATA, DMA_DATA. */
import { isAddressHigh, packetAddress } from "../address.ts";
import { Bank, BANKS, registerName, registerNamed } from "../registers.ts";
import type { PacketChecker, PacketExecute } from "./definition.ts";

/** WRITE_DATA and COPY_DATA destinations (Mesa sid.h, V_370_* and COPY_DATA_*): 1, 2 and 5 are memory on different paths. */
const Select = { Register: 0, Memory: 1, L2: 2, MemoryAsync: 5, Immediate: 5, Clock: 9 } as const;
const isMemory = (select: number) => select === Select.Memory || select === Select.L2 || select === Select.MemoryAsync;

/** Layout of WRITE_DATA, as far as it has a fixed one: data follow. */
export const WRITE_DATA_LAYOUT = [
  "DST_SEL:8-11 WR_ONE_ADDR:16-16 RESUME_VF:19-19 WR_CONFIRM:20-20 CACHE_POLICY:25-26 ENGINE_SEL:30-31",
  "ADDRESS_LO",
  "ADDRESS_HI",
];
const WR_ONE_ADDR = 1 << 16;
const destination = (control: number) => control >>> 8 & 0xf;

/**
 * Registers that WRITE_DATA may write: words for a thread trace. They change nothing but a trace, and AGC's flips mark themselves with them.
 */
const TRACE_FIRST = BANKS[Bank.Uconfig].first + registerNamed("SQ_THREAD_TRACE_USERDATA_0")!.offset;
const TRACE_COUNT = 8;

/** WRITE_DATA: goes to an aligned address, or to registers of the thread trace. */
export function checkWriteData(packet: PacketChecker): void {
  const control = packet.word(1), lo = packet.word(2), hi = packet.word(3);
  const select = destination(control);
  if (select === Select.Register) {
    const count = (control & WR_ONE_ADDR) !== 0 ? 1 : packet.size - 4;
    if (hi !== 0 || lo < TRACE_FIRST || lo + count > TRACE_FIRST + TRACE_COUNT) {
      packet.refuse(
        `writes ${registerOf(lo)}; of the registers only SQ_THREAD_TRACE_USERDATA may be written this way`,
      );
    }
  } else if (isMemory(select)) {
    checkAddress(packet, lo, hi, 4);
  } else {
    packet.refuse(`destination ${select} is not memory`);
  }
}

function registerOf(word: number): string {
  for (const [index, bank] of BANKS.entries()) {
    if (word >= bank.first && word < bank.first + bank.words) return registerName(index as Bank, word - bank.first);
  }
  return `register word ${word}`;
}

/** WRITE_DATA: writes its words to memory or registers. */
export const executeWriteData: PacketExecute = (machine, words, at, size) => {
  const control = words[at + 1];
  // With WR_ONE_ADDR all words go to one place, so the last one stays.
  const data = words.subarray((control & WR_ONE_ADDR) !== 0 ? at + size - 1 : at + 4, at + size);
  if (destination(control) === Select.Register) {
    machine.registers.uconfig.set(data, words[at + 2] - BANKS[Bank.Uconfig].first);
  } else {
    machine.sink.writeWords(packetAddress(words[at + 2], words[at + 3]), data, machine.source());
  }
  return true;
};

/** Layout of COPY_DATA. */
export const COPY_DATA_LAYOUT = [
  "SRC_SEL:0-3 DST_SEL:8-11 SRC_CACHE_POLICY:13-14 COUNT_SEL:16-16 WR_CONFIRM:20-20 DST_CACHE_POLICY:25-26 ENGINE_SEL:30-31",
  "SRC_LO",
  "SRC_HI",
  "DST_LO",
  "DST_HI",
];
const COUNT_64 = 1 << 16;

/** COPY_DATA: comes from memory, a constant or the clock, and goes to memory, aligned to its size. */
export function checkCopyData(packet: PacketChecker): void {
  const control = packet.word(1);
  const bytes = (control & COUNT_64) !== 0 ? 8 : 4;
  const source = control & 0xf;
  if (source === Select.Memory || source === Select.L2) checkAddress(packet, packet.word(2), packet.word(3), bytes);
  else if (source !== Select.Immediate && source !== Select.Clock) {
    packet.refuse(`source ${source} is not memory, a constant or the clock`);
  }
  if (isMemory(destination(control))) checkAddress(packet, packet.word(4), packet.word(5), bytes);
  else packet.refuse(`destination ${destination(control)} is not memory`);
}

const pair = new Uint32Array(2);

/** COPY_DATA: one or two words. */
export const executeCopyData: PacketExecute = (machine, words, at) => {
  const control = words[at + 1];
  const count = (control & COUNT_64) !== 0 ? 2 : 1;
  const target = packetAddress(words[at + 4], words[at + 5]);
  switch (control & 0xf) {
    case Select.Immediate:
      machine.sink.writeWords(target, words.subarray(at + 2, at + 2 + count), machine.source());
      break;
    case Select.Clock: {
      const clock = machine.sink.clock();
      pair[0] = Number(clock & 0xffffffffn);
      pair[1] = Number(clock >> 32n & 0xffffffffn);
      machine.sink.writeWords(target, pair.subarray(0, count), machine.source());
      break;
    }
    default: {
      const from = packetAddress(words[at + 2], words[at + 3]);
      // Both are aligned to the size, so the ranges are the same or apart. Copying a word onto itself changes nothing.
      if (from !== target) machine.sink.copy(target, from, count * 4, machine.source());
    }
  }
  return true;
};

/** Layout of DMA_DATA. */
export const DMA_DATA_LAYOUT = [
  "ENGINE_SEL:0-0 SRC_CACHE_POLICY:13-14 DST_SEL:20-21 DST_CACHE_POLICY:25-26 SRC_SEL:29-30 CP_SYNC:31-31",
  "SRC_LO_OR_DATA",
  "SRC_HI",
  "DST_LO",
  "DST_HI",
  "BYTE_COUNT:0-25 SAS:26-26 DAS:27-27 SAIC:28-28 DAIC:29-29 RAW_WAIT:30-30 DIS_WC:31-31",
];
/** DMA_DATA sources and destinations (Linux soc15d.h, PACKET3_DMA_DATA). 0 and 3 are memory, past or through the L2 cache. */
const Dma = { Memory: 0, Gds: 1, Data: 2, Nowhere: 2, L2: 3 } as const;
/** SAS, DAS (register space instead of memory), SAIC, DAIC (address does not advance). */
const DMA_SPECIAL = 0x3c000000;
const GDS = "GDS is not modelled";
const dmaSource = (control: number) => control >>> 29 & 3;
const dmaDestination = (control: number) => control >>> 20 & 3;
const dmaBytes = (command: number) => command & 0x3ffffff;

/** DMA_DATA: comes from memory or a constant and goes to memory or nowhere; ranges that overlap are refused. */
export function checkDmaData(packet: PacketChecker): void {
  const control = packet.word(1), command = packet.word(6);
  const source = dmaSource(control), target = dmaDestination(control), bytes = dmaBytes(command);
  if ((command & DMA_SPECIAL) !== 0) {
    packet.refuse("SAS, DAS, SAIC and DAIC (registers, addresses that do not advance) are not known");
  }
  if (source === Dma.Gds || target === Dma.Gds) packet.refuse(GDS);
  if (source !== Dma.Data && !isAddressHigh(packet.word(3))) {
    packet.malformed("the source's address has more than 48 bits");
  }
  if (target === Dma.Nowhere) {
    if (source === Dma.Data) packet.refuse("a constant that goes nowhere");
    return;
  }
  if (source === Dma.Data) {
    checkAddress(packet, packet.word(4), packet.word(5), 4);
    if (bytes % 4 !== 0) packet.refuse(`fills ${bytes} bytes with a 32-bit constant: only multiples of 4 are known`);
  } else {
    if (!isAddressHigh(packet.word(5))) packet.malformed("the destination's address has more than 48 bits");
    const from = packetAddress(packet.word(2), packet.word(3)), to = packetAddress(packet.word(4), packet.word(5));
    const length = BigInt(bytes);
    if (from < to + length && to < from + length) packet.refuse("source and destination overlap");
  }
}

/** DMA_DATA: copies or fills; what goes nowhere is a prefetch, and nothing here. */
export const executeDmaData: PacketExecute = (machine, words, at) => {
  const control = words[at + 1], bytes = dmaBytes(words[at + 6]);
  // Nowhere is a prefetch into the L2 cache.
  if (bytes === 0 || dmaDestination(control) === Dma.Nowhere) return true;
  const target = packetAddress(words[at + 4], words[at + 5]);
  if (dmaSource(control) === Dma.Data) machine.sink.fill(target, bytes, words[at + 2], machine.source());
  else machine.sink.copy(target, packetAddress(words[at + 2], words[at + 3]), bytes, machine.source());
  return true;
};

/** An address in a packet: 48 bits, aligned to `alignment` bytes (a power of two up to 8). */
export function checkAddress(packet: PacketChecker, lo: number, hi: number, alignment: number): void {
  if ((lo & alignment - 1) !== 0) packet.malformed(`the address must be a multiple of ${alignment}`);
  if (!isAddressHigh(hi)) packet.malformed("the address has more than 48 bits");
}
