import { assertEquals, assertThrows } from "@std/assert";
import { runError, runProgram } from "../../src/driver/run_program.ts";
import { type AnyAgcError, GuestFaultError, HostError } from "../../src/errors.ts";
import { ArrayAllocator } from "../../src/guest/memory/allocator.ts";
import { GuestMemory } from "../../src/guest/memory/guest_memory.ts";
import type { Program } from "../../src/guest/program.ts";
import { computeState, GuestProgram } from "../support/guest_program.ts";
import { dispatchDirect, setComputeRegisters, waitMemoryEquals, writeData } from "../support/packets.ts";
import { FakeExecutor } from "./fake_executor.ts";

/** A program with one buffer of a page. */
function program(...submissions: [queue: number, packets: (address: bigint) => number[]][]) {
  const guest = new GuestProgram("own"), data = guest.buffer(Uint32Array.of(1, 2, 3));
  for (const [queue, packets] of submissions) guest.submit(queue, packets(data.address));
  return { program: guest.program, address: data.address };
}

function run(of: Program, executor = new FakeExecutor()) {
  const memory = new GuestMemory(new ArrayAllocator());
  return { result: runProgram(of, executor, memory), memory, executor };
}

const expectation = (address: bigint, word: number) => ({
  address,
  data: new Uint8Array(Uint32Array.of(word).buffer),
  bytes: 4,
  reason: "test",
});
const dispatch = (code: bigint) => [...computeState({ code, userData: [] }), ...dispatchDirect([1, 1, 1])];

Deno.test("a program passes when its expectations hold and untouched memory is as it was", () => {
  const { program: own, address } = program([0, (at) => writeData(at, 7)]);
  own.expectations.push(expectation(address, 7));
  own.untouched.push({ address: address + 4n, bytes: 4092, reason: "rest" });
  const { result } = run(own);
  assertEquals([result.outcome, result.compared, result.differences, result.error], ["passed", 2, [], undefined]);
  assertEquals([result.submissions, result.queues, runError(result)], [1, [0], undefined]);
});

Deno.test("a program whose memory is not as expected differs, and says where", () => {
  const { program: own, address } = program([0, (at) => writeData(at, 7, 8)]);
  own.expectations.push(expectation(address, 6));
  own.untouched.push({ address: address + 4n, bytes: 8, reason: "rest" });
  const { result } = run(own);
  assertEquals(result.outcome, "differs");
  assertEquals(result.differences.map(({ kind, address, expected, actual }) => [kind, address, expected, actual]), [
    ["expectation", address, 6, 7],
    ["untouched", address + 4n, 2, 8],
  ]);
});

Deno.test("nothing of any submission runs when one of them is malformed", () => {
  const { program: own, address } = program([0, (at) => writeData(at, 7)], [0x20, () => [0xc000_ff00, 0]]);
  const { result, memory } = run(own);
  assertEquals([result.outcome, result.error?.place.queue, result.submissions], ["failed", 0x20, 1]);
  assertEquals(memory.readU32(address), 1);
  assertEquals(result.compared, 0);
});

Deno.test("memory that cannot be mapped is the guest's failure", () => {
  const { program: own } = program([0, (at) => writeData(at, 7)]);
  own.memory.push({ ...own.memory[0], name: "again" });
  const { result, memory } = run(own);
  assertEquals([result.outcome, result.error?.code], ["failed", "memory.overlap"]);
  assertEquals(memory.windows.length, 0);
});

Deno.test("an error of the host is thrown, one of the guest is the result", () => {
  const guest = program([0, dispatch]).program;
  assertThrows(
    () =>
      run(
        guest,
        new FakeExecutor(() => {
          throw new HostError("host.test", "no more");
        }),
      ),
    HostError,
    "no more",
  );
  const { result } = run(
    guest,
    new FakeExecutor(() => {
      throw new GuestFaultError("test.fault", "bad");
    }),
  );
  assertEquals([result.outcome, result.error?.code, result.dispatches], ["failed", "test.fault", 1]);
});

Deno.test("a fault of dispatches in flight is the error, though something later fails first", () => {
  // A dispatch that is refused does not wait for the one before it.
  const { program: own } = program([
    0,
    (at) => [...dispatch(at), ...setComputeRegisters(0x213, 1), ...dispatchDirect([1, 1, 1])],
  ]);
  let faults = 0;
  const executor = new FakeExecutor(() => {
    faults++;
    throw new GuestFaultError("test.fault", "bad");
  });
  const { result } = run(own, executor);
  assertEquals([result.error?.code, faults], ["test.fault", 1]);
  assertEquals((result.error?.cause as AnyAgcError).code, "driver.scratch");
});

Deno.test("queues run in turns, each as far as it can, and released waits are listed", () => {
  const { program: own, address } = program(
    [0, (at) => [...waitMemoryEquals(at, 10), ...writeData(at, 20)]],
    [0x21, (at) => [...waitMemoryEquals(at, 20), ...writeData(at, 30)]],
    [0x20, (at) => [...writeData(at, 10), ...waitMemoryEquals(at, 30), ...writeData(at, 40)]],
  );
  const { result, memory } = run(own);
  assertEquals(memory.readU32(address), 40);
  assertEquals(result.waits.map(({ queue, reference }) => [queue, reference]), [
    [0, 10n],
    [0x21, 20n],
    [0x20, 30n],
  ]);
});

Deno.test("a wait that only its own queue could end is reported with its packet", () => {
  const { program: own, address } = program([0x20, (at) => [...waitMemoryEquals(at, 9), ...writeData(at, 9)]]);
  own.sourceFile = "own.json";
  const { result } = run(own);
  assertEquals(result.error?.code, "driver.wait-forever");
  const { file, queue, guestAddress, words } = result.error!.place;
  assertEquals([file, queue, guestAddress, words?.length], ["own.json", 0x20, address, 7]);
});
