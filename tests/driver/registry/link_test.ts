import { assert, assertEquals, assertThrows } from "@std/assert";
import { createInterpolantMapping } from "../../../src/driver/registry/interpolants.ts";
import { linkShaders } from "../../../src/driver/registry/link_shaders.ts";
import { InvalidInputError, RefusedError } from "../../../src/errors.ts";
import {
  type AgcShaderRecord,
  readAgcRecord,
  type RecordSource,
  splitSemantic,
} from "../../../src/guest/loaders/agc_record.ts";
import { corpusFile, corpusNames, corpusTest } from "../../support/corpus.ts";
import { S_ENDPGM, ShaderGuest } from "./support.ts";

const semantics = (...words: number[]) => words.map(splitSemantic);
/** Semantic 5 in slot 3; bits as in reference: f16 21:20, flat 22, custom 24, default 29:28, default of the upper half 31:30. */
const OUT = 5 | 3 << 8;

Deno.test("interpolants: each input reads the output with its semantic, and what has none its default", () => {
  const cases: [output: number, input: number, expected: number, what: string][] = [
    [OUT, 5, 3, "matched"],
    [OUT, 5 | 1 << 22, 3 | 1 << 10, "flat"],
    [OUT, 5 | 1 << 24, 3 | 1 << 10 | 0x20, "custom: flat, and read as it is"],
    [OUT, 6, 0x20, "unmatched"],
    [OUT, 6 | 2 << 28, 0x20 | 2 << 8, "unmatched with a default"],
    [OUT, 5 | 3 << 28, 3 | 3 << 8, "matched keeps its default's number"],
    [OUT | 0xe0 << 8, 5, 3, "five bits of the slot"],
    [OUT | 3 << 20, 5 | 3 << 20, 3 | 3 << 24 | 1 << 19, "two halves on both sides"],
    [OUT | 1 << 20, 5 | 3 << 20, 3 | 3 << 24 | 1 << 19 | 1 << 20, "the upper half is missing"],
    [OUT | 2 << 20, 5 | 3 << 20, 3 | 3 << 24 | 1 << 19 | 1 << 5, "the lower half is missing"],
    [OUT, 5 | 1 << 20, 3 | 1 << 24 | 1 << 19 | 1 << 20 | 1 << 5, "halves of a parameter that has none"],
    [OUT, 6 | 3 << 20 | 2 << 30, (0x18_0020 | 3 << 24 | 2 << 21) >>> 0, "unmatched halves with a default"],
    [OUT, 5 | 3 << 20 | 1 << 22, 3 | 3 << 24 | 0x18_0020 | 1 << 10, "flat halves"],
  ];
  for (const [output, input, expected, what] of cases) {
    const mapping = createInterpolantMapping(semantics(output >>> 0), semantics(input >>> 0));
    assertEquals([mapping[0].toString(16), what], [expected.toString(16), what]);
    assertEquals([...mapping.subarray(1)], Array.from({ length: 31 }, (_, i) => i + 1));
  }
});

Deno.test("interpolants: without inputs entry i is i, and more than 32 are refused", () => {
  assertEquals([...createInterpolantMapping(semantics(OUT), [])], Array.from({ length: 32 }, (_, i) => i));
  const many = Array.from({ length: 33 }, (_, i) => splitSemantic(i));
  assertThrows(() => createInterpolantMapping([], many), InvalidInputError, "33 inputs");
  assertEquals(createInterpolantMapping([], many.slice(1)).every((word) => word === 0x20), true);
});

/** Words of captured memory. */
class Captured implements RecordSource {
  constructor(private readonly base: bigint, private readonly memory: ReadonlyMap<number, number>) {}
  bytes(address: bigint, length: number): Uint8Array {
    const words = new Uint32Array(Math.ceil(length / 4) + 1), at = Number(address - this.base), first = at & ~3;
    words.forEach((_, i) => words[i] = this.memory.get(first + 4 * i) ?? 0);
    return new Uint8Array(words.buffer).slice(at - first, at - first + length);
  }
  fail(_: bigint, reason: string): never {
    throw new Error(reason);
  }
}

corpusTest(
  "linking gives the tables that the console made of the same records, in every capture that has them",
  "golden",
  () => {
    let compared = 0;
    for (const name of corpusNames("golden", /run-1\.json$/)) {
      const { stages } = JSON.parse(Deno.readTextFileSync(corpusFile("golden", name)));
      for (const { address, chunks } of stages) {
        const memory = new Map<number, number>();
        for (const [offset, digits] of Object.entries(chunks as Record<string, string>)) {
          for (let i = 0; i < digits.length; i += 8) {
            memory.set(
              Number(offset) + i / 2,
              parseInt(digits.slice(i, i + 8), 16),
            );
          }
        }
        const source = new Captured(BigInt(address), memory);
        const records = [...memory].filter(([, word]) => word === 0x34333231).map(([at]) =>
          readAgcRecord(source, BigInt(address) + BigInt(at), "absolute")
        );
        const geometry = records.find(({ stage }) => stage === "geometry"),
          pixel = records.find(({ stage }) => stage === "pixel");
        const context = [...memory].find(([at, word]) => word === 0x191 && memory.get(at + 8) === 0x192)?.[0];
        const uconfig = [...memory].find(([at, word]) => word === 0x25b && memory.get(at + 16) === 0x242)?.[0];
        if (geometry === undefined || context === undefined || uconfig === undefined) continue;
        const table = (at: number, count: number) =>
          Array.from(
            { length: count },
            (_, i) => ({ offset: memory.get(at + 8 * i)!, value: memory.get(at + 8 * i + 4) ?? 0 }),
          );
        const linked = linkShaders({ geometry, pixel, primitiveType: table(uconfig, 3)[2].value });
        assertEquals(linked.uconfig, table(uconfig, 3), name);
        assertEquals(linked.context, table(context, 34), name);
        compared++;
      }
    }
    assert(compared >= 12, `${compared} pairs`);
  },
);

/** A vertex record with words of its specials changed: pairs of (register, value). */
function vertexWith(stages: number, outPrimitive = 2): AgcShaderRecord {
  const record = new ShaderGuest().vertex([S_ENDPGM]), { specials } = record;
  return {
    ...record,
    specials: {
      ...specials!,
      shaderStagesEnable: { ...specials!.shaderStagesEnable, value: stages },
      gsOutPrimitiveType: { ...specials!.gsOutPrimitiveType, value: outPrimitive },
    },
  };
}

Deno.test("the primitives that come out are the geometry shader's, else what goes in", () => {
  const out = (stages: number, primitiveType: number) =>
    linkShaders({ geometry: vertexWith(stages, 1), primitiveType }).context[33].value;
  assertEquals([1, 2, 3, 4, 6, 0x11, 0x12].map((type) => out(0x12010, type)), [0, 1, 1, 2, 2, 3, 1]);
  assertEquals([1, 4, 9].map((type) => out(0x12030, type)), [1, 1, 1]);
  assertThrows(() => out(0x12010, 9), RefusedError, "VGT_PRIMITIVE_TYPE 0x9");
});

Deno.test("a hull stage adds its bits, and records of other stages are refused", () => {
  const guest = new ShaderGuest(), geometry = vertexWith(0x12008), pixel = guest.pixel([S_ENDPGM]);
  const hull = { ...vertexWith(0x0020_0105), stage: "hull-back" } as AgcShaderRecord;
  const linked = linkShaders({ geometry, hull, pixel, primitiveType: 4 });
  assertEquals(linked.context[32], { offset: 0x2d5, value: 0x0021_210d });
  const refuse = (options: Parameters<typeof linkShaders>[0], text: string) =>
    assertThrows(() => linkShaders(options), InvalidInputError, text);
  refuse({ geometry: pixel, primitiveType: 4 }, "is a pixel shader");
  refuse({ geometry, pixel: geometry, primitiveType: 4 }, "is a geometry shader");
  refuse({ geometry, hull: pixel, primitiveType: 4 }, "is a pixel shader");
  refuse({ geometry: { ...geometry, specials: undefined }, primitiveType: 4 }, "no specials");
});
