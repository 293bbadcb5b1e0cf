/**
 * Command streams, followed without running any shader: what they dispatch, which labels they write, and what they wait for.
 *
 * @module
 */
import { recompileRequest } from "../../driver/compute_dispatch.ts";
import { DriverSink, type LabelWrite } from "../../driver/driver_sink.ts";
import type { ComputeDispatch, ComputeExecutor } from "../../driver/executor.ts";
import { AnyAgcError, GuestFaultError, hex, HostError } from "../../errors.ts";
import { mapProgram } from "../../guest/map_program.ts";
import { ArrayAllocator } from "../../guest/memory/allocator.ts";
import { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { LoadedProgram, Program } from "../../guest/program.ts";
import { type DispatchIndirectCommand, QueueExecutor } from "../../pm4/mod.ts";
import { GENERIC_DEVICE } from "../../recompiler/generic_device.ts";
import { programWords } from "../../recompiler/recompile.ts";
import type { RecompileRequest } from "../../recompiler/request.ts";
import { dispatchedCode } from "../dispatched_code.ts";
import type { Problems, Tick } from "./kind.ts";
import { valueThatEnds } from "./waits.ts";

/** Packets that are followed, dispatches and labels that are listed, and programs that are looked at, at most: a stream can loop through indirect buffers. */
const MOST_PACKETS = 1 << 22, MOST_LISTED = 1 << 14, MOST_PROGRAMS = 1 << 12;

/** A dispatch as `--json` shows it. */
export interface InspectedDispatch {
  queue: number;
  /** Guest address of the program. */
  program: bigint;
  /** Groups in x, y, z; threads where `partialThreads` says so. */
  groups: readonly [number, number, number];
  /** The size is in threads, and groups at the edges are cut. */
  partialThreads?: true;
  /** Guest address of the size, as memory has it before any shader has run. */
  indirect?: bigint;
  /** Threads of a group. */
  threads: readonly [number, number, number];
  waveSize: 32 | 64;
  /** s0... */
  userSgprs: number[];
}

/** A wait that no packet ends: it was taken as ended. */
export interface AssumedWait {
  queue: number;
  address: bigint;
  compare: string;
  reference: bigint;
  mask: bigint;
  /** What the word was taken to become. */
  value: bigint;
}

/** A program that is dispatched, by everything that decides what it becomes. */
export interface DispatchedProgram {
  /** The first dispatch of it; its user data is a copy. */
  readonly dispatch: ComputeDispatch;
  /** For a typical device; its code is the program's words and no more. */
  readonly request: RecompileRequest;
  dispatches: number;
}

/** What {@linkcode followStreams} found. */
export interface StreamReport {
  dispatches: InspectedDispatch[];
  dispatchCount: number;
  programs: DispatchedProgram[];
  labels: LabelWrite[];
  labelCount: number;
  waits: AssumedWait[];
  /** Memory as the streams leave it, shaders aside; undefined when there is no room for it. */
  memory?: GuestMemory;
}

/**
 * Follows the streams. Memory is as the program begins, with what packets write; a wait that no packet ends is taken as ended.
 *
 * @param refused numbers of submissions that would not be executed; those behind them, on the same queue, are not looked at either
 */
export function followStreams(
  program: LoadedProgram,
  refused: ReadonlySet<number>,
  problems: Problems,
  notes: string[],
  tick: Tick,
): StreamReport {
  const memory = new GuestMemory(new ArrayAllocator()), waits: AssumedWait[] = [];
  const recorder = new Recorder(program, memory), sink = new InspectingSink(memory, recorder);
  const report = () => {
    if (recorder.tooMany) notes.push(`programs behind the first ${MOST_PROGRAMS} are not looked at`);
    return {
      dispatches: recorder.dispatches,
      dispatchCount: recorder.count,
      programs: [...recorder.found.values()],
      labels: sink.labels.slice(0, MOST_LISTED),
      labelCount: sink.labels.length,
      waits,
    };
  };
  try {
    mapProgram(program, memory);
  } catch (error) {
    if (!(error instanceof HostError)) throw error;
    notes.push(`the streams are not followed: ${error.message}`);
    return report();
  }
  const queues = submitted(program, refused, sink, problems, notes), failed = new Set<QueueExecutor>();
  let packets = 0;
  for (let going = true; going;) {
    going = false;
    for (const executor of queues.values()) {
      if (failed.has(executor)) continue;
      sink.queue = executor.queue;
      try {
        for (let step = executor.step(); step !== "done" && step !== "blocked"; step = executor.step()) {
          going = true;
          if ((packets++ & 0xff) === 0) tick();
          if (packets > MOST_PACKETS) {
            notes.push(`not followed further than ${MOST_PACKETS} packets`);
            return { ...report(), memory };
          }
        }
      } catch (error) {
        if (!(error instanceof AnyAgcError)) throw error;
        failed.add(executor);
        // Shaders, and who ends a wait, may write what a packet then finds.
        const unsure = error instanceof GuestFaultError && (recorder.count > 0 || waits.length > 0);
        if (program.missing?.length || unsure) notes.push(`not followed further: ${error.message}`);
        else problems.add(error);
      }
    }
    if (!going) {
      going = assumeOne([...queues.values()].filter((each) => !failed.has(each)), memory, waits, failed, notes);
    }
  }
  return { ...report(), memory };
}

/** The queues, with all submissions that would be executed. */
function submitted(
  program: Program,
  refused: ReadonlySet<number>,
  sink: DriverSink,
  problems: Problems,
  notes: string[],
): Map<number, QueueExecutor> {
  const queues = new Map<number, QueueExecutor>(), ended = new Set<number>();
  for (const [index, { queue, words, address, fileOffset }] of program.submissions.entries()) {
    if (refused.has(index)) ended.add(queue);
    if (ended.has(queue)) {
      if (!refused.has(index)) notes.push(`submission ${index} is behind a refused one of its queue: not followed`);
      continue;
    }
    let executor = queues.get(queue);
    if (executor === undefined) queues.set(queue, executor = new QueueExecutor(queue, sink));
    try {
      executor.submit({ queue, words, address, fileOffset, file: program.sourceFile });
    } catch (error) {
      if (!(error instanceof AnyAgcError)) throw error;
      problems.add(error); // memory that may not be read, which the check of the packets does not look at
      ended.add(queue);
    }
  }
  return queues;
}

/** Ends the first wait that no packet ends. False when there is none. */
function assumeOne(
  queues: readonly QueueExecutor[],
  memory: GuestMemory,
  waits: AssumedWait[],
  failed: Set<QueueExecutor>,
  notes: string[],
): boolean {
  const executor = queues.find(({ waiting }) => waiting !== null);
  if (executor === undefined) return false;
  const wait = executor.waiting!, value = valueThatEnds(wait);
  if (value === undefined) {
    failed.add(executor);
    notes.push(`queue ${hex(executor.queue)} waits for what the word at ${hex(wait.address)} can never be`);
    return true;
  }
  const { queue, address, compare, reference, mask } = wait;
  if (wait.bits === 32) memory.initialize(address, new Uint8Array(Uint32Array.of(Number(value)).buffer));
  else memory.initialize(address, new Uint8Array(BigUint64Array.of(value).buffer));
  waits.push({ queue, address, compare, reference, mask, value });
  return true;
}

/** Remembers where the size of a dispatch is. */
class InspectingSink extends DriverSink {
  constructor(memory: GuestMemory, private readonly recorder: Recorder) {
    super(memory, recorder);
  }

  override dispatchIndirect(command: DispatchIndirectCommand): void {
    this.recorder.indirect = command.address;
    try {
      super.dispatchIndirect(command);
    } finally {
      this.recorder.indirect = undefined;
    }
  }
}

/** Takes the place of a device: remembers dispatches and programs. */
class Recorder implements ComputeExecutor {
  readonly name = "recorder";
  readonly busy = false;
  readonly scratch = true;
  readonly dispatches: InspectedDispatch[] = [];
  readonly found = new Map<string, DispatchedProgram>();
  count = 0;
  tooMany = false;
  indirect: bigint | undefined;

  constructor(private readonly program: Program, private readonly memory: GuestMemory) {}

  dispatch(dispatch: ComputeDispatch): void {
    const { program, userData, waveSize, partialThreads, x, y, z, place } = dispatch;
    const { address, numThreadsX, numThreadsY, numThreadsZ, rsrc1, rsrc2, userSgprCount } = program;
    const threads = [numThreadsX, numThreadsY, numThreadsZ] as const;
    if (this.count++ < MOST_LISTED) {
      this.dispatches.push({
        queue: place.queue!,
        program: address,
        groups: [x, y, z],
        ...(partialThreads ? { partialThreads } : {}),
        ...(this.indirect === undefined ? {} : { indirect: this.indirect }),
        threads,
        waveSize,
        userSgprs: Array.from(userData.subarray(0, userSgprCount)),
      });
    }
    const key = [address, waveSize, partialThreads, ...threads, rsrc1, rsrc2].join();
    const known = this.found.get(key);
    if (known !== undefined) return void known.dispatches++;
    if (this.found.size === MOST_PROGRAMS) return void (this.tooMany = true);
    const code = dispatchedCode(this.program, this.memory, address, place);
    const request = recompileRequest(program, code, this.program.target, waveSize, partialThreads, GENERIC_DEVICE);
    const kept = { program, userData: userData.slice(), waveSize, partialThreads, x, y, z, place };
    this.found.set(key, {
      dispatch: kept,
      request: { ...request, code: code.slice(0, programWords(request)) },
      dispatches: 1,
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

/** A dispatch for people. */
export function dispatchText(dispatch: InspectedDispatch): string {
  const { queue, program, groups, partialThreads, indirect, threads, waveSize, userSgprs } = dispatch;
  const size = `${groups.join(" x ")} ${partialThreads ? "threads in groups" : "groups"} of ${threads.join(" x ")}`;
  const sgprs = userSgprs.length === 0 ? "no user SGPRs" : `s0.. ${userSgprs.map((each) => hex(each)).join(" ")}`;
  const where = indirect === undefined ? "" : `, size at ${hex(indirect)}`;
  return `queue ${hex(queue)}: ${hex(program)}, ${size}, wave${waveSize}${where}, ${sgprs}`;
}
