import { assertEquals, assertThrows } from "@std/assert";
import { generate, registryPath } from "../../../tools/vulkan/generate.ts";
import { child, elements, parseXml, textOf } from "../../../tools/vulkan/xml.ts";

const folder = new URL("../../../ffi/vulkan/generated/", import.meta.url);
let present = true;
try {
  Deno.statSync(registryPath);
} catch {
  present = false;
}

Deno.test({
  name: "the checked-in Vulkan bindings are what the generator writes" +
    (present ? "" : ` [ignored: no ${registryPath}; Debian: apt install libvulkan-dev]`),
  ignore: !present,
  async fn() {
    const files = await generate();
    assertEquals([...Deno.readDirSync(folder)].map((one) => one.name).sort(), [...files.keys()].sort());
    for (const [name, text] of files) assertEquals(Deno.readTextFileSync(new URL(name, folder)), text, name);
  },
});

Deno.test("the XML parser keeps order, text and entities", () => {
  const root = parseXml(`<?xml version="1.0"?><a x="1 &lt; 2"><!-- <b/> -->const <b>T</b>* <c/> &amp; rest</a>`);
  assertEquals(root.attributes.x, "1 < 2");
  assertEquals(textOf(root), "const T*  & rest");
  assertEquals(elements(root).map((one) => one.name), ["b", "c"]);
  assertEquals(textOf(child(root, "b")!), "T");
});

Deno.test("malformed XML is refused", () => {
  assertThrows(() => parseXml("<a><b></a>"), Error, "</a> closes <b>");
  assertThrows(() => parseXml("<a>"), Error, "<a> is not closed");
  assertThrows(() => parseXml("<!DOCTYPE a><a/>"), Error, "declarations");
});
