import { AnyAgcError, GuestFaultError, RefusedError } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { GDS_BYTES } from "../../rdna/gds.ts";
import type { Target } from "../../rdna/target.ts";
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../executor.ts";
import { SoftwareExecutor } from "../software/software_executor.ts";
import { compareMemory, type Comparison } from "./compare.ts";
import { findStore, type Replay } from "./find_store.ts";
import { probeValues } from "./probe_values.ts";
import type { VerifyDifference, VerifyReport } from "./report.ts";
import { copyWindows, shadowOf } from "./snapshot.ts";

/** Options of {@linkcode VerifyExecutor}. */
export interface VerifyOptions {
  /** Instruction set of the guest's code. */
  target: Target;
  /** Distance, in units in the last place, up to which words that are normal f32 numbers count as equal; 0, exact, when left out. */
  ulps?: number;
}

/** Code of the fault of a program; both executors use it. */
const MEMORY_FAULT = "driver.memory-fault";

/**
 * Executes every dispatch on a device and, from the same memory, in the reference interpreter, and compares all writable guest memory after each of them.
 * The device's memory is the guest's: what the next dispatch starts from. After the first difference the rest runs on the device only.
 *
 * It needs room for three times the guest's memory, and as much time as the interpreter does.
 */
export class VerifyExecutor implements ComputeExecutor {
  readonly name: string;
  readonly scratch?: boolean;
  readonly report: VerifyReport;
  readonly #device: ComputeExecutor;
  readonly #target: Target;
  readonly #gds = new Uint8Array(GDS_BYTES);
  #interpreter: SoftwareExecutor;
  #memory: GuestMemory | null = null;
  #generation = -1;
  /** The interpreter's memory, and all memory as it was before the dispatch. */
  #shadow: GuestMemory | null = null;
  #before: GuestMemory | null = null;
  #dispatches = 0;
  /** Programs that are none of the guest's. */
  readonly #probes = new Set<ProgramReport>();

  /** @param device stays the caller's: close it after this one. */
  constructor(device: ComputeExecutor, { target, ulps = 0 }: VerifyOptions) {
    this.#device = device;
    this.#target = target;
    this.name = device.name;
    this.scratch = device.scratch;
    this.#interpreter = new SoftwareExecutor({ target, gds: this.#gds });
    this.report = {
      outcome: "equal",
      compared: 0,
      notCompared: 0,
      unverified: [],
      ulps,
      tolerated: 0,
      largestUlps: 0,
    };
  }

  /** Every dispatch is waited for at once. */
  get busy(): boolean {
    return this.#device.busy;
  }

  attach(memory: GuestMemory): void {
    this.#device.attach(memory);
    this.#memory = memory;
    this.#generation = memory.generation;
    this.#release();
    this.#shadow = shadowOf(memory);
    this.#before = shadowOf(memory);
    this.#interpreter.attach(this.#shadow);
  }

  dispatch(dispatch: ComputeDispatch): void {
    const memory = this.#memory;
    if (memory === null) throw new Error("attach guest memory first");
    if (memory.generation !== this.#generation) this.attach(memory);
    const number = this.#dispatches++;
    if (this.report.difference !== undefined) {
      this.report.notCompared++;
      this.#device.dispatch(dispatch);
      return;
    }
    copyWindows(memory, this.#shadow!);
    copyWindows(memory, this.#before!);
    const gds = this.#gds.slice();
    const deviceFault = this.#runDevice(dispatch, number);
    const interpreterFault = this.#runInterpreter(dispatch, number);
    if (interpreterFault === "refused") {
      if (deviceFault !== undefined) throw deviceFault;
      return;
    }
    this.report.compared++;
    const difference = { dispatch: number, program: dispatch.program.address, place: { ...dispatch.place } };
    if ((deviceFault === undefined) !== (interpreterFault === undefined)) {
      const fault = deviceFault !== undefined
        ? { side: "device" as const, message: deviceFault.message }
        : { side: "interpreter" as const, message: interpreterFault!.message };
      this.#differs({ ...difference, kind: "fault", fault });
    } else {
      const comparison = compareMemory(this.#shadow!, memory, this.report.ulps);
      this.report.tolerated += comparison.tolerated;
      this.report.largestUlps = Math.max(this.report.largestUlps, comparison.largestUlps);
      if (comparison.first !== undefined) {
        this.#differs(this.#explain({ ...difference, kind: "memory" }, comparison, dispatch, gds));
      }
    }
    if (deviceFault !== undefined) throw deviceFault;
  }

  drain(): void {
    this.#device.drain();
  }

  programs(): ProgramReport[] {
    return this.#device.programs().filter((each) => !this.#probes.has(each));
  }

  deviceMs(): number | undefined {
    return this.#device.deviceMs();
  }

  /** Gives the copies of memory back; the device stays open. */
  close(): void {
    this.#interpreter.close();
    this.#release();
  }

  #release(): void {
    this.#shadow?.clear();
    this.#before?.clear();
    this.#shadow = this.#before = null;
  }

  #unverified(dispatch: number, error: AnyAgcError): void {
    this.report.unverified.push({ dispatch, reason: error.message });
    this.report.outcome = "incomplete";
  }

  #differs(difference: VerifyDifference): void {
    this.report.outcome = "differs";
    this.report.difference = difference;
  }

  /** A memory fault is given back, everything else is thrown: then there is nothing to compare. */
  #runDevice(dispatch: ComputeDispatch, number: number): GuestFaultError | undefined {
    try {
      this.#device.dispatch(dispatch);
      this.#device.drain();
    } catch (error) {
      if (error instanceof GuestFaultError && error.code === MEMORY_FAULT) return error;
      if (error instanceof AnyAgcError) this.#unverified(number, error);
      throw error;
    }
  }

  #runInterpreter(dispatch: ComputeDispatch, number: number): GuestFaultError | "refused" | undefined {
    try {
      this.#interpreter.dispatch(dispatch);
      this.#interpreter.drain();
    } catch (error) {
      if (error instanceof GuestFaultError) return error;
      if (!(error instanceof RefusedError)) throw error;
      this.#unverified(number, error);
      return "refused";
    }
  }

  #explain(
    difference: VerifyDifference,
    { first, bytes }: Comparison,
    dispatch: ComputeDispatch,
    gds: Uint8Array,
  ): VerifyDifference {
    const memory = this.#memory!, shadow = this.#shadow!, before = this.#before!;
    const { address, expected, actual } = first!;
    const wordAddress = address & ~3n;
    const wordOf = (of: GuestMemory) => new DataView(of.read(wordAddress, 4, 0).buffer).getUint32(0, true);
    const result: VerifyDifference = {
      ...difference,
      address,
      expected,
      actual,
      before: before.read(address, 1, 0)[0],
      word: { address: wordAddress, expected: wordOf(shadow), actual: wordOf(memory) },
      bytes,
    };
    const kept = memory.windows.map((window) => window.bytes.slice());
    const replay: Replay = {
      dispatch: { ...dispatch, place: dispatch.place, userData: dispatch.userData.slice() },
      target: this.#target,
      memory: shadow,
      restart: () => {
        copyWindows(before, shadow);
        return gds.slice();
      },
    };
    const found = findStore(replay, address, expected);
    if (typeof found === "string") {
      result.note = found;
      return result;
    }
    result.store = found.site;
    const dispatches = new Map(this.#device.programs().map((each) => [each, each.dispatches]));
    try {
      probeValues(found, replay, wordAddress, this.#device, memory, () => copyWindows(before, memory));
    } finally {
      memory.windows.forEach((window, index) => window.bytes.set(kept[index]));
      for (const each of this.#device.programs()) {
        const count = dispatches.get(each);
        if (count === undefined) this.#probes.add(each);
        else each.dispatches = count;
      }
    }
    return result;
  }
}
