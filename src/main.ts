/**
 * The launcher: `anyagc COMMAND ...`. See `cli/commands.ts` for the commands and docs/cli-json.md for what `--json` prints.
 *
 * @module
 */
import { watchInterrupts } from "./cli/interrupt.ts";
import { launch } from "./cli/launcher.ts";

/** Runs the command line and ends the process. */
export async function main(): Promise<never> {
  await watchInterrupts();
  Deno.exit(await launch(Deno.args));
}

if (import.meta.main) await main();
