/**
 * The process that judges mutants, apart from the one that reports: a corrupted module may hang or crash the driver.
 *
 *     deno run -A worker.ts NAMES.json [one]      (names as in reports; one: one after the other)
 */
import { GpuDevice } from "../../../src/gpu/device.ts";
import { SideMaker } from "../../../tests/fuzz/sides.ts";
import { emitMutants } from "./emit.ts";
import { Judge, type Verdict } from "./judge.ts";
import { liftMutants } from "./lift.ts";
import { type Mutant, mutantName } from "./mutant.ts";

const names = JSON.parse(Deno.readTextFileSync(Deno.args[0])) as string[];
const all = new Map([...liftMutants(), ...emitMutants()].map((mutant) => [mutantName(mutant), mutant]));
const device = GpuDevice.create({});
try {
  using sides = new SideMaker(device);
  const judge = new Judge(sides, () => console.log("."));
  const mutants = names.map((name) => all.get(name)!);
  const tell = (mutant: Mutant, verdict: Verdict) =>
    console.log(JSON.stringify({ name: mutantName(mutant), ...verdict }));
  if (Deno.args[1] === "one") { for (const mutant of mutants) tell(mutant, judge.judge(mutant)); }
  else judge.judgeAll(mutants, tell, () => console.log("done"));
} finally {
  device.destroy();
}
