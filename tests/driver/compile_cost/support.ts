/** Programs as long as a test wants them, and what APS5_PROFILE_DRAW prints. */
import { chain } from "../../../bench/programs/chains.ts";
import { resetProfile } from "../../../src/driver/compile_cost/profile_draw.ts";
import type { RecompilerDevice, RecompileRequest } from "../../../src/recompiler/request.ts";
import { makeRequest } from "../../support/lift.ts";

/** A program of so many operations; 1,800 are enough for a module from which a compile's cost is learned. */
export function chainRequest(operations: number, device: RecompilerDevice): RecompileRequest {
  return makeRequest({
    code: chain("queue", operations, 0x3f80_0203),
    codeAddress: 0x2_0000_1200n,
    target: "gfx1013",
    userSgprCount: 8,
    workgroupIds: [true, false, false],
    dx10Clamp: false,
    device,
  });
}

/** Lines of APS5_PROFILE_DRAW while an action runs, of modules over so many words. */
export async function profiled(words: number, action: () => void | Promise<void>): Promise<string[]> {
  const lines: string[] = [], print = console.error;
  Deno.env.set("APS5_PROFILE_DRAW", "1");
  resetProfile(words);
  console.error = (line) => lines.push(String(line));
  try {
    await action();
  } finally {
    console.error = print;
    Deno.env.delete("APS5_PROFILE_DRAW");
    resetProfile();
  }
  return lines;
}
