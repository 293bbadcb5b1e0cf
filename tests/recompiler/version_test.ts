import { assert, assertEquals } from "@std/assert";
import { RECOMPILER_VERSION } from "../../src/recompiler/version.ts";
import { makeRequest } from "../support/lift.ts";
import { COPY } from "../support/machine_code.ts";
import { artifactHash, changedArtifacts, readGolden, readRequests } from "./version/golden.ts";

/** v_add_nc_u32_e32 v1, s4, v1, and v_sub_nc_u32_e32 of the same. */
const ADD = 0x4a020204, SUBTRACT = 0x4c020204;

Deno.test("output of the recompiler that changes has a new RECOMPILER_VERSION, so that no cache gives an artifact of before", async () => {
  const golden = readGolden(), { requests } = await readRequests();
  assertEquals(golden.artifacts.length, requests.length);
  assertEquals(
    golden.version,
    RECOMPILER_VERSION,
    "RECOMPILER_VERSION is new: record what it makes, with deno run -A tests/recompiler/version/record.ts",
  );
  const changed = changedArtifacts(requests, golden);
  assertEquals(
    changed,
    [],
    `the output changed for ${changed.length} of ${requests.length} requests: add 1 to RECOMPILER_VERSION ` +
      "(src/recompiler/version.ts), then deno run -A tests/recompiler/version/record.ts",
  );
});

Deno.test("the requests that show changes of the output are of all kinds, and most of them are not refused", async () => {
  const golden = readGolden(), { requests } = await readRequests();
  const accepted = requests.filter((_, k) => golden.artifacts[k] !== "refused");
  assert(accepted.length >= 0.9 * requests.length, `${accepted.length} of ${requests.length}`);
  const words = accepted.reduce((sum, { code }) => sum + code.length, 0);
  assert(words > 10_000, `${words} words of code`);
  for (
    const [what, has] of [
      ["waves of 32", requests.some(({ waveSize }) => waveSize === 32)],
      ["waves of 64", requests.some(({ waveSize }) => waveSize === 64)],
      ["images", requests.some(({ imageDescriptors }) => imageDescriptors !== undefined)],
      ["resources of the host", requests.some(({ resolve }) => resolve === true)],
      ["LDS", requests.some(({ ldsBytes }) => ldsBytes > 0)],
      ["lanes without threads", requests.some(({ partialThreads }) => partialThreads)],
    ] as const
  ) assert(has, what);
});

Deno.test("one instruction that becomes another one shows, and a request that was refused does not", () => {
  const request = makeRequest({ code: COPY, userSgprCount: 8 }),
    code = COPY.map((word) => word === ADD ? SUBTRACT : word);
  const requests = [request, { ...request, code }, request], hash = artifactHash(request);
  assertEquals(changedArtifacts(requests, { version: 1, artifacts: [hash, hash, "refused"] }), [1]);
});
