import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { entryName, requestKey, stateText } from "../../../src/driver/shader_cache/entry.ts";
import { inspectShaderCache } from "../../../src/driver/shader_cache/inspect.ts";
import { openShaderCache } from "../../../src/driver/shader_cache/open_cache.ts";
import { ShaderCache } from "../../../src/driver/shader_cache/shader_cache.ts";
import type { RecompileRequest } from "../../../src/recompiler/request.ts";
import { byteChecksum } from "../../../src/storage/byte_checksum.ts";
import { Random } from "../../support/random.ts";
import { entries, inFolder, type Made, madeShaders } from "./support.ts";

const MADE = madeShaders();
const NOTHING = { hits: 0, misses: 0, reads: 0, damaged: 0, gone: 0, written: 0, failed: 0, removed: 0 };

function filled(folder: string, made: readonly Made[] = MADE): void {
  const cache = new ShaderCache(folder);
  for (const { request, artifact } of made) cache.add(request, artifact);
  cache.flush();
  assertEquals(cache.counts.written, made.length);
}

Deno.test("what one cache wrote, the next one finds: the same artifacts, resources included", () =>
  inFolder((folder) => {
    filled(folder);
    assertEquals(entries(folder).length, MADE.length);
    const cache = new ShaderCache(folder);
    for (const { request, artifact } of MADE) assertEquals(cache.find(request), artifact);
    assert(MADE.some(({ artifact }) => artifact.resources !== undefined));
    assertEquals(cache.counts, { ...NOTHING, hits: MADE.length, reads: MADE.length });
  }));

Deno.test("what was found in a file once is found in memory from then on, as long as there is room for it", () =>
  inFolder((folder) => {
    filled(folder);
    const cache = new ShaderCache(folder), first = MADE.map(({ request }) => cache.find(request));
    for (let round = 0; round < 3; round++) {
      for (const [n, { request }] of MADE.entries()) {
        // Another object with the same values, code behind the program, and files that nobody looks at.
        const again = cache.find({
          ...request,
          device: { ...request.device },
          code: Uint32Array.of(...request.code, 7),
        });
        assert(again === first[n]);
      }
      for (const name of entries(folder)) Deno.writeFileSync(`${folder}/${name}`, Uint8Array.of(round));
    }
    assertEquals(cache.counts, { ...NOTHING, hits: 4 * MADE.length, reads: MADE.length });
    assertEquals(cache.notes, []);
  }));

Deno.test("what is kept in memory is bounded: the one that was found first goes", () =>
  inFolder((folder) => {
    filled(folder);
    const [a, b] = MADE, cache = new ShaderCache(folder, { memoryBytes: memoryOf(a) + memoryOf(b) - 1 });
    for (const { request } of [a, b, b, a, a, b]) assert(cache.find(request) !== undefined);
    assertEquals([cache.counts.hits, cache.counts.reads], [6, 4]);
    const none = new ShaderCache(folder, { memoryBytes: 1 });
    for (let k = 0; k < 2; k++) none.find(a.request);
    assertEquals(none.counts.reads, 2, "too large to be kept");
  }));

/** Bytes that an entry takes in memory. */
function memoryOf({ request, artifact }: Made): number {
  return new TextEncoder().encode(stateText(request)).length + 4 * artifact.codeWords + artifact.spirv.byteLength;
}

Deno.test("the state of a request is JSON of its fields in order, whoever has written the same device before", () => {
  const canonical = (value: unknown): unknown => {
    if (typeof value === "bigint") return { bigint: value.toString(16) };
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(canonical);
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    return fields.sort(([a], [b]) => a < b ? -1 : 1).map(([name, field]) => [name, canonical(field)]);
  };
  const [{ request }] = MADE,
    device = { ...request.device, requiredSubgroup: { minimum: 8, maximum: 8, perWorkgroup: 9 } };
  const check = (changed: Partial<RecompileRequest> = {}) => {
    const { code: _, ...state } = { ...request, device, ...changed };
    assertEquals(stateText({ ...request, device, ...changed }), JSON.stringify(canonical(state)));
  };
  check();
  // The same object with other values is another device.
  device.subgroupSize++;
  check();
  device.requiredSubgroup.minimum = 4;
  check();
  delete (device as Partial<typeof device>).exactHalf;
  check();
  (device as RecompileRequest["device"]).laneMode = "packed";
  check({ windows: undefined, resolve: true });
});

Deno.test("notes say what was damaged, what is gone, and what was removed, a line each", () =>
  inFolder((folder) => {
    filled(folder);
    const cache = new ShaderCache(folder), names = entries(folder);
    Deno.removeSync(`${folder}/${names[0]}`);
    for (const name of names.slice(1)) Deno.writeFileSync(`${folder}/${name}`, new Uint8Array(64));
    assertEquals(cache.notes, []);
    for (const { request } of MADE) assertEquals(cache.find(request), undefined);
    const { damaged, gone } = cache.counts, [first, second, ...more] = cache.notes;
    assertEquals([damaged, gone, more], [MADE.length - 1, 1, []]);
    assert(first.endsWith(` (and ${MADE.length - 2} more) is damaged: it is recompiled and written anew`), first);
    assertEquals(second, `${folder}/${names[0]} is not there any more: it is recompiled`);
    const small = new ShaderCache(folder, { limitBytes: 1000 });
    for (const { request, artifact } of MADE) small.add(request, artifact);
    small.flush();
    const { removed } = small.counts;
    assert(removed > 1, `${removed}`);
    assertEquals(small.notes, [
      `${removed} entries of the shader cache ${folder} were removed, so that it stays within 1000 bytes`,
    ]);
  }));

Deno.test("nothing is written before the flush, and until then the artifact is found all the same", () =>
  inFolder((folder) => {
    const cache = new ShaderCache(folder), [{ request, artifact }] = MADE;
    assertEquals(cache.find(request), undefined);
    cache.add(request, artifact);
    assertEquals(entries(folder), []);
    assertEquals(cache.find(request), artifact);
    cache.flush();
    assertEquals(entries(folder).length, 1);
    cache.flush();
    assertEquals(cache.counts, { ...NOTHING, hits: 1, misses: 1, written: 1 });
  }));

Deno.test("code behind the program does not matter; a changed word of the program, or an end before it, does", () =>
  inFolder((folder) => {
    filled(folder);
    const cache = new ShaderCache(folder), [{ request, artifact }] = MADE;
    const with_ = (code: Uint32Array) => cache.find({ ...request, code });
    assertEquals(with_(Uint32Array.from([...request.code, 1, 2, 3])), artifact);
    assertEquals(with_(request.code.subarray(0, artifact.codeWords - 1)), undefined);
    for (let word = 0; word < artifact.codeWords; word++) {
      const code = request.code.slice();
      code[word] ^= 1;
      assertEquals(with_(code), undefined, `word ${word}`);
    }
  }));

Deno.test("every field of a request and of its device is part of the key", () =>
  inFolder((folder) => {
    filled(folder);
    const cache = new ShaderCache(folder), [{ request }] = MADE;
    const other: { [K in keyof RecompileRequest]-?: RecompileRequest[K] } = {
      code: Uint32Array.of(0xbf810000),
      codeAddress: request.codeAddress + 4n,
      target: "gfx1030",
      waveSize: 64,
      workgroupSize: [32, 2, 1],
      userSgprCount: 7,
      workgroupIds: [true, true, false],
      tgSize: true,
      scratch: true,
      threadIdCount: 2,
      ldsBytes: 4,
      floatMode: 0xc0,
      ieee: true,
      dx10Clamp: false,
      partialThreads: true,
      device: { ...request.device, laneMode: "spanned" },
      windows: 2,
      unalignedLoads: true,
      resolve: true,
      imageDescriptors: new Map([[4, new Uint32Array(8)]]),
      graphics: {
        stage: "vertex",
        form: "legacy",
        vertexVgprs: 0,
        primitiveVgprs: 0,
        positions: 1,
        outControl: 0,
        params: 1,
        passthrough: false,
      },
      group: { next: { sgpr: 4, offset: 256 } },
    };
    for (const [field, value] of Object.entries(other)) {
      assertEquals(cache.find({ ...request, [field]: value }), undefined, field);
    }
    for (const [field, value] of Object.entries(request.device)) {
      const changed = typeof value === "number" ? value + 1 : !value;
      assertEquals(cache.find({ ...request, device: { ...request.device, [field]: changed } }), undefined, field);
    }
    assertEquals(cache.counts.hits, 0);
  }));

Deno.test("the order of a request's fields does not matter, nor whether one is missing or undefined", () => {
  const [{ request }] = MADE;
  const turned = Object.fromEntries(Object.entries(request).reverse()) as unknown as RecompileRequest;
  assertEquals(stateText({ ...turned, windows: undefined }), stateText(request));
  assertNotEquals(stateText({ ...request, windows: 4 }), stateText(request));
});

Deno.test("a file under the name of another request is not taken for its artifact: the key in it is compared", () =>
  inFolder((folder) => {
    filled(folder);
    const [a, b] = MADE.map(({ request, artifact }) =>
      entryName(requestKey(request), request.code.subarray(0, artifact.codeWords))
    );
    Deno.copyFileSync(`${folder}/${b}`, `${folder}/${a}`);
    const cache = new ShaderCache(folder);
    assertEquals(cache.find(MADE[0].request), undefined);
    assertEquals(cache.counts.damaged, 0);
    assertEquals(cache.find(MADE[1].request), MADE[1].artifact);
    // The same code for another state.
    const other = { ...MADE[1].request, ldsBytes: 512 };
    const name = entryName(requestKey(other), other.code.subarray(0, MADE[1].artifact.codeWords));
    Deno.copyFileSync(`${folder}/${b}`, `${folder}/${name}`);
    assertEquals(new ShaderCache(folder).find(other), undefined);
    cache.add(MADE[0].request, MADE[0].artifact);
    cache.flush();
    assertEquals(new ShaderCache(folder).find(MADE[0].request), MADE[0].artifact);
  }));

Deno.test("1,000 mutated cache files: no crash, no wrong artifact, all of them rebuilt", () =>
  inFolder((folder) => {
    filled(folder);
    const random = new Random(20), names = entries(folder), below = (n: number) => random.below(n);
    const originals = names.map((name) => Deno.readFileSync(`${folder}/${name}`));
    const mutations: ((bytes: Uint8Array<ArrayBuffer>, from: Uint8Array) => Uint8Array)[] = [
      (bytes) => (bytes[below(bytes.length)] ^= 1 << below(8), bytes),
      (bytes) => (bytes[below(32)] ^= 1 << below(8), bytes), // the header
      (bytes) => bytes.subarray(0, below(bytes.length)),
      (bytes) => Uint8Array.from([...bytes, ...bytes.subarray(0, 1 + below(40))]),
      (bytes) => bytes.fill(below(256), below(bytes.length)).fill(1, 0, 1),
      (bytes) => (bytes.copyWithin(below(bytes.length), below(bytes.length), bytes.length), bytes[8]++, bytes),
      (_, from) => from.slice(0),
      (bytes, from) => (bytes.set(from.subarray(0, Math.min(64, bytes.length))), bytes[20] ^= 4, bytes),
    ];
    let changed = 0, rebuilt = 0;
    for (let round = 0; changed < 1000; round++) {
      const at = below(names.length), original = originals[at];
      const mutant = mutations[round % mutations.length](original.slice(), originals[(at + 1) % names.length]);
      if (mutant.length === original.length && mutant.every((byte, k) => byte === original[k])) continue;
      changed++;
      Deno.writeFileSync(`${folder}/${names[at]}`, mutant);
      const cache = new ShaderCache(folder);
      const missing = MADE.filter(({ request, artifact }) => {
        const found = cache.find(request);
        if (found !== undefined) assertEquals(found, artifact, `round ${round}`);
        return found === undefined;
      });
      assertEquals(missing.length, 1, `round ${round}: the mutated one alone is not found`);
      assertEquals(cache.notes.length, Math.min(1, cache.counts.damaged), `round ${round}: damage is noted`);
      cache.add(missing[0].request, missing[0].artifact);
      cache.flush();
      const now = Deno.readFileSync(`${folder}/${names[at]}`);
      if (now.length === original.length && now.every((byte, k) => byte === original[k])) rebuilt++;
    }
    assertEquals([changed, rebuilt], [1000, 1000]);
  }));

Deno.test("the folder stays below its bound, and what was used last stays", () =>
  inFolder((folder) => {
    filled(folder);
    const sizes = entries(folder).map((name) => Deno.statSync(`${folder}/${name}`).size);
    const all = sizes.reduce((sum, bytes) => sum + bytes, 0);
    for (const [age, name] of entries(folder).entries()) {
      const time = new Date(Date.now() - 60_000 * (age + 1));
      Deno.utimeSync(`${folder}/${name}`, time, time);
    }
    const oldest = entries(folder).at(-1)!;
    const cache = new ShaderCache(folder, { limitBytes: all });
    const used = MADE.find(({ request, artifact }) =>
      entryName(requestKey(request), request.code.subarray(0, artifact.codeWords)) === oldest
    )!;
    assertEquals(cache.find(used.request), used.artifact);
    const more = { ...MADE[0].request, ldsBytes: 512 };
    cache.add(more, MADE[0].artifact);
    cache.flush();
    const total = entries(folder).reduce((sum, name) => sum + Deno.statSync(`${folder}/${name}`).size, 0);
    assert(total <= all, `${total} bytes`);
    assert(cache.counts.removed >= 1);
    const next = new ShaderCache(folder);
    assertEquals(next.find(used.request), used.artifact);
    assertEquals(next.find(more), MADE[0].artifact);
    const secondOldest = cache.counts.removed;
    assertEquals(MADE.filter(({ request }) => next.find(request) === undefined).length, secondOldest);
  }));

Deno.test("an artifact that is larger than a file may be is not kept, and the cache says so", () =>
  inFolder((folder) => {
    const cache = new ShaderCache(folder, { entryLimitBytes: 100 }), [{ request, artifact }] = MADE;
    cache.add(request, artifact);
    cache.flush();
    assertEquals([entries(folder).length, cache.counts.failed, cache.notes.length], [0, 1, 1]);
    assertEquals(cache.find(request), undefined);
  }));

Deno.test("half-written files of dead processes go after an hour", () =>
  inFolder((folder) => {
    const old = `${folder}/x.shader.1-0-a.part`, young = `${folder}/y.shader.1-0-a.part`;
    for (const file of [old, young]) Deno.writeTextFileSync(file, "x");
    const time = new Date(Date.now() - 7200_000);
    Deno.utimeSync(old, time, time);
    filled(folder);
    assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".part")), [
      "y.shader.1-0-a.part",
    ]);
  }));

Deno.test("a file that another process removes after the cache was opened is a miss", () =>
  inFolder((folder) => {
    filled(folder);
    const cache = new ShaderCache(folder);
    for (const name of entries(folder)) Deno.removeSync(`${folder}/${name}`);
    assertEquals(MADE.map(({ request }) => cache.find(request)), MADE.map(() => undefined));
    assertEquals(cache.counts.damaged, 0);
  }));

Deno.test("a folder that others may write to is not used, and the cache says so", () =>
  inFolder((folder) => {
    Deno.chmodSync(folder, 0o777);
    const cache = new ShaderCache(folder), [{ request, artifact }] = MADE;
    cache.add(request, artifact);
    cache.flush();
    assertEquals([cache.find(request), entries(folder).length, cache.notes.length], [undefined, 0, 1]);
  }));

Deno.test("a folder that is gone at the flush is no error", () =>
  inFolder((folder) => {
    const cache = new ShaderCache(`${folder}/inner`);
    cache.add(MADE[0].request, MADE[0].artifact);
    Deno.removeSync(`${folder}/inner`, { recursive: true });
    cache.flush();
    assertEquals([cache.counts.written, cache.counts.failed, cache.notes.length], [0, 1, 1]);
  }));

Deno.test("ANYPS5_SHADER_CACHE_DIR names the folder, and ANYPS5_NO_SHADER_CACHE leaves the cache out", () =>
  inFolder((folder) => {
    const names = ["ANYPS5_NO_SHADER_CACHE", "ANYPS5_SHADER_CACHE_DIR", "ANYAGC_CACHE_DIR"] as const;
    const before = names.map((name) => Deno.env.get(name));
    const set = (...values: string[]) => names.forEach((name, k) => Deno.env.set(name, values[k]));
    try {
      set("", `${folder}/named`, folder);
      assertEquals(openShaderCache()?.folder, `${folder}/named`);
      set("", "", folder);
      assertEquals(openShaderCache()?.folder, `${folder}/shaders`);
      set("1", `${folder}/other`, folder);
      assertEquals(openShaderCache(), undefined);
      assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), ["named", "shaders"]);
    } finally {
      names.forEach((name, k) => before[k] === undefined ? Deno.env.delete(name) : Deno.env.set(name, before[k]));
    }
  }));

Deno.test("looking through a folder finds the whole entries, those of other versions, and the damaged ones by name", () =>
  inFolder((folder) => {
    assertEquals(inspectShaderCache(`${folder}/none`), undefined);
    filled(folder);
    const names = entries(folder), sizes = names.map((name) => Deno.statSync(`${folder}/${name}`).size);
    const whole = { folder, otherVersions: 0, damaged: [], bytes: sizes.reduce((sum, size) => sum + size, 0) };
    assertEquals(inspectShaderCache(folder), { ...whole, entries: MADE.length });
    const bytes = Deno.readFileSync(`${folder}/${names[0]}`);
    bytes[bytes.length - 1] ^= 1;
    Deno.writeFileSync(`${folder}/${names[0]}`, bytes);
    // Another version, whole: its checksum is made anew.
    const other = Deno.readFileSync(`${folder}/${names[1]}`);
    new DataView(other.buffer).setUint32(8, 1, true);
    other.fill(0, 24, 32);
    other.set(byteChecksum(other), 24);
    Deno.writeFileSync(`${folder}/${names[1]}`, other);
    const found = inspectShaderCache(folder)!;
    assertEquals([found.entries, found.otherVersions, found.damaged], [MADE.length - 2, 1, [names[0]]]);
  }));

Deno.test("what is no file under an entry's name, a folder or a pipe, is neither read nor written to: nothing waits for it", () =>
  inFolder((folder) => {
    filled(folder);
    const name = entries(folder)[0], path = `${folder}/${name}`, bytes = Deno.readFileSync(path);
    const { request, artifact } = MADE.find((made) => entryName(requestKey(made.request), made.request.code) === name)!;
    const makes = [() => Deno.mkdirSync(path), () => new Deno.Command("mkfifo", { args: [path] }).outputSync()];
    for (const make of makes) {
      Deno.removeSync(path);
      make();
      const cache = new ShaderCache(folder);
      assertEquals([cache.find(request), cache.counts.reads], [undefined, 0]);
      cache.add(request, artifact);
      cache.flush();
      assertEquals([cache.counts.failed, cache.notes], [1, [`${path} is in the way: it is no file`]]);
      assertEquals(Deno.statSync(path).isFile, false);
      assertEquals(inspectShaderCache(folder)!.damaged, [name]);
    }
    Deno.removeSync(path);
    Deno.writeFileSync(path, bytes);
    assertEquals(new ShaderCache(folder).find(request), artifact);
  }));
