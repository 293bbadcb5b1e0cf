/** Guest programs whose compute shaders have AGC records in their memory. */
import type { Abi } from "../../../../src/driver/registry/abi.ts";
import { computeAbi, recordProgram } from "../../../../src/driver/registry/abi.ts";
import { type AgcShaderRecord, readAgcRecord } from "../../../../src/guest/loaders/agc_record.ts";
import { agcShaderSource } from "../../../../src/guest/loaders/sb.ts";
import { Permission } from "../../../../src/guest/memory/window.ts";
import type { ProgramShader } from "../../../../src/guest/program.ts";
import { buildRecord } from "../../../guest/support/records.ts";
import type { GuestProgram } from "../../../support/guest_program.ts";

/** RSRC1 as `computeState` has it; waves of 32. */
const RSRC1 = 3 | 0xc0 << 12 | 1 << 21 | 1 << 29 | 1 << 30, CS_W32_EN = 0x8000;

/** A record with its code, in a window of its own. */
export interface PlacedRecord {
  readonly record: AgcShaderRecord;
  readonly code: bigint;
  /** For the program's list. */
  readonly shader: ProgramShader;
}

/** Puts a compute shader into a program: groups of 64 threads, `userSgprs` user SGPRs, group ids in x, code that can be written. */
export function placeRecord(guest: GuestProgram, code: Uint32Array, userSgprs: number): PlacedRecord {
  const parts = (at: bigint) => ({
    type: 0,
    code: [...code],
    specials: true,
    dispatchModifier: CS_W32_EN,
    shaderBytes: code.byteLength,
    sh: [[0x207, 64], [0x208, 1], [0x209, 1], [0x20c, Number(at >> 8n & 0xffff_ffffn)], [0x20d, Number(at >> 40n)], [
      0x212,
      RSRC1,
    ], [0x213, userSgprs << 1 | 1 << 7]] as [number, number][],
  });
  // Its size, and with that its window, before it is known where it lies.
  const { bytes, codeOffset } = buildRecord(parts(0n), { form: "absolute", base: 0n });
  const base = guest.code(new Uint32Array(bytes.buffer), Permission.Read | Permission.Write | Permission.Execute);
  const at = base + BigInt(codeOffset);
  const placed = buildRecord(parts(at), { form: "absolute", base }).bytes;
  bytes.set(placed); // the window's contents
  const record = readAgcRecord(
    {
      bytes: (address, length) => placed.slice(Number(address - base), Number(address - base) + length),
      fail: (_, reason) => {
        throw new Error(reason);
      },
    },
    base,
    "absolute",
  );
  const source = agcShaderSource(record, Uint32Array.from(code), "record", "test");
  return { record, code: at, shader: { name: "record", address: at, source } };
}

/** The state that a dispatch of `computeState` has. */
export function dispatchAbi({ record }: PlacedRecord, threads = 64, waveSize: 32 | 64 = 32): Abi {
  return computeAbi({ ...recordProgram(record), numThreadsX: threads }, waveSize, false);
}
