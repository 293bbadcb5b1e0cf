/**
 * The interpreter with the device's own functions: v_exp, v_log and their like have an error bound, and the interpreter's are not the device's. With the
 * same results of each function, everything else of a program can be compared to the bit.
 *
 * @module
 */
import type { Device } from "../../src/driver/device.ts";
import { Flag } from "../../src/rdna/instruction.ts";
import { HANDLERS } from "../../src/rdna/interpreter/handlers.ts";
import type { Handler } from "../../src/rdna/interpreter/handler.ts";
import { LANES } from "../../src/rdna/interpreter/machine/wave.ts";
import { beginVector, fetchOf, NARROW } from "../../src/rdna/interpreter/operands/vector.ts";
import { vopHandler } from "../../src/rdna/interpreter/vector/framework.ts";
import { opcodeId, OPCODES } from "../../src/rdna/table.ts";
import { Code } from "../../tests/fuzz/code.ts";
import { int, v } from "../../tests/fuzz/encode.ts";
import { computeState, GuestProgram, words64 } from "../../tests/support/guest_program.ts";
import { dispatchDirect } from "../../tests/support/packets.ts";

/** Functions whose results a device need not share with the interpreter. */
export const FUNCTION_NAMES: readonly string[] = ["rcp", "rsq", "sqrt", "exp", "log", "sin", "cos"]
  .flatMap((name) => [`v_${name}_f32`, `v_${name}_f16`]).concat("v_rcp_iflag_f32");

/** Computes functions on a device, and remembers them. */
export class DeviceFunctions {
  readonly #known = new Map<string, Map<number, number>>();
  /** Values that the device was asked for. */
  asked = 0;

  /** @param floatMode of the program, whose denormals decide */
  constructor(private readonly device: Device, private readonly floatMode: number) {}

  /** Makes the interpreter use them; returns what takes them back. */
  install(): () => void {
    const table = HANDLERS as (Handler | undefined)[], ids = FUNCTION_NAMES.map(opcodeId);
    const before = ids.map((id) => table[id]);
    for (const id of ids) table[id] = this.#handler(id);
    return () => ids.forEach((id, k) => table[id] = before[k]);
  }

  #handler(id: number): Handler {
    const opcode = OPCODES[id], plain = HANDLERS[id]!;
    const known = new Map<number, number>();
    this.#known.set(opcode.name, known);
    const fetch = fetchOf(opcode, 0);
    const computed = vopHandler(opcode, (_, a) => known.get(a)!, {});
    return (w, i) => {
      // What comes behind the function is no part of the table.
      if (i.omod !== 0 || (i.flags & Flag.Clamp) !== 0) return plain(w, i);
      beginVector(w, i);
      fetch(w, i, 0);
      const missing = new Set<number>();
      for (let lane = 0; lane < w.size; lane++) {
        if (w.isActive(lane) && !known.has(NARROW[0][lane])) missing.add(NARROW[0][lane]);
      }
      if (missing.size > 0) this.#ask(opcode.name, [...missing], known);
      computed(w, i);
    };
  }

  /** Runs the function on the device for up to 64 operands. */
  #ask(name: string, operands: number[], known: Map<number, number>): void {
    this.asked += operands.length;
    const code = new Code();
    code.vop("v_lshlrev_b32", v(1), int(2), v(0));
    code.flat("global_load_dword", { dst: v(2), addr: v(1), saddr: 0 });
    code.sopp("s_waitcnt");
    code.vop(name, v(3), v(2));
    code.flat("global_store_dword", { addr: v(1), data: v(3), saddr: 2 });
    code.sopp("s_endpgm");
    const guest = new GuestProgram("function", { target: "gfx1030" });
    const at = guest.code(Uint32Array.from(code.words));
    const data = new Int32Array(LANES);
    data.set(operands);
    const input = guest.buffer(data), output = guest.buffer(new Int32Array(LANES));
    guest.submit(
      0,
      computeState({
        code: at,
        userData: [...words64(input.address), ...words64(output.address)],
        threads: [LANES, 1, 1],
        floatMode: this.floatMode,
      }),
      dispatchDirect([1, 1, 1], { waveSize: 64 }),
    );
    const run = this.device.run(guest.program);
    try {
      if (run.result.error !== undefined) throw run.result.error;
      const words = new Int32Array(run.memory.read(output.address, output.bytes).slice().buffer);
      const narrow = name.endsWith("f16");
      operands.forEach((operand, k) => known.set(operand, narrow ? words[k] & 0xffff : words[k]));
    } finally {
      run.close();
    }
  }
}
