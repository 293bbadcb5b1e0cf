/** What workgroups tell each other through memory, and in which order. */
import { assert, assertEquals } from "@std/assert";
import { openSpirvTools } from "../../../ffi/spirv_tools.ts";
import type { RecompilerDevice } from "../../../src/recompiler/request.ts";
import { recompile } from "../../../src/recompiler/recompile.ts";
import { verifyModule } from "../../support/verify_module.ts";
import { evaluatedDevice } from "../../support/spirv_eval/executor.ts";
import { makeRequest } from "../../support/lift.ts";
import { deviceTest } from "../../support/vulkan.ts";
import { assemble } from "../waves/assembled.ts";
import { codeOf, onDevice, onWeakHost } from "./guest.ts";
import { deviceBarriers, hasUnorderedWay, isLoadedAtomically } from "./module_order.ts";
import { LITMUS, PAIRS, withoutFences } from "./programs.ts";
import { DATA_AT, FREE, type Shape, SHAPES } from "./shapes.ts";

const SIZE = { groups: 4, rounds: 6 }, MODES = [undefined, "spanned", "packed"] as const;

for (const litmus of LITMUS) {
  Deno.test(`${litmus.name}: nothing is missed on memory that orders nothing by itself`, () => {
    for (const subgroupSize of [8, 32] as const) {
      for (const asked of MODES) {
        const { mismatches, artifact } = onWeakHost(litmus, SIZE, 7, { asked, subgroupSize });
        const { memory, control } = deviceBarriers(artifact.spirv);
        assertEquals(mismatches[0], 0, `${litmus.name}, ${asked}, ${subgroupSize} lanes`);
        assert(mismatches[1] > 0 && memory + control > 0);
      }
    }
  });

  Deno.test(`${litmus.name}: without its fences, and without the module's barriers, values are missed there`, () => {
    const missed = (...options: Parameters<typeof onWeakHost>) => onWeakHost(...options).mismatches[0];
    const seeds = [1, 2, 3, 4, 5, 6];
    assert(seeds.some((seed) => missed(withoutFences(litmus), SIZE, seed) > 0), "without its fences");
    assert(seeds.some((seed) => missed(litmus, SIZE, seed, { change: withoutDeviceScope }) > 0), "without barriers");
  });
}

Deno.test("two dwords at a multiple of 8 come as one, where the device has 64-bit atomics", () => {
  for (const subgroupSize of [8, 32] as const) {
    for (const asked of MODES) {
      for (const seed of [1, 2, 3]) {
        const { mismatches } = onWeakHost(PAIRS, SIZE, seed, { asked, subgroupSize });
        assertEquals(mismatches, [0, 128], `${asked}, ${subgroupSize} lanes`);
      }
    }
  }
  const torn = onWeakHost(PAIRS, SIZE, 1, { device: { bufferInt64Atomics: false } });
  assert(torn.mismatches[0] > 0);
});

/** The same module with memory barriers left out, and control barriers that order memory of the workgroup only. */
function withoutDeviceScope(spirv: Uint32Array): Uint32Array {
  const words = [...spirv.subarray(0, 5)];
  for (let at = 5; at < spirv.length; at += spirv[at] >>> 16) {
    const opcode = spirv[at] & 0xffff, instruction = spirv.slice(at, at + (spirv[at] >>> 16));
    if (opcode === MEMORY_BARRIER) continue;
    if (opcode === CONTROL_BARRIER) instruction[2] = instruction[1];
    words.push(...instruction);
  }
  return Uint32Array.from(words);
}

/** Khronos SPIR-V specification, section 3.32.20. */
const CONTROL_BARRIER = 224, MEMORY_BARRIER = 225;

function moduleOf({ threads, lines }: Pick<Shape, "threads" | "lines">, laneMode?: RecompilerDevice["laneMode"]) {
  const request = makeRequest({
    code: Uint32Array.from(assemble("gfx1030", 32, lines)),
    workgroupSize: [threads, 1, 1],
    userSgprCount: 8,
  });
  const device = { ...evaluatedDevice(8), laneMode };
  const { spirv } = recompile({ ...request, device });
  assertEquals(verifyModule(spirv), []);
  assertEquals(openSpirvTools().validate(spirv).map(({ message }) => message), []);
  return spirv;
}

for (const shape of SHAPES) {
  const { name, from, to, ordered } = shape;
  Deno.test(`${name}: ${ordered ? "a barrier of Device scope is on every way" : "nothing is between them on some way"}`, () => {
    for (const laneMode of [undefined, "packed"] as const) {
      assertEquals(hasUnorderedWay(moduleOf(shape, laneMode), from, to), !ordered, `${laneMode}`);
    }
  });
}

Deno.test("a load behind an acquire does not find what a cache of the device holds; another one may", () => {
  const loads = SHAPES.filter(({ to }) => to === DATA_AT);
  assertEquals(loads.map((shape) => isLoadedAtomically(moduleOf(shape), DATA_AT)), loads.map(({ ordered }) => ordered));
});

for (const free of FREE) {
  Deno.test(`${free.name}: fences that order nothing for others are not in the module`, () => {
    assertEquals(deviceBarriers(moduleOf(free)), { memory: 0, control: 0 });
  });
}

Deno.test("a barrier of the guest gets Device scope, and needs no memory barrier beside it", () => {
  const through = SHAPES.filter(({ lines }) => lines.includes("s_barrier"));
  const counts = through.map((shape) => ({ name: shape.name, ...deviceBarriers(moduleOf(shape)) }));
  assertEquals(
    counts,
    through.map(({ name, ordered }) => ({ name, memory: 0, control: ordered ? 1 : 0 })),
  );
});

deviceTest("litmus programs leave on the device what they leave on the console", (device) => {
  for (const litmus of [...LITMUS, PAIRS]) {
    for (const asked of [undefined, "packed"] as const) {
      const { mismatches } = onDevice(device, litmus, { groups: 8, rounds: 10 }, asked);
      assertEquals(mismatches[0], 0, `${litmus.name}, ${asked}`);
      assert(mismatches[1] > 0);
    }
  }
});

Deno.test("litmus programs are what they say: their code ends, and has waits", () => {
  for (const litmus of LITMUS) {
    assert(codeOf(litmus).includes(0xbf810000));
    assert(codeOf(withoutFences(litmus)).length < codeOf(litmus).length);
  }
});
