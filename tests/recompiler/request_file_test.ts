import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { UsageError } from "../../src/errors.ts";
import { programWords } from "../../src/recompiler/recompile.ts";
import type { RecompileRequest } from "../../src/recompiler/request.ts";
import { decodeRequest, encodeRequest } from "../../src/recompiler/request_file.ts";
import { ABLE_DEVICE, makeRequest } from "../support/lift.ts";
import { COPY } from "../support/machine_code.ts";
import { Random } from "../support/random.ts";

/** Every field that a request may have. */
const FULL: RecompileRequest = {
  ...makeRequest({ code: COPY, codeAddress: 0xffff_8000_0001_0000n }),
  windows: 8,
  unalignedLoads: true,
  resolve: false,
  imageDescriptors: new Map([
    [4, Uint32Array.of(1, 2, 3, 0xffffffff, 5, 6, 7, 8)],
    [12, Uint32Array.from({ length: 12 }, (_, k) => k)],
  ]),
  device: {
    ...ABLE_DEVICE,
    laneMode: "spanned",
    endsLoops: true,
    requiredSubgroup: { minimum: 8, maximum: 64, perWorkgroup: 16 },
  },
};
/** A pixel and a vertex program, every field of their states other than its default. */
const GRAPHICS: RecompileRequest[] = [
  {
    ...makeRequest({ code: COPY }),
    graphics: {
      stage: "pixel",
      inputAddr: 0x7fff,
      inputEna: 0x402,
      positionLocation: 2,
      positionCorner: true,
      frontFaceAllBits: true,
      barycentricControl: 0x11,
      interpolants: [
        { source: { param: 31 }, flat: true, custom: true, packedHalves: false, pointSprite: false, cylinderWrap: 0 },
        {
          source: { constant: 3 },
          flat: false,
          custom: false,
          packedHalves: true,
          pointSprite: true,
          cylinderWrap: 15,
        },
      ],
      waveCount: true,
      colors: Array.from({ length: 8 }, (_, i) => ({ format: i === 0 ? "32_abgr" : "zero", number: "sint" })),
      targetMask: 0xffff_ffff,
      depthFormat: "32_gr",
      depth: {
        exportsDepth: true,
        exportsStencil: true,
        exportsMask: true,
        order: 3,
        beforeShader: true,
        conservative: 2,
        alphaToMask: true,
      },
      perSample: true,
    },
  },
  {
    ...makeRequest({ code: COPY }),
    graphics: {
      stage: "vertex",
      form: "ngg",
      passthrough: true,
      vertexVgprs: 3,
      primitiveVgprs: 1,
      positions: 4,
      outControl: 0xffff_ffff,
      params: 32,
    },
  },
];
const bytes = (text: string) => new TextEncoder().encode(text);

/** A file with fields changed. */
function edited(change: (file: Record<string, unknown>) => void): Uint8Array {
  const file = JSON.parse(encodeRequest(FULL));
  change(file);
  return bytes(JSON.stringify(file));
}

Deno.test("a request's file holds every field: what is read is what was written", () => {
  for (const request of [FULL, makeRequest({ code: COPY })]) {
    const { request: read, stage } = decodeRequest(bytes(encodeRequest(request)), "x");
    assertEquals(read, request);
    assertEquals(stage, "compute");
  }
});

Deno.test("the files of pixel and vertex programs hold the stage's state", () => {
  for (const request of GRAPHICS) {
    const { request: read, stage } = decodeRequest(bytes(encodeRequest(request)), "x");
    assertEquals(read, request);
    assertEquals(stage, request.graphics!.stage);
  }
  const cases: [(state: Record<string, unknown>) => void, RegExp][] = [
    [(state) => delete state.colors, /state.colors is missing: a list of 8 objects/],
    [(state) => (state.colors as unknown[]).pop(), /state.colors is not a list of 8 objects/],
    [
      (state) => (state.interpolants as { source: unknown }[])[1].source = { param: 32 },
      /interpolants\[1\].source is not/,
    ],
    [(state) => state.primitives = 1, /there is no field state.primitives/],
  ];
  for (const [change, message] of cases) {
    const file = JSON.parse(encodeRequest(GRAPHICS[0]));
    change(file.state);
    assertMatch(assertThrows(() => decodeRequest(bytes(JSON.stringify(file)), "x"), UsageError).message, message);
  }
});

Deno.test("words of a program are those up to its last reachable one; of malformed code, all without zeros at the end", () => {
  const code = Uint32Array.from([...COPY, 1, 2, 3, 4]);
  assertEquals(programWords(makeRequest({ code })), COPY.length);
  // The first word of a global load, and nothing behind it.
  assertEquals(programWords(makeRequest({ code: Uint32Array.of(0x7e000280, 0xdc308000) })), 2);
});

Deno.test("a malformed request's file is refused with the file, the field, and what it should be", () => {
  const cases: [(file: Record<string, unknown>) => void, RegExp][] = [
    [(file) => file.schema = "anyagc.request/2", /schema is not "anyagc.request\/1"/],
    [(file) => file.stage = "geometry", /stage is not compute or pixel or vertex/],
    [(file) => file.stage = "pixel", /state is no object/],
    [(file) => file.state = {}, /a compute program has no state/],
    [(file) => delete file.floatMode, /floatMode is missing: a whole number from 0 to 255/],
    [(file) => file.floatMode = 256, /floatMode is not a whole number from 0 to 255/],
    [(file) => file.waveSize = 16, /waveSize is not 32 or 64/],
    [(file) => file.target = "gfx906", /target is not "gfx1013" or "gfx1030"/],
    [(file) => file.codeAddress = 65536, /codeAddress is not an address/],
    [(file) => file.workgroupSize = [1024, 2, 1], /workgroupSize has 2048 threads/],
    [(file) => file.workgroupSize = [1, 1], /workgroupSize is not a list of 3/],
    [(file) => file.moreLanes = 1, /there is no field moreLanes/],
    [(file) => file.device = null, /device is no object/],
    [(file) => delete (file.device as Record<string, unknown>).int8, /device.int8 is missing/],
    [
      (file) => (file.device as Record<string, unknown>).requiredSubgroup = {},
      /device.requiredSubgroup.minimum is miss/,
    ],
    [(file) => file.imageDescriptors = [{ pc: 4, words: ["0x1"] }], /imageDescriptors\[0\].words is not a list of 8/],
    [(file) => file.code = [], /code has no words/],
    [(file) => file.code = ["7e00028"], /code, line 1, is not words of 8 hexadecimal digits/],
    [(file) => file.code = ["7e000280"], /shader is not the hash of the code/],
    [(file) => file.code = Array(40000).fill(Array(8).fill("00000000").join(" ")), /more than 262144 words/],
  ];
  for (const [change, message] of cases) {
    const error = assertThrows(() => decodeRequest(edited(change), "some.request.json"), UsageError);
    assertMatch(error.message, message);
    assertEquals([error.code, error.place.file, error.exitCode], ["request.malformed", "some.request.json", 2]);
  }
  // Whoever changes the code says so.
  const changed = edited((file) => (file.code = ["bf810000"], delete file.shader));
  assertEquals([...decodeRequest(changed, "x").request.code], [0xbf810000]);
});

Deno.test("a file that is cut off anywhere is refused", () => {
  const whole = bytes(encodeRequest(FULL).trimEnd());
  for (let length = 0; length < whole.length; length++) {
    const error = assertThrows(() => decodeRequest(whole.subarray(0, length), "x"), UsageError);
    assertStringIncludes(error.message, "cut off");
  }
});

Deno.test("2,000 mutated request files: a clear error, or a request that says the same of itself", () => {
  const random = new Random(7), whole = bytes(encodeRequest(FULL));
  let refused = 0, read = 0;
  for (let round = 0; round < 2000; round++) {
    const mutant = whole.slice();
    for (let n = random.below(3); n >= 0; n--) {
      const at = random.below(mutant.length);
      if (random.chance(0.5)) mutant[at] ^= 1 << random.below(8);
      else mutant.copyWithin(at, random.below(mutant.length), random.below(mutant.length));
    }
    try {
      const { request } = decodeRequest(mutant, "x");
      assertEquals(decodeRequest(bytes(encodeRequest(request)), "x").request, request);
      read++;
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      assertEquals(error.code, "request.malformed");
      refused++;
    }
  }
  assert(refused > 1000 && read > 20, `${refused} refused, ${read} read`);
});
