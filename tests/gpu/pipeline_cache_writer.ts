/** A process that adds words to a cache's file, one save for each; pipeline_cache_test.ts starts several. Arguments: folder, words. */
import { PipelineCache } from "../../src/gpu/pipeline_cache.ts";
import { PipelineCacheFile } from "../../src/gpu/pipeline_cache_file.ts";
import { FakeCacheDriver, fakeIdentity } from "./fake_cache_driver.ts";

const [folder, ...words] = Deno.args;
const driver = new FakeCacheDriver();
const cache = new PipelineCache(driver, new PipelineCacheFile(folder, fakeIdentity("card")), { saveAfterMs: 1 });
for (const word of words) {
  driver.caches.get(cache.handle)!.add(word);
  cache.created(1, false);
}
cache.close();
console.log(JSON.stringify(cache.notes));
