/** Vertex programs, run twice. */
import { assertEquals } from "@std/assert";
import type { Export } from "../../../src/rdna/interpreter/mod.ts";
import type { VertexState } from "../../../src/recompiler/stages/state.ts";
import { Random } from "../../support/random.ts";
import { parseSpirv } from "../../support/spirv_eval/parse.ts";
import { evaluateStage, type StageOutput } from "../../support/spirv_eval/stage.ts";
import { deviceOf, runOnInterpreter, type StageCase, userDataOf, validated } from "./stage_case.ts";
const BUILT_IN = { vertex: 42, instance: 43 };

/** Runs a vertex program on the interpreter, with some more lanes than vertices, and on the evaluator. @returns vertices that were compared */
export function compareVertices(c: StageCase, seeds: readonly number[] = [1, 2, 3]): number {
  const artifact = validated(c), module = parseSpirv(artifact.spirv);
  const { waveSize } = c.program, state = c.program.state as VertexState;
  let compared = 0;
  for (const seed of seeds) {
    const random = new Random(seed);
    const vertices = 1 + random.below(waveSize), primitives = random.below(waveSize + 1), wave = random.below(3);
    const ids = Array.from({ length: waveSize }, () => random.below(64)), instances = ids.map(() => random.below(5));
    const words = ids.map(() => random.u32());
    const blank = (n: number) => ids.map((_, lane) => 0xdead_0000 + 256 * n + lane);
    const ngg = state.form === "ngg";
    const info = (vertices | primitives << 8 | wave << 24 | 4 << 28) >>> 0;
    const groupInfo = (vertices << 12 | primitives << 22 | 0x123) >>> 0;
    const run = runOnInterpreter(c, {
      exec: (1n << BigInt(ngg ? waveSize : vertices)) - 1n,
      scalars: ngg
        ? [
          0xdead_0001,
          0xdead_0002,
          groupInfo,
          info,
          0xdead_0003,
          0xdead_0004,
          0xdead_0005,
          0xdead_0006,
          ...userDataOf(c),
        ]
        : userDataOf(c),
      vectors: ngg
        ? [words, blank(1), blank(2), blank(3), blank(4), ids, blank(6), blank(7), instances]
        : [ids, blank(1), blank(2), instances],
    });
    assertEquals(run.fault, null, c.name);
    if (ngg) assertPassedThrough(c, run.exports, run.messages, words, groupInfo, primitives, wave);
    const { memory, push, bytes } = deviceOf(c, "vertex");
    const outputs = evaluateStage({
      module,
      memory,
      push,
      count: vertices,
      subgroupSize: waveSize,
      random,
      builtIn: (n, builtIn) =>
        builtIn === BUILT_IN.vertex ? ids[n] : builtIn === BUILT_IN.instance ? instances[n] : undefined,
    });
    outputs.forEach((output, n) => {
      compared++;
      assertVertex(output, run.exports, n, state, `${c.name}, seed ${seed}, vertex ${n} of ${vertices}`);
    });
    assertEquals(bytes(), run.memory, `${c.name}, seed ${seed}: memory`);
  }
  return compared;
}

/** The interpreter's own word for it: the program asks for its group's space, and every primitive comes out as it came in. */
function assertPassedThrough(
  c: StageCase,
  exports: readonly Export[],
  messages: readonly { id: number; m0: number }[],
  words: readonly number[],
  groupInfo: number,
  primitives: number,
  wave: number,
): void {
  const asked = { id: 9, m0: (groupInfo >>> 22 & 0x1ff) << 12 | groupInfo >>> 12 & 0x1ff };
  assertEquals(messages.map(({ id, m0 }) => ({ id, m0 })), wave === 0 ? [asked] : [], c.name);
  const [primitive] = exports.filter(({ target }) => target === 20);
  if (primitives === 0) return;
  assertEquals(primitive.exec, (1n << BigInt(primitives)) - 1n, c.name);
  for (let lane = 0; lane < primitives; lane++) assertEquals(primitive.values[0][lane] >>> 0, words[lane], c.name);
}

const POSITION = 0, POINT_SIZE = 1, CLIP = 3, CULL = 4, LAYER = 9, VIEWPORT = 10;

function assertVertex(
  output: StageOutput,
  exports: readonly Export[],
  lane: number,
  state: VertexState,
  where: string,
): void {
  const { outControl } = state;
  const vectors = [["misc", 21], ["distances 0", 22], ["distances 1", 23]] as const;
  const order = vectors.filter(([, bit]) => (outControl >>> bit & 1) !== 0).map(([name]) => name);
  const distances: number[] = [];
  for (const { target, exec, mask, values } of exports) {
    if ((exec >> BigInt(lane) & 1n) === 0n || target === 20) continue;
    const words = [0, 1, 2, 3].map((k) => mask >> k & 1 ? values[k][lane] >>> 0 : 0);
    const actual = (builtIn: number) => output.builtIns.get(builtIn);
    if (target >= 32) {
      if (target - 32 < state.params) {
        assertEquals(output.locations.get(target - 32), words, `${where}, parameter ${target - 32}`);
      }
    } else if (target === 12) assertEquals(actual(POSITION), words, `${where}, position`);
    else if (order[target - 13] === "misc") {
      if (outControl >>> 16 & 1) assertEquals(actual(POINT_SIZE), words[0], `${where}, point size`);
      if (outControl >>> 18 & 1) assertEquals(actual(LAYER), words[2] & 0x7ff, `${where}, layer`);
      if (outControl >>> 19 & 1) assertEquals(actual(VIEWPORT), words[2] >>> 16 & 15, `${where}, viewport`);
    } else if (order[target - 13] !== undefined) {
      words.forEach((word, k) => distances[(order[target - 13] === "distances 1" ? 4 : 0) + k] = word);
    }
  }
  // What clips need not cull too.
  const clips = outControl & 0xff, culls = outControl >>> 8 & 0xff & ~clips;
  for (const [builtIn, bits] of [[CLIP, clips], [CULL, culls]]) {
    const enabled = distances.filter((_, k) => (bits >>> k & 1) !== 0);
    assertEquals(output.builtIns.get(builtIn), enabled.length > 0 ? enabled : undefined, `${where}, distances`);
  }
}
