import { assertEquals, assertRejects } from "@std/assert";
import { HostError } from "../../../src/errors.ts";
import { extractModules, fetchPackage } from "../../../tools/corpus/extract.ts";
import { assemble, bytesOf, emptyModule, scaleModule, withFolder } from "./support.ts";

Deno.test("every different compute module is written once, and the index says where it was", () =>
  withFolder((folder) => {
    const empty = bytesOf(assemble(emptyModule)), scale = bytesOf(assemble(scaleModule));
    const fragment = bytesOf(
      assemble(emptyModule.replace("GLCompute", "Fragment").replace("LocalSize 1 1 1", "OriginUpperLeft")),
    );
    const magic = [3, 2, 0x23, 7];
    Deno.writeFileSync(`${folder}/a.so`, Uint8Array.from([9, ...scale, 0, 0, ...empty, ...magic]));
    Deno.writeFileSync(`${folder}/b.so`, Uint8Array.from([...fragment, ...empty]));
    const output = `${folder}/out`;
    const found = extractModules([`${folder}/a.so`, `${folder}/b.so`], output);
    assertEquals(found.duplicates, 1);
    assertEquals(found.modules.map(({ source, offset, bytes }) => [source, offset, bytes]), [
      ["a.so", 1, scale.length],
      ["a.so", 3 + scale.length, empty.length],
    ]);
    assertEquals(found.modules.map(({ file }) => file.replace(/-[0-9a-f]{12}-/, "-HASH-")), [
      "0000-HASH-scale.spv",
      "0001-HASH-main.spv",
    ]);
    assertEquals(found.otherModules.map(({ source, offset }) => [source, offset]), [["b.so", 0]]);
    assertEquals(found.rejected, [
      { source: "a.so", offset: 3 + scale.length + empty.length, reason: "the header is cut off" },
    ]);
    assertEquals(Deno.readFileSync(`${output}/${found.modules[0].file}`), scale);
    assertEquals(JSON.parse(Deno.readTextFileSync(`${output}/modules.json`)), found);
  }));

Deno.test("a package that is there already is not fetched again; its ELF files are listed", () =>
  withFolder(async (folder) => {
    const inside = `${folder}/scope-name-1.0.0/package/bins`;
    Deno.mkdirSync(inside, { recursive: true });
    Deno.writeTextFileSync(`${inside}/b.so`, "\x7fELF and more");
    Deno.writeTextFileSync(`${inside}/a.node`, "\x7fELF");
    Deno.writeTextFileSync(`${inside}/README`, "text");
    Deno.writeTextFileSync(`${inside}/x`, "\x7fE");
    assertEquals(await fetchPackage("@scope/name@1.0.0", folder), [`${inside}/a.node`, `${inside}/b.so`]);
  }));

Deno.test("a package that npm cannot pack is an error with npm's words", () =>
  withFolder(async (folder) => {
    const error = await assertRejects(() => fetchPackage(`${folder}/no-such-package`, folder), HostError);
    assertEquals(error.code, "host.npm");
  }));
