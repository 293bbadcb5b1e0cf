import { assertEquals } from "@std/assert";
import { Lines } from "../../../../tools/corpus/radv/lines.ts";

Deno.test("lines are put together from any pieces; what is not ended is no line", async () => {
  const text = 'one\n\nthree, with a long "ä"\ncut';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 3, 1000]) {
    const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const lines = new Lines(stream);
    const read: (string | undefined)[] = [];
    for (let i = 0; i < 5; i++) read.push(await lines.next());
    assertEquals(read, ["one", "", 'three, with a long "ä"', undefined, undefined], `pieces of ${size} bytes`);
  }
});
