/**
 * Shows that the fuzzers can fail (`deno task fuzz:mutate`): corrupts each entry of the lift table and of the table of SPIR-V emitters in turn, and runs
 * the suite's fixed-seed rounds with it.
 *
 *     deno run -A tools/fuzz/mutate/main.ts [--sample=N] [--seed=1] [--only=REGEXP] [--out=FILE.json] [--log=FILE] [--least=95]
 *
 * @module
 */
import { Random } from "../../../tests/support/random.ts";
import { emitMutants } from "./emit.ts";
import { whySurvives } from "./equivalents.ts";
import { liftMutants } from "./lift.ts";
import { type Mutant, mutantName } from "./mutant.ts";
import { TOGETHER, type Verdict } from "./judge.ts";

/** Seconds without a sign of life after which a mutant counts as one that does not end. */
const PATIENCE = 120;

const options = Object.fromEntries(Deno.args.map((argument) => {
  const [key, value = "1"] = argument.replace(/^--/, "").split("=");
  return [key, value];
}));
const least = Number(options.least ?? 95);
const started = Date.now();
const drawn = chosen();
const mutants = drawn.filter(({ equivalent }) => equivalent === undefined);
const byName = new Map(mutants.map((mutant) => [mutantName(mutant), mutant]));
const verdicts = new Map<string, Verdict>();
const open = () => [...byName.keys()].filter((name) => !verdicts.has(name));
while (open().length > 0) {
  if (await judge(open()) === "") continue;
  // Somebody broke the process: one after the other, the first without a verdict did it.
  const some = open().slice(0, TOGETHER);
  while (some.some((name) => !verdicts.has(name))) {
    const rest = some.filter((name) => !verdicts.has(name));
    const failure = await judge(rest, "one");
    const next = rest.find((name) => !verdicts.has(name));
    if (next !== undefined) verdicts.set(next, { outcome: "caught", how: failure, programs: 0 });
  }
}
Deno.exit(report() ? 0 : 1);

/** The mutants that the options ask for: all, or a sample with a fixed seed. */
function chosen(): Mutant[] {
  const only = new RegExp(options.only ?? "");
  const all = [...liftMutants(), ...emitMutants()].filter((mutant) => only.test(mutantName(mutant)));
  if (options.sample === undefined) return all;
  const random = new Random(Number(options.seed ?? 1));
  for (let k = all.length - 1; k > 0; k--) {
    const other = random.below(k + 1);
    [all[k], all[other]] = [all[other], all[k]];
  }
  return all.slice(0, Number(options.sample));
}

/** Judges mutants in a process of their own until it ends; returns why the first one without a verdict has none. */
async function judge(names: string[], mode = "all"): Promise<string> {
  const list = Deno.makeTempFileSync({ suffix: ".json" });
  Deno.writeTextFileSync(list, JSON.stringify(names));
  const worker = new URL("./worker.ts", import.meta.url).pathname;
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", worker, list, mode],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let hung = false;
  let timer = setTimeout(stop, PATIENCE * 1000);
  function stop() {
    hung = true;
    process.kill("SIGKILL");
  }
  const errors = new Response(process.stderr).text();
  let text = "";
  for await (const chunk of process.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop()!;
    clearTimeout(timer);
    timer = setTimeout(stop, PATIENCE * 1000);
    for (const line of lines) {
      if (!line.startsWith("{")) continue;
      const { name, ...verdict } = JSON.parse(line) as Verdict & { name: string };
      verdicts.set(name, verdict);
      if (options.log !== undefined) Deno.writeTextFileSync(options.log, line + "\n", { append: true });
      if (verdicts.size % 100 === 0) progress();
    }
  }
  clearTimeout(timer);
  const { code, signal } = await process.status;
  Deno.removeSync(list);
  if (hung) return `no end within ${PATIENCE} s`;
  if (code === 0) return "";
  const message = (await errors).trim().split("\n");
  if (message.some((line) => line.includes("without any corruption"))) {
    console.error(message.slice(0, 5).join("\n"));
    Deno.exit(2);
  }
  return `the process ended with ${signal ?? code}: ${message.find((line) => /error/i.test(line)) ?? message[0]}`;
}

function progress(): void {
  const seconds = Math.round((Date.now() - started) / 1000);
  console.error(`${verdicts.size} of ${mutants.length} mutants in ${seconds} s`);
}

/** Prints figures and survivors. @returns whether enough were caught */
function report(): boolean {
  const count = (table: string, outcome: string) =>
    mutants.filter((each) => each.table === table && verdicts.get(mutantName(each))!.outcome === outcome).length;
  let enough = true;
  const rows = ["lift", "emit"].map((table) => {
    const caught = count(table, "caught"), survived = count(table, "survived") + count(table, "unexercised");
    const entries = new Set(mutants.filter((each) => each.table === table).map(({ entry }) => entry)).size;
    const share = caught + survived === 0 ? 100 : 100 * caught / (caught + survived);
    if (share < least) enough = false;
    return { table, entries, mutants: caught + survived, caught, survived, void: count(table, "void"), share };
  });
  for (const { table, entries, mutants, caught, share, void: nothing } of rows) {
    console.log(
      `${table}: ${caught} of ${mutants} mutants of ${entries} entries caught (${share.toFixed(1)} %); ` +
        `${nothing} more never act`,
    );
  }
  const survivors = mutants.flatMap((mutant) => {
    const name = mutantName(mutant), { outcome } = verdicts.get(name)!;
    if (outcome !== "survived" && outcome !== "unexercised") return [];
    return [{ name, note: mutant.note, outcome, reason: whySurvives(name) }];
  });
  for (const { name, note, outcome, reason } of survivors) {
    console.log(`  ${outcome}: ${name} (${note})${reason === undefined ? "" : `: ${reason}`}`);
  }
  const equivalent = drawn.filter((mutant) => mutant.equivalent !== undefined);
  for (const rule of new Set(equivalent.map((mutant) => mutant.equivalent))) {
    const names = equivalent.filter((mutant) => mutant.equivalent === rule).map(mutantName);
    console.log(`  no mutants, because ${rule}: ${names.join(", ")}`);
  }
  console.log(`${Math.round((Date.now() - started) / 1000)} s`);
  if (options.out !== undefined) {
    const all = Object.fromEntries(verdicts);
    Deno.writeTextFileSync(options.out, JSON.stringify({ rows, survivors, verdicts: all }, null, 1) + "\n");
  }
  return enough;
}
