/** Packets that order work: RELEASE_MEM, ACQUIRE_MEM, EVENT_WRITE, WAIT_REG_MEM, WAIT_REG_MEM64. */
import { hex } from "../../errors.ts";
import { packetAddress } from "../address.ts";
import type { BarrierCommand, ReleaseCommand } from "../sink.ts";
import type { PacketChecker, PacketExecute, WaitDescription } from "./definition.ts";
import { checkAddress } from "./memory.ts";

/** Event numbers (AMD register headers, VGT_EVENT_TYPE). */
const Event = {
  CacheFlushTs: 0x04,
  CsPartialFlush: 0x07,
  VsPartialFlush: 0x0f,
  PsPartialFlush: 0x10,
  CacheFlushAndInvTs: 0x14,
  CacheFlushAndInv: 0x16,
  BottomOfPipeTs: 0x28,
  DbCacheFlushAndInv: 0x2a,
  FlushAndInvDbDataTs: 0x2b,
  FlushAndInvDbMeta: 0x2c,
  FlushAndInvCbDataTs: 0x2d,
  FlushAndInvCbMeta: 0x2e,
  CsDone: 0x2f,
  PsDone: 0x30,
  FlushAndInvCbPixelData: 0x31,
} as const;

/** Names of events, for the disassembler. */
export const EVENT_NAMES: ReadonlyMap<number, string> = new Map([
  [0x04, "CACHE_FLUSH_TS"],
  [0x05, "CONTEXT_DONE"],
  [0x06, "CACHE_FLUSH"],
  [0x07, "CS_PARTIAL_FLUSH"],
  [0x0e, "BREAK_BATCH"],
  [0x0f, "VS_PARTIAL_FLUSH"],
  [0x10, "PS_PARTIAL_FLUSH"],
  [0x14, "CACHE_FLUSH_AND_INV_TS_EVENT"],
  [0x15, "ZPASS_DONE"],
  [0x16, "CACHE_FLUSH_AND_INV_EVENT"],
  [0x19, "PIPELINESTAT_START"],
  [0x1a, "PIPELINESTAT_STOP"],
  [0x1e, "SAMPLE_PIPELINESTAT"],
  [0x20, "SAMPLE_STREAMOUTSTATS"],
  [0x24, "VGT_FLUSH"],
  [0x28, "BOTTOM_OF_PIPE_TS"],
  [0x2a, "DB_CACHE_FLUSH_AND_INV"],
  [0x2b, "FLUSH_AND_INV_DB_DATA_TS"],
  [0x2c, "FLUSH_AND_INV_DB_META"],
  [0x2d, "FLUSH_AND_INV_CB_DATA_TS"],
  [0x2e, "FLUSH_AND_INV_CB_META"],
  [0x2f, "CS_DONE"],
  [0x30, "PS_DONE"],
  [0x31, "FLUSH_AND_INV_CB_PIXEL_DATA"],
  [0x38, "PIXEL_PIPE_STAT_CONTROL"],
  [0x39, "PIXEL_PIPE_STAT_DUMP"],
]);
const eventText = (event: number) => EVENT_NAMES.get(event) ?? hex(event);

// RELEASE_MEM

/** Layout of RELEASE_MEM. */
export const RELEASE_MEM_LAYOUT = [
  "EVENT_TYPE:0-5 EVENT_INDEX:8-11 GCR_CNTL:12-23 CACHE_POLICY:25-26 EOP_VOLATILE:27-27 EXECUTE:28-28",
  "DST_SEL:16-17 INT_SEL:24-26 DATA_SEL:29-31",
  "ADDRESS_LO",
  "ADDRESS_HI",
  "DATA_LO",
  "DATA_HI",
  "INT_CTXID",
];
/** Bit 19 of word 1: GL2_DISCARD, which may lose data that was written. */
const RELEASE_DISCARD = 1 << 19;
const RELEASE_EVENTS: readonly number[] = [
  Event.CacheFlushTs,
  Event.CacheFlushAndInvTs,
  Event.BottomOfPipeTs,
  Event.FlushAndInvDbDataTs,
  Event.FlushAndInvCbDataTs,
  Event.CsDone,
  Event.PsDone,
];
/** Event index: 5 end-of-pipe, 6 end-of-shader. Both are executed as end-of-pipe, which is later. */
const RELEASE_INDICES: readonly number[] = [5, 6];
const DATA_KINDS: readonly ReleaseCommand["data"][] = ["none", "u32", "u64", "clock"];
const DATA_BYTES: readonly number[] = [1, 4, 8, 8];
/** INT_SEL: 1 interrupt alone, 2 interrupt after the write is confirmed, 3 no interrupt, the data after confirmation (Linux soc15d.h). */
const isInterrupt = (select: number) => select === 1 || select === 2;

/** RELEASE_MEM: an end-of-pipe event that loses no data, known kinds of data and interrupts, an aligned address in memory. */
export function checkReleaseMem(packet: PacketChecker): void {
  const event = packet.word(1), control = packet.word(2);
  if (!RELEASE_EVENTS.includes(event & 0x3f)) {
    packet.refuse(`event ${eventText(event & 0x3f)} is not an end-of-pipe event`);
  }
  if (!RELEASE_INDICES.includes(event >>> 8 & 0xf)) packet.refuse(`event index ${event >>> 8 & 0xf} is not 5 or 6`);
  if ((event & RELEASE_DISCARD) !== 0) packet.refuse("discards cache contents (GL2_DISCARD)");
  const dataSelect = control >>> 29, interruptSelect = control >>> 24 & 7, target = control >>> 16 & 3;
  if (interruptSelect > 3) packet.refuse(`interrupt selection ${interruptSelect} is not known`);
  if (dataSelect >= DATA_KINDS.length) {
    packet.refuse(`data selection ${dataSelect} is not known`);
  } else if (dataSelect !== 0) {
    if (target > 1) packet.refuse(`destination ${target} is not memory`);
    checkAddress(packet, packet.word(3), packet.word(4), DATA_BYTES[dataSelect]);
  }
}

/** RELEASE_MEM: hands over what is written and told when the work before it is done. */
export const executeReleaseMem: PacketExecute = (machine, words, at) => {
  const control = words[at + 2];
  const data = DATA_KINDS[control >>> 29];
  machine.sink.release({
    data,
    address: data === "none" ? 0n : packetAddress(words[at + 3], words[at + 4]),
    value: data === "u32"
      ? BigInt(words[at + 5])
      : data === "u64"
      ? BigInt(words[at + 6]) << 32n | BigInt(words[at + 5])
      : 0n,
    interrupt: isInterrupt(control >>> 24 & 7),
    interruptContext: words[at + 7],
    source: machine.source(),
  });
  return true;
};

// ACQUIRE_MEM

/** 7 words as on gfx9, 8 with GCR_CNTL on gfx10. */
export const ACQUIRE_MEM_LAYOUT = [
  "COHER_CNTL:0-30 ENGINE_SEL:31-31",
  "COHER_SIZE",
  "COHER_SIZE_HI:0-23",
  "COHER_BASE",
  "COHER_BASE_HI:0-23",
  "POLL_INTERVAL:0-15",
  "GLI_INV:0-1 GL1_RANGE:2-3 GLM_WB:4-4 GLM_INV:5-5 GLK_WB:6-6 GLK_INV:7-7 GLV_INV:8-8 GL1_INV:9-9 GL2_US:10-10 GL2_RANGE:11-12 " +
  "GL2_DISCARD:13-13 GL2_INV:14-14 GL2_WB:15-15 SEQ:16-17",
];
const ACQUIRE_DISCARD = 0x2000;
/** COHER_CNTL.SH_ICACHE_ACTION_ENA (gfx9), and GCR_CNTL.GLI_INV (gfx10). */
const ACQUIRE_ICACHE = 1 << 29, GLI_INV = 3;
/** Sizes and bases count 256 bytes. */
const COHER_SHIFT = 8n;
/** Sizes that mean all memory: all ones in 40 bits, or in all bits that the fields have. */
const isWholeMemory = (size: number, high: number) => size === 0xffffffff && (high & 0xff) === 0xff;

/** 48 address bits, sign-extended. */
const canonical = (address: bigint) => BigInt.asUintN(64, BigInt.asIntN(48, address));

/** ACQUIRE_MEM: loses no data. */
export function checkAcquireMem(packet: PacketChecker): void {
  if (packet.size === 8 && (packet.word(7) & ACQUIRE_DISCARD) !== 0) {
    packet.refuse("discards cache contents (GL2_DISCARD)");
  }
}

/** ACQUIRE_MEM: a barrier for a range of memory, and for instructions where their caches are invalidated. */
export const executeAcquireMem: PacketExecute = (machine, words, at, packetSize) => {
  const size = words[at + 2], sizeHigh = words[at + 3];
  machine.sink.barrier({
    kind: "acquire",
    address: canonical((BigInt(words[at + 5]) << 32n | BigInt(words[at + 4])) << COHER_SHIFT),
    bytes: isWholeMemory(size, sizeHigh) ? -1n : (BigInt(sizeHigh) << 32n | BigInt(size)) << COHER_SHIFT,
    instructions: (words[at + 1] & ACQUIRE_ICACHE) !== 0 || (packetSize === 8 && (words[at + 7] & GLI_INV) !== 0),
    source: machine.source(),
  });
  return true;
};

// EVENT_WRITE

/** Layout of EVENT_WRITE. */
export const EVENT_WRITE_LAYOUT = ["EVENT_TYPE:0-5 EVENT_INDEX:8-11", "ADDRESS_LO", "ADDRESS_HI"];

/** The events that EVENT_WRITE executes, with the event indices that belong to them. */
const EVENTS: ReadonlyMap<number, { kind: BarrierCommand["kind"]; indices: readonly number[] }> = new Map([
  [Event.CsPartialFlush, { kind: "compute-done", indices: [4] }],
  [Event.VsPartialFlush, { kind: "vertex-done", indices: [4] }],
  [Event.PsPartialFlush, { kind: "pixel-done", indices: [4] }],
  [Event.CacheFlushAndInv, { kind: "target-caches", indices: [0, 7] }],
  [Event.DbCacheFlushAndInv, { kind: "target-caches", indices: [0, 7] }],
  [Event.FlushAndInvDbMeta, { kind: "target-caches", indices: [0, 7] }],
  [Event.FlushAndInvCbMeta, { kind: "target-caches", indices: [0, 7] }],
  [Event.FlushAndInvCbPixelData, { kind: "target-caches", indices: [0, 7] }],
]);

/** EVENT_WRITE: an event that is executed, with its index, on a queue that has it. */
export function checkEventWrite(packet: PacketChecker): void {
  const type = packet.word(1) & 0x3f, index = packet.word(1) >>> 8 & 0xf;
  const event = EVENTS.get(type);
  if (event === undefined) {
    packet.refuse(`event ${eventText(type)} is not executed`);
    return;
  }
  if (!event.indices.includes(index)) packet.refuse(`event ${eventText(type)} with event index ${index}`);
  if (packet.size !== 2) packet.malformed(`event ${eventText(type)} writes nothing, so it has no address`);
  if (packet.queue === "compute" && type !== Event.CsPartialFlush) {
    packet.refuse(`event ${eventText(type)} on a compute queue`);
  }
}

/** EVENT_WRITE: a barrier of the kind that the event is. */
export const executeEventWrite: PacketExecute = (machine, words, at) => {
  const { kind } = EVENTS.get(words[at + 1] & 0x3f)!;
  machine.sink.barrier({ kind, address: 0n, bytes: -1n, instructions: false, source: machine.source() });
  return true;
};

/** PFP_SYNC_ME holds the prefetch parser back; packets are executed in order here, so it has nothing to do. */
export const executePfpSyncMe: PacketExecute = () => true;

// WAIT_REG_MEM, WAIT_REG_MEM64

const WAIT_CONTROL = "FUNCTION:0-2 MEM_SPACE:4-5 OPERATION:6-7 ENGINE_SEL:8-9 CACHE_POLICY:25-26";
/** Layout of WAIT_REG_MEM. */
export const WAIT_LAYOUT = [WAIT_CONTROL, "ADDRESS_LO", "ADDRESS_HI", "REFERENCE", "MASK", "POLL_INTERVAL:0-15"];
/** Layout of WAIT_REG_MEM64. */
export const WAIT64_LAYOUT = [
  WAIT_CONTROL,
  "ADDRESS_LO",
  "ADDRESS_HI",
  "REFERENCE_LO",
  "REFERENCE_HI",
  "MASK_LO",
  "MASK_HI",
  "POLL_INTERVAL:0-15",
];
/** Comparison by function number; 0 is always true. */
const COMPARE: readonly (WaitDescription["compare"] | "always")[] = ["always", "<", "<=", "==", "!=", ">=", ">"];

/** Checks both waits; `bytes` is the size of the word. */
export function checkWait(bytes: 4 | 8): (packet: PacketChecker) => void {
  return (packet) => {
    const control = packet.word(1);
    if ((control & 7) >= COMPARE.length) packet.refuse(`function ${control & 7} is not known`);
    if ((control >>> 4 & 3) !== 1) packet.refuse("waits for a register; only memory is known");
    if ((control >>> 6 & 3) !== 0) packet.refuse(`operation ${control >>> 6 & 3} is more than a wait`);
    checkAddress(packet, packet.word(2), packet.word(3), bytes);
  };
}

/** Compares unsigned numbers or bigints. */
function holds<T extends number | bigint>(compare: typeof COMPARE[number], value: T, reference: T): boolean {
  switch (compare) {
    case "always":
      return true;
    case "<":
      return value < reference;
    case "<=":
      return value <= reference;
    case "==":
      return value === reference;
    case "!=":
      return value !== reference;
    case ">=":
      return value >= reference;
    case ">":
      return value > reference;
  }
}

/** WAIT_REG_MEM: done when the comparison holds; otherwise the queue waits for the word. */
export const executeWait: PacketExecute = (machine, words, at) => {
  const compare = COMPARE[words[at + 1] & 7];
  if (compare === "always") return true;
  const address = packetAddress(words[at + 2], words[at + 3]);
  const reference = words[at + 4], mask = words[at + 5];
  const present = machine.sink.readU32(address);
  if (holds(compare, (present & mask) >>> 0, reference)) return true;
  machine.wait = {
    queue: machine.queue,
    address,
    bits: 32,
    compare,
    reference: BigInt(reference),
    mask: BigInt(mask),
    present: BigInt(present),
    source: machine.source(),
  };
  return false;
};

/** WAIT_REG_MEM64: the same of 64 bits. */
export const executeWait64: PacketExecute = (machine, words, at) => {
  const compare = COMPARE[words[at + 1] & 7];
  if (compare === "always") return true;
  const address = packetAddress(words[at + 2], words[at + 3]);
  const reference = BigInt(words[at + 5]) << 32n | BigInt(words[at + 4]);
  const mask = BigInt(words[at + 7]) << 32n | BigInt(words[at + 6]);
  const present = machine.sink.readU64(address);
  if (holds(compare, present & mask, reference)) return true;
  machine.wait = {
    queue: machine.queue,
    address,
    bits: 64,
    compare,
    reference,
    mask,
    present,
    source: machine.source(),
  };
  return false;
};
