/**
 * What there is to recompile in a file: a shader's record, or the programs that a program's command streams dispatch.
 *
 * @module
 */
import { AnyAgcError, RefusedError } from "../../errors.ts";
import { recompileRequest } from "../../driver/compute_dispatch.ts";
import { DriverSink } from "../../driver/driver_sink.ts";
import type { ComputeDispatch, ComputeExecutor } from "../../driver/executor.ts";
import { mapProgram } from "../../guest/map_program.ts";
import { ArrayAllocator } from "../../guest/memory/allocator.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { Program } from "../../guest/program.ts";
import type { ShaderSource } from "../../guest/shader_source.ts";
import { stageRequest } from "../../recompiler/stages/registers.ts";
import { fusedRequest, fuseShaderHalves, withHalf } from "../../driver/shader_halves.ts";
import { stageProgramOf } from "../../driver/stage_program.ts";
import { computeProgram, QueueExecutor, Reg, RegisterState } from "../../pm4/mod.ts";
import type { RecompilerDevice, RecompileRequest } from "../../recompiler/request.ts";
import { dispatchedCode } from "../dispatched_code.ts";

/** Something that can be recompiled. */
export interface Candidate {
  /** A name by which `--shader` finds it. */
  name: string;
  /** Where its code comes from, where that is known. */
  file?: string;
  /** Byte offset in the file of the first instruction. */
  codeFileOffset?: number;
  /** Says more of an error of the recompiler. */
  explain?(error: AnyAgcError): AnyAgcError;
  /** The recompiler's request for a device. */
  request(device: RecompilerDevice): RecompileRequest;
}

/** What a file offers, and why that may not be all. */
export interface Candidates {
  list: Candidate[];
  /** Why the streams were not followed to their ends. */
  notes: string[];
}

/** The one candidate of a shader record. @throws RefusedError for stages that are not recompiled, and records without what a launch needs */
export function shaderCandidate(shader: ShaderSource, wave: 32 | 64 | undefined): Candidate {
  const { name, rsrc1, rsrc2, rsrc3 = 0, workgroupSize, target, code, file } = shader;
  const waveSize = shader.waveSize ?? wave;
  if (shader.stage !== "compute") {
    const stageProgram = stageProgramOf(shader, wave);
    return {
      name,
      file,
      codeFileOffset: shader.codeFileOffset,
      request: (device) => stageRequest(stageProgram, code, 0n, target, device),
    };
  }
  if (rsrc1 === undefined || rsrc2 === undefined) {
    throw new RefusedError(
      "cli.no-resources",
      `${name} has no COMPUTE_PGM_RSRC1 and 2: nothing says how to launch it`,
      { file },
    );
  }
  if (waveSize === undefined) {
    throw new RefusedError("cli.no-wave-size", `${name} does not say its wave size: give --wave 32 or --wave 64`, {
      file,
    });
  }
  if (workgroupSize === undefined) {
    throw new RefusedError(
      "cli.no-workgroup-size",
      `${name} does not say its workgroup size: recompile the program that dispatches it`,
      {
        file,
      },
    );
  }
  const registers = new RegisterState();
  registers.writeSh(Reg.COMPUTE_PGM_RSRC1, Uint32Array.of(rsrc1, rsrc2), 0, 2);
  registers.writeSh(Reg.COMPUTE_PGM_RSRC3, Uint32Array.of(rsrc3), 0, 1);
  registers.writeSh(Reg.COMPUTE_NUM_THREAD_X, Uint32Array.from(workgroupSize), 0, 3);
  const decoded = computeProgram(registers);
  // Compilers leave the LDS size to the driver's RSRC2.
  const program = { ...decoded, ldsBytes: Math.max(decoded.ldsBytes, shader.ldsBytes ?? 0) };
  return {
    name,
    file,
    codeFileOffset: shader.codeFileOffset,
    request: (device) => recompileRequest(program, code, target, waveSize, false, device),
  };
}

/** The one candidate of a merged program's two halves. @throws InvalidInputError for shaders that are none, RefusedError for what they lack */
export function fusedCandidate(front: ShaderSource, back: ShaderSource): Candidate {
  const fused = fuseShaderHalves(front, back);
  return {
    name: fused.name,
    explain: (error) => withHalf(error, fused),
    request: (device) => fusedRequest(fused, FUSED_ADDRESS, device),
  };
}

/** Halves take 2 for the high half of code addresses. */
const FUSED_ADDRESS = 0x2_0000_0000n;

/** Follows the streams without running any shader, and collects the programs that they dispatch. */
export function programCandidates(program: Program): Candidates {
  const memory = new GuestMemory(new ArrayAllocator());
  mapProgram(program, memory);
  const recorder = new Recorder(program, memory);
  const sink = new DriverSink(memory, recorder);
  const queues = new Map<number, QueueExecutor>();
  for (const { queue, words, address, fileOffset } of program.submissions) {
    let executor = queues.get(queue);
    if (executor === undefined) queues.set(queue, executor = new QueueExecutor(queue, sink));
    executor.submit({ queue, words, address, fileOffset, file: program.sourceFile });
  }
  const notes: string[] = [];
  const failed = new Set<QueueExecutor>();
  for (let progress = true; progress;) {
    progress = false;
    for (const executor of queues.values()) {
      if (failed.has(executor)) continue;
      sink.queue = executor.queue;
      try {
        for (let step = executor.step(); step !== "done" && step !== "blocked"; step = executor.step()) progress = true;
      } catch (error) {
        if (!(error instanceof AnyAgcError)) throw error;
        failed.add(executor);
        notes.push(`not followed further: ${error.message}`);
      }
    }
  }
  for (const executor of queues.values()) {
    if (executor.waiting !== null && !failed.has(executor)) {
      notes.push(
        `queue 0x${executor.queue.toString(16)} waits for what a shader would write; its later dispatches are not seen`,
      );
    }
  }
  return { list: [...recorder.found.values()], notes };
}

/** Takes the place of a device: remembers programs. */
class Recorder implements ComputeExecutor {
  readonly name = "recorder";
  readonly busy = false;
  readonly found = new Map<string, Candidate>();

  constructor(private readonly program: Program, private readonly memory: GuestMemory) {}

  dispatch({ program, waveSize, partialThreads }: ComputeDispatch): void {
    const { address, numThreadsX, numThreadsY, numThreadsZ, rsrc1, rsrc2 } = program;
    const key = [address, waveSize, partialThreads, numThreadsX, numThreadsY, numThreadsZ, rsrc1, rsrc2].join();
    if (this.found.has(key)) return;
    const at = `0x${address.toString(16)}`;
    const same = [...this.found.values()].filter(({ name }) => name.split("#")[0] === at).length;
    const code = dispatchedCode(this.program, this.memory, address);
    this.found.set(key, {
      name: same === 0 ? at : `${at}#${same + 1}`,
      request: (device) => recompileRequest(program, code, this.program.target, waveSize, partialThreads, device),
    });
  }

  attach(): void {}
  drain(): void {}
  close(): void {}
  programs(): [] {
    return [];
  }
  deviceMs(): undefined {
    return undefined;
  }
}
