/**
 * Resolve-ahead: when a submission is queued, the programs that it will dispatch are recompiled and their pipelines created by the pools, before
 * its turn.
 *
 * @module
 */
import { AnyAgcError } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { DispatchState } from "../../pm4/sink.ts";
import type { ValidatedSubmission } from "../../pm4/validated.ts";
import { DispatchWalk } from "../../pm4/walk.ts";
import type { Target } from "../../rdna/target.ts";
import { DispatchReader } from "../compute_dispatch.ts";
import type { DriverRoom } from "../pools/driver_room.ts";
import type { ShaderRegistry } from "../registry/shader_registry.ts";
import { ProgramCache } from "./program_cache.ts";
import { RoomBuilds } from "./room_builds.ts";
import type { SharedGuest } from "./shared_guest.ts";

/** What all programs of a guest have in common. */
export interface ResolveAheadOptions {
  readonly target: Target;
  readonly unalignedLoads: boolean;
  /** The guest's shaders, in this isolate. */
  readonly registry?: ShaderRegistry;
}

/** For the isolate that queues submissions; of a run. */
export class ResolveAhead {
  readonly #memory: GuestMemory;
  readonly #programs: ProgramCache;
  readonly #windows: number;
  readonly #reader = new DispatchReader(true);
  readonly #walks = new Map<number, DispatchWalk>();

  /**
   * @param guest the executors' memory
   * @param memory this isolate's view of it
   */
  constructor(room: DriverRoom, guest: SharedGuest, memory: GuestMemory, options: ResolveAheadOptions) {
    this.#memory = memory;
    this.#windows = guest.table.length;
    this.#programs = new ProgramCache(new RoomBuilds(room, undefined), {
      ...options,
      device: room.recompilerDevice,
      capabilities: room.device.capabilities,
    });
  }

  /**
   * Announces what a submission will need. Submissions of a queue come in their order. What is wrong with one is said when it is executed.
   */
  submitted(submission: ValidatedSubmission): void {
    const { queue } = submission.submission;
    let walk = this.#walks.get(queue);
    if (walk === undefined) this.#walks.set(queue, walk = new DispatchWalk(queue, this.#memory));
    walk.walk(submission, (state, size) => this.#announce(state, size));
  }

  #announce(state: DispatchState, size: { x: number; y: number; z: number } | undefined): void {
    // A size that only memory will say is taken for one that needs no program for whole groups.
    const { x, y, z } = size ?? { x: 1, y: 1, z: 1 };
    try {
      this.#programs.announce(this.#reader.read(state, x, y, z), this.#memory, this.#windows);
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
    }
  }
}
