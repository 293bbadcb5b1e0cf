/** Writes docs/agcap.schema.json: the manifest's schema of src/guest/agcap/schema.ts, for tools that are not ours. */
import { AGCAP_SCHEMA } from "../../src/guest/agcap/schema.ts";

/** The text of docs/agcap.schema.json. */
export function schemaText(): string {
  return JSON.stringify(AGCAP_SCHEMA, undefined, 2) + "\n";
}

if (import.meta.main) {
  Deno.writeTextFileSync(new URL("../../docs/agcap.schema.json", import.meta.url), schemaText());
}
