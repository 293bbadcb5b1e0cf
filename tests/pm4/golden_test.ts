/** Real streams of the console: every one is walked and listed to its end, and what it does is what is known about it. */
import { assert, assertEquals } from "@std/assert";
import { type Packet, scanPackets } from "../../src/pm4/decode.ts";
import { computeProgram, computeUserData } from "../../src/pm4/compute_program.ts";
import { disassemble } from "../../src/pm4/disassemble.ts";
import { checkSubmission } from "../../src/pm4/validate.ts";
import { corpusFile, corpusNames, corpusTest } from "../support/corpus.ts";
import { QueueExecutor } from "../../src/pm4/execute.ts";
import { RecordingSink } from "./support.ts";

interface Capture {
  words?: string[];
  command?: { offset: string; words: string[] };
  calls?: { name: string; words: [number, number] }[];
  workspace?: { chunks: Record<string, string> };
  regions?: { stage?: { address: string; bytes: number } };
}

/** The captures that hold a stream, with their words. */
function streams(): { name: string; capture: Capture; words: Uint32Array }[] {
  const found = [];
  for (const name of corpusNames("golden", /__.*\.json$/)) {
    const capture: Capture = JSON.parse(Deno.readTextFileSync(corpusFile("golden", name)));
    const text = capture.words ?? capture.command?.words;
    if (text !== undefined) found.push({ name, capture, words: Uint32Array.from(text, Number) });
  }
  return found;
}

/** Opcodes of draws and of their state, which are refused so far (AMD's packet numbers). */
const DRAWING = new Set([0x13, 0x26, 0x27, 0x2d, 0x2f]);

corpusTest(
  "the golden streams are walked to their ends, listed whole, and refused for their draws alone",
  "golden",
  () => {
    const all = streams();
    assertEquals(all.length, 16, "captures with a stream");
    for (const { name, words } of all) {
      const { packets, end, problem } = scanPackets(words);
      assertEquals([end, problem], [words.length, undefined], name);
      const lines = disassemble(words);
      assertEquals(lines.filter((line) => line.startsWith("0x")).length, packets.length, name);
      assertEquals(lines.filter((line) => line.includes("stops here") || line.includes("unknown")), [], name);
      const { problems } = checkSubmission({ queue: 0, words }, new RecordingSink());
      assertEquals(problems.map(({ at }) => at), packets.filter(isDrawing).map(({ offset }) => offset), name);
    }
  },
);

function isDrawing(packet: Packet): boolean {
  return DRAWING.has(packet.opcode);
}

corpusTest("the calls that built a stream begin and end on packet edges", "golden", () => {
  let calls = 0;
  for (const { name, capture, words } of streams()) {
    if (capture.calls === undefined) continue;
    const edges = new Set(scanPackets(words).packets.map(({ offset }) => offset).concat(words.length));
    for (const call of capture.calls) {
      assert(edges.has(call.words[0]) && edges.has(call.words[1]), `${name}: ${call.name}`);
      calls++;
    }
  }
  assert(calls >= 10, `${calls} calls`);
});

corpusTest("a stream's words are those of its workspace image", "golden", () => {
  let compared = 0;
  for (const { name, capture, words } of streams()) {
    if (capture.command === undefined || capture.workspace === undefined) continue;
    const first = Number(capture.command.offset);
    for (const [at, word] of words.entries()) {
      const byte = first + at * 4;
      const chunk = capture.workspace.chunks[`0x${(byte & ~0xff).toString(16).padStart(4, "0")}`];
      const inChunk = (byte & 0xff) / 4;
      assertEquals(chunk === undefined ? 0 : parseInt(chunk.slice(inChunk * 8, inChunk * 8 + 8), 16), word, name);
    }
    compared++;
  }
  assert(compared >= 4, `${compared} captures`);
});

corpusTest(
  "the console's compute dispatch gives the program, the user data and the label that are known",
  "golden",
  () => {
    const { words } = streams().find(({ name }) => name === "c0__c0-dispatch-1.json")!;
    const sink = new RecordingSink();
    // The label lies at 0x20002bffc; the tests' memory does not reach there.
    sink.release = (command) => void sink.releases.push(command);
    const executor = new QueueExecutor(0, sink);
    executor.submit({ queue: 0, words });
    executor.run();
    assertEquals(sink.effects, ["dispatch 1 1 1 groups wave32", "barrier compute-done"]);
    const program = computeProgram(executor.registers);
    assertEquals([program.address, program.numThreadsX, program.numThreadsY, program.numThreadsZ], [
      0x2_0002_8000n,
      1,
      1,
      1,
    ]);
    assertEquals([program.userSgprCount, program.floatMode, program.dx10Clamp, program.ieee], [3, 0xc0, true, false]);
    assertEquals([...computeUserData(executor.registers).subarray(0, 3)], [0, 0, 0x29000]);
    const [{ data, address, value, interrupt }] = sink.releases;
    assertEquals([data, address, value, interrupt], ["u32", 0x2_0002_bffcn, 0x42390001n, false]);
  },
);

corpusTest("the stream of the OpenAGC capture is walked and accepted whole", "openagc", () => {
  // Record 0x10 of the capture (type 6, a submission) has its 0x13b words at 0x40c.
  const file = Deno.readFileSync(corpusFile("openagc", "reference.oagc"));
  const words = new Uint32Array(file.buffer.slice(0x40c, 0x40c + 0x13b * 4));
  assertEquals(scanPackets(words).end, words.length);
  const sink = new RecordingSink();
  const executor = new QueueExecutor(0, sink);
  executor.submit({ queue: 0, words });
  executor.run();
  assertEquals(sink.effects, ["dispatch 1 1 1 groups wave32", "release none"]);
  const program = computeProgram(executor.registers);
  assertEquals([program.address, program.numThreadsX, program.userSgprCount], [0x7f3d_7086_4200n, 64, 5]);
  assertEquals([...computeUserData(executor.registers).subarray(0, 5)], [0, 0, 0x70864300, 0x40, 0xff00ff00]);
});
