import { assertEquals } from "@std/assert";
import {
  Access,
  Context,
  FaultReason,
  FaultRecord,
  nowhere,
  nowhereReason,
  WindowEntry,
} from "../../src/recompiler/abi.ts";
import { accessInfo, MAX_ACCESS_PC, readFaultRecord } from "../../src/recompiler/fault_record.ts";

/** A context block with windows and, if given, a fault. */
function block(fault?: { address: bigint; info: number }): DataView {
  const windows = [
    { begin: 0x1000n, end: 0x2000n, access: Access.Read | Access.Write },
    { begin: 0x2000n, end: 0x3000n, access: Access.Read },
    { begin: 0xffff_ffff_ffff_0000n, end: 0n, access: Access.Read },
  ];
  const view = new DataView(new ArrayBuffer(16 + Context.Windows + windows.length * WindowEntry.Bytes));
  view.setUint32(16 + Context.WindowCount, windows.length, true);
  windows.forEach(({ begin, end, access }, k) => {
    const entry = 16 + Context.Windows + k * WindowEntry.Bytes;
    view.setBigUint64(entry + WindowEntry.Begin, begin, true);
    view.setBigUint64(entry + WindowEntry.End, end, true);
    view.setUint32(entry + WindowEntry.Access, access, true);
  });
  if (fault !== undefined) {
    view.setUint32(16 + Context.Fault + FaultRecord.State, 1, true);
    view.setUint32(16 + Context.Fault + FaultRecord.Info, fault.info, true);
    view.setBigUint64(16 + Context.Fault + FaultRecord.Address, fault.address, true);
  }
  return view;
}

function reason(address: bigint, bytes: number, access: number, alignment = 1): number | undefined {
  return readFaultRecord(block({ address, info: accessInfo(bytes, access, alignment, 0) }), 16)?.reason;
}

Deno.test("a context block without a fault has none on record", () => {
  assertEquals(readFaultRecord(block(), 16), null);
});

Deno.test("an access comes out of the record as it went in, up to the largest program", () => {
  for (const bytes of [1, 2, 4, 8, 12, 16]) {
    for (const pc of [0, 4, 0x1234, MAX_ACCESS_PC]) {
      const fault = readFaultRecord(block({ address: 5n, info: accessInfo(bytes, Access.Write, 4, pc) }), 16);
      assertEquals(fault, { reason: FaultReason.Unmapped, address: 5n, bytes, access: Access.Write, pc });
    }
  }
});

Deno.test("the reason is found from the window table: overflow, unmapped, permission, alignment, in this order", () => {
  const read = Access.Read, write = Access.Write;
  assertEquals(reason(0xffff_ffff_ffff_fffcn, 8, read), FaultReason.Overflow);
  assertEquals(reason(0xffff_ffff_ffff_fffcn, 4, write), FaultReason.Permission);
  assertEquals(reason(0xffen, 4, write, 4), FaultReason.Unmapped);
  assertEquals(reason(0x2ffen, 4, write, 4), FaultReason.Unmapped);
  assertEquals(reason(0x1ffen, 4, write, 4), FaultReason.Permission);
  assertEquals(reason(0x2001n, 4, write, 4), FaultReason.Permission);
  assertEquals(reason(0x1002n, 4, read | write, 4), FaultReason.Unaligned);
});

Deno.test("an access that the windows allow failed for the module's own reasons", () => {
  assertEquals(reason(0x1ffcn, 8, Access.Read, 4), FaultReason.Elsewhere);
  assertEquals(reason(0xffff_ffff_ffff_fffcn, 4, Access.Read, 4), FaultReason.Elsewhere);
});

Deno.test("an address that is none says why, whatever an address computation adds to it", () => {
  const { BufferDescriptor, BufferFormat, ScratchCrossing, CubeEdge, SampleNumber } = FaultReason;
  for (const expected of [BufferDescriptor, BufferFormat, ScratchCrossing, CubeEdge, SampleNumber]) {
    const address = BigInt(nowhere(expected)) << 32n;
    assertEquals(reason(address, 4, Access.Read), expected);
    assertEquals(reason(address + (1n << 48n) - 4n, 16, Access.Write, 4), expected);
    assertEquals(nowhereReason(address - 1n) === expected, false);
  }
});

Deno.test("other addresses say nothing: sign-extended ones, and those with another first byte or no such reason", () => {
  const high = nowhere(FaultReason.CubeEdge);
  for (const word of [0, 0xffff_8000, high ^ 0x0100_0000, nowhere(0), nowhere(FaultReason.LoopLimit), nowhere(12)]) {
    assertEquals(nowhereReason(BigInt(word >>> 0) << 32n), undefined);
  }
  assertEquals(reason(0x0bad_0000_0000_0000n, 4, Access.Read), FaultReason.Unmapped);
});

Deno.test("an LDS access is only ever on record for its alignment", () => {
  assertEquals(reason(6n, 4, 0, 4), FaultReason.Unaligned);
});
