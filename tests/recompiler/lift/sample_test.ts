import { assertEquals } from "@std/assert";
import { JULIA, juliaReference } from "../../shaders/julia_reference.ts";
import { EvalMemory, evaluateWorkgroup } from "../../support/ir_eval.ts";
import { cleaned, liftCode, makeRequest, PLAIN_DEVICE } from "../../support/lift.ts";

const PICTURE = 0x2_0010_0000n;
const code = new Uint32Array(
  Deno.readFileSync(new URL("../../../shaders/julia/julia.bin", import.meta.url)).slice().buffer,
);

Deno.test("the sample shader paints its reference's pixels, with denormals kept and with flushing written out", () => {
  const { width, height, iterations } = JULIA;
  const expected = new Uint32Array(juliaReference().buffer);
  for (const floatMode of [0xf0, 0xc0]) {
    const ir = cleaned(liftCode(makeRequest({
      code,
      target: "gfx1013",
      floatMode,
      device: PLAIN_DEVICE,
      userSgprCount: 6,
      workgroupIds: [true, true, false],
      threadIdCount: 2,
      workgroupSize: [8, 8, 1],
    })));
    for (const workgroupId of [[0, 0, 0], [40, 22, 0], [79, 44, 0], [33, 15, 0]] as const) {
      const memory = new EvalMemory();
      const picture = memory.mapWords(PICTURE, new Uint32Array(width * height));
      const userData = [Number(PICTURE & 0xffffffffn), 2, width * height * 4, 0x31016fac, width * 4, iterations];
      const { faults } = evaluateWorkgroup(ir, {
        waveSize: 32,
        workgroupSize: [8, 8, 1],
        userData,
        memory,
        workgroupId,
      });
      assertEquals(faults, []);
      const rows = (image: Uint32Array) =>
        Array.from({ length: 8 }, (_, y) => {
          const at = (workgroupId[1] * 8 + y) * width + workgroupId[0] * 8;
          return [...image.subarray(at, at + 8)].map((pixel) => pixel.toString(16));
        });
      assertEquals(rows(picture), rows(expected), `group ${workgroupId}, MODE ${floatMode.toString(16)}`);
    }
  }
});
