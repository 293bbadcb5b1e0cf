import { assertEquals } from "@std/assert";
import { disassemble } from "../../src/pm4/disassemble.ts";
import { BASE, RecordingSink, split, words } from "./support.ts";

const [LO, HI] = split(BASE);

Deno.test("registers are listed by name with their fields", () => {
  assertEquals(disassemble(words([0xc0027602, 0x212, 0x602c0001, 0x8a], [0xc0016904, 0x31c, 0x8028])), [
    "0x0000: 0xc0027602 SET_SH_REG 4 words compute",
    "    COMPUTE_PGM_RSRC1 = 0x602c0001  VGPRS=1 FLOAT_MODE=0xc0 DX10_CLAMP=1 WGP_MODE=1 MEM_ORDERED=1",
    "    COMPUTE_PGM_RSRC2 = 0x0000008a  USER_SGPR=5 TGID_X_EN=1",
    "0x0004: 0xc0016904 SET_CONTEXT_REG 3 words reset-filter",
    "    CB_COLOR0_INFO = 0x00008028  FORMAT=0xa BLEND_CLAMP=1",
  ]);
});

Deno.test("runs of equal registers take one line", () => {
  assertEquals(disassemble(words([0xc0067600, 0x240, 0, 0, 0, 0, 5, 6])), [
    "0x0000: 0xc0067600 SET_SH_REG 8 words",
    "    COMPUTE_USER_DATA_0..COMPUTE_USER_DATA_3 = 0x00000000",
    "    COMPUTE_USER_DATA_4 = 0x00000005",
    "    COMPUTE_USER_DATA_5 = 0x00000006",
  ]);
});

Deno.test("fields, addresses, events and data are listed", () => {
  assertEquals(
    disassemble(words(
      [0xc0031500, 1, 2, 3, 0x8041],
      [0xc0064900, 0x30c528, 0x20000000, 0x2bffc, 2, 0x42390001, 0, 0],
      [0xc0043700, 0x00100500, LO, HI, 0x11, 0x22],
      [0xc002102c, 0x6d617266, 0x65, 0],
    )),
    [
      "0x0000: 0xc0031500 DISPATCH_DIRECT 5 words",
      "    DIM_X = 0x00000001",
      "    DIM_Y = 0x00000002",
      "    DIM_Z = 0x00000003",
      "    COMPUTE_SHADER_EN=1 ORDER_MODE=1 CS_W32_EN=1",
      "0x0005: 0xc0064900 RELEASE_MEM 8 words",
      "    EVENT_TYPE=BOTTOM_OF_PIPE_TS EVENT_INDEX=5 GCR_CNTL=0x30c",
      "    DATA_SEL=1",
      "    ADDRESS = 0x00020002bffc",
      "    DATA = 0x000042390001",
      "    INT_CTXID = 0x00000000",
      "0x000d: 0xc0043700 WRITE_DATA 6 words",
      "    DST_SEL=5 WR_CONFIRM=1",
      "    ADDRESS = 0x000200000000",
      "    0x00000011 0x00000022",
      "0x0013: 0xc002102c NOP:PUSH_MARKER 4 words",
      '    "frame"',
    ],
  );
});

Deno.test("packets that are not executed say so", () => {
  assertEquals(disassemble(words([0xc0012d01, 3, 2], [0xc000fe00, 9])), [
    "0x0000: 0xc0012d01 DRAW_INDEX_AUTO 3 words predicate ; not executed: drawing is not executed yet",
    "    INDEX_COUNT = 0x00000003",
    "    DRAW_INITIATOR = 0x00000002",
    "0x0003: 0xc000fe00 opcode 0xfe 2 words ; not executed: the packet is unknown",
    "    0x00000009",
  ]);
});

Deno.test("a stream that cannot be walked is listed as far as it goes", () => {
  assertEquals(disassemble(words([0xc0001000, 7], [0xc0031500, 1])), [
    "0x0000: 0xc0001000 NOP 2 words",
    "0x0002: stops here: DISPATCH_DIRECT has 5 words, but only 2 are left",
  ]);
  assertEquals(disassemble(words(0x1234)), [
    "0x0000: stops here: 0x00001234 is no header: packets of type 0 are not accepted",
  ]);
});

Deno.test("with memory, tables and indirect buffers are listed with their contents", () => {
  const memory = new RecordingSink();
  memory.poke(BASE, 0x20c, 0x2000280, 0x3f0, 1);
  memory.poke(BASE + 0x100n, 0xc0004600, 0x407);
  const stream = words([0xc0036300, LO, HI, 0x80000000, 2], [0xc0023f00, LO + 0x100, HI, 2], [0xc0023f00, 0, 9, 2]);
  assertEquals(disassemble(stream, { memory, address: 0x2_0000_9000n }), [
    "0x000200009000: 0xc0036300 SET_SH_REG_INDIRECT 5 words",
    "    ADDRESS = 0x000200000000",
    "    PAIRS=1",
    "    COUNT=2",
    "    table (SH) as it is now:",
    "      COMPUTE_PGM_LO = 0x02000280",
    "      SH+0x3f0 = 0x00000001",
    "0x000200009014: 0xc0023f00 INDIRECT_BUFFER 4 words",
    "    ADDRESS = 0x000200000100",
    "    IB_SIZE=2",
    "    0x000200000100: 0xc0004600 EVENT_WRITE 2 words",
    "        EVENT_TYPE=CS_PARTIAL_FLUSH EVENT_INDEX=4",
    "0x000200009024: 0xc0023f00 INDIRECT_BUFFER 4 words",
    "    ADDRESS = 0x000900000000",
    "    IB_SIZE=2",
    "    cannot be read: no window holds 0x900000000, 8 bytes (guest address 0x900000000)",
  ]);
});
