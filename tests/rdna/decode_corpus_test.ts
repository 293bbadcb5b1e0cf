import { assert, assertEquals } from "@std/assert";
import { decode } from "../../src/rdna/decode.ts";
import { disassemble } from "../../src/rdna/disassemble.ts";
import { Encoding, Instruction } from "../../src/rdna/instruction.ts";
import { OPCODES, Trait } from "../../src/rdna/table.ts";
import { type Target, TARGETS } from "../../src/rdna/target.ts";
import { corpusFile, corpusNames, corpusTest } from "../support/corpus.ts";
import { hasLlvmMc, llvmDisassemble } from "./llvm_mc.ts";

/** The only normalization of LLVM's text: runs of spaces become one (LLVM 19 writes two after some image mnemonics), ends are trimmed. */
function normalize(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}

/**
 * Rows whose text differs on purpose; `rows` is how many there are.
 * At most 0.1 % of the oracle's rows may differ.
 */
const DIFFERENCES: readonly {
  readonly reason: string;
  readonly rows: number;
  readonly applies: (text: string) => boolean;
}[] = [
  {
    reason:
      "LLVM has no image atomic with two data registers and TFE, and then writes one data and one address register, ignoring dmask and dim",
    rows: 28,
    applies: (text) => /^image_atomic_.* dmask:0x[3f] dim:SQ_RSRC_IMG_2D tfe$/.test(text),
  },
  {
    reason: "LLVM's name for the word 0, which is no instruction: refused",
    rows: 2,
    applies: (text) => text === "v_illegal",
  },
];

const ORACLE = "decode/gfx1030.tsv.gz";

async function oracleRows(): Promise<{ file: string; waveSize: 32 | 64; words: Uint32Array; text: string }[]> {
  const stream = (await Deno.open(corpusFile(ORACLE))).readable.pipeThrough(new DecompressionStream("gzip"));
  const lines = (await new Response(stream).text()).trimEnd().split("\n");
  return lines.map((line) => {
    const [file, wave, bytes, text] = line.split("\t");
    const data = Uint8Array.from(bytes.match(/../g)!, (pair) => parseInt(pair, 16));
    const view = new DataView(data.buffer);
    const words = Uint32Array.from({ length: data.length / 4 }, (_, i) => view.getUint32(i * 4, true));
    return { file, waveSize: Number(wave) as 32 | 64, words, text: normalize(text) };
  });
}

corpusTest("Every row of the decode oracle decodes whole and reads as LLVM reads it", ORACLE, async () => {
  const rows = await oracleRows();
  assertEquals(rows.length, 63_418);
  const differing = DIFFERENCES.map(() => 0);
  const out = new Instruction();
  for (const { file, waveSize, words, text } of rows) {
    const difference = DIFFERENCES.findIndex(({ applies }) => applies(text));
    let own: string;
    try {
      decode(words, 0, "gfx1030", out);
      assertEquals(out.size, words.length, `${file}: ${text}`);
      own = disassemble(out, { waveSize, target: "gfx1030" });
    } catch (error) {
      if (difference < 0) throw error;
      own = "";
    }
    if (own === text) continue;
    if (difference < 0) assertEquals(own, text, `${file}, wave ${waveSize}`);
    differing[difference]++;
  }
  assertEquals(differing, DIFFERENCES.map(({ rows }) => rows));
  assert(differing.reduce((a, b) => a + b) <= rows.length / 1000);
});

interface Program {
  readonly name: string;
  readonly words: Uint32Array;
  readonly waveSize: 32 | 64;
  readonly target: Target;
}

/** Decodes from the start until an instruction that ends the program with nothing but padding or constants behind it. */
function decodeLinear(program: Program, visit: (instruction: Instruction) => void): number {
  let count = 0;
  let furthest = 0;
  for (let pc = 0;;) {
    const instruction = decode(program.words, pc, program.target);
    const opcode = OPCODES[instruction.op];
    visit(instruction);
    count++;
    pc += instruction.size * 4;
    if (instruction.encoding === Encoding.Sopp && opcode.traits & Trait.Branch) {
      furthest = Math.max(furthest, pc + instruction.imm * 4);
    }
    if ((opcode.traits & Trait.End || opcode.name === "s_setpc_b64") && pc > furthest) return count;
  }
}

/** Real programs: ACO and LLVM output for gfx10.3, AGC shader records and code in a capture for the console. */
function realPrograms(): Program[] {
  const programs: Program[] = [];
  const little = (bytes: Uint8Array) => new Uint32Array(bytes.slice(0, bytes.length & ~3).buffer);
  for (const folder of ["aco", "llvm"]) {
    for (const name of corpusNames(folder, /\.rdna\.bin$/)) {
      const waveSize = name.includes("w32") ? 32 : 64;
      programs.push({
        name: `${folder}/${name}`,
        words: little(Deno.readFileSync(corpusFile(folder, name))),
        waveSize,
        target: "gfx1030",
      });
    }
  }
  for (const name of corpusNames("openagc", /\.sb$/)) {
    const bytes = Deno.readFileSync(corpusFile("openagc", name));
    // The record's header holds the file offset of the code at 0x10.
    const offset = new DataView(bytes.buffer).getUint32(0x10, true);
    programs.push({ name: `openagc/${name}`, words: little(bytes.slice(offset)), waveSize: 64, target: "gfx1013" });
  }
  const golden = JSON.parse(Deno.readTextFileSync(corpusFile("golden", "c0__c0-dispatch-1.json")));
  for (const offset of ["0x1000", "0x3000", "0xc000"]) {
    const words = Uint32Array.from(
      (golden.workspace.chunks[offset] as string).match(/.{8}/g)!,
      (word) => parseInt(word, 16),
    );
    programs.push({ name: `golden c0-dispatch ${offset}`, words, waveSize: 64, target: "gfx1013" });
  }
  return programs;
}

corpusTest("Every real program decodes from its start to its end", "aco", () => {
  let instructions = 0;
  const programs = realPrograms();
  assert(programs.length > 90, `${programs.length} programs`);
  for (const program of programs) {
    instructions += decodeLinear(program, (instruction) => {
      disassemble(instruction, program);
    });
  }
  assert(instructions > 7_000, `${instructions} instructions`);
});

/** The instruction's words; LLVM refuses VOP3 with a nonzero field of an unused source, where ACO leaves 0x80. */
function withoutUnusedSources(words: Uint32Array, instruction: Instruction): number[] {
  const at = instruction.pc / 4;
  const own = [...words.subarray(at, at + instruction.size)];
  const sources = OPCODES[instruction.op].src.length;
  if (instruction.encoding === Encoding.Vop3 && sources < 3) own[1] = (own[1] & ~(-1 << 9 * sources & 0x7ffffff)) >>> 0;
  return own;
}

const llvm = hasLlvmMc();
corpusTest(
  "Real programs read as llvm-mc reads them" + (llvm ? "" : " [ignored: llvm-mc-19 is not installed]"),
  llvm ? "aco" : "no-llvm-mc-19",
  async () => {
    for (const target of TARGETS) {
      for (const waveSize of [32, 64] as const) {
        const encodings: number[][] = [];
        const texts: string[] = [];
        for (const program of realPrograms()) {
          if (program.waveSize !== waveSize || program.target !== target) continue;
          decodeLinear(program, (instruction) => {
            encodings.push(withoutUnusedSources(program.words, instruction));
            texts.push(disassemble(instruction, program));
          });
        }
        const expected = await llvmDisassemble(encodings, target, waveSize);
        texts.forEach((text, i) => assertEquals(text, expected[i]));
      }
    }
  },
);
