/**
 * Merged groups: the waves of a merged stage that work together on some vertices and primitives, as one compute workgroup. Geometry shaders, culling and
 * tessellation are such programs: their lanes hand values over in LDS, ask for as much space as they need (MSG_GS_ALLOC_REQ), and then export primitives and
 * vertices that need not be those of the lane. No stage of Vulkan is that on every device, so the program is recompiled as what it is. What the hardware loads
 * into its registers and what it exports are in memory: a record for each group, behind guest addresses that no program has (abi.ts, GROUP_ADDRESS).
 *
 * | in a group's record | what |
 * |---|---|
 * | scalars | for each wave s0 to s7 (s3 is merged_wave_info, whose count of waves must be the workgroup's) |
 * | vectors | v0 to v8, each with a word for every thread |
 * | allocation | M0 of MSG_GS_ALLOC_REQ: vertices 8:0, primitives 20:12 (zeros: the group asked for nothing) |
 * | primitives | the word that each thread exports as its primitive |
 * | exports | for each target, ascending, four words of every thread |
 *
 * The host writes the first two, and zeros to the others: what a program does not export stays.
 *
 * @module
 */
import { InvalidInputError } from "../../errors.ts";
import type { Instruction } from "../../rdna/instruction.ts";
import { opcodeId } from "../../rdna/table.ts";
import { type RecompileRequest, threadsOf } from "../request.ts";
import { ExportTarget } from "./export_targets.ts";

/** What a merged group is beside a compute program. */
export interface MergedGroup {
  /**
   * The code has two halves, and the first one ends with a jump to the second one, at a byte offset of the code: a user SGPR (counted from s0) has the low half
   * of its address. Absent: the program is one.
   */
  readonly next?: { readonly sgpr: number; readonly offset: number };
}

/** SGPRs that the hardware fills in every wave: user data follow. */
export const GROUP_SGPRS = 8;
/** VGPRs that it fills: five of a primitive and four of a vertex; of a hull program two of a control point and four of a vertex. */
export const GROUP_VGPRS = 9;
/** Threads of a group at most (AMD register headers: GE_MAX_OUTPUT_PER_SUBGROUP; Mesa, gfx10_ngg_calculate_subgroup_info). */
export const GROUP_THREADS = 256;
/** User data beyond those of the push constants (16), which the window begins with: words. */
export const GROUP_USER_DATA = 16;
/** Where the records begin, in bytes. */
export const GROUP_RECORDS = 4 * GROUP_USER_DATA;

/** Where things are in the record of a group: bytes. */
export interface GroupLayout {
  /** Threads of a group: not bytes. */
  readonly threads: number;
  /** The first {@linkcode GROUP_SGPRS} SGPRs of each wave, wave after wave. */
  readonly scalars: number;
  /** The first {@linkcode GROUP_VGPRS} VGPRs, register after register, a word for each thread. */
  readonly vectors: number;
  /** M0 of the message that asks for space (GS_ALLOC_REQ): one word of 16 bytes. */
  readonly allocation: number;
  /** What each thread exports as its primitive: a word. */
  readonly primitives: number;
  /** Four words for each thread and target. */
  readonly exports: number;
  /** Targets that the program exports to, ascending, but for the primitive: positions (12 to 15) and parameters (32 to 63). */
  readonly targets: readonly number[];
  /** Size of a record. */
  readonly bytes: number;
}

const exp = opcodeId("exp");

/**
 * Checks that the request of a merged group is one.
 *
 * @throws InvalidInputError `recompiler.group`
 */
export function checkGroup(request: RecompileRequest): void {
  const { group, graphics, workgroupSize: [x, y, z], waveSize, partialThreads, workgroupIds, tgSize, threadIdCount } =
    request;
  if (group === undefined) return;
  const problem = graphics !== undefined
    ? "has the state of another stage"
    : y * z !== 1 || x % waveSize !== 0 || partialThreads
    ? "is no row of whole waves"
    : workgroupIds.includes(true) || tgSize || threadIdCount !== 0
    ? "has a dispatch's numbers in its registers"
    : group.next !== undefined && group.next.sgpr < GROUP_SGPRS
    ? "has the second half's address in a register that the hardware fills"
    : undefined;
  if (problem !== undefined) throw new InvalidInputError("recompiler.group", `a merged group that ${problem}`);
}

/** The layout of a program's records. @param instructions all that can be reached */
export function groupLayout(request: RecompileRequest, instructions: readonly Instruction[]): GroupLayout {
  const threads = threadsOf(request);
  const targets = [...new Set(instructions.filter(({ op }) => op === exp).map(({ dim }) => dim))]
    .filter((target) => target !== ExportTarget.Primitive && target !== ExportTarget.Null).sort((a, b) => a - b);
  const scalars = 0, vectors = scalars + threads / request.waveSize * GROUP_SGPRS * 4;
  const allocation = vectors + GROUP_VGPRS * threads * 4, primitives = allocation + 16;
  const exports = primitives + threads * 4, bytes = exports + targets.length * threads * 16;
  return { threads, scalars, vectors, allocation, primitives, exports, targets, bytes };
}

/** Byte offset in a record of what a thread exports to a target. */
export function exportOffset({ exports, targets, threads }: GroupLayout, target: number): number {
  return exports + targets.indexOf(target) * threads * 16;
}

/** Registers that are known when the program starts: what its jump to the second half is computed from. */
export function knownRegisters({ group, codeAddress }: RecompileRequest): ReadonlyMap<number, number> {
  const next = group?.next;
  return new Map(
    next === undefined ? [] : [[next.sgpr, Number(BigInt.asUintN(32, codeAddress + BigInt(next.offset)))]],
  );
}
