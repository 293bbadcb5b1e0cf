import { AnyAgcError, hex } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { ComputeDispatch, ComputeExecutor, ProgramReport } from "../executor.ts";
import type { Timeline } from "./timeline.ts";

/** Tracks that {@linkcode RecordingExecutor} writes. */
export const TRACKS = { host: "host", recompile: "recompile", pipelines: "pipelines", device: "device" } as const;

/** Hands everything on to an executor, and puts down when each part of it happened. */
export class RecordingExecutor implements ComputeExecutor {
  readonly name: string;
  readonly scratch?: boolean;
  /** Modules of the programs that were dispatched, by their reports; they outlive the executor. */
  readonly kept = new Map<ProgramReport, Uint32Array>();
  readonly #inner: ComputeExecutor;
  readonly #timeline: Timeline;
  readonly #known = new Set<ProgramReport>();
  readonly #beforeWork: () => void;
  readonly #track: (name: string) => string;
  /** When the first dispatch since the last drain was queued. */
  #since = 0;
  #queued = 0;

  /**
   * @param inner stays the caller's
   * @param beforeWork called before anything that may take long, or never come back
   * @param track what a track is called, where several executors write to one timeline
   */
  constructor(
    inner: ComputeExecutor,
    timeline: Timeline,
    beforeWork: () => void = () => {},
    track: (name: string) => string = (name) => name,
  ) {
    this.name = inner.name;
    this.scratch = inner.scratch;
    this.#inner = inner;
    this.#timeline = timeline;
    this.#beforeWork = beforeWork;
    this.#track = track;
  }

  get busy(): boolean {
    return this.#inner.busy;
  }

  attach(memory: GuestMemory): void {
    const start = performance.now();
    this.#inner.attach(memory);
    this.#add(TRACKS.host, "make memory reachable", start, performance.now());
  }

  dispatch(dispatch: ComputeDispatch): void {
    this.#beforeWork();
    const start = performance.now();
    const { address } = dispatch.program;
    const { x, y, z, partialThreads } = dispatch;
    const detail = `program ${hex(address)}, ${x} x ${y} x ${z} ${partialThreads ? "threads" : "groups"}`;
    try {
      this.#inner.dispatch(dispatch);
    } catch (error) {
      this.#add(TRACKS.host, "dispatch refused", start, performance.now(), reason(error, detail));
      throw error;
    }
    const end = performance.now();
    this.#compiles(start);
    this.#add(TRACKS.host, "dispatch", start, end, detail);
    if (this.#queued++ === 0) this.#since = end;
  }

  drain(): void {
    if (this.#queued > 0) this.#beforeWork();
    const start = performance.now();
    const queued = this.#queued;
    this.#queued = 0;
    let failure: string | undefined;
    try {
      this.#inner.drain();
    } catch (error) {
      failure = reason(error, "");
      throw error;
    } finally {
      const end = performance.now();
      if (queued > 0) {
        const count = `${queued} ${queued === 1 ? "dispatch" : "dispatches"}`;
        this.#add(
          TRACKS.device,
          failure === undefined ? count : `${count}, failed`,
          this.#since,
          end,
          failure,
        );
        this.#add(TRACKS.host, "wait for the device", start, end);
      }
    }
  }

  programs(): ProgramReport[] {
    return this.#inner.programs();
  }

  deviceMs(): number | undefined {
    return this.#inner.deviceMs();
  }

  close(): void {
    this.#inner.close();
  }

  #add(track: string, name: string, start: number, end: number, detail?: string): void {
    this.#timeline.add(this.#track(track), name, start, end, detail);
  }

  /** Spans of programs that are new since the last look. They are made one after the other; how long each step took was measured where it was done. */
  #compiles(start: number): void {
    for (const program of this.#inner.programs()) {
      if (this.#known.has(program)) continue;
      this.#known.add(program);
      const { address, recompileMs, createMs, instructions, words } = program;
      if (words === 0) continue;
      const spirv = this.#inner.modules?.().get(program);
      if (spirv !== undefined) this.kept.set(program, spirv);
      const recompiled = start + recompileMs;
      this.#add(TRACKS.recompile, hex(address), start, recompiled, `${instructions} instructions`);
      this.#add(TRACKS.pipelines, hex(address), recompiled, recompiled + createMs, `${words} words`);
      start = recompiled + createMs;
    }
  }
}

function reason(error: unknown, detail: string): string {
  const text = error instanceof AnyAgcError ? error.message : String(error);
  return detail === "" ? text : `${detail}: ${text}`;
}
