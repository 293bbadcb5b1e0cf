/**
 * Shaders: what is known of them, and whether the recompiler takes them.
 *
 * @module
 */
import { AnyAgcError, hex, withPlace } from "../../errors.ts";
import type { GuestMemory } from "../../guest/memory/guest_memory.ts";
import type { ShaderSource } from "../../guest/shader_source.ts";
import { GENERIC_DEVICE } from "../../recompiler/generic_device.ts";
import { NeedsImageDescriptors } from "../../recompiler/lift/image_descriptor.ts";
import { resolveImageDescriptors } from "../../recompiler/passes/resources.ts";
import { recompile } from "../../recompiler/recompile.ts";
import type { Artifact, RecompileRequest } from "../../recompiler/request.ts";
import { shaderHash } from "../../recompiler/request_file.ts";
import { count } from "../count.ts";
import { shaderCandidate } from "../recompile/candidates.ts";
import type { DispatchedProgram } from "./dispatches.ts";
import type { Problems } from "./kind.ts";

/** A dispatched program as `--json` shows it. */
export interface InspectedProgram {
  address: bigint;
  /** Hash of its words, which names it in requests to the recompiler. */
  hash: string;
  codeWords: number;
  waveSize: 32 | 64;
  threads: readonly [number, number, number];
  userSgprCount: number;
  /** Per lane. */
  vgprs: number;
  ldsBytes: number;
  /** Of a wave; 0 without scratch memory. */
  scratchBytes: number;
  dispatches: number;
  /** Guest instructions, and how lanes map to invocations on a typical device; absent when the recompiler refuses it. */
  instructionCount?: number;
  laneMode?: string;
}

/** Looks at a program that is dispatched, and recompiles it for a typical device. */
export function inspectProgram(
  { dispatch, request, dispatches }: DispatchedProgram,
  file: string | undefined,
  memory: GuestMemory | undefined,
  problems: Problems,
): InspectedProgram {
  const { program, waveSize, userData } = dispatch, { address } = program;
  const result: InspectedProgram = {
    address,
    hash: shaderHash(request.code),
    codeWords: request.code.length,
    waveSize,
    threads: request.workgroupSize as [number, number, number],
    userSgprCount: program.userSgprCount,
    vgprs: waveSize === 32 ? program.vgprs32 : program.vgprs64,
    ldsBytes: program.ldsBytes,
    scratchBytes: program.scratchEn ? program.scratchWaveBytes : 0,
    dispatches,
  };
  try {
    const { instructionCount, laneMode } = recompiledWithImages(request, userData, memory);
    return { ...result, instructionCount, laneMode };
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    problems.add(withPlace(error, { file, guestAddress: address }));
    return result;
  }
}

/** As a run does it: descriptors of images come from user data and memory. */
function recompiledWithImages(
  request: RecompileRequest,
  userData: Uint32Array,
  memory: GuestMemory | undefined,
): Artifact {
  try {
    return recompile(request);
  } catch (error) {
    if (!(error instanceof NeedsImageDescriptors) || memory === undefined) throw error;
    const read = (address: bigint) => memory.readU32(address);
    return recompile({ ...request, imageDescriptors: resolveImageDescriptors(error, request, userData, read) });
  }
}

/** For people. */
export function programText(program: InspectedProgram): string {
  const { address, hash, codeWords, waveSize, threads, userSgprCount, vgprs, ldsBytes, scratchBytes } = program;
  const { instructionCount, laneMode, dispatches } = program;
  const parts = [
    `${hex(address)} ${hash}`,
    instructionCount === undefined ? "refused" : `${instructionCount} instructions`,
    `${codeWords} words`,
    `wave${waveSize}`,
    `${threads.join(" x ")} threads`,
    `${userSgprCount} user SGPRs`,
    `${vgprs} VGPRs`,
    `LDS ${ldsBytes}`,
    ...(scratchBytes > 0 ? [`scratch ${scratchBytes}`] : []),
    ...(laneMode === undefined ? [] : [laneMode]),
    count(dispatches, "dispatch", "dispatches"),
  ];
  return parts.join(", ");
}

/** What a file says of a shader, for `--json`; what it does not say is left out. */
export function shaderFacts(shader: ShaderSource, address?: bigint) {
  const { name, file, stage, target, code, codeFileOffset, execBytes, waveSize, workgroupSize, abi } = shader;
  const { userSgprCount, userSgprs, systemSgprs, ldsBytes, rsrc1 } = shader;
  const record = abi.kind === "agc" ? abi.record : undefined;
  return {
    ...{ name, file, stage, target, address },
    hash: shaderHash(code.subarray(0, execBytes / 4)),
    ...{ codeBytes: code.byteLength, codeFileOffset, execBytes, waveSize, workgroupSize },
    ...{ userSgprCount, userSgprs, systemSgprs, vgprs: vgprsOf(rsrc1, waveSize), ldsBytes },
    scratch: scratchOf(shader),
    producer: abi.kind,
    ...(record === undefined ? {} : {
      record: {
        type: record.type,
        contextRegisters: record.cxRegisters.length,
        shRegisters: record.shRegisters.length,
        inputs: record.inputs.length,
        outputs: record.outputs.length,
        placeholders: record.placeholders.map(({ kind, register, set }) => ({ kind, register, set })),
      },
    }),
  };
}

/** RSRC1 VGPRS: granules of 8 in wave32, of 4 in wave64 (AMD register headers: COMPUTE_PGM_RSRC1, SPI_SHADER_PGM_RSRC1_*). */
function vgprsOf(rsrc1: number | undefined, waveSize: 32 | 64 | undefined): number | undefined {
  if (rsrc1 === undefined || waveSize === undefined) return undefined;
  return ((rsrc1 & 0x3f) + 1) * (waveSize === 32 ? 8 : 4);
}

/** Scratch memory, in bytes, of what the producer says it of. */
function scratchOf({ abi }: ShaderSource): { bytes: number; of: "wave" | "lane" } {
  if (abi.kind === "aco") return { bytes: abi.scratchBytesPerWave, of: "wave" };
  return { bytes: abi.kind === "llvm" ? abi.scratchBytesPerLane : 4 * abi.record.scratchDwordsPerThread, of: "lane" };
}

/** For people. */
export function shaderText(facts: ReturnType<typeof shaderFacts>): string {
  const { stage, name, address, hash, execBytes, waveSize, workgroupSize, userSgprCount, vgprs, ldsBytes } = facts;
  const parts = [
    `${stage} ${name}${address === undefined ? "" : ` at ${hex(address)}`}, ${hash}`,
    `${execBytes / 4} words`,
    waveSize === undefined ? "wave size not said" : `wave${waveSize}`,
    ...(workgroupSize === undefined ? [] : [`${workgroupSize.join(" x ")} threads`]),
    `${userSgprCount} user SGPRs`,
    ...(vgprs === undefined ? [] : [`${vgprs} VGPRs`]),
    ...(ldsBytes === undefined ? [] : [`LDS ${ldsBytes}`]),
    ...(facts.scratch.bytes > 0 ? [`scratch ${facts.scratch.bytes} a ${facts.scratch.of}`] : []),
  ];
  return parts.join(", ");
}

/** Recompiles a shader for a typical device, where its file says enough for that. */
export function checkShader(shader: ShaderSource, problems: Problems, notes: string[]): void {
  const { stage, file, codeFileOffset } = shader;
  if (/-(front|back)$/.test(stage)) {
    notes.push(`not recompiled: one half of a merged program (anyagc recompile FRONT --back BACK takes both)`);
    return;
  }
  try {
    const { request } = shaderCandidate(shader, undefined);
    recompile(request(GENERIC_DEVICE));
  } catch (error) {
    if (!(error instanceof AnyAgcError)) throw error;
    // What a dispatch says, and descriptors: not the file's fault.
    if (error.code.startsWith("cli.") || error instanceof NeedsImageDescriptors) {
      notes.push(`not recompiled: ${error.summary}`);
      return;
    }
    const { pc } = error.place;
    const fileOffset = codeFileOffset === undefined || pc === undefined ? undefined : codeFileOffset + pc;
    problems.add(withPlace(error, { file, ...(fileOffset === undefined ? {} : { fileOffset }) }));
  }
}
