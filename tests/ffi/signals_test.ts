import { assertEquals } from "@std/assert";
import { HANDLER_CODE } from "../../ffi/signals.ts";

const ASSEMBLER = "/usr/bin/llvm-mc-19", OBJCOPY = "/usr/bin/llvm-objcopy-19";
const missing = [ASSEMBLER, OBJCOPY].find((path) => {
  try {
    return !Deno.statSync(path).isFile;
  } catch {
    return true;
  }
});

Deno.test({
  name: `the signal handler's bytes are what signal_handler.s assembles to${
    missing ? ` [ignored: ${missing} is missing]` : ""
  }`,
  ignore: missing !== undefined,
  async fn() {
    const folder = await Deno.makeTempDir(), object = `${folder}/h.o`, binary = `${folder}/h.bin`;
    try {
      const source = decodeURIComponent(new URL("../../ffi/signal_handler.s", import.meta.url).pathname);
      const assemble = ["-triple=x86_64", "-filetype=obj", source, "-o", object];
      assertEquals((await new Deno.Command(ASSEMBLER, { args: assemble }).output()).code, 0);
      const copy = ["-O", "binary", "--only-section=.text", object, binary];
      assertEquals((await new Deno.Command(OBJCOPY, { args: copy }).output()).code, 0);
      assertEquals((await Deno.readFile(binary)).toHex(), HANDLER_CODE);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
