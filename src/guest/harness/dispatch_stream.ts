/**
 * The command stream of one compute launch, in the form that console streams have: registers by SET_SH_REG, DISPATCH_DIRECT, a compute flush event,
 * and a RELEASE_MEM that writes the end marker. Register numbers: AMD register headers (COMPUTE_*), dword offsets in the SH bank.
 */
import { high, low } from "./descriptors.ts";

/** What the stream sets up. */
export interface DispatchState {
  codeAddress: bigint;
  workgroupSize: readonly [number, number, number];
  grid: readonly [number, number, number];
  gridInThreads: boolean;
  waveSize: 32 | 64;
  rsrc1: number;
  rsrc2: number;
  rsrc3: number;
  /** COMPUTE_TMPRING_SIZE; left out where there is no scratch memory. */
  tmpringSize?: number;
  /** User data from register 0 on. */
  userData: readonly number[];
  marker: { address: bigint; value: number };
}

const Register = {
  Start: 0x204,
  NumThread: 0x207,
  Program: 0x20C,
  Rsrc1: 0x212,
  Limits: 0x215,
  TmpringSize: 0x218,
  Rsrc3: 0x228,
  UserData: 0x240,
} as const;

/** DISPATCH_INITIATOR: COMPUTE_SHADER_EN and ORDER_MODE, as console streams have them; dimensions in threads; wave32. */
const Initiator = { Base: 0x41, Threads: 0x20, Wave32: 0x8000 } as const;

/** Builds the words. */
export function dispatchStream(state: DispatchState): Uint32Array {
  const words: number[] = [];
  const setShRegisters = (register: number, ...values: number[]) => {
    if (values.length > 0) words.push(header(0x76, values.length + 1), register, ...values);
  };
  setShRegisters(Register.Start, 0, 0, 0);
  setShRegisters(Register.NumThread, ...state.workgroupSize);
  setShRegisters(Register.Program, low(state.codeAddress >> 8n), Number(state.codeAddress >> 40n & 0xFFn));
  setShRegisters(Register.Rsrc1, state.rsrc1, state.rsrc2);
  setShRegisters(Register.Limits, 0);
  if (state.tmpringSize !== undefined) setShRegisters(Register.TmpringSize, state.tmpringSize);
  setShRegisters(Register.Rsrc3, state.rsrc3);
  setShRegisters(Register.UserData, ...state.userData);
  const initiator = Initiator.Base | (state.gridInThreads ? Initiator.Threads : 0) |
    (state.waveSize === 32 ? Initiator.Wave32 : 0);
  words.push(header(0x15, 4), ...state.grid, initiator);
  // CS_PARTIAL_FLUSH, event index 4.
  words.push(header(0x46, 1), 0x407);
  // End-of-pipe event 40 with cache flush; 32-bit value to memory.
  words.push(
    header(0x49, 7),
    0x0030C528,
    0x2000_0000,
    low(state.marker.address),
    high(state.marker.address),
    state.marker.value,
    0,
    0,
  );
  return Uint32Array.from(words);
}

/** Type 3 packet header for a body of `bodyWords` words. */
function header(opcode: number, bodyWords: number): number {
  return (0xC000_0000 | bodyWords - 1 << 16 | opcode << 8) >>> 0;
}
