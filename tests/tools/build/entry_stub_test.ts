import { assertEquals } from "@std/assert";
import { ENTRY_CODE, ENTRY_NUMBERS_BYTES, entryStub } from "../../../tools/build/entry_stub.ts";
import { projectFile } from "../../cli/support.ts";

const ASSEMBLER = "/usr/bin/llvm-mc-19", OBJCOPY = "/usr/bin/llvm-objcopy-19";

function missing(): string | undefined {
  for (const path of [ASSEMBLER, OBJCOPY]) {
    try {
      Deno.statSync(path);
    } catch {
      return `${path} is missing`;
    }
  }
}

const ignore = missing();
Deno.test({
  name: `the entry stub's bytes are what entry_stub.s assembles to${
    ignore === undefined ? "" : ` [ignored: ${ignore}]`
  }`,
  ignore: ignore !== undefined,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const object = `${folder}/stub.o`,
        binary = `${folder}/stub.bin`,
        source = projectFile("tools/build/entry_stub.s");
      for (
        const [program, args] of [
          [ASSEMBLER, ["-triple=x86_64", "-filetype=obj", source, "-o", object]],
          [OBJCOPY, ["-O", "binary", "--only-section=.text", object, binary]],
        ] as const
      ) {
        assertEquals((await new Deno.Command(program, { args: [...args] }).output()).code, 0);
      }
      const bytes = await Deno.readFile(binary);
      assertEquals(bytes.subarray(0, bytes.length - ENTRY_NUMBERS_BYTES).toHex(), ENTRY_CODE);
      assertEquals(bytes.subarray(bytes.length - ENTRY_NUMBERS_BYTES).every((byte) => byte === 0), true);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test("numbers and strings follow the code, the strings named by where they lie", () => {
  const bytes = entryStub({ entry: -5n, environSlot: 0x1234n, args: ["run", "é"], environment: ["A=b"] });
  const view = new DataView(bytes.buffer), code = ENTRY_CODE.length / 2;
  assertEquals(view.getBigInt64(code, true), -5n);
  assertEquals(view.getBigInt64(code + 8, true), 0x1234n);
  assertEquals([view.getUint32(code + 16, true), view.getUint32(code + 20, true)], [2, 1]);
  const strings = [0, 1, 2].map((i) => {
    const at = view.getUint32(code + ENTRY_NUMBERS_BYTES + 4 * i, true);
    return new TextDecoder().decode(bytes.subarray(at, bytes.indexOf(0, at)));
  });
  assertEquals(strings, ["run", "é", "A=b"]);
});
