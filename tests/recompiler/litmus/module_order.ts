/**
 * Looks at the words of a module for what stands between two accesses to buffers. Accesses are known by a number that the guest program gives them, as the
 * value that is stored or as a part of the address: whatever the module computes of it until the first access belongs to it. Shares nothing with the
 * emitter but the evaluator's parser.
 */
import {
  parseSpirv,
  type SpirvBlock,
  type SpirvFunction,
  type SpirvInstruction,
  type SpirvModule,
} from "../../support/spirv_eval/parse.ts";

/** Scope and storage class, as the Khronos SPIR-V specification numbers them. */
const DEVICE = 1, PHYSICAL = 5349;

/** Numbers of barriers whose scope of memory is the device. */
export interface DeviceBarriers {
  readonly memory: number;
  readonly control: number;
}

/** Counts them in all functions. */
export function deviceBarriers(spirv: Uint32Array): DeviceBarriers {
  const module = parseSpirv(spirv);
  let memory = 0, control = 0;
  for (const { blocks } of module.functions.values()) {
    for (const { body } of blocks) {
      for (const instruction of body) {
        if (!ordersDevice(module, instruction)) continue;
        if (instruction.name === "OpMemoryBarrier") memory++;
        else control++;
      }
    }
  }
  return { memory, control };
}

/** A place in a function. */
interface At {
  readonly block: SpirvBlock;
  readonly index: number;
}

/**
 * Whether there is a way in the entry point from an access of one number to one of another without a barrier of Device scope.
 *
 * @throws Error when there is no access of a number
 */
export function hasUnorderedWay(spirv: Uint32Array, from: number, to: number): boolean {
  const module = parseSpirv(spirv), starts = accessesOf(module, from), ends = accessesOf(module, to);
  const isEnd = (block: SpirvBlock, index: number) => ends.some((at) => at.block === block && at.index === index);
  const seen = new Set<SpirvBlock>(), work = starts.map(({ block, index }) => ({ block, index: index + 1 }));
  for (let place = work.pop(); place !== undefined; place = work.pop()) {
    const { block } = place;
    let index = place.index, barred = false;
    for (; index < block.body.length && !barred; index++) {
      if (isEnd(block, index)) return true;
      barred = ordersDevice(module, block.body[index]);
    }
    if (barred) continue;
    for (const next of successors(module.main, block)) {
      if (seen.has(next)) continue;
      seen.add(next);
      work.push({ block: next, index: 0 });
    }
  }
  return false;
}

function ordersDevice({ constants }: SpirvModule, { name, operands }: SpirvInstruction): boolean {
  return name === "OpMemoryBarrier" && constants.get(operands[0]) === DEVICE ||
    name === "OpControlBarrier" && constants.get(operands[1]) === DEVICE;
}

function successors(main: SpirvFunction, { terminator: { name, operands } }: SpirvBlock): SpirvBlock[] {
  const labels = name === "OpBranch" ? [operands[0]] : name === "OpBranchConditional" ? operands.slice(1, 3) : [];
  return labels.map((label) => main.byLabel.get(label)!);
}

/** Whether all loads of a number, in the entry point, are atomic and of Device scope. @throws Error when there is none */
export function isLoadedAtomically(spirv: Uint32Array, number: number): boolean {
  const module = parseSpirv(spirv);
  return accessesOf(module, number).every(({ block, index }) => {
    const { name, operands: [, scope] } = block.body[index];
    return name === "OpAtomicLoad" && module.constants.get(scope) === DEVICE;
  });
}

/** Whether an instruction accesses memory by a device address, or calls a function that does. */
function accesses(module: SpirvModule, { name, operands: [first] }: SpirvInstruction): boolean {
  if (/^Op(Load|Store|Atomic)/.test(name)) {
    const type = module.resultTypes.get(first);
    return type?.kind === "pointer" && type.storage === PHYSICAL;
  }
  const called = name === "OpFunctionCall" ? module.functions.get(first)! : undefined;
  return called?.blocks.some(({ body }) => body.some((instruction) => accesses(module, instruction))) === true;
}

/** Accesses that a number comes to first. */
function accessesOf(module: SpirvModule, number: number): At[] {
  const known = new Set<number>();
  for (const [id, value] of module.constants) if (typeof value !== "object" && Number(value) === number) known.add(id);
  const found: At[] = [];
  for (let size = -1; size !== known.size;) {
    size = known.size;
    found.length = 0;
    for (const block of module.main.blocks) {
      for (const { result, operands } of block.phis) {
        if (operands.some((id, k) => k % 2 === 0 && known.has(id))) known.add(result);
      }
      block.body.forEach((instruction, index) => {
        const { result, operands } = instruction;
        if (!operands.some((id) => known.has(id))) return;
        if (accesses(module, instruction)) found.push({ block, index });
        else if (result !== 0) known.add(result);
      });
    }
  }
  if (found.length === 0) throw new Error(`no access of 0x${number.toString(16)}`);
  return [...found];
}
