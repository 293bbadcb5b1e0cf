/**
 * Shader records in guest memory: reading one without touching it, and the in-place rewriting that sceAgcCreateShader does.
 */
import { hex, InvalidInputError } from "../errors.ts";
import {
  AGC_HEADER_BYTES,
  AGC_STAGES,
  AgcPointer,
  type AgcShaderRecord,
  type PointerForm,
  readAgcRecord,
  type RecordSource,
  type RegisterWrite,
  resolvePointer,
  USER_DATA_POINTERS,
} from "./loaders/agc_record.ts";
import { GuestMemoryError } from "./memory/fault.ts";
import type { GuestMemory } from "./memory/guest_memory.ts";
import { Permission } from "./memory/window.ts";

/** Code must be aligned to 256 bytes and lie below 2^48: the program registers hold bits 47:8 of its address. */
const CODE_ADDRESS_MASK = 0xFFFF_0000_0000_00FFn;

/** PGM_LO by record type (its PGM_HI is the next register); front halves have none, because the back half names the merged program. */
const PROGRAM_REGISTERS: readonly (number | undefined)[] = [
  0x20C,
  0x008,
  0x0C8,
  0x148,
  undefined,
  undefined,
  0x088,
  0x108,
  undefined,
];

/** Reads the record at `address`. Nothing is written. */
export function readShaderRecord(memory: GuestMemory, address: bigint, form: PointerForm): AgcShaderRecord {
  return readAgcRecord(new MemoryRecordSource(memory), address, form);
}

/**
 * Does what sceAgcCreateShader(out, header, code) does to a record whose pointers are still self-relative: sets the code pointer, makes every
 * other pointer absolute, and adds the code's address to the PGM_LO/PGM_HI pair of the record's stage. Everything is checked before anything is
 * written. Not to be called twice on one record: its pointers would then be taken as relative once more, which is refused as a fault unless they
 * happen to point to mapped memory, just as on the console.
 */
export function createShader(memory: GuestMemory, header: bigint, code: bigint): AgcShaderRecord {
  const source = new MemoryRecordSource(memory);
  if ((code & CODE_ADDRESS_MASK) !== 0n || code === 0n) {
    source.fail(
      header + BigInt(AgcPointer.Code),
      `code address ${hex(code)} must be a multiple of 256 below 2^48, and not zero`,
    );
  }
  // The code comes as an argument; what the record stores there does not matter, and may be null.
  const stored = source.bytes(header, AGC_HEADER_BYTES, "the record's header");
  const view = new DataView(stored.buffer, stored.byteOffset, stored.byteLength);
  const record = readAgcRecord(new CodeFromArgument(source, header), header, "self-relative");

  const writes: { address: bigint; value: bigint; bytes: 4 | 8 }[] = [];
  for (const field of Object.values(AgcPointer)) {
    const at = header + BigInt(field);
    const stored = view.getBigUint64(field, true);
    const value = field === AgcPointer.Code ? code : resolvePointer(stored, at, "self-relative");
    if (value !== stored) writes.push({ address: at, value, bytes: 8 });
  }
  const userData = resolvePointer(
    view.getBigUint64(AgcPointer.UserData, true),
    header + BigInt(AgcPointer.UserData),
    "self-relative",
  );
  if (userData !== 0n) {
    for (const { pointer } of USER_DATA_POINTERS) {
      const at = userData + BigInt(pointer);
      const stored = memory.readU64(at);
      const value = resolvePointer(stored, at, "self-relative");
      if (value !== stored) writes.push({ address: at, value, bytes: 8 });
    }
  }
  for (const [register, addend] of programRegisters(record, code, source)) {
    writes.push({ address: register.address + 4n, value: BigInt(register.value + addend >>> 0), bytes: 4 });
  }
  for (const { address, bytes } of writes) memory.require(address, bytes, Permission.Write);
  for (const { address, value, bytes } of writes) {
    if (bytes === 8) memory.writeU64(address, value);
    else memory.writeU32(address, Number(value));
  }
  return readShaderRecord(memory, header, "absolute");
}

function programRegisters(record: AgcShaderRecord, code: bigint, source: RecordSource): [RegisterWrite, number][] {
  const low = PROGRAM_REGISTERS[record.type];
  if (low === undefined) return [];
  const index = record.shRegisters.findIndex((register) => register.offset === low);
  if (index < 0) {
    source.fail(
      record.address,
      `a record of type ${record.type} (${AGC_STAGES[record.type]}) needs SH register ${
        hex(low)
      }, its program's address`,
    );
  }
  const lo = record.shRegisters[index], hi = record.shRegisters[index + 1];
  if (hi?.offset !== low + 1) source.fail(lo.address, `SH register ${hex(low + 1)} must follow ${hex(low)}`);
  return [[lo, Number(code >> 8n & 0xFFFF_FFFFn)], [hi, Number(code >> 40n)]];
}

class MemoryRecordSource implements RecordSource {
  readonly #memory: GuestMemory;

  constructor(memory: GuestMemory) {
    this.#memory = memory;
  }

  bytes(address: bigint, length: number, what: string): Uint8Array {
    try {
      return this.#memory.read(address, length);
    } catch (error) {
      if (!(error instanceof GuestMemoryError)) throw error;
      throw new InvalidInputError("agc.record-pointer", `${what} cannot be read: ${error.message}`, {
        guestAddress: address,
      });
    }
  }

  fail(address: bigint, reason: string): never {
    throw new InvalidInputError("agc.record", reason, { guestAddress: address });
  }
}

/** Shows a code pointer that is never null, because createShader's caller gives the code. */
class CodeFromArgument implements RecordSource {
  readonly #source: RecordSource;
  readonly #header: bigint;

  constructor(source: RecordSource, header: bigint) {
    this.#source = source;
    this.#header = header;
  }

  bytes(address: bigint, length: number, what: string): Uint8Array {
    const bytes = this.#source.bytes(address, length, what);
    if (address !== this.#header) return bytes;
    const copy = bytes.slice();
    new DataView(copy.buffer).setBigUint64(AgcPointer.Code, 1n, true);
    return copy;
  }

  fail(address: bigint, reason: string): never {
    this.#source.fail(address, reason);
  }
}
