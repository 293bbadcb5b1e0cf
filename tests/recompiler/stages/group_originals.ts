/** What the original SPIR-V of a merged program makes of a group: its vertex (or domain) shader, then its geometry shader, evaluated one after the other. */
import { corpusFile } from "../../support/corpus.ts";
import { Random } from "../../support/random.ts";
import { f32Bits, f32Value } from "../../support/spirv_eval/bits.ts";
import { DeviceMemory } from "../../support/spirv_eval/memory.ts";
import { parseSpirv, type SpirvModule, type Value } from "../../support/spirv_eval/parse.ts";
import { evaluateStage, type StageOutput } from "../../support/spirv_eval/stage.ts";
import { VERTEX_STRIDE, VERTICES } from "./group_corpus.ts";
import type { GroupCase, GroupResult, LaunchedGroup } from "./group_frame.ts";

/** Bits of a vertex: four of its position, then three of its colour. */
export type Corner = readonly number[];

/** Files of the original modules; a geometry shader is one of triangles, or of lines, that makes strips of one or the other. */
export interface Originals {
  /** The vertex or the domain shader. */
  readonly first: string;
  /** Absent: the first shader's vertices are what is exported, and the strips are the primitives. */
  readonly geometry?: string;
  /** Vertices of what the strips consist of. */
  readonly strip: 2 | 3;
  /** The compiler has made other sums and products of the original's: results may differ by roundings. */
  readonly reordered?: boolean;
}

const POSITION = 0, TESS_COORD = 13, INVOCATION_ID = 8, OUTPUTS = 3;

/** The primitives that the originals make of a group, in order. */
export function originalPrimitives(c: GroupCase, group: LaunchedGroup, originals: Originals): Corner[][] {
  const load = (name: string) => parseSpirv(new Uint32Array(Deno.readFileSync(corpusFile("openagc", name)).buffer));
  const vertices = firstStage(load(originals.first), c, group);
  if (originals.geometry === undefined) {
    return group.corners.map((corners) => corners.map((vertex) => cornerOf(vertices[vertex])));
  }
  const geometry = load(originals.geometry);
  const outputs = run(geometry, group.primitives, {
    input: (n, variable) => {
      if (variable.storage !== 1 || variable.type.kind !== "array") return undefined;
      return group.corners[n].map((vertex) => {
        const { builtIns, locations } = vertices[vertex];
        if (variable.location !== undefined) return locations.get(variable.location)!;
        const [[, position]] = [...builtIns].filter(([builtIn]) => builtIn === POSITION);
        return [position, f32Bits(1), [0], [0]];
      });
    },
    builtIn: (n, builtIn) => builtIn === INVOCATION_ID ? group.vectors[3][n] & 31 : undefined,
  });
  return outputs.flatMap(({ strips }) =>
    strips.flatMap((strip) =>
      Array.from({ length: Math.max(0, strip.length - originals.strip + 1) }, (_, k) => {
        const corners = strip.slice(k, k + originals.strip).map(cornerOf);
        // Every second triangle of a strip has its vertices the other way around: the first one stays first.
        return originals.strip === 3 && k % 2 === 1 ? [corners[0], corners[2], corners[1]] : corners;
      })
    )
  );
}

function cornerOf({ builtIns, locations }: Pick<StageOutput, "builtIns" | "locations">): Corner {
  return [...builtIns.get(POSITION) as number[], ...(locations.get(0) as number[]).slice(0, OUTPUTS)];
}

function run(
  module: SpirvModule,
  count: number,
  inputs: Pick<Parameters<typeof evaluateStage>[0], "input" | "builtIn" | "attribute">,
): StageOutput[] {
  const memory = new DeviceMemory(), push = new DataView(new ArrayBuffer(128));
  return evaluateStage({ module, memory, push, count, subgroupSize: 8, random: new Random(3), ...inputs });
}

function firstStage(module: SpirvModule, c: GroupCase, group: LaunchedGroup): StageOutput[] {
  const { bytes, address } = c.memory![0], view = new DataView(bytes.buffer);
  return run(module, group.vertices, {
    builtIn: (n, builtIn) => {
      if (builtIn !== TESS_COORD) return undefined;
      // The third barycentric coordinate is what the other two leave.
      const [u, v] = [5, 6].map((register) => f32Value(group.vectors[register][n]));
      return [f32Bits(u), f32Bits(v), f32Bits(1 - (u + v))];
    },
    // The attributes of a vertex are behind each other: a position of two or three floats, a colour of three.
    attribute: (n, location) => {
      const first = location === 0 ? 0 : positionSize(module);
      const at = Number(VERTICES - address) + VERTEX_STRIDE * group.vectors[5][n] + 4 * first;
      return [0, 1, 2, 3].map((k) => view.getUint32(at + 4 * k, true));
    },
    input: (_, { storage, type, location }): Value | undefined =>
      storage === 1 && type.kind === "array" && location !== undefined
        ? Array.from({ length: type.count }, () => [0, 0, 0])
        : undefined,
  });
}

function positionSize(module: SpirvModule): number {
  const position = module.variables.find(({ storage, location }) => storage === 1 && location === 0);
  if (position?.type.kind !== "vector") throw new Error("the vertex shader has no position");
  return position.type.count;
}

/** The primitives that a group has exported, in order, without those that are none (bit 31): vertices' numbers are 10 bits each (AMD RDNA2 ISA, exports). */
export function exportedPrimitives(
  { allocation, exports }: Pick<GroupResult, "allocation" | "exports">,
  corners: 2 | 3,
): Corner[][] {
  const words = exports.get(20) ?? [], position = exports.get(12) ?? [], color = exports.get(32) ?? [];
  return words.slice(0, allocation >>> 12 & 0x1ff).filter((word) => word >>> 31 === 0).map((word) =>
    Array.from({ length: corners }, (_, k) => {
      const vertex = word >>> 10 * k & 0x1ff;
      return [...position.slice(4 * vertex, 4 * vertex + 4), ...color.slice(4 * vertex, 4 * vertex + OUTPUTS)];
    })
  );
}
