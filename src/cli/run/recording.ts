/**
 * What a run did and when, recorded once for everybody who asks: the page of `--report`, the trace of `--trace`.
 *
 * @module
 */
import type { ComputeExecutor, ProgramReport } from "../../driver/executor.ts";
import { RecordingExecutor } from "../../driver/recording/recording_executor.ts";
import { Timeline, type TimeWindow } from "../../driver/recording/timeline.ts";

/** The recording of one run. */
export class RunRecording {
  readonly timeline: Timeline;
  /** Called before anything that may take long. */
  beforeWork: () => void = () => {};
  #executor: RecordingExecutor | undefined;
  readonly #kept = new Map<ProgramReport, Uint32Array>();

  /** @param window what of the run is asked for; all of it when left out */
  constructor(window?: TimeWindow) {
    this.timeline = new Timeline(window);
  }

  /** Puts the recording around an executor. */
  wrap(executor: ComputeExecutor): ComputeExecutor {
    return this.#executor = new RecordingExecutor(executor, this.timeline, () => this.beforeWork());
  }

  /** Takes the module of a program that ran in an isolate of its own queue. */
  keep(report: ProgramReport, words: Uint32Array): void {
    this.#kept.set(report, words);
  }

  /** The module of a program that ran; undefined for one that was interpreted. */
  kept(report: ProgramReport): Uint32Array | undefined {
    return this.#kept.get(report) ?? this.#executor?.kept.get(report);
  }
}
