import { assertEquals, assertThrows } from "@std/assert";
import { UsageError } from "../../src/errors.ts";
import { laneModeOf } from "../../src/gpu/recompiler_device.ts";

Deno.test("ANYAGC_WAVE_MODE names the mode, and wins over APS5_SPANNED_WAVE", () => {
  assertEquals(laneModeOf(false, undefined), undefined);
  assertEquals(laneModeOf(true, undefined), "spanned");
  assertEquals(laneModeOf(true, "native"), "native");
  assertEquals(laneModeOf(false, "spanned"), "spanned");
  assertEquals(laneModeOf(true, "packed"), "packed");
  assertThrows(
    () => laneModeOf(false, "wide"),
    UsageError,
    `ANYAGC_WAVE_MODE is native, spanned or packed, not "wide"`,
  );
});
