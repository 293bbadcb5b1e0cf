/** Looks at registers of the device: the dispatch runs once more with another register in the place of the store's data. */
import { AnyAgcError } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { OPCODES, Trait } from "../../rdna/table.ts";
import type { ComputeExecutor } from "../executor.ts";
import { SoftwareExecutor } from "../software/software_executor.ts";
import type { FoundStore, Replay } from "./find_store.ts";

/** Runs of the device at most. */
const PROBES = 8;

/**
 * Fills in `atStore` of a store's chain, and `firstDiffering`. Only whole-word stores of registers that still hold their value can be looked at. The
 * interpreter has to store the expected value with the changed program too: only then does the device's word stand for the register.
 *
 * @param address of the aligned word that differs
 * @param restartDevice puts the device's memory back to what it was before the dispatch; what is there afterwards is of no use
 */
export function probeValues(
  found: FoundStore,
  replay: Replay,
  address: bigint,
  device: ComputeExecutor,
  deviceMemory: GuestMemory,
  restartDevice: () => void,
): void {
  const { instruction, site, component, chain } = found;
  const opcode = OPCODES[instruction.op];
  const bits = (opcode.memory?.bits ?? 0) * (opcode.memory?.count ?? 0);
  const isWordStore = (opcode.traits & Trait.Store) !== 0 && opcode.formatCount === 0 && opcode.image === undefined &&
    bits >= 32 && !opcode.words.has("d16");
  if (!isWordStore || component === undefined || site.lanes.length !== 1) return;
  // VDATA: bits 47:40 of FLAT, MUBUF and MTBUF (AMD RDNA2 ISA, section 13 "Microcode formats").
  const place = BigInt.asUintN(64, replay.dispatch.program.address + BigInt(instruction.pc + 4));
  let probes = 0;
  const probed = new Set<number>();
  chain.forEach(({ definition, held }, index) => {
    const { register, value } = definition;
    const first = register - component;
    if (!held || probed.has(register) || first < 0 || first + bits / 32 > 256 || probes++ >= PROBES) return;
    probed.add(register);
    const patch = (memory: GuestMemory) => {
      const bytes = memory.read(place, 4, 0);
      bytes[1] = first;
      memory.initialize(place, bytes);
    };
    const word = (memory: GuestMemory) => new DataView(memory.read(address, 4, 0).buffer).getUint32(0, true);
    const link = site.chain[index];
    try {
      const gds = replay.restart();
      patch(replay.memory);
      const interpreter = new SoftwareExecutor({ target: replay.target, gds });
      interpreter.attach(replay.memory);
      interpreter.dispatch(replay.dispatch);
      interpreter.drain();
      if (word(replay.memory) !== value >>> 0) return;
      restartDevice();
      patch(deviceMemory);
      device.dispatch(replay.dispatch);
      device.drain();
    } catch (error) {
      // The changed program may do what the original does not: then nothing is known of the register.
      if (!(error instanceof AnyAgcError) || error.code === "driver.timeout") throw error;
      return;
    }
    const actual = word(deviceMemory);
    link.atStore = actual === value >>> 0 ? "equal" : "differs";
    if (link.atStore === "differs") [link.actual, site.firstDiffering] = [actual, index];
  });
}
