/**
 * First code of the self-made executable (tools/build): unpacks the program that the executable carries, unless that was done before, and
 * starts it. Bundled into one text, which Deno gets as its main module.
 *
 * @module
 */
import { readPayload } from "./payload.ts";
import { unpack } from "../storage/unpack.ts";
import { AnyAgcError } from "../errors.ts";
import { ENTRY_FILE } from "./names.ts";

try {
  const folder = await unpack(await readPayload(Deno.execPath()));
  await import(`file://${encodeURI(folder).replaceAll("?", "%3F").replaceAll("#", "%23")}/${ENTRY_FILE}`);
} catch (error) {
  // The launcher reports its own errors: this is one of the executable, or of the place where it was unpacked.
  const known = error instanceof AnyAgcError;
  console.error(`anyagc: ${known ? error.message : `cannot start: ${error instanceof Error ? error.stack : error}`}`);
  Deno.exit(known ? error.exitCode : 3);
}
