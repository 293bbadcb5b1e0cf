/**
 * `anyagc bench`: measures what this machine and this version do.
 *
 * @module
 */
import { TABLES } from "../../bench/tables.ts";
import { ExitCode, UsageError } from "../errors.ts";
import type { Command, CommandContext } from "./command.ts";
import { didYouMean } from "./nearest.ts";

const NAMES = TABLES.map(({ name }) => name);

/** The command. */
export const BENCH: Command = {
  name: "bench",
  summary: "measure, and print tables",
  details: [
    "Times are of this machine as it is: let nothing else run meanwhile. Without TABLE all tables are measured.",
  ],
  arguments: [{
    name: "TABLE",
    summary: `what to measure: ${NAMES.join(", ")}`,
    optional: true,
    repeated: true,
    values: NAMES,
  }],
  options: [{ name: "quick", summary: "fewer and smaller cases: shows that it works, not how fast it is" }],
  example: "anyagc bench recompile --quick",
  run,
};

async function run({ positionals, options, out }: CommandContext) {
  const names = positionals.length === 0 ? NAMES : [...new Set(positionals)];
  const unknown = names.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    throw new UsageError("cli.unknown-table", `there is no table ${unknown}${didYouMean(unknown, NAMES)}`);
  }
  const tables: Record<string, unknown>[] = [];
  for (const [index, name] of names.entries()) {
    const table = await TABLES.find((one) => one.name === name)!.load();
    const { data, lines } = await out.progress(
      `measuring ${name}`,
      "steps",
      undefined,
      (progress) =>
        table.run({ quick: options.quick === true, progress: (done, total) => progress.update(done, total) }),
    );
    if (index > 0) out.line();
    if (names.length > 1) out.line(`${name}: ${table.summary}`);
    lines.forEach((line) => out.line(line));
    tables.push({ name, ...data });
  }
  return { exitCode: ExitCode.Done, data: { schema: "anyagc.bench/1", quick: options.quick === true, tables } };
}
