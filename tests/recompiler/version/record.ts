/**
 * Records the artifacts after a change of RECOMPILER_VERSION: `deno run -A tests/recompiler/version/record.ts`. Arguments are request files
 * (`APS5_DUMP_SHADERS`) that are added to the set.
 */
import { RECOMPILER_VERSION } from "../../../src/recompiler/version.ts";
import { artifactHash, changedArtifacts, readGolden, readRequests, writeGolden, writeRequests } from "./golden.ts";

const { texts, requests } = await readRequests(), golden = readGolden(), changed = changedArtifacts(requests, golden);
if (changed.length > 0 && golden.version === RECOMPILER_VERSION) {
  console.error(`the output of ${changed.length} requests is another one: add 1 to RECOMPILER_VERSION first`);
  Deno.exit(1);
}
const added = Deno.args.map((file) => Deno.readTextFileSync(file)).filter((text) => !texts.includes(text));
if (added.length > 0) await writeRequests([...texts, ...added]);
const all = (await readRequests()).requests;
writeGolden({ version: RECOMPILER_VERSION, artifacts: all.map(artifactHash) });
console.log(`version ${RECOMPILER_VERSION}: ${all.length} requests, ${changed.length} changed, ${added.length} added`);
