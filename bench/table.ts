/**
 * What a benchmark is. Each file of this folder with a `TABLE` measures one table; tables.ts lists them, `anyagc bench` runs them.
 *
 * @module
 */

/** What a table gets. */
export interface BenchContext {
  /** Fewer and smaller cases: shows that it works, not how fast it is. */
  readonly quick: boolean;
  /** Tells how far it is; throws when the user wants to stop. */
  progress(done: number, total: number): void;
  /** Gets lines of the table as soon as they are measured, so that a run that is cut has shown them; absent where the table is printed at the end. */
  said?(line: string): void;
}

/** What was measured. */
export interface BenchResult {
  /** For machines. */
  readonly data: { readonly schema: string } & Record<string, unknown>;
  /** For people: the table. */
  readonly lines: readonly string[];
}

/** One table. */
export interface BenchTable {
  /** Name on the command line; that of the file. */
  readonly name: string;
  /** One line, no full stop. */
  readonly summary: string;
  run(context: BenchContext): BenchResult | Promise<BenchResult>;
}

/** Runs a table as a script: `deno run -A bench/NAME.ts [--quick] [--json]`. */
export async function runAsScript(table: BenchTable): Promise<void> {
  const quick = Deno.args.includes("--quick");
  const json = Deno.args.includes("--json"), said = new Set<string>();
  const { data, lines } = await table.run({
    quick,
    progress: () => {},
    said(line) {
      said.add(line);
      json ? console.error(line) : console.log(line);
    },
  });
  if (json) console.log(JSON.stringify(data, null, 1));
  else lines.filter((line) => !said.has(line)).forEach((line) => console.log(line));
}
