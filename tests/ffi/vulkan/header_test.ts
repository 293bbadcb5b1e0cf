import { assertEquals } from "@std/assert";
import * as generated from "../../../ffi/vulkan/generated/mod.ts";
import { Struct } from "../../../ffi/vulkan/struct.ts";
import { readSelection, registryPath } from "../../../tools/vulkan/generate.ts";

const header = "/usr/include/vulkan/vulkan_core.h";
const missing = [header, registryPath].filter((file) => {
  try {
    return !Deno.statSync(file).isFile;
  } catch {
    return true;
  }
});
const reason = missing.length === 0 ? "" : ` [ignored: no ${missing[0]}; Debian: apt install libvulkan-dev]`;

/** Compiles and runs a C program; returns its output. */
async function runC(source: string): Promise<string> {
  const folder = Deno.makeTempDirSync();
  try {
    Deno.writeTextFileSync(`${folder}/main.c`, source);
    const compiler = await new Deno.Command("cc", { args: ["-o", `${folder}/main`, `${folder}/main.c`] }).output();
    assertEquals(new TextDecoder().decode(compiler.stderr), "");
    return new TextDecoder().decode((await new Deno.Command(`${folder}/main`).output()).stdout);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test({
  name: "sizes, offsets, sType values and constants are those of the C header" + reason,
  ignore: missing.length > 0,
  async fn() {
    const { registry } = readSelection();
    const expected: string[] = [], statements: string[] = [];
    const expectLine = (line: string, format: string, value: string) => {
      expected.push(line);
      statements.push(`printf("${format}\\n", (long long)(${value}));`);
    };
    for (const [name, value] of Object.entries(generated)) {
      if (value instanceof Struct) {
        expectLine(`${name} ${value.byteLength}`, `${name} %lld`, `sizeof(${name})`);
        expectLine(`${name} align ${value.alignment}`, `${name} align %lld`, `_Alignof(${name})`);
        for (const [member, field] of Object.entries(value.fields)) {
          const at = (field as { at: number }).at;
          expectLine(`${name}.${member} ${at}`, `${name}.${member} %lld`, `offsetof(${name}, ${member})`);
        }
        const type = registry.structs.get(name)!.members.find((one) => one.name === "sType")?.value;
        assertEquals(type === undefined, value.sType === undefined, name);
        if (type !== undefined) expectLine(`${name} sType ${value.sType}`, `${name} sType %lld`, type);
      } else if (typeof value === "number" || typeof value === "bigint") {
        expectLine(`${name} ${BigInt.asIntN(64, BigInt(value))}`, `${name} %lld`, name);
      }
    }
    const source = `#include <stdio.h>\n#include <stddef.h>\n#include <vulkan/vulkan.h>\nint main(void) {\n${
      statements.join("\n")
    }\nreturn 0; }\n`;
    const actual = (await runC(source)).trimEnd().split("\n");
    assertEquals(actual.length > 2000, true, `only ${actual.length} facts were compared`);
    assertEquals(actual, expected);
  },
});
