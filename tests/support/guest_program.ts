/** Guest programs that tests write themselves: code, buffers, command streams. */
import { Permission } from "../../src/guest/memory/window.ts";
import type { LoadedProgram, Program, ProgramMemory, Target } from "../../src/guest/program.ts";
import { rawBuffer } from "../../tools/shaders/packets.ts";
import { setComputeProgram, setComputeRegisters } from "./packets.ts";

/** Bytes of a window's page. */
const PAGE = 4096;

/** What a buffer of the program is. */
export interface GuestBuffer {
  readonly address: bigint;
  readonly bytes: number;
}

/** What a dispatch needs in the registers. */
export interface ComputeState {
  code: bigint;
  /** Values of s0 and so on. */
  userData: readonly number[];
  /** Threads of a group; 64 x 1 x 1 when left out. */
  threads?: readonly [number, number, number];
  /** Group ids behind the user data. */
  groupIds?: readonly [boolean, boolean, boolean];
  /** Thread ids in v0..: 1, 2 or 3. */
  threadIds?: 1 | 2 | 3;
  /** Bytes of LDS, in units of 512. */
  ldsBytes?: number;
  /** RSRC1 FLOAT_MODE; 0xc0 (f32 denormals are flushed) when left out, as AGC's compiler has it. */
  floatMode?: number;
}

/** Registers for a dispatch, as packets. */
export function computeState(state: ComputeState): number[] {
  const {
    code,
    userData,
    threads = [64, 1, 1],
    groupIds = [true, false, false],
    threadIds = 1,
    ldsBytes = 0,
    floatMode = 0xc0,
  } = state;
  // RSRC1: VGPRS 3, FLOAT_MODE, DX10_CLAMP, WGP_MODE, MEM_ORDERED. RSRC2: USER_SGPR, TGID_X/Y/Z_EN, TIDIG_COMP_CNT, LDS_SIZE.
  const rsrc1 = 3 | floatMode << 12 | 1 << 21 | 1 << 29 | 1 << 30;
  const ids = groupIds.reduce((bits, enabled, axis) => bits | (enabled ? 1 << 7 + axis : 0), 0);
  const rsrc2 = userData.length << 1 | ids | threadIds - 1 << 11 | Math.ceil(ldsBytes / 512) << 15;
  return [
    ...setComputeRegisters(0x204, 0, 0, 0),
    ...setComputeRegisters(0x207, ...threads),
    ...setComputeProgram(code),
    ...setComputeRegisters(0x212, rsrc1, rsrc2),
    ...(userData.length === 0 ? [] : setComputeRegisters(0x240, ...userData)),
  ];
}

/** The two words of an address. */
export function words64(address: bigint): [number, number] {
  return [Number(address & 0xffff_ffffn), Number(address >> 32n & 0xffff_ffffn)];
}

/** The V# of a buffer, bounds by bytes. */
export function descriptor({ address, bytes }: GuestBuffer): number[] {
  return rawBuffer(address, bytes);
}

/** Collects a program. Code and data lie in windows of their own. */
export class GuestProgram {
  readonly #name: string;
  readonly #target: Target;
  readonly #memory: ProgramMemory[] = [];
  readonly #submissions: Program["submissions"] = [];
  #nextCode: bigint;
  #nextData: bigint;

  /** @param options where windows go, by rising address: code at 0x2_0000_0000 and data at 0x3_0000_0000 when left out */
  constructor(
    name: string,
    { target = "gfx1013", codeBase = 0x2_0000_0000n, dataBase = 0x3_0000_0000n }: {
      target?: Target;
      codeBase?: bigint;
      dataBase?: bigint;
    } = {},
  ) {
    this.#name = name;
    this.#target = target;
    this.#nextCode = codeBase;
    this.#nextData = dataBase;
  }

  /** A window of code, readable and executable. Returns the address of its first instruction. */
  code(words: Uint32Array<ArrayBuffer>, permissions: number = Permission.Read | Permission.Execute): bigint {
    const base = this.#nextCode;
    const bytes = roundUp(words.byteLength);
    this.#memory.push({ name: "code", base, bytes, permissions, contents: [{ offset: 0, data: bytesOf(words) }] });
    this.#nextCode += BigInt(bytes + PAGE);
    return base;
  }

  /** A window of data whose size is rounded up to pages; there is a hole of a page behind it. */
  buffer(data: ArrayBufferView<ArrayBuffer>, permissions: number = Permission.ReadWrite): GuestBuffer {
    const address = this.#nextData;
    const bytes = roundUp(data.byteLength);
    this.#memory.push({
      name: `data ${this.#memory.length}`,
      base: address,
      bytes,
      permissions,
      contents: [{ offset: 0, data: bytesOf(data) }],
    });
    this.#nextData += BigInt(bytes + PAGE);
    return { address, bytes: data.byteLength };
  }

  /** Adds a submission. */
  submit(queue: number, ...packets: readonly number[][]): void {
    this.#submissions.push({ queue, words: Uint32Array.from(packets.flat()) });
  }

  /** The program so far. */
  get program(): LoadedProgram {
    return {
      name: this.#name,
      target: this.#target,
      memory: this.#memory,
      submissions: this.#submissions,
      expectations: [],
      untouched: [],
      shaders: [],
      notes: [],
    };
  }
}

function roundUp(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / PAGE)) * PAGE;
}

function bytesOf(view: ArrayBufferView<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}
