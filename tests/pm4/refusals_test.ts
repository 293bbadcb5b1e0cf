/** Every packet and every field that is refused, by hand-written words. A refused submission has no effect at all. */
import { assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { AnyAgcError, InvalidInputError, RefusedError } from "../../src/errors.ts";
import { QueueExecutor } from "../../src/pm4/execute.ts";
import { knownPackets } from "../../src/pm4/lookup.ts";
import type { Submission } from "../../src/pm4/submission.ts";
import { RecordingSink, words } from "./support.ts";

const GRAPHICS = 0;
const COMPUTE = 0x20;
/** A packet with an effect, before the packet that is refused: 5 words. */
const EFFECT = [0xc0033700, 0x00000500, 0x00000000, 0x2, 0x1234];
/** The refused packet's word index. */
const AT = 5;

/** Submits `packet` after one with an effect; gives the error back. Nothing may have happened. */
function refusal(packet: readonly number[], queue: number): AnyAgcError {
  const sink = new RecordingSink();
  const executor = new QueueExecutor(queue, sink);
  const submission: Submission = {
    queue,
    words: words(EFFECT, packet),
    address: 0x9000n,
    file: "stream.bin",
    fileOffset: 0x100,
  };
  try {
    executor.submit(submission);
  } catch (error) {
    assertInstanceOf(error, AnyAgcError);
    assertEquals(sink.effects, []);
    assertEquals([executor.pending, executor.step()], [0, "done"]);
    return error;
  }
  throw new Error(`accepted: ${packet.map((word) => word.toString(16)).join(" ")}`);
}

/** Names as AMD's headers and the AGC notes have them, for packets that are never executed. */
const NAMED: readonly [opcode: number, name: string][] = [
  [0x13, "INDEX_BUFFER_SIZE"],
  [0x1b, "ATOMIC_MEM (0x1b)"],
  [0x1d, "ATOMIC_GDS"],
  [0x1e, "ATOMIC_MEM"],
  [0x1f, "OCCLUSION_QUERY"],
  [0x20, "SET_PREDICATION"],
  [0x23, "PRED_EXEC"],
  [0x24, "DRAW_INDIRECT"],
  [0x25, "DRAW_INDEX_INDIRECT"],
  [0x26, "INDEX_BASE"],
  [0x27, "DRAW_INDEX_2"],
  [0x2a, "INDEX_TYPE"],
  [0x2c, "DRAW_INDIRECT_MULTI"],
  [0x2d, "DRAW_INDEX_AUTO"],
  [0x2e, "DRAW_INDEX_IMMD"],
  [0x2f, "NUM_INSTANCES"],
  [0x30, "DRAW_INDEX_MULTI_AUTO"],
  [0x32, "INDIRECT_BUFFER_SI"],
  [0x33, "INDIRECT_BUFFER_CONST"],
  [0x34, "STRMOUT_BUFFER_UPDATE"],
  [0x35, "DRAW_INDEX_OFFSET_2"],
  [0x36, "DRAW_PREAMBLE"],
  [0x38, "DRAW_INDEX_INDIRECT_MULTI"],
  [0x39, "MEM_SEMAPHORE"],
  [0x3a, "DISPATCH_DRAW_PREAMBLE"],
  [0x3d, "MEM_WRITE"],
  [0x41, "CP_DMA"],
  [0x43, "SURFACE_SYNC"],
  [0x44, "ME_INITIALIZE"],
  [0x45, "COND_WRITE"],
  [0x47, "EVENT_WRITE_EOP"],
  [0x48, "EVENT_WRITE_EOS"],
  [0x51, "CONTEXT_REG_RMW"],
  [0x57, "ONE_REG_WRITE"],
  [0x59, "REWIND"],
  [0x5d, "PRIME_UTCL2"],
  [0x5e, "LOAD_UCONFIG_REG"],
  [0x5f, "LOAD_SH_REG"],
  [0x60, "LOAD_CONFIG_REG"],
  [0x61, "LOAD_CONTEXT_REG"],
  [0x68, "SET_CONFIG_REG"],
  [0x73, "SET_CONTEXT_REG_INDIRECT (0x73)"],
  [0x77, "SET_SH_REG_OFFSET"],
  [0x78, "SET_QUEUE_REG"],
  [0x80, "LOAD_CONST_RAM"],
  [0x81, "WRITE_CONST_RAM"],
  [0x83, "DUMP_CONST_RAM"],
  [0x84, "INCREMENT_CE_COUNTER"],
  [0x85, "INCREMENT_DE_COUNTER"],
  [0x86, "WAIT_ON_CE_COUNTER"],
  [0x88, "WAIT_ON_DE_COUNTER_DIFF"],
  [0x8b, "SWITCH_BUFFER"],
  [0x8d, "DISPATCH_DRAW"],
  [0x8e, "GET_LOD_STATS"],
  [0x90, "FRAME_CONTROL"],
  [0x91, "SET_INDEX_INDIRECT_ARGS"],
  [0x9b, "SET_SH_REG_INDEX"],
];
const NAMED_NOPS: readonly [code: number, name: string][] = [
  [0x05, "NOP:DRAW_RESET"],
  [0x06, "NOP:WAIT_FLIP_DONE"],
  [0x0a, "NOP:WAIT_MEM_32"],
  [0x14, "NOP:ACQUIRE_MEM_CUSTOM"],
  [0x15, "NOP:WRITE_DATA_CUSTOM"],
  [0x16, "NOP:WAIT_MEM_64"],
  [0x17, "NOP:FLIP"],
  [0x18, "NOP:RELEASE_MEM_CUSTOM"],
  [0x19, "NOP:DMA_DATA_CUSTOM"],
];

Deno.test("packets that are not executed are refused by name, offset and words, on both kinds of queue", () => {
  const all: [number[], string][] = [
    ...NAMED.map(([opcode, name]): [number[], string] => [[(0xc0020000 | opcode << 8) >>> 0, 1, 2, 3], name]),
    ...NAMED_NOPS.map(([code, name]): [number[], string] => [[(0xc0021000 | code << 2) >>> 0, 1, 2, 3], name]),
  ];
  for (const queue of [GRAPHICS, COMPUTE]) {
    for (const [packet, name] of all) {
      const error = refusal(packet, queue);
      assertInstanceOf(error, RefusedError, name);
      assertStringIncludes(error.message, `${name} at word 0x5: `);
      assertEquals(error.code, "pm4.refused-packet");
      assertEquals(error.place, {
        file: "stream.bin",
        fileOffset: 0x100 + AT * 4,
        guestAddress: 0x9000n + BigInt(AT * 4),
        queue,
        words: packet,
      });
    }
  }
});

Deno.test("the lists of refused packets above are complete", () => {
  const refused = knownPackets().filter(({ definition }) => definition.refused !== undefined);
  assertEquals(
    refused.filter(({ code }) => code === undefined).map(({ opcode }) => opcode),
    NAMED.map(([opcode]) => opcode),
  );
  assertEquals(
    refused.filter(({ code }) => code !== undefined).map(({ code }) => code),
    NAMED_NOPS.map(([code]) => code),
  );
});

Deno.test("unknown opcodes and sub-codes are refused by number", () => {
  const known = new Set(knownPackets().map(({ opcode }) => opcode));
  const codes = new Set(knownPackets().map(({ code }) => code));
  let unknown = 0;
  for (let opcode = 0; opcode < 0x100; opcode++) {
    if (known.has(opcode)) continue;
    unknown++;
    const error = refusal([(0xc0000000 | opcode << 8) >>> 0, 7], COMPUTE);
    assertInstanceOf(error, RefusedError);
    assertEquals(error.code, "pm4.unknown-packet");
    assertStringIncludes(error.message, `opcode 0x${opcode.toString(16).padStart(2, "0")} at word 0x5`);
  }
  for (let code = 0; code < 0x40; code++) {
    if (codes.has(code)) continue;
    unknown++;
    const error = refusal([(0xc0001000 | code << 2) >>> 0, 7], GRAPHICS);
    assertEquals(error.code, "pm4.unknown-packet");
    assertStringIncludes(error.message, `NOP:0x${code.toString(16).padStart(2, "0")} at word 0x5`);
  }
  assertEquals(unknown > 150, true);
});

const R = RefusedError;
const M = InvalidInputError;
const LO = 0x100, HI = 2;

/** What is wrong, the packet, the class of the error, a part of its text, and the queue. */
const CASES: readonly [
  what: string,
  packet: number[],
  error: typeof RefusedError | typeof InvalidInputError,
  text: string,
  queue?: number,
][] = [
  ["type 0", [0x00001234, 0], M, "type 0 packets are not accepted"],
  ["type 1", [0x40000000, 0], M, "type 1 packets are not accepted"],
  ["reserved header bits", [0xc0017608, 0x240, 1], R, "header bits 0x8 are reserved"],
  ["a truncated packet", [0xc0037600, 0x240, 1], M, "has 5 words, but only 3 are left"],
  ["a packet that is its header alone", [0xc0037600], M, "has 5 words, but only 1 are left"],

  ["SET_SH_REG without values", [0xc0007600, 0x240], M, "has 2 words; it must have at least 3"],
  ["SET_SH_REG beyond the bank", [0xc0027600, 0x3ff, 1, 2], M, "2 registers from SH+0x3ff on leave the SH bank"],
  ["SET_SH_REG far beyond the bank", [0xc0017600, 0x400, 1], M, "leave the SH bank"],
  ["SET_SH_REG with reserved bits", [0xc0017600, 0x80000240, 1], R, "bits 0x80000000 of word 1 are reserved"],
  ["SET_SH_REG with reserved bits in the middle", [0xc0017600, 0x00010240, 1], R, "bits 0x10000 of word 1"],
  ["SET_CONTEXT_REG beyond the bank", [0xc0017600 - 0xd00, 0x400, 1], M, "leave the CONTEXT bank"],
  ["SET_CONTEXT_REG on a compute queue", [0xc0016900, 0x200, 1], R, "compute queues do not take it", COMPUTE],
  ["SET_UCONFIG_REG beyond the bank", [0xc0027900, 0x3fff, 1, 2], M, "leave the UCONFIG bank"],
  ["SET_UCONFIG_REG on a compute queue", [0xc0017900, 0x242, 1], R, "compute queues do not take it", COMPUTE],
  ["SET_UCONFIG_REG that starts a DMA", [0xc0017900, 0x84, 1], R, "CP_DMA_ME_COMMAND: writing it starts a DMA"],
  ["SET_UCONFIG_REG that starts a DMA in a range", [0xc0037900, 0x7a, 1, 1, 1], R, "CP_COHER_CNTL: writing it starts"],
  ["SET_UCONFIG_REG_INDEX of another register", [0xc0017a00, 0x20000242, 1], R, "only VGT_INDEX_TYPE"],
  ["SET_UCONFIG_REG_INDEX with another index", [0xc0017a00, 0x10000243, 1], R, "only VGT_INDEX_TYPE"],
  ["SET_UCONFIG_REG_INDEX of two registers", [0xc0027a00, 0x20000243, 1, 2], M, "has 4 words; it must have 3"],
  ["SET_UCONFIG_REG_INDEX on a compute queue", [0xc0017a00, 0x20000243, 1], R, "compute queues", COMPUTE],
  ["a register table at an odd address", [0xc0036300, LO | 2, HI, 0x80000000, 1], M, "multiple of 4"],
  ["a register table beyond 48 bits", [0xc0036300, LO, 0x10002, 0x80000000, 1], M, "more than 48 bits"],
  ["a register table of plain values", [0xc0036300, LO, HI, 0x00000240, 1], R, "word 3 must be 0x80000000"],
  ["a register table with a base register", [0xc0036300, LO, HI, 0x80000001, 1], R, "word 3 must be 0x80000000"],
  ["a register table that is too long", [0xc0036300, LO, HI, 0x80000000, 0x4000], R, "bits 0x4000 of word 4"],
  ["SET_CONTEXT_REG_INDIRECT on a compute queue", [0xc0039f00, LO, HI, 0x80000000, 1], R, "compute queues", COMPUTE],
  ["SET_UCONFIG_REG_INDIRECT on a compute queue", [0xc0036400, LO, HI, 0x80000000, 1], R, "compute queues", COMPUTE],
  ["SET_SH_REG_INDIRECT with 6 words", [0xc0046300, LO, HI, 0x80000000, 1, 0], M, "it must have 5"],

  ["NOP with a payload of the older interface", [0xc0001000, 0x68750000], R, "0x6875xxxx"],
  ["PUSH_MARKER without an end", [0xc000102c, 0x41414141], M, "the text has no end"],
  ["DISPATCH_RESET with 3 words", [0xc0011024, 0, 0], M, "it must have 2"],
  ["CONTEXT_STATE with an unknown operation", [0xc0001068, 4], R, "operation 4"],
  ["CONTEXT_STATE on a compute queue", [0xc0001068, 0], R, "compute queues", COMPUTE],

  ["a dispatch without the shader bit", [0xc0031500, 1, 1, 1, 0x8040], R, "initiator 0x00008040"],
  ["a dispatch with partial groups by register", [0xc0031500, 1, 1, 1, 0x8043], R, "initiator 0x00008043"],
  ["a dispatch that forces the start", [0xc0031500, 1, 1, 1, 0x45], R, "initiator 0x00000045"],
  ["an ordered dispatch", [0xc0031500, 1, 1, 1, 0x49], R, "initiator 0x00000049"],
  ["a dispatch without order mode", [0xc0031500, 1, 1, 1, 0x01], R, "initiator 0x00000001"],
  ["a dispatch with reserved initiator bits", [0xc0031500, 1, 1, 1, 0x10041], R, "bits 0x10000 of word 4"],
  ["a dispatch with 4 words", [0xc0021500, 1, 1, 0x41], M, "has 4 words; it must have 5"],
  ["indirect arguments at an odd offset", [0xc0011600, 2, 0x41], M, "multiple of 4"],
  ["indirect arguments at an odd address", [0xc0021600, LO + 1, HI, 0x41], M, "multiple of 4"],
  ["indirect arguments beyond 48 bits", [0xc0021600, LO, 0x00020002, 0x41], M, "more than 48 bits"],
  ["an indirect dispatch with an unknown initiator", [0xc0021600, LO, HI, 0x43], R, "initiator 0x00000043"],
  ["an indirect dispatch with 5 words", [0xc0031600, LO, HI, 0, 0x41], M, "it must have 3 or 4"],
  ["SET_BASE of another base", [0xc0021100, 2, LO, HI], R, "base index 2"],
  ["SET_BASE at 4 bytes", [0xc0021100, 1, LO + 4, HI], M, "multiple of 8"],
  ["SET_BASE beyond 48 bits", [0xc0021100, 1, LO, 0x10000], M, "more than 48 bits"],

  ["WRITE_DATA without data", [0xc0023700, 0x100, LO, HI], M, "it must have at least 5"],
  ["WRITE_DATA to an odd address", [0xc0033700, 0x100, LO + 2, HI, 1], M, "multiple of 4"],
  ["WRITE_DATA beyond 48 bits", [0xc0033700, 0x100, LO, 0x7fff0000, 1], M, "more than 48 bits"],
  ["WRITE_DATA to GDS", [0xc0033700, 0x300, LO, HI, 1], R, "destination 3 is not memory"],
  ["WRITE_DATA to a register", [0xc0033700, 0x000, 0xc242, 0, 1], R, "writes VGT_PRIMITIVE_TYPE"],
  ["WRITE_DATA beyond the trace words", [0xc0043700, 0x000, 0xc347, 0, 1, 2], R, "SQ_THREAD_TRACE_USERDATA_7"],
  ["WRITE_DATA to no register", [0xc0033700, 0x000, 0x1ffff, 0, 1], R, "register word 131071"],
  ["WRITE_DATA with reserved bits", [0xc0033700, 0x101, LO, HI, 1], R, "bits 0x1 of word 1"],
  ["COPY_DATA from a register", [0xc0044000, 0x500, LO, 0, LO, HI], R, "source 0 is not memory"],
  ["COPY_DATA from GDS", [0xc0044000, 0x503, LO, 0, LO, HI], R, "source 3 is not memory"],
  ["COPY_DATA to a register", [0xc0044000, 0x001, LO, HI, 0x2000, 0], R, "destination 0 is not memory"],
  ["COPY_DATA of 8 bytes to 4", [0xc0044000, 0x10505, 1, 2, LO + 4, HI], M, "multiple of 8"],
  ["COPY_DATA of 8 bytes from 4", [0xc0044000, 0x10501, LO + 4, HI, LO, HI], M, "multiple of 8"],
  ["COPY_DATA with 7 words", [0xc0054000, 0x501, LO, HI, LO, HI, 0], M, "it must have 6"],
  ["DMA_DATA from GDS", [0xc0055000, 0x20000000, 0, 0, LO, HI, 16], R, "GDS is not modelled"],
  ["DMA_DATA to GDS", [0xc0055000, 0x40100000, 0, 0, 0, 0, 16], R, "GDS is not modelled"],
  ["DMA_DATA with register addressing", [0xc0055000, 0, LO, HI, LO + 64, HI, 0x04000010], R, "SAS, DAS, SAIC and DAIC"],
  ["DMA_DATA to one address", [0xc0055000, 0, LO, HI, LO + 64, HI, 0x20000010], R, "SAS, DAS, SAIC and DAIC"],
  ["DMA_DATA that fills 6 bytes", [0xc0055000, 0x40000000, 1, 0, LO, HI, 6], R, "fills 6 bytes"],
  ["DMA_DATA that fills at an odd address", [0xc0055000, 0x40000000, 1, 0, LO + 1, HI, 8], M, "multiple of 4"],
  ["DMA_DATA that overlaps upwards", [0xc0055000, 0, LO, HI, LO + 15, HI, 16], R, "overlap"],
  ["DMA_DATA that overlaps downwards", [0xc0055000, 0, LO + 15, HI, LO, HI, 16], R, "overlap"],
  ["DMA_DATA from beyond 48 bits", [0xc0055000, 0, LO, 0x10000, LO, HI, 16], M, "source's address"],
  ["DMA_DATA to beyond 48 bits", [0xc0055000, 0, LO, HI, LO, 0x10000, 16], M, "destination's address"],
  ["DMA_DATA of a constant to nowhere", [0xc0055000, 0x40200000, 1, 0, LO, HI, 16], R, "goes nowhere"],
  ["DMA_DATA with reserved bits", [0xc0055000, 0x2, LO, HI, LO + 64, HI, 16], R, "bits 0x2 of word 1"],

  [
    "RELEASE_MEM of another event",
    [0xc0064900, 0x0507, 0x20000000, LO, HI, 1, 0, 0],
    R,
    "event CS_PARTIAL_FLUSH is not",
  ],
  ["RELEASE_MEM of another event index", [0xc0064900, 0x0428, 0x20000000, LO, HI, 1, 0, 0], R, "event index 4"],
  ["RELEASE_MEM that discards", [0xc0064900, 0x00080528, 0x20000000, LO, HI, 1, 0, 0], R, "GL2_DISCARD"],
  ["RELEASE_MEM of a counter", [0xc0064900, 0x0528, 0x80000000, LO, HI, 1, 0, 0], R, "data selection 4"],
  ["RELEASE_MEM of GDS", [0xc0064900, 0x0528, 0xa0000000, LO, HI, 1, 0, 0], R, "data selection 5"],
  ["RELEASE_MEM with another interrupt", [0xc0064900, 0x0528, 0x24000000, LO, HI, 1, 0, 0], R, "interrupt selection 4"],
  ["RELEASE_MEM to a register", [0xc0064900, 0x0528, 0x20020000, LO, HI, 1, 0, 0], R, "destination 2"],
  ["RELEASE_MEM to an odd address", [0xc0064900, 0x0528, 0x20000000, LO + 2, HI, 1, 0, 0], M, "multiple of 4"],
  ["RELEASE_MEM of 64 bits to 4", [0xc0064900, 0x0528, 0x40000000, LO + 4, HI, 1, 0, 0], M, "multiple of 8"],
  ["RELEASE_MEM of the clock to 4", [0xc0064900, 0x0528, 0x60000000, LO + 4, HI, 1, 0, 0], M, "multiple of 8"],
  ["RELEASE_MEM with 7 words", [0xc0054900, 0x0528, 0x20000000, LO, HI, 1, 0], M, "it must have 8"],
  ["RELEASE_MEM with reserved bits", [0xc0064900, 0x0528, 0x20000001, LO, HI, 1, 0, 0], R, "bits 0x1 of word 2"],
  ["ACQUIRE_MEM that discards", [0xc0065800, 0, 0xffffffff, 0xff, 0, 0, 0xa, 0x2000], R, "GL2_DISCARD"],
  ["ACQUIRE_MEM with 9 words", [0xc0075800, 0, 0, 0, 0, 0, 0xa, 0, 0], M, "it must have 7 or 8"],
  ["ACQUIRE_MEM with reserved bits", [0xc0065800, 0, 0, 0, 0, 0, 0xa, 0x80000], R, "bits 0x80000 of word 7"],
  ["EVENT_WRITE of pixel counts", [0xc0024600, 0x0139, LO, HI], R, "event PIXEL_PIPE_STAT_DUMP is not executed"],
  ["EVENT_WRITE of an unknown event", [0xc0004600, 0x003f], R, "event 0x3f is not executed"],
  ["EVENT_WRITE with another index", [0xc0004600, 0x0007], R, "event CS_PARTIAL_FLUSH with event index 0"],
  ["EVENT_WRITE with an address", [0xc0024600, 0x0407, LO, HI], M, "writes nothing"],
  ["EVENT_WRITE of graphics on compute", [0xc0004600, 0x040f], R, "VS_PARTIAL_FLUSH on a compute queue", COMPUTE],
  ["EVENT_WRITE of caches on compute", [0xc0004600, 0x0016], R, "CACHE_FLUSH_AND_INV_EVENT on a compute", COMPUTE],
  ["EVENT_WRITE with 3 words", [0xc0014600, 0x0407, 0], M, "it must have 2 or 4"],
  ["PFP_SYNC_ME with a payload", [0xc0004200, 1], R, "bits 0x1 of word 1"],
  ["PFP_SYNC_ME on a compute queue", [0xc0004200, 0], R, "compute queues", COMPUTE],
  ["WAIT_REG_MEM for a register", [0xc0053c00, 0x03, LO, HI, 1, 1, 4], R, "waits for a register"],
  ["WAIT_REG_MEM that writes", [0xc0053c00, 0x53, LO, HI, 1, 1, 4], R, "operation 1"],
  ["WAIT_REG_MEM with an unknown function", [0xc0053c00, 0x17, LO, HI, 1, 1, 4], R, "function 7"],
  ["WAIT_REG_MEM at an odd address", [0xc0053c00, 0x13, LO + 1, HI, 1, 1, 4], M, "multiple of 4"],
  ["WAIT_REG_MEM with 6 words", [0xc0043c00, 0x13, LO, HI, 1, 1], M, "it must have 7"],
  ["WAIT_REG_MEM64 at 4 bytes", [0xc0079300, 0x13, LO + 4, HI, 1, 0, 1, 0, 4], M, "multiple of 8"],
  ["WAIT_REG_MEM64 for a register", [0xc0079300, 0x03, LO, HI, 1, 0, 1, 0, 4], R, "waits for a register"],
  ["WAIT_REG_MEM64 with 7 words", [0xc0059300, 0x13, LO, HI, 1, 0, 4], M, "it must have 9"],

  ["COND_EXEC beyond the stream", [0xc0032200, LO, HI, 0, 3, 0xc0001000, 0], M, "guards words up to 0xd"],
  ["COND_EXEC into a packet", [0xc0032200, LO, HI, 0, 1, 0xc0001000, 0], M, "inside this packet"],
  ["COND_EXEC at an odd address", [0xc0032200, LO + 2, HI, 0, 0], M, "multiple of 4"],
  ["COND_EXEC with word 3", [0xc0032200, LO, HI, 1, 0], R, "bits 0x1 of word 3"],
  ["COND_EXEC with a large count", [0xc0032200, LO, HI, 0, 0x4000], R, "bits 0x4000 of word 4"],
  ["INDIRECT_BUFFER with a condition", [0xc00c3f00, ...Array(13).fill(0)], R, "COND_INDIRECT_BUFFER"],
  ["INDIRECT_BUFFER at an odd address", [0xc0023f00, LO + 2, HI, 4], M, "multiple of 4"],
  ["INDIRECT_BUFFER beyond 48 bits", [0xc0023f00, LO, 0x10000, 4], M, "more than 48 bits"],
  ["INDIRECT_BUFFER that is not mapped", [0xc0023f00, LO, 7, 4], M, "its 4 words cannot be read: no window"],
  ["INDIRECT_BUFFER with reserved bits", [0xc0023f00, LO, HI, 0x01000004], R, "bits 0x1000000 of word 3"],
  [
    "INDIRECT_BUFFER of zeros",
    [0xc0023f00, LO, HI, 4],
    M,
    "at word 0x0 of the indirect buffer at 0x200000100: type 0 packets",
  ],
  ["CONTEXT_CONTROL that loads", [0xc0012800, 0x80000002, 0x80000000], R, "loads registers from memory"],
  ["CONTEXT_CONTROL that shadows", [0xc0012800, 0x80000000, 0x81000000], R, "shadows them"],
  ["CONTEXT_CONTROL on a compute queue", [0xc0012800, 0x80000000, 0x80000000], R, "compute queues", COMPUTE],
  ["CLEAR_STATE with a payload", [0xc0001200, 2], R, "bits 0x2 of word 1"],
  ["CLEAR_STATE on a compute queue", [0xc0001200, 0], R, "compute queues", COMPUTE],
];

for (const [what, packet, error, text, queue = GRAPHICS] of CASES) {
  Deno.test(`refused: ${what}`, () => {
    const found = refusal(packet, queue);
    assertEquals(found.constructor.name, error.name, found.message);
    assertStringIncludes(found.message, text);
    assertEquals(found.place.queue, queue);
  });
}

Deno.test("an error inside the packet at hand names the packet's own offset", () => {
  for (const [what, packet, , , queue = GRAPHICS] of CASES) {
    // These are found at another packet: the one behind it, or inside the indirect buffer.
    if (what === "COND_EXEC into a packet" || what === "INDIRECT_BUFFER of zeros") continue;
    const { place } = refusal(packet, queue);
    assertEquals([place.fileOffset, place.guestAddress], [0x100 + AT * 4, 0x9000n + BigInt(AT * 4)], what);
    assertEquals(place.words?.[0], packet[0], what);
  }
});

Deno.test("all problems of a submission are in one error, and its place is the first one's", () => {
  const sink = new RecordingSink();
  const stream = words(EFFECT, [0xc0012d00, 3, 2], [0xc0001000, 0], [0xc000fe00, 0], [0xc0031500, 1, 1, 1, 0x43]);
  const error = (() => {
    try {
      new QueueExecutor(GRAPHICS, sink).submit({ queue: GRAPHICS, words: stream });
    } catch (caught) {
      return caught as AnyAgcError;
    }
  })();
  assertInstanceOf(error, RefusedError);
  assertStringIncludes(error.message, "3 problems");
  assertStringIncludes(error.message, "DRAW_INDEX_AUTO at word 0x5: drawing is not executed yet");
  assertStringIncludes(error.message, "opcode 0xfe at word 0xa: the packet is unknown");
  assertStringIncludes(error.message, "DISPATCH_DIRECT at word 0xc: initiator 0x00000043");
  assertEquals([error.code, error.place.fileOffset], ["pm4.refused-packet", 20]);
  assertEquals(sink.effects, []);
});

Deno.test("a malformed packet makes the whole error one of malformed input", () => {
  const error = refusal([0xc0012d00, 3, 2, 0xc0017600, 0x400, 1], GRAPHICS);
  assertInstanceOf(error, InvalidInputError);
  assertStringIncludes(error.message, "DRAW_INDEX_AUTO");
  assertStringIncludes(error.message, "SET_SH_REG");
});
