/** Finds which instruction stored a byte: runs the dispatch again in the interpreter, watched. */
import { GuestFaultError } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import { disassemble } from "../../rdna/disassemble.ts";
import { Encoding, type Instruction, Operand } from "../../rdna/instruction.ts";
import { HANDLERS } from "../../rdna/interpreter/handlers.ts";
import { LANES, type Wave } from "../../rdna/interpreter/mod.ts";
import { type Opcode, OPCODES, Trait } from "../../rdna/table.ts";
import type { Target } from "../../rdna/target.ts";
import type { ComputeDispatch } from "../executor.ts";
import { SoftwareExecutor } from "../software/software_executor.ts";
import type { StoreSite } from "./report.ts";
import { type Definition, LaneHistory } from "./value_chain.ts";
import { WatchedSpace } from "./watched_space.ts";

/** A dispatch that can be run again and again from the same start. */
export interface Replay {
  readonly dispatch: ComputeDispatch;
  readonly target: Target;
  /** The interpreter's memory. */
  readonly memory: GuestMemory;
  /** Puts memory and GDS back to what they were before the dispatch. @returns a copy of GDS, to be used up */
  restart(): Uint8Array;
}

/** A store with what is needed to look at more values. */
export interface FoundStore {
  readonly site: StoreSite;
  readonly instruction: Instruction;
  /** Definitions of `site.chain`, and whether the register still holds the value at the store. */
  readonly chain: readonly { definition: Definition; held: boolean }[];
  /** Number of the register within the store's data that the byte came from. */
  readonly component?: number;
}

/** Links of a chain that are reported at most. */
const CHAIN = 16;

const NOT_REPEATABLE =
  "the program does not repeat itself (does it read the clock?): which instruction stored the byte cannot be told";

/** Thrown to end a replay. */
const STOP = new Error("the store was found");

/**
 * The last store to a byte in a dispatch.
 *
 * @param expected what the byte was after the dispatch's first run
 * @returns why there is no answer, in words, when there is none
 */
export function findStore(replay: Replay, address: bigint, expected: number): FoundStore | string {
  // First, which of all executed instructions it is; then its lane and register; then where the value came from.
  let executed = 0, last = -1, waveIndex = 0, group = -1;
  const groupOf = groupCounter();
  runWatched(replay, address, (space, wave) => {
    const current = groupOf(wave);
    if (space.hit) [last, waveIndex, group] = [executed, wave.index, current];
    space.hit = false;
    executed++;
  });
  if (replay.memory.read(address, 1, 0)[0] !== expected) return NOT_REPEATABLE;
  if (last < 0) return "the interpreter stores nothing there in this dispatch";
  let found: { wave: Wave; instruction: Instruction; source: ByteSource } | undefined;
  const stopAt = (act: (space: WatchedSpace, wave: Wave, instruction: Instruction) => void) => {
    let at = 0;
    return (space: WatchedSpace, wave: Wave, instruction: Instruction) => {
      if (at++ !== last) return;
      act(space, wave, instruction);
      throw STOP;
    };
  };
  runWatched(
    replay,
    address,
    stopAt((space, wave, instruction) => {
      found = { wave, instruction, source: byteSource(space, wave, instruction, replay.memory, address) };
    }),
  );
  if (found === undefined) return NOT_REPEATABLE;
  const { instruction, source } = found;
  const { lane, register } = source;
  let chain: FoundStore["chain"] = [];
  if (lane !== undefined && register !== undefined) {
    const history = new LaneHistory(lane);
    const counter = groupCounter();
    let at = 0;
    runWatched(replay, address, (_space, wave, executedNow) => {
      const isOurs = counter(wave) === group && wave.index === waveIndex;
      if (at++ === last) {
        chain = history.chain(register, CHAIN).map((definition) => ({ definition, held: history.holds(definition) }));
        throw STOP;
      }
      if (isOurs) history.observe(wave, executedNow);
    });
  }
  const { dispatch, target } = replay;
  const text = (each: Instruction) => disassemble(each, { waveSize: dispatch.waveSize, target });
  const site: StoreSite = {
    pc: instruction.pc,
    text: text(instruction),
    words: found.wave.group.code.words(instruction),
    group: groupId(dispatch, group),
    wave: waveIndex,
    lane,
    lanes: source.lanes,
    register: register === undefined ? undefined : `v${register}`,
    value: source.value,
    chain: chain.map(({ definition }) => ({
      pc: definition.instruction.pc,
      text: text(definition.instruction),
      register: `v${definition.register}`,
      value: definition.value >>> 0,
      atStore: "unknown",
    })),
  };
  return { site, instruction, chain, component: source.component };
}

/** Runs the dispatch in the interpreter from its start. */
function runWatched(
  replay: Replay,
  address: bigint,
  observe: (space: WatchedSpace, wave: Wave, instruction: Instruction) => void,
): void {
  const gds = replay.restart();
  const space = new WatchedSpace(replay.memory, address);
  const executor = new SoftwareExecutor({
    target: replay.target,
    gds,
    space: () => space,
    observer: (wave, instruction) => observe(space, wave, instruction),
  });
  executor.attach(replay.memory);
  try {
    executor.dispatch(replay.dispatch);
    executor.drain();
  } catch (error) {
    // A fault comes after the whole dispatch was executed: what it stored is known.
    if (error !== STOP && !(error instanceof GuestFaultError)) throw error;
  } finally {
    executor.close();
  }
}

/** Numbers workgroups in the order in which they run. */
function groupCounter(): (wave: Wave) => number {
  let group: unknown, number = -1;
  return (wave) => {
    if (wave.group !== group) [group, number] = [wave.group, number + 1];
    return number;
  };
}

function groupId({ program, partialThreads, x, y }: ComputeDispatch, number: number): [number, number, number] {
  const columns = partialThreads ? Math.ceil(x / program.numThreadsX) : x;
  const rows = partialThreads ? Math.ceil(y / program.numThreadsY) : y;
  return [number % columns, Math.floor(number / columns) % rows, Math.floor(number / (columns * rows))];
}

/** Where a byte came from. */
interface ByteSource {
  lane?: number;
  lanes: number[];
  register?: number;
  component?: number;
  value?: number;
}

/**
 * Executes a store that has just been executed again, lane by lane: which lanes write the byte, and which data register decides it. Nobody needs the
 * memory and the wave afterwards. An atomic that returns a value may have overwritten its own operands, so its lane is not told then.
 */
function byteSource(
  space: WatchedSpace,
  wave: Wave,
  instruction: Instruction,
  memory: GuestMemory,
  address: bigint,
): ByteSource {
  const opcode = OPCODES[instruction.op];
  const handler = HANDLERS[instruction.op];
  const isAtomic = (opcode.traits & Trait.Atomic) !== 0;
  if (handler === undefined || !isVectorMemory(instruction) || (isAtomic && instruction.dst >= 0)) return { lanes: [] };
  const { sgpr, vgpr } = wave;
  const enabled = Array.from({ length: wave.size }, (_, lane) => lane).filter((lane) => wave.isEnabled(lane));
  const execute = (lane: number) => {
    sgpr[Operand.Exec] = lane < 32 ? 1 << lane : 0;
    sgpr[Operand.ExecHi] = lane < 32 ? 0 : 1 << lane - 32;
    space.hit = false;
    handler(wave, instruction);
    space.settle();
    return space.hit;
  };
  const lanes = enabled.filter(execute);
  const lane = lanes.at(-1);
  if (lane === undefined) return { lanes };
  const data = instruction.data - Operand.Vgpr0;
  if (isAtomic || data < 0) return { lane, lanes };
  const byte = () => memory.read(address, 1, 0)[0];
  execute(lane);
  const original = byte();
  for (let component = 0; component < storedRegisters(opcode, instruction); component++) {
    const at = (data + component) * LANES + lane;
    const value = vgpr[at];
    vgpr[at] = ~value;
    execute(lane);
    vgpr[at] = value;
    if (byte() !== original) return { lane, lanes, register: data + component, component, value: value >>> 0 };
  }
  return { lane, lanes };
}

function isVectorMemory({ encoding }: Instruction): boolean {
  return encoding === Encoding.Flat || encoding === Encoding.Mubuf || encoding === Encoding.Mtbuf ||
    encoding === Encoding.Mimg;
}

/** Data registers that a store may read. */
function storedRegisters(opcode: Opcode, { data }: Instruction): number {
  const type = opcode.src.find(({ kind }) => kind !== "addr");
  const count = Math.max(1, type?.dwords ?? 1, opcode.formatCount, opcode.image === undefined ? 1 : 4);
  return Math.min(count, Operand.Vgpr0 + 256 - data);
}
