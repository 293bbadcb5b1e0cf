/** A process that uses a shared cache: rounds of looking up and adding, under a small bound. Prints its counts; fails on a wrong artifact. */
import { assertEquals } from "@std/assert";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import { madeShaders } from "./support.ts";

const [folder, limitBytes, rounds] = Deno.args, made = madeShaders();
const sum = { hits: 0, misses: 0, damaged: 0, written: 0, failed: 0, removed: 0 };
for (let round = 0; round < Number(rounds); round++) {
  const cache = new ShaderCache(folder, { limitBytes: Number(limitBytes) });
  for (const { request, artifact } of made) {
    const found = cache.find(request);
    if (found === undefined) cache.add(request, artifact);
    else assertEquals(found, artifact);
  }
  cache.flush();
  for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += cache.counts[key];
}
console.log(JSON.stringify(sum));
