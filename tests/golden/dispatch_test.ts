/** The recorded compute dispatch of the console: corpus/golden, EXPECTED.md ("c0 c0-dispatch-1"). */
import { assertEquals } from "@std/assert";
import { loadProgram } from "../../src/guest/load_program.ts";
import { mapProgram } from "../../src/guest/map_program.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import { corpusFile } from "../support/corpus.ts";
import { BACKINGS, corpusDeviceTest, runGuestWell } from "../support/run.ts";

const BUFFER = 0x2_0002_a000n, MARKER = 0x2_0002_bffcn;

corpusDeviceTest(
  "the console's dispatch c0-dispatch-1 gives what the console recorded",
  "golden",
  async (device, context) => {
    const program = loadProgram(corpusFile("golden", "c0__c0-dispatch-1.json"));
    const before = new GuestMemory(new ArrayAllocator());
    mapProgram(program, before);
    for (const backing of BACKINGS) {
      await context.step(backing, () => {
        using run = runGuestWell(device, program, backing);
        assertEquals(run.result.outcome, "passed");
        assertEquals([run.result.submissions, run.result.dispatches], [1, 1]);
        assertEquals(run.memory.readU32(BUFFER), 0xa5a5_a5a5);
        assertEquals(run.memory.readU32(MARKER), 0x4239_0001);
        // Nothing else has changed: the rest of the buffer's page, and everything that was mapped.
        for (const window of run.memory.windows) {
          const expected = before.read(window.base, window.byteLength, 0),
            actual = run.memory.read(window.base, window.byteLength, 0);
          const changed = [];
          for (let i = 0; i < actual.length; i += 4) {
            if (actual.subarray(i, i + 4).some((byte, k) => byte !== expected[i + k])) {
              changed.push(window.base + BigInt(i));
            }
          }
          assertEquals(changed, [BUFFER, MARKER].filter((address) => address >= window.base && address < window.end));
        }
      });
    }
  },
);
