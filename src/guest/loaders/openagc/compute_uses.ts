import { canonicalAddress } from "../../memory/address.ts";

/** What a dispatch runs, as far as its stream's packets say. */
export interface ComputeUse {
  /** Guest address of the first instruction. */
  address: bigint;
  /** COMPUTE_PGM_RSRC1 and RSRC2. */
  rsrc1: number;
  rsrc2: number;
  /** COMPUTE_NUM_THREAD_X, Y, Z. */
  threads: [number, number, number];
  /** COMPUTE_USER_DATA_0..15; undefined where nothing was set. */
  userData: (number | undefined)[];
}

const Op = { DispatchDirect: 0x15, DispatchIndirect: 0x16, SetShReg: 0x76 } as const;
const Register = { NumThread: 0x207, Pgm: 0x20C, Rsrc1: 0x212, Rsrc2: 0x213, UserData: 0x240 } as const;

/**
 * The dispatches of a stream, with the registers that its own SET_SH_REG packets set before them. The stream is a sequence of whole type 3 packets.
 * Packet layouts and register numbers: AMD's published PM4 and register headers.
 */
export function computeUses(words: Uint32Array): ComputeUse[] {
  const registers = new Map<number, number>(), uses: ComputeUse[] = [];
  const get = (register: number) => registers.get(register) ?? 0;
  for (let at = 0; at < words.length;) {
    const length = (words[at] >>> 16 & 0x3FFF) + 2, opcode = words[at] >>> 8 & 0xFF;
    if (opcode === Op.SetShReg) {
      const first = words[at + 1] & 0xFFFF;
      for (let i = 2; i < length; i++) registers.set(first + i - 2, words[at + i]);
    } else if (opcode === Op.DispatchDirect || opcode === Op.DispatchIndirect) {
      uses.push({
        address: canonicalAddress(BigInt(get(Register.Pgm)) << 8n | BigInt(get(Register.Pgm + 1) & 0xFF) << 40n),
        rsrc1: get(Register.Rsrc1),
        rsrc2: get(Register.Rsrc2),
        threads: [get(Register.NumThread), get(Register.NumThread + 1), get(Register.NumThread + 2)],
        userData: Array.from({ length: 16 }, (_, i) => registers.get(Register.UserData + i)),
      });
    }
    at += length;
  }
  return uses;
}
