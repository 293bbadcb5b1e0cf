/**
 * What the recompiler does with every opcode of the scalar, LDS, memory-address, interpolation and export classes, and with the vector instructions that look
 * at other lanes or at registers through M0: each is recompiled, or refused with a reason. Prints the table; the counts are pinned, so that an opcode
 * can neither get lost nor stay unnoticed.
 */
import { assert, assertEquals } from "@std/assert";
import { Encoding, Instruction } from "../../../src/rdna/instruction.ts";
import { type Opcode, OPCODES } from "../../../src/rdna/table.ts";
import { Flow, flow } from "../../../src/recompiler/cfg/scan.ts";
import { FLOW_REASONS } from "../../../src/recompiler/cfg/refused_flow.ts";
import { HANDLERS } from "../../../src/recompiler/lift/dispatch.ts";
import { REFUSED_NAMES } from "../../../src/recompiler/lift/unsupported.ts";

type Fate = "recompiled" | "control flow" | "refused" | "unknown";

function flowOf(opcode: Opcode): Flow {
  const instruction = new Instruction();
  instruction.op = opcode.id;
  return flow(instruction);
}

function fate(opcode: Opcode): Fate {
  const kind = flowOf(opcode);
  if (kind === Flow.Refused || REFUSED_NAMES.has(opcode.name)) return "refused";
  if (kind !== Flow.Next) return "control flow";
  return HANDLERS[opcode.id] !== undefined ? "recompiled" : "unknown";
}

const isLaneOperation = ({ words }: Opcode) => words.has("lanes") || words.has("wave") || words.has("indirect");

const CLASSES: readonly (readonly [name: string, accepts: (opcode: Opcode) => boolean])[] = [
  ["SOP1", (o) => o.encoding === Encoding.Sop1],
  ["SOP2", (o) => o.encoding === Encoding.Sop2],
  ["SOPC", (o) => o.encoding === Encoding.Sopc],
  ["SOPK", (o) => o.encoding === Encoding.Sopk],
  ["SOPP", (o) => o.encoding === Encoding.Sopp],
  ["SMEM", (o) => o.encoding === Encoding.Smem],
  ["DS", (o) => o.encoding === Encoding.Ds],
  ["FLAT", (o) => o.encoding === Encoding.Flat && o.segment === 0],
  ["SCRATCH", (o) => o.encoding === Encoding.Flat && o.segment === 1],
  ["GLOBAL", (o) => o.encoding === Encoding.Flat && o.segment === 2],
  ["MUBUF", (o) => o.encoding === Encoding.Mubuf],
  ["MTBUF", (o) => o.encoding === Encoding.Mtbuf],
  ["MIMG", (o) => o.encoding === Encoding.Mimg],
  ["VINTRP", (o) => o.words.has("interp")],
  ["EXP", (o) => o.encoding === Encoding.Exp],
  [
    "vector lanes",
    (o) =>
      isLaneOperation(o) &&
      (o.encoding === Encoding.Vop1 || o.encoding === Encoding.Vop2 || o.encoding === Encoding.Vop3),
  ],
];

/** Recompiled, control flow, refused, unknown. */
const PINNED: Readonly<Record<string, readonly [number, number, number, number]>> = {
  SOP1: [62, 2, 1, 0],
  SOP2: [51, 0, 0, 0],
  SOPC: [18, 0, 0, 0],
  SOPK: [24, 1, 2, 0],
  SOPP: [19, 10, 8, 0],
  SMEM: [74, 0, 10, 0],
  DS: [116, 0, 38, 0],
  FLAT: [54, 0, 0, 0],
  SCRATCH: [22, 0, 0, 0],
  GLOBAL: [57, 0, 0, 0],
  MUBUF: [75, 0, 0, 0],
  MTBUF: [16, 0, 0, 0],
  MIMG: [102, 0, 10, 0],
  VINTRP: [3, 0, 3, 0],
  EXP: [1, 0, 0, 0],
  "vector lanes": [12, 0, 0, 0],
};

const FATES: readonly Fate[] = ["recompiled", "control flow", "refused", "unknown"];

Deno.test("every scalar, LDS, FLAT, interpolation, export and lane opcode is recompiled or refused with a reason", () => {
  const counts: Record<string, readonly number[]> = {};
  const lines: string[] = [];
  for (const [name, accepts] of CLASSES) {
    const opcodes = OPCODES.filter(accepts);
    counts[name] = FATES.map((wanted) => opcodes.filter((opcode) => fate(opcode) === wanted).length);
    lines.push(`${name.padEnd(12)} ${FATES.map((f, k) => `${counts[name][k]} ${f}`).join(", ")}`);
    const byReason = new Map<string, string[]>();
    for (const opcode of opcodes.filter((o) => fate(o) === "refused")) {
      const reason = REFUSED_NAMES.get(opcode.name) ?? FLOW_REASONS[opcode.name];
      assert(reason !== undefined, `${opcode.name} is refused without a reason`);
      byReason.set(reason, [...byReason.get(reason) ?? [], opcode.name]);
    }
    for (const [reason, names] of byReason) lines.push(`    ${reason}: ${names.join(" ")}`);
  }
  console.log(lines.join("\n"));
  assertEquals(counts, PINNED);
});

Deno.test("what is refused by name exists", () => {
  const names = new Set(OPCODES.map(({ name }) => name));
  for (const name of [...REFUSED_NAMES.keys(), ...Object.keys(FLOW_REASONS)]) assert(names.has(name), name);
});

Deno.test("every opcode with a DPP form that is recompiled takes DPP", () => {
  // The wrapper in dpp.ts serves all of them; those that address registers through M0 refuse it.
  const dpp = OPCODES.filter((opcode) => opcode.dpp && HANDLERS[opcode.id] !== undefined);
  const indirect = dpp.filter(({ words }) => words.has("indirect")).map(({ name }) => name);
  assertEquals(indirect, ["v_movreld_b32", "v_movrels_b32", "v_movrelsd_b32", "v_movrelsd_2_b32"]);
  assert(dpp.length > 180, `${dpp.length} opcodes`);
});
