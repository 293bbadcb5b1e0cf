/**
 * What a worker of the prebuild and replay pools does.
 *
 * @module
 */
import { compilesAtDispatch, WarmUpDevice } from "../../gpu/warm_up.ts";
import { SyncError } from "../../sync/sync_error.ts";
import type { PipelineRequest } from "../vulkan/pipeline_request.ts";
import { attachDriverRoom, type DriverRoom } from "./driver_room.ts";
import type { LogLine } from "./failures.ts";
import { type PipelineDriver, runPipelineJob } from "./prebuild.ts";
import { JobKind } from "./room.ts";
import type { VulkanPipelineDriver } from "./vulkan_driver.ts";
import type { CompileMeter } from "../compile_cost/compile_meter.ts";
import type { PoolWorkerMessage, PoolWorkerStart } from "./worker_pool.ts";

/** Takes jobs until the board is stopped. To be called once, in a worker's module. */
export function servePipelines(): void {
  const scope = globalThis as unknown as { postMessage(message: PoolWorkerMessage): void };
  globalThis.addEventListener("message", (event) => {
    const start = (event as MessageEvent<PoolWorkerStart>).data;
    const shared = attachDriverRoom(start.driver!), { board } = shared.room;
    const driver = new WarmDriver(shared, (log) => scope.postMessage({ log }));
    scope.postMessage("ready");
    for (;;) {
      // So that what is admitted now still fits into memory.
      shared.guard.refresh();
      const job = board.take(start.pool);
      if (job === "stopped") break;
      if (job === "timed-out") continue;
      if (job.kind === JobKind.Pipeline) {
        runPipelineJob(shared.room, job, driver, () => shared.failedAhead());
      } else board.fail(job.ticket, new SyncError("sync.job", `a job of kind ${job.kind} in pool ${start.pool}`));
    }
    for (const log of shared.notes) scope.postMessage({ log });
    driver.close();
    shared.leave();
    scope.postMessage("done");
    globalThis.close();
  });
}

/** Where pipelines are compiled to the end. */
type WarmUps = Pick<WarmUpDevice, "warm" | "destroy">;

/** Creates pipelines to the end: also what the driver leaves to the first dispatch. */
export class WarmDriver implements PipelineDriver<PipelineRequest> {
  readonly cached: PipelineDriver<PipelineRequest>["cached"];
  readonly #driver: VulkanPipelineDriver;
  readonly #open: (() => WarmUps) | undefined;
  readonly #log: LogLine;
  readonly #costs: CompileMeter;
  #device: WarmUps | undefined;
  #wanted: boolean;

  /** @param open where pipelines are compiled to the end; undefined where the driver leaves nothing to the first dispatch */
  constructor(
    { driver, device: { capabilities }, room: { costs } }: Pick<DriverRoom, "driver" | "device" | "room">,
    log: LogLine,
    open: (() => WarmUps) | undefined = compilesAtDispatch(capabilities)
      ? () => new WarmUpDevice(capabilities.name)
      : undefined,
  ) {
    this.#driver = driver;
    this.#costs = costs;
    this.#open = open;
    this.#log = log;
    this.#wanted = open !== undefined;
    this.cached = driver.cached;
  }

  create(request: PipelineRequest, record?: Uint8Array): bigint {
    if (!this.#wanted) return this.#driver.create(request, record);
    // What it costs is both.
    return this.#costs.compile(request.spirv.byteLength, () => {
      const pipeline = this.#driver.create(request, record);
      this.#warm(request);
      return pipeline;
    });
  }

  giveBack(): void {
    this.#driver.giveBack();
  }

  close(): void {
    this.#device?.destroy();
  }

  /** The pipeline is as good as without it, only slower at first: a failure is said once. */
  #warm({ spirv, subgroupSize, specialization }: PipelineRequest): void {
    try {
      this.#device ??= this.#open!();
      this.#device.warm({
        spirv,
        requiredSubgroupSize: subgroupSize,
        fullSubgroups: subgroupSize !== undefined,
        specialization: specialization && new Map(specialization),
      });
    } catch (error) {
      this.#wanted = false;
      this.#log(
        `pipelines are not compiled to the end ahead of use: ${error instanceof Error ? error.message : error}`,
      );
    }
  }
}
