/**
 * What must be right about a shader record before it is registered. `readAgcRecord` has checked the header's magic, version, type and tables.
 *
 * @module
 */
import { type AnyAgcError, hex, InvalidInputError } from "../../errors.ts";
import type { AgcShaderRecord, RegisterWrite } from "../../guest/loaders/agc_record.ts";
import { canonicalAddress } from "../../guest/memory/address.ts";
import type { ShaderStage } from "../../guest/shader_source.ts";
import { MAX_CODE_BYTES } from "../compute_dispatch.ts";
import { recordProgram } from "./abi.ts";

/** Registers that every record of a stage has: the program's address (low, then high), RSRC1, RSRC2. Front halves have no address: the back half names it. */
const REGISTERS: Readonly<Partial<Record<ShaderStage, { address?: number; resources: readonly [number, number] }>>> = {
  "compute": { address: 0x20c, resources: [0x212, 0x213] },
  "pixel": { address: 0x008, resources: [0x00a, 0x00b] },
  "geometry": { address: 0x0c8, resources: [0x08a, 0x08b] },
  "geometry-front": { resources: [0x08a, 0x08b] },
  "geometry-back": { address: 0x088, resources: [0x08a, 0x08b] },
  "hull-front": { resources: [0x10a, 0x10b] },
  "hull-back": { address: 0x108, resources: [0x10a, 0x10b] },
};
/** The code's address has 48 bits, and is a multiple of 256: PGM_LO and PGM_HI hold bits 47:8. */
const NO_CODE_ADDRESS = 0xffff_0000_0000_00ffn;
const MAX_GROUP = 1024, COMPUTE_USER_SGPRS = 16;

/**
 * Checks a record's registers and entry point.
 *
 * @returns the code's address as memory has it (sign-extended)
 * @throws InvalidInputError `registry.record`
 */
export function validateRecord(record: AgcShaderRecord): bigint {
  const { codeAddress, shaderBytes, stage } = record;
  // Sign extension of an address with bit 47 is not part of the record's form, but readers that extend it do no harm.
  const address = BigInt.asUintN(48, codeAddress);
  if ((address & NO_CODE_ADDRESS) !== 0n || (codeAddress !== address && codeAddress !== canonicalAddress(address))) {
    throw wrong(record, `code address ${hex(codeAddress)} must be a multiple of 256 below 2^48`);
  }
  if (shaderBytes % 4 !== 0 || shaderBytes > MAX_CODE_BYTES) {
    throw wrong(record, `${shaderBytes} bytes of code: must be whole words, at most 1 MiB`);
  }
  const needs = REGISTERS[stage];
  if (needs === undefined) return canonicalAddress(address);
  if (needs.address !== undefined) checkAddress(record, needs.address, address);
  for (const offset of needs.resources) {
    if (registerOf(record, offset) === undefined) {
      throw wrong(record, `a ${stage} shader needs SH register ${hex(offset)}, PGM_RSRC1 or 2 of its stage`);
    }
  }
  const scratch = registerOf(record, needs.resources[1])!;
  if ((scratch.value & 1) !== 0 && record.scratchDwordsPerThread === 0) {
    throw wrong(record, "PGM_RSRC2.SCRATCH_EN is set, but the header has no scratch dwords", scratch.address);
  }
  if (stage === "compute") checkCompute(record);
  return canonicalAddress(address);
}

/** PGM_LO and PGM_HI must be what createShader puts there. */
function checkAddress(record: AgcShaderRecord, low: number, address: bigint): void {
  const index = record.shRegisters.findIndex(({ offset }) => offset === low);
  const lo = record.shRegisters[index], hi = record.shRegisters[index + 1];
  if (lo === undefined || hi?.offset !== low + 1) {
    throw wrong(
      record,
      `a ${record.stage} shader needs SH registers ${hex(low)} and ${hex(low + 1)} one after the other`,
    );
  }
  const named = BigInt(lo.value) << 8n | BigInt(hi.value & 0xff) << 40n;
  if (named !== address) {
    throw wrong(record, `the registers name a program at ${hex(named)}, the header one at ${hex(address)}`, lo.address);
  }
}

function checkCompute(record: AgcShaderRecord): void {
  const { numThreadsX: x, numThreadsY: y, numThreadsZ: z, threadIdCount, userSgprCount } = recordProgram(record);
  const sized = [0x207, 0x208, 0x209].map((offset) => registerOf(record, offset));
  if (sized.some((each) => each !== undefined) && (x * y * z === 0 || x * y * z > MAX_GROUP)) {
    throw wrong(record, `a workgroup of ${x} x ${y} x ${z} threads; 1 to ${MAX_GROUP} are possible`);
  }
  if (threadIdCount > 3) throw wrong(record, "COMPUTE_PGM_RSRC2.TIDIG_COMP_CNT is 3, a reserved value");
  if (userSgprCount > COMPUTE_USER_SGPRS) {
    throw wrong(record, `COMPUTE_PGM_RSRC2.USER_SGPR is ${userSgprCount}; compute has ${COMPUTE_USER_SGPRS}`);
  }
}

function registerOf(record: AgcShaderRecord, offset: number): RegisterWrite | undefined {
  return record.shRegisters.findLast((register) => register.offset === offset);
}

function wrong(record: AgcShaderRecord, reason: string, guestAddress = record.address): AnyAgcError {
  return new InvalidInputError("registry.record", reason, { guestAddress });
}
