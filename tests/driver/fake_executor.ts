/** An executor without a device: keeps dispatches until they are drained, and then lets the test act on memory. */
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../../src/driver/executor.ts";
import type { GuestMemory } from "../../src/guest/memory/guest_memory.ts";

/** See the file comment. */
export class FakeExecutor implements ComputeExecutor {
  readonly name = "fake";
  /** What happened, in order. */
  readonly log: string[] = [];
  memory: GuestMemory | undefined;
  #queued: ComputeDispatch[] = [];

  /** @param act what a dispatch does when it is executed; may throw */
  constructor(readonly act: (dispatch: ComputeDispatch, memory: GuestMemory) => void = () => {}) {}

  attach(memory: GuestMemory): void {
    this.memory = memory;
    this.log.push("attach");
  }

  get busy(): boolean {
    return this.#queued.length > 0;
  }

  dispatch(dispatch: ComputeDispatch): void {
    const { x, y, z, waveSize, partialThreads } = dispatch;
    this.log.push(`dispatch ${x} ${y} ${z} wave${waveSize}${partialThreads ? " threads" : ""}`);
    this.#queued.push({ ...dispatch, place: dispatch.place, userData: dispatch.userData.slice() });
  }

  drain(): void {
    this.log.push(`drain ${this.#queued.length}`);
    const queued = this.#queued;
    this.#queued = [];
    for (const dispatch of queued) this.act(dispatch, this.memory!);
  }

  programs(): ProgramReport[] {
    return [];
  }

  deviceMs(): number | undefined {
    return undefined;
  }

  close(): void {
    this.log.push("close");
  }
}
