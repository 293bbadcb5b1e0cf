import { readFrame } from "../../guest/frame.ts";
import { ArrayAllocator } from "../../guest/memory/allocator.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { Program } from "../../guest/program.ts";
import type { DeviceDescription, ProgramRun, RunHooks, StartHooks, WrappableDevice } from "../device.ts";
import { runProgram } from "../run_program.ts";
import { checkRunSwitches } from "../run_switches.ts";
import { SoftwareExecutor } from "./software_executor.ts";

/** The device of last resort: runs guest programs in the reference interpreter, without Vulkan and without native code. Exact, and slow. */
export class SoftwareDevice implements WrappableDevice {
  readonly name = "reference interpreter";
  readonly description: DeviceDescription;

  /** @param note why it is used, when nobody asked for it. */
  constructor(note?: string) {
    this.description = { name: this.name, type: "interpreter", apiVersion: "", driver: "none", note };
  }

  run(program: Program, { wrap = (each) => each, timeline }: RunHooks = {}): ProgramRun {
    checkRunSwitches();
    const memory = new GuestMemory(new ArrayAllocator());
    const executor = new SoftwareExecutor({ target: program.target });
    try {
      return {
        result: runProgram(program, wrap(executor), memory, timeline),
        memory,
        frame: () => program.frame === undefined ? undefined : readFrame(memory, program.frame),
        close: () => memory.clear(),
      };
    } catch (error) {
      memory.clear();
      throw error;
    } finally {
      executor.close();
    }
  }

  /** Runs the queues in turns: atomic operations of the interpreter are only atomic in one isolate. */
  // deno-lint-ignore require-await -- errors are rejections
  async start(program: Program, hooks?: StartHooks): Promise<ProgramRun> {
    return this.run(program, hooks);
  }

  close(): void {}

  [Symbol.dispose](): void {}
}
