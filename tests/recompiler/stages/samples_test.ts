/** What is refused of images with several samples, by the recompiler and by the interpreter: the programs of sample_cases.ts with other descriptors. */
import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { RefusedError } from "../../../src/errors.ts";
import { Context, FaultReason } from "../../../src/recompiler/abi.ts";
import { readFaultRecord } from "../../../src/recompiler/fault_record.ts";
import { parseSpirv } from "../../support/spirv_eval/parse.ts";
import { evaluatedPixels, interpretedPixels, randomPixels } from "./pixel_frame.ts";
import { caseOf } from "./programs.ts";
import { sampledImage, SAMPLES } from "./sample_cases.ts";
import { type StageCase, validated } from "./stage_case.ts";

/** The case of four samples with another descriptor. */
function withImage(patch: (words: number[]) => void): StageCase {
  const { name, lines, state, more } = SAMPLES[1], c = caseOf(name, lines, state, 32, more);
  const image = sampledImage(71, 27, 2);
  patch(image);
  return { ...c, image, userData: [...new Array<number>(8).fill(0), ...image] };
}

const REFUSED: readonly (readonly [string, RegExp, (words: number[]) => void])[] = [
  ["a linear image", /a linear image with several samples/, (w) => w[3] = (w[3] & ~(31 << 20)) >>> 0],
  ["another tile mode", /tile mode 25/, (w) => w[3] = (w[3] & ~(31 << 20) | 25 << 20) >>> 0],
  ["level fields that do not agree", /level fields do not agree/, (w) => w[5] = 1 << 4],
  ["a base level", /level fields do not agree/, (w) => w[3] |= 1 << 12],
  ["sixteen samples", /an image with 16 samples/, (w) => {
    w[3] = (w[3] & ~(15 << 16) | 4 << 16) >>> 0;
    w[5] = 4 << 4;
  }],
  ["compressed data", /compressed image data/, (w) => w[6] = 1 << 21],
  ["an image without samples", /dimension 6 does not fit the image's type 9/, (w) => {
    w[3] = (w[3] & 0xff0_ffff & ~(15 << 16) | 9 << 28) >>> 0;
    w[5] = 0;
  }],
  ["a sample that there is not", /sample 1 of an image with 1: no document/, (w) => {
    w[3] = (w[3] & ~(15 << 16)) >>> 0;
    w[5] = 0;
  }],
];

for (const [name, message, patch] of REFUSED) {
  Deno.test(`refused by name of images with several samples: ${name}`, () => {
    const c = withImage(patch);
    for (
      const run of [() => validated(c), () => interpretedPixels(c, randomPixels(32, 1, 8))]
    ) assertMatch(assertThrows(run, RefusedError).message, message);
  });
}

Deno.test("the number of a sample that there is not is a refusal when it shows at run time only", () => {
  // Two samples; the second load's number goes up to three.
  const c = withImage((words) => {
    words[3] = (words[3] & ~(15 << 16) | 1 << 16) >>> 0;
    words[5] = 1 << 4;
  });
  const pixels = randomPixels(32, 1, 8), module = parseSpirv(validated(c).spirv);
  const error = assertThrows(() => interpretedPixels(c, pixels), RefusedError);
  assertMatch(error.message, /sample [23] of an image with 2: no document tells/);
  let reason: number | undefined;
  assertThrows(
    () =>
      evaluatedPixels(c, module, pixels, 8, 1, (context) => {
        reason = readFaultRecord(new DataView(context.buffer.slice(Context.Fault)))?.reason;
      }),
    Error,
    "a fault",
  );
  assertEquals(reason, FaultReason.SampleNumber);
});
