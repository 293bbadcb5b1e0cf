/**
 * The launcher: `anyagc COMMAND ...`. See `cli/commands.ts` for the commands and docs/cli-json.md for what `--json` prints.
 *
 * @module
 */
import { launch } from "./cli/launcher.ts";

if (import.meta.main) Deno.exit(await launch(Deno.args));
