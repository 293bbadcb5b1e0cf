import { assertEquals, assertStringIncludes } from "@std/assert";
import { VulkanDevice } from "../../../src/driver/vulkan/vulkan_device.ts";
import { GpuDevice } from "../../../src/gpu/device.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { manyPipelines, onTwoQueues } from "./programs.ts";
import { withCaches } from "./stores.ts";

/** What happened to a journal with three records of the same size, what is said of it, and how many records are left. */
const DAMAGES: Record<string, [change: (bytes: Uint8Array) => Uint8Array, said: string, records: number]> = {
  "is cut off": [(bytes) => bytes.slice(0, -7), "a record at the end was not finished, and is cut off", 2],
  "is damaged in the middle": [
    (bytes) => {
      const [record, second] = [bytes.length - lastMark(bytes), bytes.length - 2 * (bytes.length - lastMark(bytes))];
      bytes[second + (record >> 1)] ^= 1;
      return bytes;
    },
    "in the middle are damaged, and removed",
    2,
  ],
  "has a damaged head": [(bytes) => (bytes[0] ^= 1, bytes), "has a damaged head; its records are kept", 3],
  "is empty": [() => new Uint8Array(0), "has a damaged head; its records are kept", 0],
};

/** Where the last record begins, by the mark that the file's first page describes. */
function lastMark(bytes: Uint8Array): number {
  const view = new DataView(bytes.buffer);
  for (let at = bytes.length - 4;; at--) if (view.getUint32(at, true) === 0x5243_6a1e) return at;
}

for (
  const [queues, program] of [["one queue", manyPipelines(1, 3)], [
    "two queues",
    onTwoQueues(manyPipelines(1, 3)),
  ]] as const
) {
  deviceTest(
    `a journal of a program with ${queues} that is damaged is said, once`,
    () =>
      withCaches(async (folder) => {
        const open = () => new VulkanDevice(GpuDevice.create({ validation: true }), "automatic"), device = open();
        const prepare = (starts: boolean) => device.prepare(program, undefined, { starts });
        /** In turns, whatever the number of queues. */
        const record = async () => {
          await prepare(false);
          device.run(program).close();
        };
        await record();
        const [name, ...more] = [...Deno.readDirSync(`${folder}/pipelines`)].map(({ name }) => name)
          .filter((name) => name.endsWith(".journal"));
        assertEquals(more, []);
        const path = `${folder}/pipelines/${name}`;
        for (const [what, [change, said, records]] of Object.entries(DAMAGES)) {
          Deno.writeFileSync(path, change(Deno.readFileSync(path)));
          const { replay, notes } = (await prepare(true))!;
          assertEquals([replay.recorded, notes.length], [records, 1], `${what}: ${notes}`);
          assertStringIncludes(notes[0], said);
          // A program without records would get isolates.
          const again = (await prepare(records > 0))!;
          assertEquals([again.replay.recorded, again.notes], [records, []], what);
          await record();
        }
        device.close();
        if (queues === "one queue") return;
        // Isolates, which nobody has prepared.
        Deno.writeFileSync(path, Deno.readFileSync(path).slice(0, -7));
        const other = open(), run = await other.start(program);
        assertEquals(run.result.notes.length, 1);
        run.close();
        other.close();
      }),
  );
}
