/** Guest programs around the machine code of program trees: their inputs, and the stream that dispatches them. */
import { Permission } from "../../../src/guest/memory/window.ts";
import type { Program } from "../../../src/guest/program.ts";
import { dispatchDirect, setComputeProgram, setComputeRegisters } from "../../support/packets.ts";
import { Random } from "../../support/random.ts";
import { randomInt } from "../values.ts";
import { type EmittedTree, emitTree, OUTPUT } from "./emit.ts";
import { PROGRAM_LDS } from "./generate.ts";
import { type ProgramTree, SCALARS, VECTORS } from "./tree.ts";

const CODE_BASE = 0x2_0000_0000n;
const DATA_BASE = 0x3_0000_0000n;
const PAGE = 4096;

/** A guest program, and where its results are. */
export interface BuiltProgram extends EmittedTree {
  program: Program;
  output: { address: bigint; bytes: number };
}

/** Makes the guest program of a tree. */
export function buildProgram(tree: ProgramTree): BuiltProgram {
  const { settings } = tree;
  const { code, frame } = emitTree(tree);
  const threads = settings.threads * settings.groups;
  const random = new Random(settings.inputs);
  const inputs = Uint32Array.from(
    { length: threads * VECTORS + SCALARS * settings.groups + 16 },
    () => randomInt(random),
  );
  const outputOffset = Math.ceil(inputs.byteLength / 256) * 256;
  const outputBytes = threads * OUTPUT * 4;
  const output = { address: DATA_BASE + BigInt(outputOffset), bytes: outputBytes };
  const halves = (address: bigint) => [Number(address & 0xffffffffn), Number(address >> 32n)];
  const rsrc1 = 11 | settings.floatMode << 12 | (settings.dx10Clamp ? 1 << 21 : 0) | (settings.ieee ? 1 << 23 : 0) |
    1 << 29 | 1 << 30;
  const rsrc2 = 6 << 1 | 1 << 7 | Math.ceil(PROGRAM_LDS / 512) << 15;
  const size = settings.limit === undefined ? settings.groups : settings.limit;
  const scalars = DATA_BASE + BigInt(threads * VECTORS * 4);
  const words = [
    ...setComputeRegisters(0x204, 0, 0, 0),
    ...setComputeRegisters(0x207, settings.threads, 1, 1),
    ...setComputeProgram(CODE_BASE),
    ...setComputeRegisters(0x212, rsrc1, rsrc2),
    ...setComputeRegisters(0x240, ...halves(DATA_BASE), ...halves(output.address), ...halves(scalars)),
    ...dispatchDirect([size, 1, 1], { waveSize: settings.waveSize, threads: settings.limit !== undefined }),
  ];
  const program: Program = {
    name: "fuzz program",
    target: settings.target,
    memory: [
      {
        name: "code",
        base: CODE_BASE,
        bytes: Math.ceil(code.byteLength / PAGE) * PAGE,
        permissions: Permission.Read | Permission.Execute,
        contents: [{ offset: 0, data: new Uint8Array(code.buffer) }],
      },
      {
        name: "data",
        base: DATA_BASE,
        bytes: Math.ceil((outputOffset + outputBytes) / PAGE) * PAGE,
        permissions: Permission.ReadWrite,
        contents: [{ offset: 0, data: new Uint8Array(inputs.buffer) }],
      },
    ],
    submissions: [{ queue: 0, words: Uint32Array.from(words) }],
    expectations: [],
    untouched: [],
    notes: [],
  };
  return { program, code, frame, output };
}
