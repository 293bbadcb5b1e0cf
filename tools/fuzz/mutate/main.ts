/**
 * Shows that the fuzzers can fail (`deno task fuzz:mutate`): corrupts each entry of the lift table and of the table of SPIR-V emitters in turn, and runs
 * the suite's fixed-seed rounds with it.
 *
 *     deno run -A tools/fuzz/mutate/main.ts [--sample=N] [--seed=1] [--only=REGEXP] [--again=FILE.json] [--shard=K/N] [--seconds=S]
 *                                           [--out=FILE.json] [--log=FILE] [--least=95]
 *     deno run -A tools/fuzz/mutate/main.ts --merge FILE.json... [--out=FILE.json]
 *
 * A full run takes hours in one process: `--shard=1/16` to `--shard=16/16` are the same run in 16 of them, and `--merge` puts the files of `--out` together.
 * `--seconds` ends a run in time and says what is left. `--again` judges the survivors of a file again.
 *
 * @module
 */
import { Random } from "../../../tests/support/random.ts";
import { emitMutants } from "./emit.ts";
import { TOGETHER, type Verdict } from "./judge.ts";
import { liftMutants } from "./lift.ts";
import { type Mutant, mutantName } from "./mutant.ts";
import { mergeVerdicts, reportLines, shardOf, survivorsOf, tableRows, type VerdictFile } from "./report.ts";

/** Seconds without a sign of life after which a mutant counts as one that does not end. */
const PATIENCE = 120;

const options = Object.fromEntries(
  Deno.args.filter((argument) => argument.startsWith("--")).map((argument) => {
    const [key, value = "1"] = argument.replace(/^--/, "").split("=");
    return [key, value];
  }),
);
const files = Deno.args.filter((argument) => !argument.startsWith("--"));
const all = [...liftMutants(), ...emitMutants()];
const started = Date.now();
const deadline = started + 1000 * Number(options.seconds ?? Infinity);

if (options.merge !== undefined) {
  if (files.length === 0) throw new Error("--merge needs the files that --out wrote.");
  Deno.exit(report(all, mergeVerdicts(files.map(readVerdicts))) ? 0 : 1);
}
const drawn = chosen();
const mutants = drawn.filter(({ equivalent }) => equivalent === undefined);
const byName = new Map(mutants.map((mutant) => [mutantName(mutant), mutant]));
const verdicts = new Map<string, Verdict>();
const open = () => [...byName.keys()].filter((name) => !verdicts.has(name));
const isUp = () => Date.now() >= deadline;
while (open().length > 0 && !isUp()) {
  if (await judge(open()) === "") continue;
  // Somebody broke the process: one after the other, the first without a verdict did it.
  const some = open().slice(0, TOGETHER);
  while (some.some((name) => !verdicts.has(name)) && !isUp()) {
    const rest = some.filter((name) => !verdicts.has(name));
    const failure = await judge(rest, "one");
    const next = rest.find((name) => !verdicts.has(name));
    if (next !== undefined && !isUp()) verdicts.set(next, { outcome: "caught", how: failure, programs: 0 });
  }
}
const seconds = (Date.now() - started) / 1000;
Deno.exit(report(drawn, { seconds, left: open(), verdicts: Object.fromEntries(verdicts) }) ? 0 : 1);

function readVerdicts(path: string): VerdictFile {
  const { seconds = 0, left = [], verdicts } = JSON.parse(Deno.readTextFileSync(path)) as Partial<VerdictFile>;
  if (verdicts === undefined) throw new Error(`${path} holds no verdicts: it is not a file of --out.`);
  return { seconds, left, verdicts };
}

/** The mutants that the options ask for: all, or a sample with a fixed seed; of them the shard. */
function chosen(): Mutant[] {
  const only = new RegExp(options.only ?? "");
  let list = all.filter((mutant) => only.test(mutantName(mutant)));
  if (options.again !== undefined) {
    const names = new Set(survivorsOf(all, readVerdicts(options.again).verdicts).map(({ name }) => name));
    list = list.filter((mutant) => names.has(mutantName(mutant)));
  }
  if (options.sample !== undefined) {
    const random = new Random(Number(options.seed ?? 1));
    for (let k = list.length - 1; k > 0; k--) {
      const other = random.below(k + 1);
      [list[k], list[other]] = [list[other], list[k]];
    }
    list = list.slice(0, Number(options.sample));
  }
  if (options.shard === undefined) return list;
  const [shard, shards] = options.shard.split("/").map(Number);
  return shardOf(list, shard, shards);
}

/** Judges mutants in a process of their own until it ends or time is up; returns why the first one without a verdict has none. */
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
  const patience = () => Math.max(0, Math.min(PATIENCE * 1000, deadline - Date.now()));
  let timer = setTimeout(stop, patience());
  function stop() {
    hung = true;
    process.kill("SIGKILL");
  }
  const errors = new Response(process.stderr).text();
  let text = "";
  // Of mutants that are judged together those that are caught come first: when time is up, a group that is not done does not count.
  let group: [string, Verdict][] = [];
  const keep = () => {
    for (const [name, verdict] of group) {
      verdicts.set(name, verdict);
      if (verdicts.size % 100 === 0) progress();
    }
    group = [];
  };
  for await (const chunk of process.stdout.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split("\n");
    text = lines.pop()!;
    clearTimeout(timer);
    timer = setTimeout(stop, patience());
    for (const line of lines) {
      if (line === "done") keep();
      if (!line.startsWith("{")) continue;
      const { name, ...verdict } = JSON.parse(line) as Verdict & { name: string };
      group.push([name, verdict]);
      if (options.log !== undefined) Deno.writeTextFileSync(options.log, line + "\n", { append: true });
    }
  }
  clearTimeout(timer);
  const { code, signal } = await process.status;
  Deno.removeSync(list);
  if (!isUp()) keep();
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
  const seconds = (Date.now() - started) / 1000, rest = seconds / verdicts.size * (mutants.length - verdicts.size);
  console.error(
    `${verdicts.size} of ${mutants.length} mutants in ${Math.round(seconds)} s; about ${Math.round(rest)} s are left`,
  );
}

/** Prints figures and survivors, and writes the file. @returns whether enough were caught */
function report(drawn: readonly Mutant[], file: VerdictFile): boolean {
  const judged = options.merge === undefined ? drawn : drawn.filter((each) => {
    return each.equivalent !== undefined || Object.hasOwn(file.verdicts, mutantName(each));
  });
  for (const line of reportLines(judged, file)) console.log(line);
  const rows = tableRows(judged, file.verdicts);
  if (options.out !== undefined) {
    const survivors = survivorsOf(judged, file.verdicts);
    Deno.writeTextFileSync(options.out, JSON.stringify({ rows, survivors, ...file }, null, 1) + "\n");
  }
  const least = Number(options.least ?? 95);
  return rows.every(({ share }) => share >= least);
}
