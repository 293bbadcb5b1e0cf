import { imageClass } from "../../recompiler/lift/image_descriptor.ts";
import { programWords } from "../../recompiler/recompile.ts";
import type { RecompileRequest } from "../../recompiler/request.ts";
import type { DriverRoom } from "../pools/driver_room.ts";
import { computePipeline, pipelineKey } from "../pools/prebuild.ts";
import { artifact, keyOfRequest } from "../pools/preparation.ts";
import { announceProgram } from "../pools/programs_ahead.ts";
import type { RegisteredShader } from "../registry/programs.ts";
import type { ShaderRegistry } from "../registry/shader_registry.ts";
import type { RequestDump } from "../request_dump.ts";
import { encodeRecorded } from "../warm_start/recorded_pipeline.ts";
import { imageNeeds, pipelineRequest } from "./pipeline_request.ts";
import type { MadeArtifact, MadePipeline, ProgramBuilds } from "./program_builds.ts";

/** Artifacts and pipelines of a room: made once in the process, by whoever needs them first. */
export class RoomBuilds implements ProgramBuilds {
  readonly #shared: DriverRoom;
  readonly #dump: RequestDump | undefined;
  readonly #beforeWork: () => void;
  readonly #registry: ShaderRegistry | undefined;

  /**
   * @param shared stays the caller's
   * @param beforeWork called before a program or a pipeline is made or waited for, which may take long; what it throws is thrown
   * @param registry of the guest's shaders, in this isolate
   */
  constructor(
    shared: DriverRoom,
    dump: RequestDump | undefined,
    beforeWork: () => void = () => {},
    registry?: ShaderRegistry,
  ) {
    this.#shared = shared;
    this.#dump = dump;
    this.#beforeWork = beforeWork;
    this.#registry = registry;
  }

  artifact(request: RecompileRequest, shader?: RegisteredShader): MadeArtifact {
    const { room, services } = this.#shared, common = commonRequest(request), keyed = keyOfRequest(common);
    // What is there costs nothing: then nothing has to be finished before.
    if (room.artifacts.peek(keyed.key) !== "ready") this.#beforeWork();
    const start = performance.now(), file = this.#dump?.write(request);
    try {
      if (shader !== undefined && this.#registry !== undefined) {
        const { artifact } = this.#registry.make(shader, common);
        return { artifact, recompileMs: performance.now() - start };
      }
      const { artifact: made, pin } = artifact(room, common, services, keyed);
      room.artifacts.unpin(pin); // it is a copy
      return { artifact: made, recompileMs: performance.now() - start };
    } catch (error) {
      const needs = imageNeeds(error, common);
      if (needs === undefined) throw error;
      if (file !== undefined) this.#dump!.withdraw(file);
      throw needs;
    }
  }

  pipeline(request: RecompileRequest, { artifact: made }: MadeArtifact): MadePipeline {
    const { room, driver, layout } = this.#shared, wanted = pipelineRequest(made, layout), key = pipelineKey(wanted);
    if (room.pipelines.peek(key) !== "ready") this.#beforeWork();
    const start = performance.now(), record = encodeRecorded(request, made.codeWords);
    const { pipeline, reference, pin } = computePipeline(room, wanted, driver, record, key);
    this.#shared.ask(reference);
    room.pipelines.unpin(pin);
    return { handle: pipeline, createMs: performance.now() - start, reference };
  }

  pin({ reference }: MadePipeline): number | undefined {
    return this.#shared.room.pipelines.pin(reference);
  }

  unpin(place: number): void {
    this.#shared.room.pipelines.unpin(place);
  }

  release(): void {} // the room's

  get cleared(): number {
    return this.#shared.cleared;
  }

  announce(request: RecompileRequest): number {
    const common = commonRequest(request);
    announceProgram(this.#shared, common);
    return common.code.length;
  }
}

/** The request that all isolates make of it: without what lies behind the program, and of images only what decides the code. */
function commonRequest(request: RecompileRequest): RecompileRequest {
  const { code, imageDescriptors } = request;
  return {
    ...request,
    code: code.slice(0, programWords(request)),
    ...imageDescriptors &&
      { imageDescriptors: new Map(Array.from(imageDescriptors, ([pc, words]) => [pc, imageClass(words)])) },
  };
}
