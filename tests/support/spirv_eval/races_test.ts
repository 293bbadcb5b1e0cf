import { assertThrows } from "@std/assert";
import { Races } from "./races.ts";

const CELLS: unknown[] = [0, 0], ONE = {}, OTHER = {};
const by = (invocation: number, subgroup: object = ONE, subgroupBarriers = 0, workgroupBarriers = 0) => ({
  invocation,
  subgroup,
  subgroupBarriers,
  workgroupBarriers,
});

Deno.test("a load of what another invocation of the subgroup has stored needs a barrier of the subgroup or workgroup between them", () => {
  const races = new Races();
  races.store(CELLS, 0, 5, by(1), 100);
  races.load(CELLS, 0, by(1), 101);
  races.load(CELLS, 1, by(2), 102);
  assertThrows(
    () => races.load(CELLS, 0, by(2), 103),
    Error,
    "word 103: invocation 2 loads element 0, which 1 has stored",
  );
  races.load(CELLS, 0, by(2, ONE, 1), 104);
  races.load(CELLS, 0, by(3, ONE, 0, 1), 105);
});

Deno.test("a store of what another invocation of the subgroup has loaded or stored needs a barrier, unless both store the same", () => {
  for (const first of [1, 2]) {
    const races = new Races();
    races.load(CELLS, 0, by(first), 100);
    races.load(CELLS, 0, by(3 - first), 100);
    assertThrows(
      () => races.store(CELLS, 0, 5, by(1), 101),
      Error,
      "invocation 1 stores element 0, which 2 has loaded",
    );
    races.store(CELLS, 0, 5, by(1, ONE, 1), 102);
    races.store(CELLS, 0, 5, by(2, ONE, 1), 103);
    assertThrows(() => races.store(CELLS, 0, 6, by(1, ONE, 1), 104), Error, "invocations 2 and 1 store element 0");
  }
});

Deno.test("other subgroups, and atomic operations, are not looked at", () => {
  const races = new Races();
  races.store(CELLS, 0, 5, by(1), 100);
  races.load(CELLS, 0, by(9, OTHER), 101);
  races.store(CELLS, 0, 6, by(1), 102);
  races.forget(CELLS, 0);
  races.load(CELLS, 0, by(2), 103);
});

Deno.test("in device memory, loads and stores of one byte need a barrier between invocations; two stores do not", () => {
  const races = new Races();
  races.storeMemory(0x1000n, 4, by(1), 100);
  races.storeMemory(0x1000n, 4, by(2), 101);
  races.loadMemory(0x1004n, 8, by(1), 102);
  assertThrows(
    () => races.loadMemory(0x1003n, 1, by(1), 103),
    Error,
    "word 103: invocation 1 loads element 4099, which 2 has stored",
  );
  assertThrows(() => races.storeMemory(0x1006n, 2, by(2), 104), Error, "which 1 has loaded without a barrier");
  races.loadMemory(0x1003n, 1, by(1, ONE, 1), 105);
  races.forgetMemory(0x1004n, 8);
  races.storeMemory(0x1006n, 2, by(2), 106);
});
